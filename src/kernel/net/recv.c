/*
 * Receiving: recvfrom, recvmsg, recvmmsg.
 *
 * ops->recv() copies out and leaves the data queued; ops->recv_done() takes it away after the
 * answer was delivered. MSG_PEEK simply never calls the latter.
 *
 * MSG_WAITALL looks at the queue without taking anything until there is enough, so that an
 * interrupted call loses nothing; only when the queue is full before there is enough is its content
 * taken early and counted in c->progress.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/util.h"
#include "kernel/abi/structs.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/net/dgram.h"
#include "kernel/fs/rw.h"
#include "kernel/net/socket.h"
#include "kernel/task/task.h"

/* Sends the results beside the data to the guest; 0 or -errno. */
typedef int (*results_fn)(struct call *c, struct msg *m, struct uaddr header);

static bool wants_more(const struct socket *s, const struct msg *m, size_t total)
{
	if (!socket_is_stream(s) || m->at_end || !m->u->resid)
		return false;
	if (m->flags & MSG_WAITALL)
		return true;
	return total < (size_t)MAX(s->rcvlowat, 1);
}

static size_t result_of(const struct socket *s, const struct msg *m, size_t moved)
{
	bool want_real = (m->flags & MSG_TRUNC) && !socket_is_stream(s);
	return want_real ? MAX(m->full_size, moved) : moved;
}

/* Undoes what the call did to the receiver besides queueing: its answer got lost. */
static void recv_lost(struct msg *m)
{
	if (m->control)
		cmsg_undo(m->control);
}

static long recv_finish(struct call *c, struct socket *s, struct msg *m, size_t moved,
			results_fn results, struct uaddr header)
{
	if (m->control)
		socket_ops(s)->recv_control(s, m);
	int err = m->control && m->control->fault ? -EFAULT : results(c, m, header);
	if (err) {
		recv_lost(m);
		return err;
	}
	socket_get(s);
	if (!call_reply(c, (long)(c->progress + result_of(s, m, moved))))
		recv_lost(m);
	else if (!(m->flags & MSG_PEEK))
		socket_ops(s)->recv_done(s, moved);
	socket_put(s);
	return CALL_DONE;
}

static long recv_call(struct call *c, struct file *f, struct socket *s, struct msg *m,
		      results_fn results, struct uaddr header)
{
	bool nonblock = socket_nonblock(f, m->flags);

	uio_skip(m->u, c->progress);
	for (;;) {
		m->at_end = m->full = false;
		ssize_t n = socket_ops(s)->recv(s, m);
		if (n < 0 && n != -EAGAIN)
			return c->progress ? (long)c->progress : n;
		size_t moved = n < 0 ? 0 : (size_t)n;
		bool enough = n >= 0 && !wants_more(s, m, c->progress + moved);
		if (enough || nonblock || c->timed_out) {
			if (n < 0)
				return c->progress ? (long)c->progress : -EAGAIN;
			return recv_finish(c, s, m, moved, results, header);
		}
		if (m->full && !(m->flags & MSG_PEEK)) {
			socket_ops(s)->recv_done(s, moved);
			c->progress += moved;
			c->partial = (long)c->progress;
			continue;
		}
		if (m->full)
			return recv_finish(c, s, m, moved, results, header);
		return socket_wait(c, f, s, s->rcvtimeo_ns, -EAGAIN);
	}
}

/* ---- recvfrom ---- */

static int recvfrom_results(struct call *c, struct msg *m, struct uaddr header)
{
	(void)header;
	if (!c->args[4])
		return 0;
	return socket_put_name(c->task, &m->name, m->name_len, CALL_ARG_PTR(c, 4),
			       CALL_ARG_PTR(c, 5));
}

long sys_recvfrom(struct call *c)
{
	struct uio u;
	struct msg m = { .task = c->task, .u = &u, .flags = (int)c->args[3] };
	struct file *f;
	struct socket *s;

	int err = socket_from_call(c, (int)c->args[0], &f, &s);
	if (err)
		return err;
	uio_user(&u, c->task, CALL_ARG_PTR(c, 1), MIN(c->args[2], 0x7ffff000ull));
	return recv_call(c, f, s, &m, recvfrom_results, uaddr(0));
}

/* ---- recvmsg ---- */

#define HEADER_FIELD(at, field) uaddr_add(at, offsetof(struct abi_msghdr, field))

