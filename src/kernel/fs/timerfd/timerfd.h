/* timerfd_create(2). The calls are declared in kernel/abi/syscalls.h. */
#pragma once

struct file_ops;
struct timer;
extern const struct file_ops timerfd_file_ops; /* FOPS_TIMERFD */

void timerfd_timer_fired(struct timer *t);

/*
 * The wall clock was set (a restored sandbox finds another time): absolute CLOCK_REALTIME timers
 * are armed again for their wall time, those with TFD_TIMER_CANCEL_ON_SET are cancelled.
 */
void timerfd_clock_was_set(void);
