/*
 * Making sandboxes. A cell of the pool gets its host name, by which it also shows that it lives; one
 * that does not is replaced by a cold start. A cold start has its host name from the beginning.
 *
 *     pool:  [LOAD] -> SET_HOSTNAME -> on_complete()
 *     cold:  start -> [LOAD] -> on_complete()
 *
 * The files of a snapshot or a fork are loaded first (save.c). If the cell says that it cannot take them,
 * another one could not either: the create fails with its words.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/util.h"
#include "server/config/config.h"
#include "server/observe/counters.h"
#include "server/observe/log.h"
#include "server/observe/logs.h"
#include "server/runtime/runtime.h"
#include "server/sandbox/sandbox_internal.h"
#include "server/store/records.h"
#include "server/store/store.h"
#include "server/store/templates.h"

#define TOKEN_LENGTH 40

static void start_cold(struct sandbox *s);

/* ---- the last step ---- */

static int begin_life(struct sandbox *s, struct error *err)
{
	struct life *l = life_of(s);
	s->record.started_us = store_now_us();
	int r = sandbox_start_clock(s, l->timeout_s, err);
	if (r < 0)
		return r;
	sandbox_set_state(s, SANDBOX_RUNNING);
	r = record_insert(s->server->store, &s->record, err);
	if (r < 0)
		counters.store_errors++;
	return r;
}

static const char *origin_of(const struct life *l)
{
	return !l->from_pool ? "cold" : l->pool == POOL_CODE ? "code-pool" : "pool";
}

static void count_create(const struct life *l, uint64_t took_ns)
{
	histogram_add(!l->from_pool	      ? &counters.create_cold :
		      l->pool == POOL_CODE ? &counters.create_code_pool :
					     &counters.create_pool,
		      took_ns);
}

static void on_complete(struct sandbox *s)
{
	struct life *l = life_of(s);
	struct error err;
	uint64_t took_ns = clock_now_ns() - l->begun_ns;
	s->runtime = l->cell->runtime;
	if (l->files_fd >= 0)
		close(take_fd(&l->files_fd));
	cell_set_owner(l->cell, &sandbox_cell_events, s);
	int r = begin_life(s, &err);
	if (r < 0) {
		counters.create_failed++;
		daemon_log(DAEMON_ERROR, "sandbox.failed", TEXT_FIELD("error", err.message));
		sandbox_answer(&l->done_waiters, NULL, &err);
		sandbox_begin_end(s, err.message);
		return;
	}
	cell_running(l->cell, s);
	counters.created++;
	count_create(l, took_ns);
	daemon_log(DAEMON_INFO, "sandbox.created", TEXT_FIELD("sandbox", s->record.id),
		   TEXT_FIELD("template", s->record.template_id),
		   TEXT_FIELD("from", origin_of(l)),
		   NUMBER_FIELD("us", took_ns / NSEC_PER_USEC));
	log_add(s, LOG_INFO, "sandbox", "started", "{\"event\":\"started\"}");
	sandbox_answer(&l->done_waiters, s, NULL);
}

/* ---- what it begins with ---- */

/* The cell is of no use any more; its end answers. */
static void end_of_load(struct sandbox *s, const struct error *err)
{
	life_of(s)->load_error = *err;
	cell_end(life_of(s)->cell, err->message);
}

/* Nobody knows it yet: it leaves no record. */
static void fail_create(struct sandbox *s, const char *reason)
{
	struct sandboxes *all = sandboxes_of(s);
	struct life *l = life_of(s);
	struct error err;
	l->cell = NULL;
	error_say(&err, EIO, "start a sandbox: %.400s", reason);
	if (l->load_error.code)
		err = l->load_error;
	counters.create_failed++;
	daemon_log(DAEMON_ERROR, "sandbox.failed", TEXT_FIELD("error", err.message));
	copies_answer(s, &err);
	sandbox_answer(&l->done_waiters, NULL, &err);
	sandbox_answer(&l->kill_waiters, NULL, NULL);
	sandbox_unlink_and_free(s);
	sandboxes_check_stopped(all);
}