static int header_results(struct call *c, struct msg *m, struct uaddr at)
{
	struct task *t = c->task;
	int flags = m->out_flags | (m->control->truncated ? MSG_CTRUNC : 0);

	flags |= m->flags & MSG_CMSG_CLOEXEC;
	if (m->user_name.v) {
		size_t n = MIN(m->user_name_size, m->name_len);
		if (n && user_write(t, m->user_name, &m->name, n))
			return -EFAULT;
		if (user_write_u32(t, HEADER_FIELD(at, msg_namelen), m->name_len))
			return -EFAULT;
	}
	if (user_write_u32(t, HEADER_FIELD(at, msg_flags), (uint32_t)flags))
		return -EFAULT;
	return user_write_u64(t, HEADER_FIELD(at, msg_controllen), m->control->used);
}

static int read_header(struct call *c, struct uaddr at, struct msg *m)
{
	struct abi_msghdr h;
	int err = user_read(c->task, &h, at, sizeof(h));

	if (err)
		return err;
	if (h.msg_iovlen > USER_IOV_MAX)
		return -EMSGSIZE;
	if ((int)h.msg_namelen < 0)
		return -EINVAL;
	m->user_name = uaddr((uintptr_t)h.msg_name);
	m->user_name_size = h.msg_namelen;
	*m->control = (struct cmsg_out){
		.task = c->task,
		.base = uaddr((uintptr_t)h.msg_control),
		.capacity = h.msg_control ? h.msg_controllen : 0,
		.cloexec = m->flags & MSG_CMSG_CLOEXEC,
	};
	return uio_user_vec(m->u, c->task, uaddr((uintptr_t)h.msg_iov), h.msg_iovlen);
}

long sys_recvmsg(struct call *c)
{
	struct uio u;
	struct cmsg_out control;
	struct msg m = { .task = c->task, .u = &u, .flags = (int)c->args[2], .control = &control };
	struct file *f;
	struct socket *s;

	int err = socket_from_call(c, (int)c->args[0], &f, &s);
	if (!err)
		err = read_header(c, CALL_ARG_PTR(c, 1), &m);
	return err ? err : recv_call(c, f, s, &m, header_results, CALL_ARG_PTR(c, 1));
}

/* ---- recvmmsg ---- */

/* One message, taken at once; -EAGAIN = none there. */
static ssize_t recv_one(struct call *c, struct socket *s, struct uaddr at, int flags)
{
	struct uio u;
	struct cmsg_out control;
	struct msg m = { .task = c->task, .u = &u, .flags = flags, .control = &control };

	int err = read_header(c, at, &m);
	if (err)
		return err;
	ssize_t n = socket_ops(s)->recv(s, &m);
	if (n < 0)
		return n;
	size_t ret = result_of(s, &m, (size_t)n);
	socket_ops(s)->recv_control(s, &m);
	err = control.fault ? -EFAULT : header_results(c, &m, at);
	if (!err)
		err = user_write_u32(c->task, uaddr_add(at, offsetof(struct mmsghdr, msg_len)),
				     (uint32_t)ret);
	if (err) {
		cmsg_undo(&control);
		return err;
	}
	if (!(flags & MSG_PEEK))
		socket_ops(s)->recv_done(s, (size_t)n);
	return (ssize_t)ret;
}

long sys_recvmmsg(struct call *c)
{
	struct file *f;
	struct socket *s;
	uint64_t timeout_ns;
	uint64_t count = MIN((uint32_t)c->args[2], USER_IOV_MAX);
	int flags = (int)c->args[3];

	int err = socket_from_call(c, (int)c->args[0], &f, &s);
	if (!err)
		err = user_read_timeout(c->task, &timeout_ns, CALL_ARG_PTR(c, 4));
	if (err)
		return err;
	while (c->progress < count) {
		struct uaddr at = uaddr_add(CALL_ARG_PTR(c, 1), c->progress * sizeof(struct mmsghdr));
		ssize_t n = recv_one(c, s, at, flags & ~MSG_WAITFORONE);
		bool wait = !socket_nonblock(f, flags) &&
			    !((flags & MSG_WAITFORONE) && c->progress);
		if (n == -EAGAIN && wait) {
			/* Bounded by the call's own timeout as well, which Linux forgets. */
			uint64_t bound = s->rcvtimeo_ns;
			if (timeout_ns != UINT64_MAX && (!bound || timeout_ns < bound))
				bound = MAX(timeout_ns, 1u);
			c->partial = (long)c->progress;
			return socket_wait(c, f, s, bound,
					   c->progress ? (long)c->progress : -EAGAIN);
		}
		if (n < 0)
			return c->progress ? (long)c->progress : n;
		c->progress++;
	}
	return (long)c->progress;
}
