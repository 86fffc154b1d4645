#include "kernel/host/trace_output.h"

#include <errno.h>
#include <unistd.h>

static int trace_fd = -1;

void host_trace_open(int fd)
{
	trace_fd = fd;
}

/* host-syscalls: write */
void host_trace_write(const char *text, size_t size)
{
	while (size) {
		ssize_t n = write(trace_fd, text, size);
		if (n < 0 && errno != EINTR)
			return; /* reader gone: the program matters more */
		if (n > 0) {
			text += n;
			size -= (size_t)n;
		}
	}
}
