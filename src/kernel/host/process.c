#include "kernel/host/process.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/host/poll.h"
#include "kernel/host/libc.h"

static uint64_t watch_limit;

void host_process_limit(uint64_t descriptors)
{
	watch_limit = descriptors;
}

bool host_process_room(uint64_t processes)
{
	return processes <= watch_limit;
}

/* host-syscalls: pidfd_open close */
int host_process_watch(int host_pid)
{
	int fd = (int)syscall(SYS_pidfd_open, host_pid, 0);
	if (fd < 0)
		return -errno;
	int r = host_poll_add(fd, POLL_PIDFD, (uint64_t)host_pid, EPOLLIN | EPOLLET);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

void host_process_forget(int pidfd)
{
	close(pidfd); /* leaves the epoll set with its last descriptor */
}

/* host-syscalls: kill tgkill */
int host_signal_process(int host_pid, int sig)
{
	return kill(host_pid, sig) < 0 ? -errno : 0;
}

int host_signal_thread(int host_pid, int host_tid, int sig)
{
	return tgkill(host_pid, host_tid, sig) < 0 ? -errno : 0;
}
