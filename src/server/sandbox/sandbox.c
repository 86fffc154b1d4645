/*
 * Theory of operation
 *
 *   struct sandboxes ── all, hash by id ──► struct sandbox ── life ──► struct life ──► struct cell
 *          │                                      │ record (the database's row)            (runtime,
 *          ├── pools: cells without a sandbox      │ attached: streams, proxies, watches      launch)
 *          └── deadlines: one heap, one timer
 *
 * A sandbox is in exactly one state; who moves it:
 *
 *   create.c   STARTING -> RUNNING
 *   pause.c    RUNNING -> PAUSING -> PAUSED -> RESUMING -> RUNNING
 *   save.c     none: files leave while it is RUNNING, and come while it is STARTING
 *   end.c      any -> ENDING -> ENDED (the struct is freed)
 *
 * Each step writes the record before its caller is answered. One operation at a time: others get
 * EBUSY, except that kills wait for the end together and resumes for the resume. A death of the kernel
 * process is an end like any other, whatever was under way: those who wait are answered with ESRCH.
 */
#include "server/sandbox/sandbox.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock_boot.h"
#include "base/util.h"
#include "server/config/config.h"
#include "server/observe/counters.h"
#include "server/observe/log.h"
#include "server/sandbox/sandbox_internal.h"
#include "server/store/records.h"
#include "server/store/store.h"

#define CLOCK_SLACK_US 1000000

const char *sandbox_state_name(enum sandbox_state s)
{
	static const char *const names[] = {
		[SANDBOX_STARTING] = "starting", [SANDBOX_RUNNING] = "running",
		[SANDBOX_PAUSING] = "pausing",	 [SANDBOX_PAUSED] = "paused",
		[SANDBOX_RESUMING] = "resuming", [SANDBOX_ENDING] = "ending",
		[SANDBOX_ENDED] = "ended",
	};
	return (unsigned int)s < ARRAY_SIZE(names) ? names[s] : "unknown";
}

/* ---- finding ---- */

static unsigned int bucket_of(const char *id)
{
	uint32_t hash = 2166136261u;
	for (; *id; id++)
		hash = (hash ^ (unsigned char)*id) * 16777619u;
	return hash % SANDBOX_BUCKETS;
}

struct sandbox *sandbox_find(struct server *server, const char *id)
{
	char own[SANDBOX_ID_SIZE];
	size_t n = strcspn(id, "-");
	struct life *l;
	if (n == 0 || n >= sizeof(own))
		return NULL;
	memcpy(own, id, n);
	own[n] = '\0';
	list_for_each(l, &server->sandboxes->buckets[bucket_of(own)], hash) {
		if (strcmp(l->sandbox->record.id, own) == 0)
			return l->sandbox;
	}
	return NULL;
}

unsigned int sandbox_count(const struct server *server, enum sandbox_state state)
{
	return server->sandboxes->counts[state];
}

uint64_t sandbox_launch_id(const struct sandbox *s)
{
	const struct life *l = s->life;
	return l->cell ? l->cell->launch_id : 0;
}

void *sandbox_take_prepared(struct sandbox *s)
{
	struct cell *c = life_of(s)->cell;
	void *prepared = c ? c->prepared : NULL;
	if (c) {
		c->recipe = NULL;
		c->prepared = NULL;
	}
	return prepared;
}

void sandboxes_set_recipe(struct server *server, unsigned int kind, const struct pool_recipe *recipe)
{
	pools_set_recipe(server->sandboxes->pools, (enum pool_kind)kind, recipe);
}

const struct pool_state *sandboxes_pool(const struct server *server, unsigned int kind)
{
	return pools_state(server->sandboxes->pools, (enum pool_kind)kind);
}

void sandbox_each(struct server *server, void (*fn)(void *ctx, struct sandbox *s), void *ctx)
{
	struct sandbox *s, *next;
	list_for_each_safe(s, next, &server->sandboxes->all, link) {
		fn(ctx, s);
	}
}

void sandbox_refresh_end(struct sandbox *s)
{
	const struct deadline *d = &life_of(s)->deadline;
	if (s->record.state != SANDBOX_RUNNING || !d->position)
		return;
	int64_t left_us = (int64_t)(d->at_ns - clock_boot_ns()) / 1000;
	int64_t end_us = store_now_us() + left_us;
	/* Only if somebody has set the clock: two readings alike give the same time. */
	if (llabs(end_us - s->record.end_us) > CLOCK_SLACK_US)
		s->record.end_us = end_us;
}

struct listing {
	struct server *server;
	void (*fn)(void *ctx, const struct sandbox_record *r);
	void *ctx;
};

static void list_one(void *ctx, const struct sandbox_record *r)
{
	const struct listing *l = ctx;
	struct sandbox *s = r->state == SANDBOX_RUNNING ? sandbox_find(l->server, r->id) : NULL;
	struct sandbox_record shown = *r;
	if (s) {
		sandbox_refresh_end(s);
		shown.end_us = s->record.end_us;
	}
	l->fn(l->ctx, &shown);
}

int sandbox_list(struct server *server, const struct sandbox_filter *f,
		 void (*fn)(void *ctx, const struct sandbox_record *r), void *ctx, bool *ret_more,
		 struct error *err)
{
	struct listing l = { server, fn, ctx };
	return record_list(server->store, f, list_one, &l, ret_more, err);
}

/* ---- what hangs on a sandbox ---- */

void sandbox_attach(struct sandbox *s, struct sandbox_attachment *a)
{
	list_add_tail(&s->attached, &a->link);
}

void sandbox_detach(struct sandbox_attachment *a)
{
	list_del(&a->link);
}

