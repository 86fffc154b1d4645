/*
 * Pause and resume.
 *
 *   PAUSING:  [REBOOT, without memory] -> FREEZE -> control group frozen (where it can be) -> PAUSED
 *   RESUMING: control group thawed -> THAW -> [REBOOT, without memory] -> RUNNING
 *
 * A resume that comes while it is PAUSING waits for that and goes on from there: traffic that meets a
 * sandbox in the moment of its pause is served like a moment later.
 *
 * The kernel process stops its guests itself; the frozen control group on top makes sure that a paused
 * sandbox uses no CPU at all, whatever it has become.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "server/config/config.h"
#include "server/observe/log.h"
#include "server/observe/logs.h"
#include "server/runtime/launcher.h"
#include "server/runtime/runtime.h"
#include "server/sandbox/sandbox_internal.h"
#include "server/store/store.h"

static void refuse_state(struct sandbox *s, sandbox_done_fn fn, void *ctx, int code)
{
	char text[128];
	snprintf(text, sizeof(text), "sandbox %s is %s", s->record.id,
		 sandbox_state_name(s->record.state));
	sandbox_refuse(fn, ctx, code, text);
}

/* ---- steps back ---- */

/* The kernel process did not do it but lives: as it was before. One that died is an end, which answers;
 * an answer after that comes too late for anything. */
static void fail_pause(struct sandbox *s, const char *what, const struct runtime_answer *a)
{
	struct error err;
	if (s->record.state != SANDBOX_PAUSING || a->error == ESHUTDOWN)
		return;
	error_set(&err, a->error, "%s: %.200s", what, a->message);
	sandbox_set_state(s, SANDBOX_RUNNING);
	cell_running(life_of(s)->cell, s);
	limits_count(s, true, true);
	/* The clock stood still for a moment only. */
	struct error ignored;
	(void)sandbox_start_clock(s, life_of(s)->timeout_s, &ignored);
	(void)sandbox_write(s, &ignored);
	sandbox_answer(&life_of(s)->done_waiters, s, &err);
	sandbox_answer(&life_of(s)->resume_waiters, s, NULL);
}

static void begin_resume(struct sandbox *s, bool memory);

/* ---- pause ---- */

static void finish_pause(struct sandbox *s)
{
	struct error err;
	sandbox_set_state(s, SANDBOX_PAUSED);
	limits_count(s, true, false);
	s->record.end_us = store_now_us();
	(void)sandbox_write(s, &err);
	daemon_log(DAEMON_INFO, "sandbox.paused", TEXT_FIELD("sandbox", s->record.id));
	log_add(s, LOG_INFO, "sandbox", "paused", "{\"event\":\"paused\"}");
	sandbox_answer(&life_of(s)->done_waiters, s, NULL);
	if (s->record.state == SANDBOX_PAUSED && !list_empty(&life_of(s)->resume_waiters)) {
		list_splice_tail(&life_of(s)->done_waiters, &life_of(s)->resume_waiters);
		begin_resume(s, true);
	}
}

static void on_group_frozen(void *ctx, const struct launcher_usage *usage, const struct error *err)
{
	struct sandbox *s = ctx;
	if (s->record.state != SANDBOX_PAUSING)
		return;
	life_of(s)->cell->frozen = !err;
	finish_pause(s);
}

static void on_frozen(void *ctx, const struct runtime_answer *a)
{
	struct sandbox *s = ctx;
	if (a->error)
		fail_pause(s, "freeze", a);
	else if (s->record.state == SANDBOX_PAUSING)
		launcher_freeze(s->server->launcher, life_of(s)->cell->launch_id, true,
				on_group_frozen, s);
}

static void on_rebooted(void *ctx, const struct runtime_answer *a)
{
	struct sandbox *s = ctx;
	if (a->error) {
		fail_pause(s, "end the processes", a);
		return;
	}
	if (s->record.state != SANDBOX_PAUSING)
		return;
	sandbox_call_gone(s);
	(void)runtime_call(s->runtime, WIRE_FREEZE, NULL, -1, on_frozen, s);
}

void sandbox_pause(struct sandbox *s, bool memory, sandbox_done_fn fn, void *ctx)
{
	enum sandbox_state state = s->record.state;
	struct error err;
	if (state != SANDBOX_RUNNING) {
		refuse_state(s, fn, ctx,
			     state == SANDBOX_PAUSED || state == SANDBOX_PAUSING ? EALREADY
			     : state == SANDBOX_ENDING				 ? ESRCH
										 : EBUSY);
		return;
	}
	if (sandbox_add_waiter(&life_of(s)->done_waiters, fn, ctx) < 0) {
		sandbox_refuse(fn, ctx, ENOMEM, "out of memory");
		return;
	}
	sandbox_set_state(s, SANDBOX_PAUSING);
	sandbox_stop_clock(s);
	(void)sandbox_write(s, &err);
	sandbox_cut(s);
	if (memory)
		(void)runtime_call(s->runtime, WIRE_FREEZE, NULL, -1, on_frozen, s);
	else
		(void)runtime_call(s->runtime, WIRE_REBOOT, NULL, -1, on_rebooted, s);
}

