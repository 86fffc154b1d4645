/* What happens when a timer fires, by kind. */
#include <stddef.h>

#include "kernel/core/call_internal.h"
#include "kernel/core/timer.h"
#include "kernel/fs/signalfd/signalfd.h"
#include "kernel/fs/timerfd/timerfd.h"
#include "kernel/fs/tty/tty.h"
#include "kernel/net/inet/inet.h"
#include "kernel/net/unix/unix.h"
#include "kernel/task/meter.h"

const timer_fn timer_ops[TIMER_OP_MAX] = {
	[TIMER_NONE] = NULL,
	[TIMER_CALL] = call_timer_fired,
	[TIMER_TIMERFD] = timerfd_timer_fired,
	[TIMER_TTY] = tty_timer_fired,
	[TIMER_INET] = inet_timer_fired,
	[TIMER_SANDBOX] = sandbox_timer_fired,
	[TIMER_UNIX_GC] = unix_gc_timer_fired,
	[TIMER_SIGNALFD] = signalfd_timer_fired,
};
