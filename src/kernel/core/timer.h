/*
 * One-shot timers on the sandbox's monotonic clock. A timer is embedded in its owner; what happens
 * when it fires is a small integer that indexes timer_ops[] (core/timer_ops.c), never a pointer.
 * Periodic users re-arm in their callback. O(log n) arm and cancel (pairing in a binary heap).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum timer_op {
	TIMER_NONE,
	TIMER_CALL,	/* deadline of a blocked call */
	TIMER_TIMERFD,
	TIMER_TTY,	/* VTIME */
	TIMER_INET,	/* connection timeouts, linger */
	TIMER_SANDBOX,	/* lifetime, periodic accounting */
	TIMER_UNIX_GC,	/* unreachable sockets */
	TIMER_SIGNALFD, /* looks at the pending signals while somebody waits for them */
	TIMER_OP_MAX,
};

struct timer {
	uint64_t deadline;   /* clock_mono ns */
	uint32_t heap_index; /* 1-based; 0 = not armed */
	uint8_t op;	     /* enum timer_op */
};

/* Arms or re-arms. -ENOMEM when the heap cannot grow. */
int timer_arm(struct timer *t, enum timer_op op, uint64_t deadline);
void timer_cancel(struct timer *t); /* fine when not armed */

static inline bool timer_armed(const struct timer *t)
{
	return t->heap_index != 0;
}

/* Event loop: fires what is due; returns ns until the next one, UINT64_MAX when there is none. */
uint64_t timer_run(void);

/* The dispatch table: one function per enum timer_op; called with the timer already disarmed. */
typedef void (*timer_fn)(struct timer *t);
extern const timer_fn timer_ops[TIMER_OP_MAX];
