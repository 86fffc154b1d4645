/* What the sandboxes of a key may use together, and all of them. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/util.h"
#include "server/config/config.h"
#include "server/sandbox/sandbox_internal.h"

/* How soon another try makes sense: for a rate soon, for what other sandboxes hold a little later. */
#define RETRY_RATE_S 1
#define RETRY_HELD_S 5

static struct key_use *find_use(struct sandboxes *all, int64_t key_id)
{
	for (unsigned int i = 0; i < all->use_count; i++) {
		if (all->uses[i].key_id == key_id)
			return &all->uses[i];
	}
	return NULL;
}

/* Entries of keys without sandboxes are reused; their bucket of tokens is full by then, or nearly. */
static struct key_use *get_use(struct sandboxes *all, int64_t key_id)
{
	struct key_use *u = find_use(all, key_id);
	for (unsigned int i = 0; !u && all->use_count == KEY_USES_MAX && i < all->use_count; i++) {
		if (all->uses[i].alive == 0)
			u = &all->uses[i];
	}
	if (u && u->key_id == key_id)
		return u;
	if (!u && all->use_count < KEY_USES_MAX)
		u = &all->uses[all->use_count++];
	if (u)
		*u = (struct key_use){ .key_id = key_id, .tokens = -1 };
	return u;
}

static int refuse(unsigned int *ret_retry_s, unsigned int retry_s, struct error *err)
{
	*ret_retry_s = retry_s;
	err->code = EAGAIN;
	return -EAGAIN;
}

static int check_rate(struct key_use *u, const struct key *k, unsigned int *ret_retry_s,
		      struct error *err)
{
	double rate = k->limits.creates_per_second;
	uint64_t now = clock_now_ns();
	if (rate <= 0)
		return 0;
	if (u->tokens < 0)
		u->tokens = rate;
	else
		u->tokens += (double)(now - u->tokens_ns) / (double)NSEC_PER_SEC * rate;
	if (u->tokens > rate)
		u->tokens = rate;
	u->tokens_ns = now;
	if (u->tokens < 1) {
		error_set(err, 0, "key '%s' may create %u sandboxes per second", k->name,
			  k->limits.creates_per_second);
		return refuse(ret_retry_s, RETRY_RATE_S, err);
	}
	u->tokens -= 1;
	return 0;
}

static int check_held(const struct key_use *u, const struct key *k, const struct cell_shape *shape,
		      bool create, unsigned int *ret_retry_s, struct error *err)
{
	const struct key_limits *l = &k->limits;
	int over = 0;
	if (l->sandboxes && u->active + 1 > l->sandboxes)
		over = error_set(err, 0, "key '%s' may have %u sandboxes running", k->name,
				 l->sandboxes);
	else if (l->cpus && u->cpus + shape->cpu_count > l->cpus)
		over = error_set(err, 0, "key '%s' may use %u CPUs", k->name, l->cpus);
	else if (create && l->memory_mb && u->memory_mb + shape->memory_mb > l->memory_mb)
		over = error_set(err, 0, "key '%s' may use %llu MiB of memory", k->name,
				 (unsigned long long)l->memory_mb);
	return over < 0 ? refuse(ret_retry_s, RETRY_HELD_S, err) : 0;
}

int limits_check(struct sandboxes *all, int64_t key_id, const struct cell_shape *shape, bool create,
		 unsigned int *ret_retry_s, struct error *err)
{
	struct key k;
	if (create && all->alive >= all->server->config->sandboxes_max) {
		error_set(err, 0, "the server has %u sandboxes, its limit (sandboxes_max)",
			  all->alive);
		return refuse(ret_retry_s, RETRY_HELD_S, err);
	}
	if (key_id == 0 || key_get(all->server->store, key_id, &k) < 0)
		return 0;
	struct key_use *u = get_use(all, key_id);
	if (!u)
		return 0;
	int r = check_held(u, &k, shape, create, ret_retry_s, err);
	return r < 0 || !create ? r : check_rate(u, &k, ret_retry_s, err);
}

void limits_count(struct sandbox *s, bool alive, bool active)
{
	struct life *l = life_of(s);
	const struct sandbox_record *r = &s->record;
	struct key_use *u = r->key_id ? get_use(sandboxes_of(s), r->key_id) : NULL;
	if (u && alive != l->counted) {
		u->alive += alive ? 1u : -1u;
		u->memory_mb += alive ? r->memory_mb : -(uint64_t)r->memory_mb;
	}
	if (u && active != l->counted_active) {
		u->active += active ? 1u : -1u;
		u->cpus += active ? r->cpu_count : -(uint64_t)r->cpu_count;
	}
	l->counted = alive;
	l->counted_active = active;
}
