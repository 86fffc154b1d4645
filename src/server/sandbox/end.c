/* Ends of sandboxes, and of all of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/config/config.h"
#include "server/observe/counters.h"
#include "server/observe/log.h"
#include "server/observe/logs.h"
#include "server/sandbox/sandbox_internal.h"
#include "server/store/store.h"

static void set_reason(struct sandbox *s, const char *reason)
{
	struct life *l = life_of(s);
	if (!l->reason && reason[0])
		l->reason = strdup(reason); /* without memory the cell's own reason is used */
}

void sandbox_begin_end(struct sandbox *s, const char *reason)
{
	struct life *l = life_of(s);
	set_reason(s, reason);
	if (s->record.state == SANDBOX_ENDING)
		return;
	sandbox_set_state(s, SANDBOX_ENDING);
	sandbox_stop_clock(s);
	copies_stop(s);
	if (l->cell)
		cell_end(l->cell, reason);
	/* Who is cut takes back what it asked of the runtime: before there is none. */
	sandbox_cut(s);
	s->runtime = NULL;
}

/* The last step. The sandbox is still whole for those who waited. */
static void finish(struct sandbox *s, const char *reason)
{
	struct sandboxes *all = sandboxes_of(s);
	struct life *l = life_of(s);
	struct error err, why;
	free(s->record.reason);
	s->record.reason = l->reason ? l->reason : strdup(reason);
	l->reason = NULL;
	sandbox_set_state(s, SANDBOX_ENDED);
	s->record.ended_us = store_now_us();
	(void)sandbox_write(s, &err); /* should it fail, the next start ends the record */
	counters.ended++;
	daemon_log(DAEMON_INFO, "sandbox.ended", TEXT_FIELD("sandbox", s->record.id),
		   TEXT_FIELD("reason", s->record.reason));
	log_add(s, LOG_INFO, "sandbox", s->record.reason ? s->record.reason : "ended",
		"{\"event\":\"ended\"}");
	sandbox_call_gone(s);
	error_set(&why, 0, "sandbox %s ended: %.300s", s->record.id,
		  s->record.reason ? s->record.reason : "");
	why.code = ESRCH;
	copies_answer(s, &why);
	sandbox_answer(&l->done_waiters, s, &why);
	sandbox_answer(&l->resume_waiters, s, &why);
	sandbox_answer(&l->kill_waiters, s, NULL);
	sandbox_unlink_and_free(s);
	sandboxes_check_stopped(all);
}

/* ---- the cell of a sandbox that was given to its creator ---- */

static void on_ready(void *ctx, struct cell *c)
{
}

static void on_ending(void *ctx, struct cell *c)
{
	struct sandbox *s = ctx;
	sandbox_begin_end(s, "");
}

static void on_ended(void *ctx, struct cell *c, const char *reason)
{
	struct sandbox *s = ctx;
	life_of(s)->cell = NULL;
	finish(s, reason);
}

const struct cell_events sandbox_cell_events = { on_ready, on_ended, on_ending };

void sandbox_kill(struct sandbox *s, const char *reason, sandbox_done_fn fn, void *ctx)
{
	if (sandbox_add_waiter(&life_of(s)->kill_waiters, fn, ctx) < 0) {
		sandbox_refuse(fn, ctx, ENOMEM, "out of memory");
		return;
	}
	sandbox_begin_end(s, reason);
}

/* ---- all of them ---- */

void sandboxes_check_stopped(struct sandboxes *all)
{
	if (!all->stopping || !all->pool_stopped || !list_empty(&all->all) || !all->stopped)
		return;
	void (*stopped)(void *ctx) = all->stopped;
	all->stopped = NULL;
	stopped(all->stopped_ctx);
}

static void on_pool_stopped(void *ctx)
{
	struct sandboxes *all = ctx;
	all->pool_stopped = true;
	sandboxes_check_stopped(all);
}

void sandboxes_stop(struct server *server, const char *reason, void (*done)(void *ctx), void *ctx)
{
	struct sandboxes *all = server->sandboxes;
	struct sandbox *s, *next;
	all->stopping = true;
	all->stopped = done;
	all->stopped_ctx = ctx;
	list_for_each_safe(s, next, &all->all, link) {
		sandbox_kill(s, reason, NULL, NULL);
	}
	pools_stop(all->pools, on_pool_stopped, all);
}
