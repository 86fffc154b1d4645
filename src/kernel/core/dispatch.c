/*
 * Dispatch: finds the task of a notification, the row of its number, runs the handler, answers.
 *
 * Three things can make a notification something other than a fresh call:
 *  - become: the thread repeats a call that we changed (exec, shmat). Let through.
 *  - an old blocked call of the same thread: that one was interrupted by a signal, or by a freeze of
 *    the sandbox, after which it goes on.
 *  - an answer that the thread did not get, because a signal took it out of the notification
 *    first: what was lost is recorded, and made good when the handler returns (task/sigreturn.c).
 *    When no handler ran (the thread was stopped and continued) the host restarts the call at
 *    once: it is the thread's next notification, and gets its result here. So is a call that had
 *    yielded when its handler has returned: it goes on here.
 */
#include "kernel/core/dispatch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/util.h"
#include "kernel/abi/stub.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/call_internal.h"
#include "kernel/core/clock.h"
#include "kernel/core/limits.h"
#include "kernel/core/trace.h"
#include "kernel/fs/file.h"
#include "kernel/host/notify.h"
#include "kernel/net/unix/unix.h"
#include "kernel/task/birth.h"
#include "kernel/task/exec.h"
#include "kernel/task/stub_calls.h"
#include "kernel/task/life.h"
#include "kernel/task/sigreturn.h"

#define WOKEN_NS (2 * NSEC_PER_MSEC) /* for woken calls before others have their turn */

static uint64_t served, refused;
static uint32_t refused_by_number[SYSCALL_TABLE_SIZE];

int dispatch_init(void)
{
	return call_init();
}

/* Arguments the call has: the registers of the others hold anything. */
static unsigned argument_count(int nr)
{
	const char *trace = (unsigned)nr < SYSCALL_TABLE_SIZE ? syscall_table[nr].trace : NULL;
	unsigned count = 0;

	if (!trace)
		return 6;
	for (const char *p = trace; *p; p++)
		count += *p != ' ' && (p == trace || p[-1] == ' ');
	return count ? MIN(count, 6u) : 6;
}

/* The thread is back although an older call of it is blocked here: that one was interrupted. */
static void drop_interrupted(struct task *t)
{
	struct call *old = t->call;

	if (!old)
		return;
	if (old->yielded)
		lost_add(old, LOST_RESUME, old->partial);
	else if (old->partial > 0)
		lost_add(old, LOST_RESULT, old->partial);
	else
		lost_add(old, old->no_restart ? LOST_NO_RESTART : LOST_INTERRUPTED, -EINTR);
	call_cancel(old);
}

static void run(struct call *c);
static void begin(struct task *t, const struct notification *n, const struct lost_call *before);

/* The thread was frozen in a blocked call and makes it again: that one goes on. True if it is so. */
static bool resumed(struct task *t, const struct notification *n)
{
	struct call *c = t->call;

	if (!c || !c->held)
		return false;
	c->held = false;
	if (c->nr != n->nr || c->ip != n->ip ||
	    memcmp(c->args, n->args, argument_count(n->nr) * sizeof(n->args[0])) != 0)
		return false; /* a handler runs first */
	c->id = n->id;
	list_del(&c->run_link);
	call_drop_waiters(c);
	if (c->deadline && c->deadline != UINT64_MAX && !c->timed_out && !timer_armed(&c->timer) &&
	    timer_arm(&c->timer, TIMER_CALL, c->deadline) < 0)
		c->timed_out = true;
	run(c);
	return true;
}

/*
 * The call that was lost last, once more: the host restarted it, no handler in between, or it is to
 * go on. True if served.
 */
static bool restarted(struct task *t, const struct notification *n)
{
	struct lost_call *l = t->lost_count ? &t->lost[t->lost_count - 1] : NULL;
	bool fresh = t->lost_fresh;

	t->lost_fresh = false;
	if (!l || !fresh || l->nr != n->nr || l->ip != n->ip ||
	    memcmp(l->args, n->args, argument_count(n->nr) * sizeof(n->args[0])) != 0)
		return false;
	t->lost_count--;
	if (l->kind == LOST_EARLY || l->kind == LOST_EARLY_RESTART ||
	    (l->kind == LOST_RESUME && fd_file(t, (int)l->args[0]) == l->file)) {
		begin(t, n, l);
		return true;
	}
	/* The handler put another file in its place: what was moved is the result. */
	if (l->kind != LOST_RESULT && l->kind != LOST_RESUME)
		return false; /* run it again */
	past_begin(&t->past, n->nr, n->ip, n->args);
	if (host_notify_reply(n->id, l->result) < 0) {
		t->lost_count++;
		t->lost_fresh = true;
	} else {
		past_answered(&t->past, l->result, host_notify_missed());
	}
	return true;
}

static bool becoming(struct task *t, const struct notification *n)
{
	if (!t->become.armed)
		return false;
	t->become.armed = false;
	if (t->become.nr != n->nr || memcmp(t->become.args, n->args, sizeof(n->args)) != 0)
		return false;
	if (host_notify_continue(n->id) == 0)
		t->become.first_nr = 0;
	return true;
}

/* The thread executes the call itself. */
static void let_through(struct call *c)
{
	if (trace_enabled())
		trace_leave(c, CALL_CONTINUE);
	if (host_notify_continue(c->id) == 0)
		return;
	if (c->nr != SYS_rt_sigreturn) /* a lost rt_sigreturn is recognised by itself */
		lost_add(c, LOST_AGAIN, 0);
	c->task->leaving = LEAVING_NOT;
}