/* ---- cold ---- */

static void on_cold_loaded(void *ctx, struct sandbox *s, uint64_t bytes, const struct error *err)
{
	if (err)
		end_of_load(s, err);
	else
		on_complete(s);
}

static void on_loading_ended(void *ctx, struct cell *c, const char *reason)
{
	fail_create(ctx, reason);
}

static void on_nothing(void *ctx, struct cell *c)
{
}

static const struct cell_events loading_events = { on_nothing, on_loading_ended, NULL };

static void on_cold_ready(void *ctx, struct cell *c)
{
	struct sandbox *s = ctx;
	pools_hold(sandboxes_of(s)->pools, false);
	if (life_of(s)->files_fd < 0) {
		on_complete(s);
		return;
	}
	cell_set_owner(c, &loading_events, s);
	copy_begin_load(s, on_cold_loaded);
}

static void on_cold_ended(void *ctx, struct cell *c, const char *reason)
{
	struct sandbox *s = ctx;
	pools_hold(sandboxes_of(s)->pools, false);
	fail_create(s, reason);
}

static const struct cell_events cold_events = { on_cold_ready, on_cold_ended, NULL };

static void start_cold(struct sandbox *s)
{
	struct life *l = life_of(s);
	struct cell_shape shape;
	sandbox_shape(s, &shape);
	l->from_pool = false;
	pools_hold(sandboxes_of(s)->pools, true);
	l->cell = cell_new(s->server, &shape, s->record.id, &cold_events, s);
	if (!l->cell)
		on_cold_ended(s, NULL, "out of memory");
}

/* ---- from the pool ---- */

/* It died in the pool, or just now: the next attempt has the time that this one left. */
static void on_pooled_ended(void *ctx, struct cell *c, const char *reason)
{
	struct sandbox *s = ctx;
	struct life *l = life_of(s);
	const struct error again = { .code = EAGAIN };
	l->cell = NULL;
	if (s->record.state == SANDBOX_STARTING && !sandboxes_of(s)->stopping &&
	    !l->load_error.code) {
		copies_answer(s, &again); /* nobody waits for it but us */
		start_cold(s);
	} else {
		fail_create(s, reason);
	}
}

static const struct cell_events pooled_events = { on_nothing, on_pooled_ended, NULL };

static void on_hostname(void *ctx, const struct runtime_answer *a)
{
	struct sandbox *s = ctx;
	struct life *l = life_of(s);
	if (a->error == 0 && s->record.state == SANDBOX_STARTING)
		on_complete(s);
	else if (l->cell)
		cell_end(l->cell, "it did not take its host name"); /* and on_pooled_ended() */
}

static void set_hostname(struct sandbox *s)
{
	uint8_t body[64];
	struct wire_out o = { body, 0, sizeof(body), false };
	wire_put_str(&o, s->record.id);
	(void)runtime_call(life_of(s)->cell->runtime, WIRE_SET_HOSTNAME, &o, -1, on_hostname, s);
}

static void on_pooled_loaded(void *ctx, struct sandbox *s, uint64_t bytes, const struct error *err)
{
	if (err)
		end_of_load(s, err);
	else
		set_hostname(s);
}

static void start_pooled(struct sandbox *s, struct cell *cell)
{
	struct life *l = life_of(s);
	l->from_pool = true;
	l->cell = cell;
	cell_set_owner(cell, &pooled_events, s);
	if (l->files_fd < 0)
		set_hostname(s);
	else
		copy_begin_load(s, on_pooled_loaded);
}

/* ---- the first step ---- */

static char *copy(const char *text, bool *complete)
{
	char *s = text ? strdup(text) : NULL;
	*complete &= !text || s;
	return s;
}

static void make_id(struct server *server, char ret[SANDBOX_ID_SIZE])
{
	do {
		ret[0] = 'i';
		random_text(ret + 1, 20, RANDOM_ALPHANUMERIC);
	} while (sandbox_find(server, ret));
}

