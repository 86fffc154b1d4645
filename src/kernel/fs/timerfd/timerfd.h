/* timerfd_create(2). The calls are declared in kernel/abi/syscalls.h. */
#pragma once

struct file_ops;
struct timer;
extern const struct file_ops timerfd_file_ops; /* FOPS_TIMERFD */

void timerfd_timer_fired(struct timer *t);