static void complete(struct call *c, long result)
{
	switch (result) {
	case CALL_DONE:
	case CALL_DEFER:
		break;
	case CALL_CONTINUE:
		let_through(c);
		break;
	default:
		if (!call_reply(c, result))
			lost_add(c, LOST_RESULT, result);
		break;
	}
	call_finish(c);
}

static long run_handler(struct call *c)
{
	const struct syscall_row *row =
		(unsigned)c->nr < SYSCALL_TABLE_SIZE ? &syscall_table[c->nr] : NULL;

	if (c->nr == STUB_CALL_NR)
		return stub_call(c);
	if (row && row->handler)
		return row->handler(c);
	refused++;
	if (row)
		refused_by_number[c->nr]++;
	if (row && row->class == SYSCALL_REFUSED)
		return -(long)row->refuse_errno;
	/* Native calls with arguments the filter does not let through; numbers Linux does not have. */
	return row && row->class == SYSCALL_NATIVE ? -EPERM : -ENOSYS;
}

/* A signal has come that would have ended its waiting. With a mask of its own it waits for others. */
static bool must_not_wait(const struct call *c)
{
	return c->early && !c->yielded && !c->has_sigmask && (c->early == LOST_EARLY || c->no_restart);
}

static uint64_t shortages(void)
{
	return limit_refused(LIMIT_BUFFER_BYTES) + limit_refused(LIMIT_FILES);
}

/* What a call is refused for may be held by sockets that nobody can reach: they go, and it runs again. */
static long run_with_enough(struct call *c)
{
	uint64_t before = shortages();
	long result = run_handler(c);
	bool is_short = result == -ENOMEM || result == -ENOBUFS || result == -ENFILE;

	if (is_short && shortages() != before && !c->traced && unix_gc_urgent())
		result = run_handler(c);
	return result;
}

/* Runs the handler and files the call where its result says. */
static void run(struct call *c)
{
	struct task *t = c->task;
	long result = run_with_enough(c);

	if (result == CALL_BLOCK && must_not_wait(c))
		result = c->partial > 0 ? c->partial : -EINTR;
	if (result != CALL_BLOCK) {
		complete(c, result);
		if (t->leaving)
			task_left(t);
		return;
	}
	bool first = !c->retry;
	c->retry = true;
	t->call = c;
	/* A thread that left meanwhile shows up again or dies: then this call is dropped. */
	if (first && c->has_sigmask)
		(void)call_park(c);
}

/* `before`: what the call is to know of its first attempt, or NULL. */
static void begin(struct task *t, const struct notification *n, const struct lost_call *before)
{
	struct call *c = t->slot;

	memset(c, 0, sizeof(*c));
	list_init(&c->waiters);
	list_init(&c->run_link);
	c->task = t;
	c->id = n->id;
	c->nr = n->nr;
	c->ip = n->ip;
	memcpy(c->args, n->args, sizeof(c->args));
	if (before && before->kind == LOST_RESUME)
		c->progress = (uint64_t)before->result;
	else if (before)
		c->early = before->kind;
	if (n->nr != SYS_rt_sigreturn)
		past_begin(&t->past, n->nr, n->ip, n->args);
	t->call_count++;
	served++;
	if (trace_enabled())
		trace_enter(c);
	run(c);
}

/* Died since, or there is no memory for it: it cannot go on without a table, but it can end. */
static void dispatch_unknown(const struct notification *n)
{
	if (n->nr != SYS_exit && n->nr != SYS_exit_group) {
		host_notify_reply(n->id, -ENOMEM);
		return;
	}
	struct process *p = birth_process_of(n->host_tid);
	if (host_notify_continue(n->id) == 0 && p)
		birth_unknown_left(p);
}

void dispatch(const struct notification *n)
{
	struct task *t = task_of_notification(n->host_tid);

	if (!t) {
		dispatch_unknown(n);
		return;
	}
	if (!list_empty(&t->proc->pending_clones))
		birth_resolve(t);
	if (resumed(t, n))
		return;
	drop_interrupted(t);
	if (becoming(t, n) || restarted(t, n))
		return;
	exec_settle(t, n->nr);
	begin(t, n, NULL);
}

bool dispatch_woken(void)
{
	uint64_t until = clock_mono() + WOKEN_NS; /* from the beginning of the turn */
	struct call *c;

	while ((c = call_next_woken())) {
		/* Parked threads are outside the notification; their id says nothing. */
		if (!c->parked && !host_notify_valid(c->id)) {
			/* Interrupted; what is to be remembered is remembered when it comes back. */
			call_drop_waiters(c);
			timer_cancel(&c->timer);
			continue;
		}
		call_drop_waiters(c);
		run(c);
		if (!call_any_woken())
			break;
		/* Many may wake at once and have much to do, and some go on waking each other. */
		clock_tick();
		if (clock_mono() >= until)
			break;
	}
	return call_any_woken();
}

uint64_t dispatch_calls_served(void)
{
	return served;
}

uint64_t dispatch_calls_refused(void)
{
	return refused;
}

void dispatch_format_refused(char *dst, uint32_t capacity)
{
	uint32_t length = 0;

	dst[0] = '\0';
	for (int nr = 0; nr < SYSCALL_TABLE_SIZE; nr++) {
		if (!refused_by_number[nr])
			continue;
		int n = snprintf(dst + length, capacity - length, "%s%s=%u", length ? " " : "",
				 syscall_table[nr].name ? syscall_table[nr].name : "unknown",
				 refused_by_number[nr]);
		if (n < 0 || (uint32_t)n >= capacity - length) {
			dst[length] = '\0';
			return;
		}
		length += (uint32_t)n;
	}
}
