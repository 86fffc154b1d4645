/* Small host services of the control side. */
#pragma once

#include <stddef.h>
#include <stdint.h>

void host_channel_wait_writable(int fd); /* at most a second */
void host_format_error(char *dst, size_t capacity, int error, const char *what);
_Noreturn void host_exit(int code);
void host_close(int fd);
/* CPU time of this process, ns. */
uint64_t host_cpu_ns(void);
