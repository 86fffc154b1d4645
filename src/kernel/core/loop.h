/*
 * The event loop: one epoll set over the seccomp listener, pidfds, the control channel and watched
 * host descriptors, plus the timer heap and the run queue.
 */
#pragma once

/* Runs until sandbox_end() (core/sandbox.h) was called. 0 or -errno of the host's epoll. */
int loop_run(void);
