/*
 * Making sandboxes. A cell of the pool gets its host name, by which it also shows that it lives; one
 * that does not is replaced by a cold start. A cold start has its host name from the beginning.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- cold ---- */

static void on_cold_ready(void *ctx, struct cell *c)
{
	struct sandbox *s = ctx;
	pools_hold(sandboxes_of(s)->pools, false);
	on_complete(s);
}

/* Nobody knows it yet: it leaves no record. */
static void on_cold_ended(void *ctx, struct cell *c, const char *reason)
{
	struct sandbox *s = ctx;
	struct sandboxes *all = sandboxes_of(s);
	struct life *l = life_of(s);
	struct error err;
	l->cell = NULL;
	pools_hold(all->pools, false);
	counters.create_failed++;
	daemon_log(DAEMON_ERROR, "sandbox.failed", TEXT_FIELD("error", reason));
	error_set(&err, 0, "start a sandbox: %.400s", reason);
	err.code = EIO;
	sandbox_answer(&l->done_waiters, NULL, &err);
	sandbox_answer(&l->kill_waiters, NULL, NULL);
	sandbox_unlink_and_free(s);
	sandboxes_check_stopped(all);
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
	life_of(s)->cell = NULL;
	if (s->record.state == SANDBOX_STARTING && !sandboxes_of(s)->stopping)
		start_cold(s);
	else {
		pools_hold(sandboxes_of(s)->pools, true); /* given back by: */
		on_cold_ended(s, NULL, reason);
	}
}

static void on_nothing(void *ctx, struct cell *c)
{
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

static void start_pooled(struct sandbox *s, struct cell *cell)
{
	uint8_t body[64];
	struct wire_out o = { body, 0, sizeof(body), false };
	struct life *l = life_of(s);
	l->from_pool = true;
	l->cell = cell;
	cell_set_owner(cell, &pooled_events, s);
	wire_put_str(&o, s->record.id);
	(void)runtime_call(cell->runtime, WIRE_SET_HOSTNAME, &o, -1, on_hostname, s);
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

static bool fill_record(struct sandbox *s, const struct sandbox_spec *spec,
			const struct template_record *t)
{
	struct sandbox_record *r = &s->record;
	bool complete = true;
	make_id(s->server, r->id);
	memcpy(r->template_id, t->id, sizeof(r->template_id));
	r->alias = copy(t->name_count ? t->names[0] : NULL, &complete);
	r->key_id = spec->key_id;
	r->state = SANDBOX_STARTING;
	r->cpu_count = t->cpu_count;
	r->memory_mb = t->memory_mb;
	r->disk_mb = t->disk_mb;
	r->metadata = copy(spec->metadata, &complete);
	r->env = copy(spec->env, &complete);
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
				   const struct template_record *t)
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
	bool complete = fill_record(s, spec, t);
	sandbox_link(s);
	limits_count(s, true, true);
	if (complete)
		return s;
	sandbox_unlink_and_free(s);
	return NULL;
}

static int check_spec(struct server *server, const struct sandbox_spec *spec,
		      struct template_record *t, unsigned int *ret_retry_s, struct error *err)
{
	struct sandboxes *all = server->sandboxes;
	uint64_t max_s = server->config->timeout_max_ns / NSEC_PER_SEC;
	*ret_retry_s = 0;
	if (all->stopping)
		return error_set(err, ECANCELED, "the server stops");
	int r = template_find(server->store, spec->template, t);
	if (r < 0) {
		error_set(err, 0, "template '%.100s' not found", spec->template);
		err->code = r == -EINVAL ? ENOENT : -r;
		return -err->code;
	}
	if (spec->timeout_s > max_s)
		return error_set(err, ERANGE, "timeout of %u s (the most is %llu s, timeout_max)",
				 spec->timeout_s, (unsigned long long)max_s);
	struct cell_shape shape;
	cell_shape_make(server, t->cpu_count, t->memory_mb, t->disk_mb, &shape);
	return limits_check(all, spec->key_id, &shape, true, ret_retry_s, err);
}

static bool is_for_code(const struct template_record *t)
{
	return t->builtin && strcmp(t->id, TEMPLATE_CODE) == 0;
}

void sandbox_create(struct server *server, const struct sandbox_spec *spec, sandbox_done_fn fn,
		    void *ctx)
{
	struct template_record t;
	struct cell_shape shape;
	struct error err;
	unsigned int retry_s;
	if (check_spec(server, spec, &t, &retry_s, &err) < 0) {
		fn(ctx, NULL, &err, retry_s);
		return;
	}
	struct sandbox *s = sandbox_new(server, spec, &t);
	if (!s || sandbox_add_waiter(&life_of(s)->done_waiters, fn, ctx) < 0) {
		if (s)
			sandbox_unlink_and_free(s);
		sandbox_refuse(fn, ctx, ENOMEM, "out of memory");
		return;
	}
	sandbox_shape(s, &shape);
	enum pool_kind kind = is_for_code(&t) ? POOL_CODE : POOL_PLAIN;
	struct cell *cell = pools_take(server->sandboxes->pools, kind, &shape, &life_of(s)->pool);
	if (cell)
		start_pooled(s, cell);
	else
		start_cold(s);
}
