/*
 * What happens when a timer fires, by kind. The functions are weak so that a unit test can link
 * the timers without the whole kernel; an absent one is skipped.
 */
#include <stddef.h>

#include "kernel/core/timer.h"

#define TIMER_FN(fn) void fn(struct timer *t) __attribute__((weak))

TIMER_FN(call_timer_fired);
TIMER_FN(timerfd_timer_fired);
TIMER_FN(signalfd_timer_fired);
TIMER_FN(tty_timer_fired);
TIMER_FN(inet_timer_fired);
TIMER_FN(sandbox_timer_fired);

const timer_fn timer_ops[TIMER_OP_MAX] = {
	[TIMER_NONE] = NULL,
	[TIMER_CALL] = call_timer_fired,
	[TIMER_TIMERFD] = timerfd_timer_fired,
	[TIMER_TTY] = tty_timer_fired,
	[TIMER_INET] = inet_timer_fired,
	[TIMER_SANDBOX] = sandbox_timer_fired,
	[TIMER_SIGNALFD] = signalfd_timer_fired,
};
