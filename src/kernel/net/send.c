/*
 * Sending: sendto, sendmsg, sendmmsg.
 *
 * A message socket sends all or nothing: staged by ops->send(), made effective by ops->send_done()
 * once the answer was delivered. A byte stream that has less room than data makes what fits
 * effective at once (nobody would ever make room otherwise), remembers the count in c->progress and
 * waits for the rest; only the last piece is tied to the answer.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/util.h"
#include "kernel/abi/structs.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/rw.h"
#include "kernel/net/dgram.h"
#include "kernel/net/socket.h"
#include "kernel/task/task.h"

static long send_error(struct call *c, struct socket *s, struct msg *m, long err)
{
	if (err == -EPIPE && socket_is_stream(s) && !(m->flags & MSG_NOSIGNAL))
		return call_signal(c, SIGPIPE, -EPIPE);
	return err;
}

/*
 * Not left until the next send or the end of the socket: staged descriptors may be those of the socket
 * itself, which then would never end. The sender may have been killed.
 */
static void send_lost(struct socket *s)
{
	dgram_stage(s, NULL);
	if (socket_ops(s)->send_lost)
		socket_ops(s)->send_lost(s);
}

/* Answers and, if the answer arrived, makes the last piece effective. */
static long send_finish(struct call *c, struct socket *s, size_t total, size_t last)
{
	socket_get(s);
	if (call_reply(c, (long)total))
		socket_ops(s)->send_done(s, last);
	else
		send_lost(s);
	socket_put(s);
	return CALL_DONE;
}

static long send_stream(struct call *c, struct file *f, struct socket *s, struct msg *m)
{
	bool nonblock = socket_nonblock(f, m->flags);

	uio_skip(m->u, c->progress);
	for (;;) {
		ssize_t n = socket_ops(s)->send(s, m);
		if (n < 0 && n != -EAGAIN)
			return c->progress ? (long)c->progress : send_error(c, s, m, n);
		if (n < 0) {
			if (nonblock)
				return c->progress ? (long)c->progress : -EAGAIN;
			c->partial = (long)c->progress;
			return socket_wait(c, f, s, s->sndtimeo_ns,
					   c->progress ? (long)c->progress : -EAGAIN);
		}
		if (!m->u->resid || nonblock)
			return send_finish(c, s, c->progress + (size_t)n, (size_t)n);
		socket_ops(s)->send_done(s, (size_t)n);
		c->progress += (size_t)n;
	}
}

static long send_message(struct call *c, struct file *f, struct socket *s, struct msg *m)
{
	size_t total = m->u->resid;
	ssize_t n = socket_ops(s)->send(s, m);

	if (n == -EAGAIN && !socket_nonblock(f, m->flags))
		return socket_wait(c, f, s, s->sndtimeo_ns, -EAGAIN);
	if (n < 0)
		return send_error(c, s, m, n);
	return send_finish(c, s, total, (size_t)n);
}

static long send_call(struct call *c, struct file *f, struct socket *s, struct msg *m)
{
	long ret = socket_is_stream(s) ? send_stream(c, f, s, m) : send_message(c, f, s, m);
	scm_drop(&m->scm);
	return ret;
}

long sys_sendto(struct call *c)
{
	struct uio u;
	struct msg m = { .task = c->task, .u = &u, .flags = (int)c->args[3] };
	struct file *f;
	struct socket *s;

	int err = socket_from_call(c, (int)c->args[0], &f, &s);
	if (!err && c->args[4])
		err = socket_read_name(c, CALL_ARG_PTR(c, 4), c->args[5], &m.name, &m.name_len);
	if (err)
		return err;
	uio_user(&u, c->task, CALL_ARG_PTR(c, 1), MIN(c->args[2], 0x7ffff000ull));
	return send_call(c, f, s, &m);
}

/* The guest's struct abi_msghdr, copied, and the pieces that it points to. */
static int read_header(struct call *c, struct socket *s, struct uaddr at, struct abi_msghdr *h,
		       struct msg *m)
{
	int err = user_read(c->task, h, at, sizeof(*h));
	if (err)
		return err;
	if (h->msg_name && h->msg_namelen) {
		/* Like Linux: a too long name is cut, not refused. */
		uint64_t size = MIN((size_t)h->msg_namelen, sizeof(m->name));
		if ((int)h->msg_namelen < 0)
			return -EINVAL;
		err = socket_read_name(c, uaddr((uintptr_t)h->msg_name), size, &m->name,
				       &m->name_len);
		if (err)
			return err;
	}
	if (h->msg_iovlen > USER_IOV_MAX)
		return -EMSGSIZE;
	err = uio_user_vec(m->u, c->task, uaddr((uintptr_t)h->msg_iov), h->msg_iovlen);
	/* The descriptors went out with the first piece already. */
	if (!err && h->msg_control && h->msg_controllen && !c->progress)
		err = scm_parse(s, m, uaddr((uintptr_t)h->msg_control), h->msg_controllen);
	return err;
}

long sys_sendmsg(struct call *c)
{
	struct abi_msghdr h;
	struct uio u;
	struct msg m = { .task = c->task, .u = &u, .flags = (int)c->args[2] };
	struct file *f;
	struct socket *s;

	int err = socket_from_call(c, (int)c->args[0], &f, &s);
	if (!err)
		err = read_header(c, s, CALL_ARG_PTR(c, 1), &h, &m);
	return err ? err : send_call(c, f, s, &m);
}

/*
 * One message of sendmmsg, effective at once. Streams may send a part. -EAGAIN: the caller waits.
 */
static ssize_t send_one(struct call *c, struct socket *s, struct uaddr at)
{
	struct abi_msghdr h;
	struct uio u;
	struct msg m = { .task = c->task, .u = &u, .flags = (int)c->args[3] };
	uint64_t keep = c->progress;

	c->progress = 0; /* read_header: each message has its own control data */
	int err = read_header(c, s, at, &h, &m);
	c->progress = keep;
	if (err)
		return err;
	ssize_t n = socket_ops(s)->send(s, &m);
	scm_drop(&m.scm);
	if (n < 0)
		return n;
	socket_ops(s)->send_done(s, (size_t)n);
	return n;
}

long sys_sendmmsg(struct call *c)
{
	struct file *f;
	struct socket *s;
	uint64_t count = MIN((uint32_t)c->args[2], USER_IOV_MAX);
	struct msg flags = { .flags = (int)c->args[3] };

	int err = socket_from_call(c, (int)c->args[0], &f, &s);
	if (err)
		return err;
	while (c->progress < count) {
		struct uaddr at = uaddr_add(CALL_ARG_PTR(c, 1), c->progress * sizeof(struct mmsghdr));
		ssize_t n = send_one(c, s, at);
		if (n == -EAGAIN && !c->progress && !socket_nonblock(f, flags.flags))
			return socket_wait(c, f, s, s->sndtimeo_ns, -EAGAIN);
		if (n < 0)
			return c->progress ? (long)c->progress : send_error(c, s, &flags, n);
		err = user_write_u32(c->task, uaddr_add(at, offsetof(struct mmsghdr, msg_len)),
				     (uint32_t)n);
		if (err)
			return c->progress ? (long)c->progress : err;
		c->progress++;
	}
	return (long)c->progress;
}
