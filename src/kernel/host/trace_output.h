/* The descriptor that --trace lines go to. */
#pragma once

#include <stddef.h>

void host_trace_open(int fd); /* takes ownership */
/* Blocks when the reader is slow: a trace without holes is worth more than speed. */
void host_trace_write(const char *text, size_t size);
