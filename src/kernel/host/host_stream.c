/*
 * Never-blocking reads and writes on descriptors whose O_NONBLOCK is not ours to change.
 *
 * In the order of preference: the description is O_NONBLOCK already (the launcher opened pipes and
 * terminals a second time for us); sockets take MSG_DONTWAIT; preadv2/pwritev2 take RWF_NOWAIT;
 * what is left (odd devices) is asked with poll(2) first and gets small pieces.
 *
 * host-syscalls: read write recvfrom sendto preadv2 pwritev2 poll ioctl(FIONREAD) fcntl fstat
 */
#include "kernel/host/host_stream.h"
#include "kernel/host/libc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/util.h"

#define CAREFUL_SIZE 512u /* a device that polls ready takes that much at once */

int host_stream_examine(struct host_ref *ref, struct host_stream *ret)
{
	struct stat st;
	int fd = host_ref_fd(ref);

	if (fd < 0)
		return fd;
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fstat(fd, &st) < 0)
		return -errno;
	*ret = (struct host_stream){
		.mode = st.st_mode & S_IFMT,
		.flags = (uint32_t)flags & (O_ACCMODE | O_APPEND),
		.nonblocking = flags & O_NONBLOCK,
		.nowait = S_ISFIFO(st.st_mode),
	};
	return 0;
}

static bool ready(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };
	return poll(&p, 1, 0) > 0;
}

static ssize_t read_careful(int fd, void *dst, size_t size)
{
	if (!ready(fd, POLLIN)) {
		errno = EAGAIN;
		return -1;
	}
	return read(fd, dst, size);
}

static ssize_t write_careful(int fd, const void *src, size_t size)
{
	if (!ready(fd, POLLOUT)) {
		errno = EAGAIN;
		return -1;
	}
	return write(fd, src, MIN(size, (size_t)CAREFUL_SIZE));
}

ssize_t host_stream_read(struct host_ref *ref, struct host_stream *s, void *dst, size_t size)
{
	int fd = host_ref_fd(ref);
	ssize_t n;

	if (fd < 0)
		return fd;
	if (s->nonblocking || S_ISREG(s->mode)) {
		n = read(fd, dst, size);
	} else if (S_ISSOCK(s->mode)) {
		n = recv(fd, dst, size, MSG_DONTWAIT);
	} else if (s->nowait) {
		struct iovec iov = { dst, size };
		n = preadv2(fd, &iov, 1, -1, RWF_NOWAIT);
		if (n < 0 && errno == EOPNOTSUPP) {
			s->nowait = false;
			n = read_careful(fd, dst, size);
		}
	} else {
		n = read_careful(fd, dst, size);
	}
	return n < 0 ? -errno : n;
}

ssize_t host_stream_write(struct host_ref *ref, struct host_stream *s, const void *src, size_t size)
{
	int fd = host_ref_fd(ref);
	ssize_t n;

	if (fd < 0)
		return fd;
	if (s->nonblocking || S_ISREG(s->mode)) {
		n = write(fd, src, size);
	} else if (S_ISSOCK(s->mode)) {
		n = send(fd, src, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	} else if (s->nowait) {
		struct iovec iov = { (void *)(uintptr_t)src, size };
		n = pwritev2(fd, &iov, 1, -1, RWF_NOWAIT);
		if (n < 0 && errno == EOPNOTSUPP) {
			s->nowait = false;
			n = write_careful(fd, src, size);
		}
	} else {
		n = write_careful(fd, src, size);
	}
	return n < 0 ? -errno : n;
}

uint32_t host_stream_poll(struct host_ref *ref)
{
	int fd = host_ref_fd(ref);
	struct pollfd p = { .fd = fd,
			    .events = POLLIN | POLLOUT | POLLPRI | POLLRDHUP | POLLRDNORM | POLLWRNORM };

	if (fd < 0 || poll(&p, 1, 0) < 0)
		return EPOLLERR;
	/* The bits of poll and epoll are the same numbers. */
	return (uint16_t)p.revents;
}

int host_stream_available(struct host_ref *ref)
{
	int fd = host_ref_fd(ref), n = 0;

	if (fd < 0)
		return fd;
	return ioctl(fd, FIONREAD, &n) < 0 ? -errno : n;
}

/*
 * Half of a connection that was passed ends while the other half goes on (DIAL): close(2) cannot
 * say that.
 *
 * host-syscalls: shutdown
 */
void host_stream_shutdown(struct host_ref *ref)
{
	int fd = host_ref_fd(ref);

	if (fd >= 0)
		shutdown(fd, SHUT_WR);
}