/* ---- resume ---- */

static void finish_resume(struct sandbox *s)
{
	struct error err;
	int r = sandbox_start_clock(s, life_of(s)->timeout_s, &err);
	sandbox_set_state(s, SANDBOX_RUNNING);
	cell_running(life_of(s)->cell, s);
	s->generation++;
	if (r == 0)
		r = sandbox_write(s, &err);
	daemon_log(DAEMON_INFO, "sandbox.resumed", TEXT_FIELD("sandbox", s->record.id));
	log_add(s, LOG_INFO, "sandbox", "resumed", "{\"event\":\"resumed\"}");
	sandbox_answer(&life_of(s)->done_waiters, s, r < 0 ? &err : NULL);
}

/* One that cannot go on is of no use to anybody; one that died ends by itself, with a better reason. */
static void fail_resume(struct sandbox *s, const char *what, int error, const char *message)
{
	char text[300];
	snprintf(text, sizeof(text), "%s: %.200s", what, message);
	if (s->record.state == SANDBOX_RESUMING && error != ESHUTDOWN)
		sandbox_begin_end(s, text);
}

static void on_fresh(void *ctx, const struct runtime_answer *a)
{
	struct sandbox *s = ctx;
	if (a->error) {
		fail_resume(s, "end the processes", a->error, a->message);
	} else if (s->record.state == SANDBOX_RESUMING) {
		sandbox_call_gone(s);
		finish_resume(s);
	}
}

static void on_thawed(void *ctx, const struct runtime_answer *a)
{
	struct sandbox *s = ctx;
	if (a->error)
		fail_resume(s, "thaw", a->error, a->message);
	else if (s->record.state != SANDBOX_RESUMING)
		return;
	else if (life_of(s)->resume_reboots)
		(void)runtime_call(s->runtime, WIRE_REBOOT, NULL, -1, on_fresh, s);
	else
		finish_resume(s);
}

static void on_group_thawed(void *ctx, const struct launcher_usage *usage, const struct error *err)
{
	struct sandbox *s = ctx;
	if (s->record.state != SANDBOX_RESUMING)
		return;
	if (err) {
		fail_resume(s, "thaw", err->code, err->message);
		return;
	}
	life_of(s)->cell->frozen = false;
	(void)runtime_call(s->runtime, WIRE_THAW, NULL, -1, on_thawed, s);
}

static void begin_resume(struct sandbox *s, bool memory)
{
	struct life *l = life_of(s);
	struct error err;
	sandbox_set_state(s, SANDBOX_RESUMING);
	limits_count(s, true, true);
	(void)sandbox_write(s, &err);
	l->resume_reboots = !memory;
	if (l->cell->frozen)
		launcher_freeze(s->server->launcher, l->cell->launch_id, false, on_group_thawed, s);
	else
		(void)runtime_call(s->runtime, WIRE_THAW, NULL, -1, on_thawed, s);
}

static void extend(struct sandbox *s, uint32_t timeout_s, sandbox_done_fn fn, void *ctx)
{
	struct error err;
	int r = sandbox_set_timeout(s, timeout_s, true, &err);
	if (r == 0)
		error_say(&err, EALREADY, "sandbox %s is running", s->record.id);
	fn(ctx, s, &err, 0);
}

void sandbox_resume(struct sandbox *s, uint32_t timeout_s, bool memory, sandbox_done_fn fn,
		    void *ctx)
{
	const struct sandbox_record *r = &s->record;
	struct cell_shape shape;
	unsigned int retry_s = 0;
	struct error err;
	sandbox_shape(s, &shape);
	if (timeout_s == 0)
		timeout_s = MAX(life_of(s)->timeout_s, 1u);
	if (r->state == SANDBOX_RUNNING) {
		extend(s, timeout_s, fn, ctx);
		return;
	}
	if (r->state == SANDBOX_STARTING || r->state >= SANDBOX_ENDING) {
		refuse_state(s, fn, ctx, r->state == SANDBOX_STARTING ? EBUSY : ESRCH);
		return;
	}
	if (timeout_s > s->server->config->timeout_max_ns / NSEC_PER_SEC) {
		sandbox_refuse(fn, ctx, ERANGE, "the timeout is longer than timeout_max");
		return;
	}
	if (r->state == SANDBOX_PAUSED &&
	    limits_check(sandboxes_of(s), r->key_id, &shape, false, &retry_s, &err) < 0) {
		fn(ctx, s, &err, retry_s);
		return;
	}
	if (sandbox_add_waiter(r->state == SANDBOX_PAUSING ? &life_of(s)->resume_waiters
							   : &life_of(s)->done_waiters,
			       fn, ctx) < 0) {
		sandbox_refuse(fn, ctx, ENOMEM, "out of memory");
		return;
	}
	if (r->state == SANDBOX_PAUSED) {
		life_of(s)->timeout_s = timeout_s;
		begin_resume(s, memory);
	} else {
		life_of(s)->timeout_s = MAX(life_of(s)->timeout_s, timeout_s);
	}
}
