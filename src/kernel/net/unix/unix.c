/*
 * Unix domain sockets: theory of operation.
 *
 *   stream      each end has its own receive ring; a send writes into the peer's ring
 *                  client.peer <-> child.peer (each holds a reference on the other)
 *   seqpacket   connected like a stream, but messages in rxq
 *   datagram    peer is one-way and optional; messages in the target's rxq
 *
 *   OPEN --listen--> LISTENING
 *   OPEN --connect/socketpair--> CONNECTED
 *
 * connect() makes the accepting end at once and queues it on the listener (`pending`); accept() only
 * hands it out, so data may be sent before. A full backlog makes connect() wait on the listener.
 *
 * Hanging up (close, or a listener that dies with connections pending) shuts both directions of
 * the peer; unread data turns into ECONNRESET there. The dead end stays allocated while the other
 * refers to it, so that getpeername() still works.
 *
 * Ancillary data of streams is kept beside the bytes as marks over ranges of stream positions:
 * reading stops behind a range with descriptors, and between writers when SO_PASSCRED is set.
 *
 * Files: name.c (addresses), stream.c, message.c (data), gc.c (descriptor cycles), option.c.
 */
#include "kernel/net/unix/unix.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/fs/file.h"
#include "kernel/net/dgram.h"
#include "kernel/task/cred.h"
#include "kernel/task/task.h"

struct unix_state_root *unix_root(void)
{
	static struct unix_state_root *cached;
	if (cached)
		return cached;
	cached = arena_root(ROOT_UNIX, sizeof(*cached));
	if (!cached || cached->all.next)
		return cached;
	list_init(&cached->all);
	list_init(&cached->in_flight);
	for (size_t i = 0; i < ARRAY_SIZE(cached->abstract); i++)
		list_init(&cached->abstract[i]);
	return cached;
}

/* ---- life ---- */

static struct unix_sock *unix_new(int type, int protocol)
{
	struct unix_state_root *root = unix_root();
	struct unix_sock *u = root ? knew(struct unix_sock) : NULL;

	if (!u)
		return NULL;
	socket_setup(&u->sk, FAMILY_UNIX, AF_UNIX, type, protocol);
	ring_init(&u->rx, u->sk.sndbuf);
	list_init(&u->hash_link);
	list_init(&u->marks);
	list_init(&u->pending);
	list_init(&u->pending_link);
	list_init(&u->waiting_senders);
	list_init(&u->waiting_link);
	list_init(&u->gc_link);
	list_init(&u->work_link);
	list_add_tail(&root->all, &u->all_link);
	return u;
}

static int unix_create(struct task *t, int domain, int type, int protocol, struct socket **ret)
{
	(void)t;
	(void)domain;
	if (protocol && protocol != AF_UNIX)
		return -EPROTONOSUPPORT;
	if (type == SOCK_RAW)
		type = SOCK_DGRAM; /* as Linux does */
	if (type != SOCK_STREAM && type != SOCK_DGRAM && type != SOCK_SEQPACKET)
		return -ESOCKTNOSUPPORT;
	struct unix_sock *u = unix_new(type, protocol);
	if (!u)
		return -ENOMEM;
	*ret = &u->sk;
	return 0;
}

static void set_cred(struct cred **slot, int *pid, struct task *t)
{
	if (*slot)
		cred_put(*slot);
	*slot = cred_get(t->cred);
	*pid = t->proc->pid;
}

static int unix_pair(struct task *t, struct socket *a, struct socket *b)
{
	struct unix_sock *ua = unix_sock(a), *ub = unix_sock(b);

	socket_get(b);
	ua->peer = ub;
	socket_get(a);
	ub->peer = ua;
	set_cred(&ua->peer_cred, &ua->peer_pid, t);
	set_cred(&ub->peer_cred, &ub->peer_pid, t);
	if (a->type != SOCK_DGRAM)
		ua->state = ub->state = UNIX_CONNECTED;
	return 0;
}

static void set_peer(struct unix_sock *u, struct unix_sock *peer)
{
	struct unix_sock *old = u->peer;

	u->peer = peer;
	if (peer)
		socket_get(&peer->sk);
	if (old)
		socket_put(&old->sk);
}

void unix_dgram_set_peer(struct unix_sock *u, struct unix_sock *peer)
{
	struct unix_sock *old = u->peer;
	bool lost = old && old != peer && u->sk.rxq_count;

	if (old)
		socket_get(&old->sk);
	set_peer(u, peer);
	if (lost) {
		dgram_purge(&u->sk);
		unix_wake_senders(u);
		if (!old->dead && old->peer == u)
			socket_set_error(&old->sk, ECONNRESET);
	}
	if (old)
		socket_put(&old->sk);
}

