/* Framing of the control channel over a stream socket; see channel.h. */
#include "wire/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define OUT_MAX (8u << 20)
#define IN_MAX (WIRE_BODY_MAX + (uint32_t)sizeof(struct wire_header))

static void *map(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

int channel_init(struct channel *c, int fd)
{
	memset(c, 0, sizeof(*c));
	c->fd = fd;
	c->in = map(IN_MAX);
	c->out = map(OUT_MAX);
	c->out_capacity = OUT_MAX;
	if (!c->in || !c->out) {
		channel_fini(c);
		return -ENOMEM;
	}
	return 0;
}

void channel_fini(struct channel *c)
{
	if (c->fd >= 0)
		close(c->fd);
	for (uint32_t i = 0; i < c->fd_count; i++)
		close(c->fds[i]);
	if (c->in)
		munmap(c->in, IN_MAX);
	if (c->out)
		munmap(c->out, OUT_MAX);
	memset(c, 0, sizeof(*c));
	c->fd = -EBADF;
}

/* Keeps descriptors that came along; too many is a protocol error. */
static int keep_fds(struct channel *c, struct msghdr *msg)
{
	for (struct cmsghdr *cm = CMSG_FIRSTHDR(msg); cm; cm = CMSG_NXTHDR(msg, cm)) {
		if (cm->cmsg_level != SOL_SOCKET || cm->cmsg_type != SCM_RIGHTS)
			continue;
		size_t count = (cm->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		int fds[WIRE_FDS_MAX];
		if (count > WIRE_FDS_MAX)
			return -EPROTO;
		memcpy(fds, CMSG_DATA(cm), count * sizeof(int));
		for (size_t i = 0; i < count; i++) {
			if (c->fd_count < WIRE_FDS_MAX)
				c->fds[c->fd_count++] = fds[i];
			else
				close(fds[i]);
		}
	}
	return msg->msg_flags & MSG_CTRUNC ? -EPROTO : 0;
}

/* Reads up to `want` bytes in total into the buffer: never beyond one message, so that descriptors
 * can be told to belong to it. */
static int fill(struct channel *c, uint32_t want, bool wait)
{
	while (c->in_length < want) {
		union {
			struct cmsghdr align;
			char bytes[CMSG_SPACE(sizeof(int) * WIRE_FDS_MAX)];
		} control;
		struct iovec iov = { c->in + c->in_length, want - c->in_length };
		struct msghdr msg = { .msg_iov = &iov,
				      .msg_iovlen = 1,
				      .msg_control = control.bytes,
				      .msg_controllen = sizeof(control.bytes) };
		ssize_t n = recvmsg(c->fd, &msg, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
		if (n < 0 && errno == EINTR) {
			if (wait)
				return 0; /* let the caller look at what interrupted it */
			continue;
		}
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		if (n == 0)
			return -EPIPE;
		int r = keep_fds(c, &msg);
		if (r < 0)
			return r;
		c->in_length += (uint32_t)n;
	}
	return 1;
}

int channel_receive(struct channel *c, bool wait, struct message *ret)
{
	const uint32_t head = sizeof(struct wire_header);
	if (c->in_length < head) {
		int r = fill(c, head, wait);
		if (r <= 0)
			return r;
	}
	struct wire_header h;
	memcpy(&h, c->in, head);
	if (h.length > WIRE_BODY_MAX || !wire_type_name(h.type) || h.flags)
		return -EPROTO;
	int r = fill(c, head + h.length, wait);
	if (r <= 0)
		return r;
	ret->header = h;
	ret->body = c->in + head;
	ret->fd_count = c->fd_count;
	memcpy(ret->fds, c->fds, sizeof(int) * c->fd_count);
	c->fd_count = 0;
	c->in_length = 0;
	return 1;
}

int channel_flush(struct channel *c)
{
	uint32_t done = 0;
	while (done < c->out_length) {
		ssize_t n = send(c->fd, c->out + done, c->out_length - done,
				 MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0)
			return -errno;
		done += (uint32_t)n;
	}
	memmove(c->out, c->out + done, c->out_length - done);
	c->out_length -= done;
	return c->out_length == 0;
}

/* Descriptors must go with the first byte of their message, so what is queued goes out before. */
static int send_with_fds(struct channel *c, const struct wire_header *h, const void *body,
			 const int *fds, uint32_t fd_count)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * WIRE_FDS_MAX)];
	} control = { 0 };
	uint32_t size = (uint32_t)sizeof(int) * fd_count;
	struct iovec iov = { (void *)(uintptr_t)h, sizeof(*h) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.bytes,
			      .msg_controllen = (socklen_t)CMSG_SPACE(size) };
	struct cmsghdr *cm = CMSG_FIRSTHDR(&msg);
	cm->cmsg_level = SOL_SOCKET;
	cm->cmsg_type = SCM_RIGHTS;
	cm->cmsg_len = (socklen_t)CMSG_LEN(size);
	memcpy(CMSG_DATA(cm), fds, size);
	ssize_t n;
	do {
		n = sendmsg(c->fd, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (n != (ssize_t)sizeof(*h))
		return -EIO;
	struct wire_out rest = { c->out + c->out_length, 0, c->out_capacity - c->out_length, false };
	wire_put_bytes(&rest, body, h->length);
	c->out_length += rest.length;
	return rest.failed ? -ENOBUFS : 0;
}

int channel_send(struct channel *c, uint32_t type, uint32_t request, const void *body,
		 uint32_t length, const int *fds, uint32_t fd_count)
{
	struct wire_header h = { .type = type, .length = length, .request = request };
	if (length > WIRE_BODY_MAX || fd_count > WIRE_FDS_MAX)
		return -EMSGSIZE;
	int r;
	if (fd_count) {
		while ((r = channel_flush(c)) == 0)
			; /* only the launcher sends descriptors, to an idle peer: short */
		if (r < 0)
			return r;
		r = send_with_fds(c, &h, body, fds, fd_count);
		if (r < 0)
			return r;
	} else {
		if (sizeof(h) + length > c->out_capacity - c->out_length)
			return -ENOBUFS;
		memcpy(c->out + c->out_length, &h, sizeof(h));
		if (length)
			memcpy(c->out + c->out_length + sizeof(h), body, length);
		c->out_length += (uint32_t)sizeof(h) + length;
	}
	r = channel_flush(c);
	return r < 0 ? r : 0;
}
