#include "launcher/protocol.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int launcher_send(int socket, const struct launcher_message *m, int fd)
{
	union control control = { .bytes = { 0 } };
	struct iovec iov = { (void *)(uintptr_t)m, sizeof(*m) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;
	if (fd >= 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		struct cmsghdr *cm = CMSG_FIRSTHDR(&msg);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cm), &fd, sizeof(int));
	}
	do {
		n = sendmsg(socket, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	return n == (ssize_t)sizeof(*m) ? 0 : -EIO;
}

/* The descriptor that came along; more than one does not fit and was dropped by the host. */
static int take_descriptor(struct msghdr *msg)
{
	int fd = -EBADF;
	struct cmsghdr *cm = CMSG_FIRSTHDR(msg);
	if (cm && cm->cmsg_level == SOL_SOCKET && cm->cmsg_type == SCM_RIGHTS &&
	    cm->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(cm), sizeof(int));
	return fd;
}

/* Texts end where the receiver thinks they do. */
static bool terminated(const struct launcher_message *m)
{
	if (m->type == LAUNCHER_LAUNCH)
		return memchr(m->launch.hostname, 0, sizeof(m->launch.hostname));
	if (m->type == LAUNCHER_FAILED)
		return memchr(m->failed.message, 0, sizeof(m->failed.message));
	return true;
}

int launcher_receive(int socket, struct launcher_message *ret, int *ret_fd)
{
	union control control = { .bytes = { 0 } };
	struct iovec iov = { ret, sizeof(*ret) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.bytes,
			      .msg_controllen = sizeof(control.bytes) };
	ssize_t n;
	do {
		n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : errno == ECONNRESET ? -EPIPE : -errno;
	if (n == 0)
		return -EPIPE;
	int fd = take_descriptor(&msg);
	if (n != (ssize_t)sizeof(*ret) || (msg.msg_flags & MSG_TRUNC) || ret->reserved ||
	    !terminated(ret)) {
		if (fd >= 0)
			close(fd);
		return -EPROTO;
	}
	*ret_fd = fd;
	return 1;
}
