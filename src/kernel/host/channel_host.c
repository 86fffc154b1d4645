#include "kernel/host/channel_host.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* host-syscalls: poll sendto sendmsg recvmsg */
void host_channel_wait_writable(int fd)
{
	struct pollfd p = { fd, POLLOUT, 0 };
	poll(&p, 1, 1000);
}

void host_format_error(char *dst, size_t capacity, int error, const char *what)
{
	snprintf(dst, capacity, "%s: %s", what, strerror(error < 0 ? -error : error));
}

/* host-syscalls: exit_group */
void host_exit(int code)
{
	_exit(code);
}

void host_close(int fd)
{
	close(fd);
}

/* host-syscalls: getrusage */
uint64_t host_cpu_ns(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_SELF, &u) < 0)
		return 0;
	return ((uint64_t)u.ru_utime.tv_sec + (uint64_t)u.ru_stime.tv_sec) * 1000000000ull +
	       ((uint64_t)u.ru_utime.tv_usec + (uint64_t)u.ru_stime.tv_usec) * 1000ull;
}
