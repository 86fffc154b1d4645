/*
 * A guest system call in flight.
 *
 * A handler is a function `long sys_x(struct call *c)`. It returns the value for the guest
 * (>= 0 or -errno), or one of the sentinels below. Handlers never block:
 *
 *   static long sys_thing(struct call *c)
 *   {
 *           ...
 *           if (!ready && !nonblock)
 *                   return call_block(c, &object->waitq);   // run again from the top when woken
 *           ...
 *   }
 *
 * A woken call's handler runs again from the top with the same arguments; what must survive
 * between runs is in c->progress (a number of the handler's own) and the deadline.
 *
 * Answers can get lost: the guest thread may be interrupted by a signal between our receiving the
 * notification and our answering it. Two tools:
 *  - "commit after send": a handler whose effect must not happen twice or get lost (pipe and socket
 *    data) answers itself with call_reply() and only commits when that returned true;
 *    it then returns CALL_DONE.
 *  - for everything else the dispatcher records the result of an unanswered call, and the thread
 *    finds it when its signal handler returns (task/sigreturn.c). Nothing runs twice.
 * The host rarely accepts an answer and loses it; that is found out there, too (task/past.c).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "kernel/core/timer.h"
#include "kernel/core/wait.h"

struct task;
struct file;

/* A guest address. Only user_*() (core/user.h) can look behind it. */
struct uaddr {
	uint64_t v;
};
static inline struct uaddr uaddr(uint64_t v)
{
	return (struct uaddr){ v };
}
static inline struct uaddr uaddr_add(struct uaddr a, uint64_t n)
{
	return (struct uaddr){ a.v + n };
}

struct call {
	uint64_t id; /* seccomp notification id */
	struct task *task;
	int nr;
	uint64_t ip;
	uint64_t args[6];

	uint64_t progress;    /* the handler's own; 0 at the first run */
	uint64_t deadline;    /* clock_mono ns; 0 = none set yet, UINT64_MAX = forever */
	int64_t partial;      /* > 0: bytes already moved for good; an interrupted call's result */
	bool retry;	      /* this is not the first run */
	bool timed_out;	      /* the deadline passed */
	bool yielded;	      /* call_yield(): after an interruption it goes on where it was */
	bool has_sigmask;
	uint64_t sigmask_ptr; /* guest address of the set */
	bool parked;	      /* the thread waits in rt_sigsuspend, not in the notification */
	bool traced;	      /* stopped by call_native(): answered through ptrace */
	bool held;	      /* its thread was frozen and will make it again: control/freeze.c */
	bool no_restart;      /* like poll: after an interruption the answer is EINTR, never a restart */
	uint8_t early;	      /* enum lost_kind: LOST_EARLY* if a signal came before its first run, else 0 */
	struct file *file;     /* reference held while blocked (call_block_file); the dispatcher puts
				   it (file_put) when the call ends or is cancelled */
	struct timer timer;
	struct list waiters;  /* struct waiter.call_link */
	struct list run_link; /* on the run queue */
	char *trace_text; /* --trace: the line so far */
};

/* Sentinels; outside the errno range. */
#define CALL_BLOCK (-10001L)	/* waiting: registered with call_block()/call_wait_on() */
#define CALL_DONE (-10002L)	/* handler answered through call_reply() */
#define CALL_CONTINUE (-10003L) /* let the host kernel execute it (register-only calls) */
#define CALL_DEFER (-10004L)	/* another module owns the answer (exec, rewrites) */

#define CALL_ARG_PTR(c, i) uaddr((c)->args[i])

/*
 * Waits on one more queue. The waiter record belongs to the call. May be called several times
 * (poll), then return CALL_BLOCK. 0 or -ENOMEM.
 */
int call_wait_on(struct call *c, struct waitq *wq, bool exclusive);

/* call_wait_on() + the sentinel: `return call_block(c, wq);` */
long call_block(struct call *c, struct waitq *wq);

/*
 * Sets the deadline relative to now (ns) on the first run only. Handlers call it before blocking;
 * when it passes the handler is run again with c->timed_out set. 0 or -ENOMEM.
 */
int call_set_timeout(struct call *c, uint64_t timeout_ns);

/*
 * Answers now. True: the guest thread has (or will surely get) the result. False: it was
 * interrupted or is gone; the effect must not be committed. After false the handler still returns
 * CALL_DONE.
 */
bool call_reply(struct call *c, long result);

/*
 * ppoll, pselect6, epoll_pwait: the signal mask to be in force while the call waits. Reads the set
 * (-EFAULT, -EINVAL for a wrong size); an absent pointer is fine. If the handler then blocks, the
 * dispatcher parks the thread in the host's own rt_sigsuspend, so that mask swap and handlers are
 * exact, and takes it out again to deliver the answer.
 */
int call_set_sigmask(struct call *c, struct uaddr mask, uint64_t size);

/*
 * Executes a natively allowed system call in the calling thread, for effects that only the thread
 * itself can have (dequeuing its signals, mapping memory). Slow (ptrace), rare. Pointers must be
 * guest addresses; the guest's own buffer may serve as scratch. Returns the call's result.
 * -ESRCH: the thread is gone; return CALL_DONE.
 */
long call_native(struct call *c, long nr, const uint64_t args[6]);
/* The same for a call that is native only from the stub's text (close, mmap of an injected file). A
 * guest that has no stub any more gets what it asked for: -ESRCH, and a signal. */
long call_native_in_stub(struct call *c, long nr, const uint64_t args[6]);

/*
 * Replaces the call: the thread executes `nr` with `args` natively and gets its result.
 * Use as `return call_become(c, nr, args);` (shmat becomes mmap). The host descriptor, if one is
 * needed, must have been installed with call_inject_fd().
 */
long call_become(struct call *c, long nr, const uint64_t args[6]);

/* Installs host descriptor `host_fd` as number `guest_fd` in the caller's host table. 0 or -errno. */
int call_inject_fd(struct call *c, int host_fd, int guest_fd);

/* Puts a blocked call on the run queue: its handler runs again soon. */
void call_wake(struct call *c);

/*
 * For a call that has much to do: lets others have their turn, then runs the handler again.
 * When a signal comes first the call goes on after the signal's handler, with c->progress set to
 * `partial` (bytes moved so far). For calls with the descriptor of `f` as first argument.
 * Use as `return call_yield(...)`.
 */
long call_yield(struct call *c, struct file *f, int64_t partial);

/* Drops a blocked call (its thread died or was interrupted). */
void call_cancel(struct call *c);

/*
 * Raises a signal for the calling thread before the answer `result` goes out, with Linux's order:
 * SIGPIPE before EPIPE, SIGXFSZ before EFBIG. Use as `return call_signal(c, SIGPIPE, -EPIPE);`
 */
long call_signal(struct call *c, int sig, long result);
