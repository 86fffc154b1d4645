/*
 * --trace: every served call as one line, in the manner of strace(1), formatted from the words of
 * the system call table. Natively executed calls are not seen and so not shown.
 */
#pragma once

#include <stdbool.h>

struct call;

/* Where lines go; takes ownership. */
void trace_start(int host_fd);
bool trace_enabled(void);
/* Remembers the arguments as they are before the handler runs. */
void trace_enter(struct call *c);
/* Writes the line. `result` may be a sentinel. */
void trace_leave(struct call *c, long result);