void sandbox_cut(struct sandbox *s)
{
	s->generation++;
	while (!list_empty(&s->attached)) {
		struct sandbox_attachment *a =
			list_first(&s->attached, struct sandbox_attachment, link);
		list_del(&a->link);
		a->gone(a);
	}
}

void sandboxes_on_gone(struct server *server, void (*fn)(struct sandbox *s))
{
	struct sandboxes *all = server->sandboxes;
	if (all->gone_count < GONE_HOOKS_MAX)
		all->gone[all->gone_count++] = fn;
}

void sandboxes_on_free(struct server *server, void (*fn)(struct sandbox *s))
{
	server->sandboxes->freed = fn;
}

void sandbox_call_gone(struct sandbox *s)
{
	struct sandboxes *all = sandboxes_of(s);
	for (unsigned int i = 0; i < all->gone_count; i++)
		all->gone[i](s);
}

void sandbox_shape(const struct sandbox *s, struct cell_shape *ret)
{
	const struct sandbox_record *r = &s->record;
	cell_shape_make(s->server, r->cpu_count, r->memory_mb, r->disk_mb, ret);
}

/* ---- those who wait ---- */

int sandbox_add_waiter(struct list *waiters, sandbox_done_fn fn, void *ctx)
{
	if (!fn)
		return 0;
	struct waiter *w = malloc(sizeof(*w));
	if (!w)
		return -ENOMEM;
	*w = (struct waiter){ .fn = fn, .ctx = ctx };
	list_add_tail(waiters, &w->link);
	return 0;
}

/* A callback may start the next operation, which has waiters of its own: the list is taken first. */
void sandbox_answer(struct list *waiters, struct sandbox *s, const struct error *err)
{
	struct list taken;
	list_init(&taken);
	list_splice_tail(&taken, waiters);
	while (!list_empty(&taken)) {
		struct waiter *w = list_first(&taken, struct waiter, link);
		list_del(&w->link);
		w->fn(w->ctx, s, err, 0);
		free(w);
	}
}

void sandbox_refuse(sandbox_done_fn fn, void *ctx, int code, const char *message)
{
	struct error err;
	error_say(&err, code, "%s", message);
	if (fn)
		fn(ctx, NULL, &err, 0);
}

/* ---- state ---- */

void sandbox_set_state(struct sandbox *s, enum sandbox_state state)
{
	struct sandboxes *all = sandboxes_of(s);
	all->counts[s->record.state]--;
	all->counts[state]++;
	s->record.state = state;
}

int sandbox_write(struct sandbox *s, struct error *err)
{
	int r = record_update(s->server->store, &s->record, err);
	if (r < 0) {
		counters.store_errors++;
		daemon_log(DAEMON_ERROR, "store.failed", TEXT_FIELD("sandbox", s->record.id),
			   TEXT_FIELD("error", err->message));
	}
	return r;
}

int sandbox_start_clock(struct sandbox *s, uint64_t seconds, struct error *err)
{
	struct life *l = life_of(s);
	if (deadline_set(sandboxes_of(s)->deadlines, &l->deadline,
			 clock_boot_ns() + seconds * NSEC_PER_SEC) < 0)
		return error_set(err, ENOMEM, "set the end of life");
	l->timeout_s = (uint32_t)MIN(seconds, (uint64_t)UINT32_MAX);
	s->record.end_us = store_now_us() + (int64_t)(seconds * 1000000);
	return 0;
}

void sandbox_stop_clock(struct sandbox *s)
{
	deadline_clear(sandboxes_of(s)->deadlines, &life_of(s)->deadline);
}

int sandbox_set_timeout(struct sandbox *s, uint64_t seconds, bool extend_only, struct error *err)
{
	struct life *l = life_of(s);
	uint64_t max_s = s->server->config->timeout_max_ns / NSEC_PER_SEC;
	if (s->record.state != SANDBOX_RUNNING)
		return error_say(err, EBUSY, "sandbox %s is %s", s->record.id,
				 sandbox_state_name(s->record.state));
	if (seconds > max_s)
		return error_say(err, ERANGE, "timeout of %llu s (the most is %llu s, timeout_max)",
				 (unsigned long long)seconds, (unsigned long long)max_s);
	if (extend_only && clock_boot_ns() + seconds * NSEC_PER_SEC <= l->deadline.at_ns)
		return 0;
	int r = sandbox_start_clock(s, seconds, err);
	return r < 0 ? r : sandbox_write(s, err);
}

int sandbox_set_network(struct sandbox *s, const char *network, int allow_internet,
			struct error *err)
{
	char *copy = network ? strdup(network) : NULL;
	if (network && !copy)
		return error_set(err, ENOMEM, "network settings");
	struct sandbox_record changed = s->record;
	changed.network = copy;
	changed.allow_internet = allow_internet;
	int r = record_update_network(s->server->store, &changed, err);
	if (r < 0) {
		free(copy);
		return r;
	}
	free(s->record.network);
	s->record.network = copy;
	s->record.allow_internet = allow_internet;
	return 0;
}

void sandbox_link(struct sandbox *s)
{
	struct sandboxes *all = sandboxes_of(s);
	list_add_tail(&all->all, &s->link);
	list_add_tail(&all->buckets[bucket_of(s->record.id)], &life_of(s)->hash);
	all->counts[s->record.state]++;
	all->alive++;
}

void sandbox_unlink_and_free(struct sandbox *s)
{
	struct sandboxes *all = sandboxes_of(s);
	struct life *l = life_of(s);
	if (all->freed)
		all->freed(s);
	sandbox_stop_clock(s);
	limits_count(s, false, false);
	all->counts[s->record.state]--;
	all->alive--;
	list_del(&s->link);
	list_del(&l->hash);
	record_fini(&s->record);
	if (l->files_fd >= 0)
		close(l->files_fd);
	free(l->reason);
	free(l);
	free(s);
}
