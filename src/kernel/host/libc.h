/*
 * Calls and constants of Linux that a small libc does not have. Included by files of host/ that
 * use them; with glibc it adds nothing.
 */
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#ifndef __GLIBC__
struct epoll_event;

#define RWF_NOWAIT 0x8

/* The two position halves of these calls: the low word carries all of it on 64-bit machines. */
static inline ssize_t preadv2(int fd, const struct iovec *iov, int count, off_t offset, int flags)
{
	return syscall(SYS_preadv2, fd, iov, count, offset, 0, flags);
}

static inline ssize_t pwritev2(int fd, const struct iovec *iov, int count, off_t offset, int flags)
{
	return syscall(SYS_pwritev2, fd, iov, count, offset, 0, flags);
}

static inline int tgkill(int pid, int tid, int sig)
{
	return (int)syscall(SYS_tgkill, pid, tid, sig);
}

static inline int epoll_pwait2(int fd, struct epoll_event *events, int max,
			       const struct timespec *timeout, const sigset_t *mask)
{
	return (int)syscall(SYS_epoll_pwait2, fd, events, max, timeout, mask, 8);
}
#endif
