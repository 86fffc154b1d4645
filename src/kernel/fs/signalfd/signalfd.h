/* signalfd(2). The calls are declared in kernel/abi/syscalls.h. */
#pragma once

struct file_ops;
struct process;
struct task;
struct timer;
extern const struct file_ops signalfd_file_ops; /* FOPS_SIGNALFD */

/*
 * The process has, or is about to have, a new pending signal: somebody sends one (also natively), a
 * child exits. Its signalfds look soon. NULL: any process.
 */
void signalfd_kick(struct process *p);

void signalfd_timer_fired(struct timer *t);

/* poll, select and epoll_wait: whose signals the polls until the next such call ask for. */
void signalfd_set_poller(const struct task *t);