/* The other end of a connection learns that `u` is gone. */
static void hangup_peer(struct unix_sock *u, bool reset)
{
	struct unix_sock *peer = u->peer;

	if (!peer || u->sk.type == SOCK_DGRAM)
		return;
	peer->sk.shut_rd = peer->sk.shut_wr = true;
	if (reset)
		peer->sk.error = ECONNRESET;
	waitq_wake(&peer->sk.wq, 0);
}

static void unix_hangup(struct unix_sock *u, bool embryo)
{
	bool unread = u->rx.size || u->sk.rxq_count;

	u->dead = true;
	u->sk.shut_rd = u->sk.shut_wr = true;
	unix_unbind(u);
	hangup_peer(u, unread || embryo);
	while (!list_empty(&u->pending)) {
		struct unix_sock *child = list_first(&u->pending, struct unix_sock, pending_link);
		list_del(&child->pending_link);
		unix_hangup(child, true); /* has no pending ones of its own: depth 2 */
		socket_put(&child->sk);
	}
	u->pending_count = 0;
	u->state = UNIX_OPEN;
	list_del(&u->waiting_link);
	unix_wake_senders(u);
	waitq_wake(&u->sk.wq, 0);
	dgram_stage(&u->sk, NULL);
	unix_mark_free(u->staged_mark);
	u->staged_mark = NULL;
	unix_stream_purge(u);
	dgram_purge(&u->sk);
	set_peer(u, NULL);
}

static void unix_release(struct socket *s)
{
	unix_hangup(unix_sock(s), false);
	unix_gc_want();
}

static void unix_destroy(struct socket *s)
{
	struct unix_sock *u = unix_sock(s);

	list_del(&u->all_link);
	list_del(&u->gc_link);
	list_del(&u->waiting_link);
	unix_mark_free(u->staged_mark);
	unix_stream_purge(u);
	dgram_purge(s);
	set_peer(u, NULL);
	if (u->peer_cred)
		cred_put(u->peer_cred);
	if (u->own_cred)
		cred_put(u->own_cred);
	kfree(u);
}

/* ---- connections ---- */

static int unix_listen(struct call *c, struct socket *s, int backlog)
{
	struct unix_sock *u = unix_sock(s);

	if (s->type == SOCK_DGRAM)
		return -EOPNOTSUPP;
	if (!u->name_size || u->state == UNIX_CONNECTED)
		return -EINVAL;
	u->state = UNIX_LISTENING;
	u->backlog = (uint32_t)backlog;
	set_cred(&u->own_cred, &u->own_pid, c->task);
	waitq_wake(&s->wq, 0); /* more room, perhaps, for those who wait to connect */
	return 0;
}

static long connect_dgram(struct call *c, struct unix_sock *u, const void *addr, socklen_t size)
{
	struct unix_sock *other = NULL;

	if (((const struct sockaddr *)addr)->sa_family != AF_UNSPEC) {
		int err = unix_find(c->task, addr, size, SOCK_DGRAM, &other);
		if (err)
			return err;
		if ((u->sk.options & OPTION_PASSCRED) && !u->name_size && (err = unix_autobind(u)))
			return err;
		if (other->peer && other->peer != u)
			return -EPERM;
	}
	unix_dgram_set_peer(u, other);
	waitq_wake(&u->sk.wq, 0);
	return 0;
}

/* Makes the accepting end for `u` and queues it on the listener. */
static int join(struct call *c, struct unix_sock *u, struct unix_sock *listener)
{
	struct unix_sock *child = unix_new(u->sk.type, u->sk.protocol);

	if (!child)
		return -ENOMEM;
	child->name_size = listener->name_size;
	memcpy(child->name, listener->name, sizeof(child->name));
	child->sk.options |= listener->sk.options & (OPTION_PASSCRED | OPTION_PASSSEC);
	child->rx.capacity = u->sk.sndbuf;
	child->state = u->state = UNIX_CONNECTED;
	set_cred(&child->peer_cred, &child->peer_pid, c->task);
	u->peer_cred = cred_get(listener->own_cred);
	u->peer_pid = listener->own_pid;
	set_peer(child, u);
	set_peer(u, child);
	list_add_tail(&listener->pending, &child->pending_link);
	listener->pending_count++;
	waitq_wake(&listener->sk.wq, EPOLLIN);
	waitq_wake(&u->sk.wq, EPOLLOUT);
	return 0;
}

static long unix_connect(struct call *c, struct file *f, struct socket *s, const void *addr,
			 socklen_t size)
{
	struct unix_sock *listener, *u = unix_sock(s);

	if (size < sizeof(sa_family_t))
		return -EINVAL;
	if (s->type == SOCK_DGRAM)
		return connect_dgram(c, u, addr, size);
	int err = unix_find(c->task, addr, size, s->type, &listener);
	if (err)
		return err;
	if ((s->options & OPTION_PASSCRED) && !u->name_size && (err = unix_autobind(u)))
		return err;
	if (listener->state != UNIX_LISTENING || listener->sk.shut_rd)
		return -ECONNREFUSED;
	if (listener->pending_count > listener->backlog) {
		if (socket_nonblock(f, 0))
			return -EAGAIN;
		err = call_wait_on(c, &listener->sk.wq, false);
		return err ? err : socket_wait(c, f, s, s->sndtimeo_ns, -EAGAIN);
	}
	if (u->state != UNIX_OPEN)
		return u->state == UNIX_CONNECTED ? -EISCONN : -EINVAL;
	return join(c, u, listener);
}

