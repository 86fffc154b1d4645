/*
 * Calls: blocking, waking, answering.
 *
 *            notification
 *                 |
 *              running ---- handler returned a value ----> answered
 *               |   ^
 *     CALL_BLOCK|   |woken (run queue) or deadline passed
 *               v   |
 *              blocked ---- thread interrupted or dead --> cancelled
 *
 * A blocked call normally keeps its thread inside the seccomp notification. With a signal mask to
 * swap (ppoll and friends) the thread is parked instead: made to execute rt_sigsuspend(2) itself,
 * so that the host does the atomic part; the answer then goes in through ptrace.
 */
#include "kernel/core/call.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "kernel/abi/stub.h"
#include "kernel/core/arena.h"
#include "kernel/core/call_internal.h"
#include "kernel/core/clock.h"
#include "kernel/core/trace.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/host/notify.h"
#include "kernel/host/tracee.h"
#include "kernel/task/crossfire.h"
#include "kernel/task/sigreturn.h"
#include "kernel/task/task.h"

struct call_state {
	struct list run_queue;
};

static struct call_state *state;

/* The thread that call_native() holds stopped; only within one handler run. */
static struct tracee held;

static int stop(struct tracee *t, const struct call *c, long nr)
{
	return tracee_stop(t, c->task->proc->host_pid, c->task->host_tid, nr);
}

int call_init(void)
{
	state = arena_root(ROOT_CALL, sizeof(*state));
	if (!state)
		return -ENOMEM;
	if (!state->run_queue.next)
		list_init(&state->run_queue);
	return 0;
}

/* ---- waiting ---- */

int call_wait_on(struct call *c, struct waitq *wq, bool exclusive)
{
	struct waiter *w = knew(struct waiter);

	if (!w)
		return -ENOMEM;
	w->owner = c;
	w->kind = WAITER_CALL;
	w->exclusive = exclusive;
	waitq_add(wq, w);
	list_add_tail(&c->waiters, &w->call_link);
	return 0;
}

long call_block(struct call *c, struct waitq *wq)
{
	int r = call_wait_on(c, wq, false);
	return r < 0 ? r : CALL_BLOCK;
}

void call_drop_waiters(struct call *c)
{
	while (!list_empty(&c->waiters)) {
		struct waiter *w = list_first(&c->waiters, struct waiter, call_link);
		list_del(&w->call_link);
		waiter_del(w);
		kfree(w);
	}
}

static int call_set_deadline(struct call *c, uint64_t deadline)
{
	if (c->deadline)
		return 0;
	c->deadline = deadline;
	return deadline == UINT64_MAX ? 0 : timer_arm(&c->timer, TIMER_CALL, deadline);
}

int call_set_timeout(struct call *c, uint64_t timeout_ns)
{
	/* Not the cached time: the caller may have looked at the clock after this turn began. */
	clock_tick();
	uint64_t now = clock_mono();
	uint64_t deadline = timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns;
	return call_set_deadline(c, deadline);
}

void call_timer_fired(struct timer *t)
{
	struct call *c = container_of(t, struct call, timer);
	c->timed_out = true;
	call_wake(c);
}

void call_wake(struct call *c)
{
	if (!list_linked(&c->run_link))
		list_add_tail(&state->run_queue, &c->run_link);
}

long call_yield(struct call *c, struct file *f, int64_t partial)
{
	struct file *old = c->file;

	c->file = file_get(f);
	file_put(old);
	c->partial = partial;
	c->yielded = true;
	call_wake(c);
	return CALL_BLOCK;
}

struct call *call_next_woken(void)
{
	if (list_empty(&state->run_queue))
		return NULL;
	struct call *c = list_first(&state->run_queue, struct call, run_link);
	list_del(&c->run_link);
	return c;
}

bool call_any_woken(void)
{
	return !list_empty(&state->run_queue);
}

/* Lets go of everything that a call in flight holds. */
void call_finish(struct call *c)
{
	call_drop_waiters(c);
	timer_cancel(&c->timer);
	list_del(&c->run_link);
	if (c->file) {
		struct file *f = c->file;
		c->file = NULL;
		file_put(f);
	}
	kfree(c->trace_text);
	c->trace_text = NULL;
	if (c->task->call == c)
		c->task->call = NULL;
}