/* Without its namespace: there is one only. */
static const char *bare_name(const char *name)
{
	const char *slash = strrchr(name, '/');
	return slash ? slash + 1 : name;
}

static bool fill_record(struct sandbox *s, const struct sandbox_spec *spec,
			struct beginning *begin)
{
	const struct template_record *t = &begin->template;
	struct sandbox_record *r = &s->record;
	bool complete = true;
	make_id(s->server, r->id);
	memcpy(r->template_id, t->id, sizeof(r->template_id));
	memcpy(s->base, t->base, sizeof(s->base));
	r->alias = copy(t->name_count ? bare_name(t->names[0]) : NULL, &complete);
	r->key_id = spec->key_id;
	r->state = SANDBOX_STARTING;
	r->cpu_count = t->cpu_count;
	r->memory_mb = t->memory_mb;
	r->disk_mb = t->disk_mb;
	r->metadata = copy(spec->metadata, &complete);
	r->env = take_ptr(begin->env);
	r->network = copy(spec->network, &complete);
	r->volumes = copy(spec->volumes, &complete);
	r->allow_internet = spec->allow_internet;
	r->secure = spec->secure;
	if (spec->secure)
		random_text(r->access_token, TOKEN_LENGTH, RANDOM_HEX);
	if (spec->traffic_token)
		random_text(r->traffic_token, TOKEN_LENGTH, RANDOM_HEX);
	r->pause_on_timeout = spec->pause_on_timeout;
	r->pause_keeps_memory = spec->pause_keeps_memory;
	r->auto_resume = spec->auto_resume;
	return complete;
}

static struct sandbox *sandbox_new(struct server *server, const struct sandbox_spec *spec,
				   struct beginning *begin)
{
	struct sandbox *s = calloc(1, sizeof(*s));
	struct life *l = calloc(1, sizeof(*l));
	if (!s || !l) {
		free(s);
		free(l);
		return NULL;
	}
	s->server = server;
	s->life = l;
	list_init(&s->attached);
	l->sandbox = s;
	l->timeout_s = spec->timeout_s;
	l->begun_ns = clock_now_ns();
	list_init(&l->done_waiters);
	list_init(&l->kill_waiters);
	list_init(&l->resume_waiters);
	list_init(&l->copies);
	l->files_fd = take_fd(&begin->files_fd);
	bool complete = fill_record(s, spec, begin);
	sandbox_link(s);
	limits_count(s, true, true);
	if (complete)
		return s;
	sandbox_unlink_and_free(s);
	return NULL;
}

/* A cell with something prepared inside has processes: files are loaded before there are any. */
static enum pool_kind pool_for(struct sandbox *s)
{
	bool for_code = life_of(s)->files_fd < 0 && strcmp(s->base, TEMPLATE_CODE) == 0;
	return for_code ? POOL_CODE : POOL_PLAIN;
}

static void start(struct sandbox *s)
{
	struct cell_shape shape;
	sandbox_shape(s, &shape);
	struct cell *cell = pools_take(sandboxes_of(s)->pools, pool_for(s), &shape,
				       &life_of(s)->pool);
	if (cell)
		start_pooled(s, cell);
	else
		start_cold(s);
}

void sandbox_create(struct server *server, const struct sandbox_spec *spec, sandbox_done_fn fn,
		    void *ctx)
{
	struct beginning begin = { .files_fd = -EBADF };
	struct error err;
	int r = beginning_make(server, spec, &begin, &err);
	struct sandbox *s = r == 0 ? sandbox_new(server, spec, &begin) : NULL;
	if (r == 0 && (!s || sandbox_add_waiter(&life_of(s)->done_waiters, fn, ctx) < 0)) {
		if (s)
			sandbox_unlink_and_free(s);
		r = error_set(&err, ENOMEM, "create a sandbox");
	}
	beginning_fini(&begin);
	if (r == 0)
		start(s);
	else
		fn(ctx, NULL, &err, begin.retry_s);
}
