/* The seccomp listener: where guest system calls arrive and leave. seccomp_unotify(2). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct notification {
	uint64_t id;
	int host_tid;
	int nr;
	uint64_t ip;
	uint64_t args[6];
};

/* Adopts the listener descriptor and asks for synchronous wake-ups; *ret_sync tells if it got them. */
int host_notify_init(int fd, bool *ret_sync);
/* 1 = one received, 0 = none (the thread went away), -errno. Call when the descriptor is readable. */
int host_notify_receive(struct notification *ret);
/*
 * How many the guests made and took back before they were received, as the numbers tell: all that
 * are older than the last one received.
 */
uint64_t host_notify_missed(void);
/* Waits until there is one, before the event loop does that. 0, or -ETIMEDOUT. */
int host_notify_wait(int timeout_ms);
/*
 * Answers. 0, or -ENOENT when the thread no longer waits. After 0 a thread that a signal is just
 * waking may still not get it: task/past.c.
 */
int host_notify_reply(uint64_t id, long result);
int host_notify_continue(uint64_t id);
bool host_notify_valid(uint64_t id);
/* Installs `host_fd` at `guest_fd` in the waiting thread's table, close-on-exec. 0 or -errno. */
int host_notify_add_fd(uint64_t id, int host_fd, int guest_fd);
/* The same, and the number is the answer to the call, in one step. */
int host_notify_reply_fd(uint64_t id, int host_fd, int guest_fd);