static int unix_accept(struct socket *s, struct socket **ret)
{
	struct unix_sock *u = unix_sock(s);

	if (s->type == SOCK_DGRAM)
		return -EOPNOTSUPP;
	if (u->state != UNIX_LISTENING)
		return -EINVAL;
	if (list_empty(&u->pending))
		return s->shut_rd && s->file && !socket_nonblock(s->file, 0) ? -EINVAL : -EAGAIN;
	struct unix_sock *child = list_first(&u->pending, struct unix_sock, pending_link);
	list_del(&child->pending_link);
	u->pending_count--;
	waitq_wake(&s->wq, EPOLLOUT); /* those who wait to connect */
	*ret = &child->sk;
	return 0;
}

static int unix_shutdown(struct socket *s, int how)
{
	struct unix_sock *u = unix_sock(s);
	bool rd = how != SHUT_WR, wr = how != SHUT_RD;

	s->shut_rd |= rd;
	s->shut_wr |= wr;
	if (u->peer && s->type != SOCK_DGRAM) {
		u->peer->sk.shut_wr |= rd;
		u->peer->sk.shut_rd |= wr;
		waitq_wake(&u->peer->sk.wq, 0);
	}
	waitq_wake(&s->wq, 0);
	return 0;
}

static uint32_t unix_poll(struct socket *s)
{
	struct unix_sock *u = unix_sock(s);
	uint32_t events = 0;

	if (s->error)
		events |= EPOLLERR;
	if (s->shut_rd)
		events |= EPOLLRDHUP | EPOLLIN | EPOLLRDNORM;
	if (s->shut_rd && s->shut_wr)
		events |= EPOLLHUP;
	if (u->rx.size || s->rxq_count || !list_empty(&u->pending))
		events |= EPOLLIN | EPOLLRDNORM;
	if (u->state == UNIX_LISTENING)
		return events;
	if (s->type != SOCK_DGRAM && u->state == UNIX_OPEN)
		events |= EPOLLHUP;
	bool writable = s->type == SOCK_STREAM ? unix_stream_writable(u) :
						 unix_message_writable(u);
	if (writable)
		events |= EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND;
	return events;
}

/* ---- data: by type ---- */

static ssize_t unix_send(struct socket *s, struct msg *m)
{
	return s->type == SOCK_STREAM ? unix_stream_send(unix_sock(s), m) :
					unix_message_send(unix_sock(s), m);
}

static void unix_send_done(struct socket *s, size_t count)
{
	if (s->type == SOCK_STREAM)
		unix_stream_send_done(unix_sock(s), count);
	else
		unix_message_send_done(unix_sock(s), count);
}

static void unix_send_lost(struct socket *s)
{
	if (s->type == SOCK_STREAM)
		unix_stream_send_lost(unix_sock(s));
}

static ssize_t unix_recv(struct socket *s, struct msg *m)
{
	return s->type == SOCK_STREAM ? unix_stream_recv(unix_sock(s), m) :
					unix_message_recv(unix_sock(s), m);
}

static void unix_recv_control(struct socket *s, struct msg *m)
{
	if (s->type == SOCK_STREAM)
		unix_stream_recv_control(unix_sock(s), m);
	else
		unix_message_recv_control(unix_sock(s), m);
}

static void unix_recv_done(struct socket *s, size_t count)
{
	if (s->type == SOCK_STREAM)
		unix_stream_recv_done(unix_sock(s), count);
	else
		unix_message_recv_done(unix_sock(s), count);
}

static void unix_buffers_changed(struct socket *s)
{
	struct unix_sock *peer = unix_sock(s)->peer;
	if (peer)
		peer->rx.capacity = s->sndbuf;
}

const struct socket_ops unix_socket_ops = {
	.name = "unix",
	.create = unix_create,
	.pair = unix_pair,
	.bind = unix_bind,
	.listen = unix_listen,
	.connect = unix_connect,
	.accept = unix_accept,
	.shutdown = unix_shutdown,
	.name_of = unix_name_of,
	.send = unix_send,
	.send_done = unix_send_done,
	.send_lost = unix_send_lost,
	.recv = unix_recv,
	.recv_control = unix_recv_control,
	.recv_done = unix_recv_done,
	.poll = unix_poll,
	.setsockopt = unix_setsockopt,
	.getsockopt = unix_getsockopt,
	.ioctl = unix_ioctl,
	.buffers_changed = unix_buffers_changed,
	.release = unix_release,
	.destroy = unix_destroy,
};
