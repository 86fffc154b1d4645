/* Between call.c and dispatch.c. */
#pragma once

#include "kernel/core/call.h"

int call_init(void);
struct call *call_next_woken(void); /* NULL = run queue empty */
bool call_any_woken(void);
void call_drop_waiters(struct call *c);
void call_finish(struct call *c);
/* Moves the blocked thread from the notification to rt_sigsuspend. -EINTR, -ESRCH: it left. */
int call_park(struct call *c);
void call_timer_fired(struct timer *t);