void call_cancel(struct call *c)
{
	call_finish(c);
}

/* ---- answering ---- */

/* Takes a parked thread out of rt_sigsuspend. */
static bool unpark(struct call *c, long result)
{
	struct tracee t;

	c->parked = false;
	if (stop(&t, c, SYS_rt_sigsuspend) < 0)
		return false; /* a signal was faster: the thread has EINTR */
	return tracee_finish(&t, result, c->args) == 0;
}

/* For a thread in crossfire: an answer that is known to arrive, or known not to. */
static int reply_held(struct call *c, long result)
{
	struct tracee t;
	int r = stop(&t, c, c->nr);

	return r < 0 ? r : tracee_finish(&t, result, c->args);
}

bool call_reply(struct call *c, long result)
{
	c->task->interrupted_ip = result == -EINTR ? c->ip : 0;
	if (trace_enabled())
		trace_leave(c, result);
	if (c->traced) {
		c->traced = false;
		return tracee_finish(&held, result, c->args) == 0;
	}
	if (c->parked)
		return unpark(c, result);
	int held_back = crossfire_holds(c->task) ? reply_held(c, result) : -EBUSY;
	if (held_back != -EBUSY)
		return held_back == 0;
	if (host_notify_reply(c->id, result) < 0)
		return false;
	past_answered(&c->task->past, result, host_notify_missed());
	return true;
}

long call_signal(struct call *c, int sig, long result)
{
	/* While the thread waits for our answer: a default action kills it here, a handler runs
	 * first and the thread gets `result` when that returns. */
	signal_task(c->task, sig);
	return result;
}

/* ---- the thread does it itself ---- */

int call_set_sigmask(struct call *c, struct uaddr mask, uint64_t size)
{
	uint64_t set;

	if (!mask.v)
		return 0;
	if (size != sizeof(set))
		return -EINVAL;
	if (user_read_u64(c->task, &set, mask) < 0)
		return -EFAULT;
	c->has_sigmask = true;
	c->sigmask_ptr = mask.v;
	return 0;
}

int call_park(struct call *c)
{
	const uint64_t args[6] = { c->sigmask_ptr, sizeof(uint64_t) };
	struct tracee t;
	int r = stop(&t, c, c->nr);

	if (r < 0)
		return r;
	c->parked = true;
	return tracee_become(&t, SYS_rt_sigsuspend, args);
}

static long native_at(struct call *c, uint64_t site, long nr, const uint64_t args[6])
{
	if (!c->traced) {
		int r = stop(&held, c, c->nr);
		if (r < 0)
			return r == -EBUSY ? -EAGAIN : -ESRCH;
		c->traced = true;
	}
	return tracee_run(&held, site, nr, args);
}

long call_native(struct call *c, long nr, const uint64_t args[6])
{
	return native_at(c, 0, nr, args);
}

long call_native_in_stub(struct call *c, long nr, const uint64_t args[6])
{
	return native_at(c, STUB_CALL_SITE, nr, args);
}

long call_become(struct call *c, long nr, const uint64_t args[6])
{
	struct tracee t;
	int r = stop(&t, c, c->nr);

	if (r == -EBUSY)
		return -EAGAIN;
	if (r < 0) {
		lost_add(c, LOST_AGAIN, 0);
		return CALL_DEFER;
	}
	struct become *b = &c->task->become;
	*b = (struct become){ .armed = true, .nr = (int)nr, .first_nr = c->nr, .ip = c->ip };
	memcpy(b->args, args, sizeof(b->args));
	memcpy(b->first_args, c->args, sizeof(b->first_args));
	if (trace_enabled())
		trace_leave(c, CALL_CONTINUE);
	tracee_become(&t, nr, args);
	return CALL_DEFER;
}

int call_inject_fd(struct call *c, int host_fd, int guest_fd)
{
	int r = host_notify_add_fd(c->id, host_fd, guest_fd);
	return r < 0 ? r : 0;
}
