/* Shared by poll.c and select.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/core/call.h"

struct file;

#define POLL_FOREVER UINT64_MAX

/* Waits on the queues of `f` that tell of `events` (EPOLL* bits). 0 or -ENOMEM. */
int poll_wait_on(struct call *c, struct file *f, uint32_t events);

/* False: the call answers now, ready or not (no timeout, or it passed). */
bool poll_must_wait(const struct call *c, uint64_t timeout_ns);
/* Sets the deadline; the queues are registered already. CALL_BLOCK or -ENOMEM. */
long poll_block(struct call *c, uint64_t timeout_ns);

/* Time left until the call's deadline, ns; 0 when it has none. */
uint64_t poll_time_left(const struct call *c);
