/*
 * TCP connections: making and ending them. See inet.c for the states.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/util.h"
#include "kernel/core/clock.h"
#include "kernel/fs/file.h"
#include "kernel/net/inet/inet.h"
#include "kernel/task/task.h"

#define CONNECT_TIMEOUT_NS (127 * NSEC_PER_SEC) /* net.ipv4.tcp_syn_retries = 6 */

int tcp_state(const struct inet_sock *i)
{
	if (i->state != INET_ESTABLISHED)
		return i->state;
	if (i->sk.shut_wr && i->rx_fin)
		return INET_CLOSE;
	if (i->sk.shut_wr)
		return INET_FIN_WAIT2;
	return i->rx_fin ? INET_CLOSE_WAIT : INET_ESTABLISHED;
}

/* Both sides have sent their FIN: nothing is left of the connection but unread data. */
static void settle(struct inet_sock *i)
{
	if (i->state != INET_ESTABLISHED || !i->sk.shut_wr || !i->rx_fin)
		return;
	i->state = INET_CLOSE;
	inet_release_port(i);
}

/* ---- making ---- */

static void stop_knocking(struct inet_sock *i)
{
	list_del(&i->queue_link);
	timer_cancel(&i->timer);
}

/* A connection attempt ends without a connection. */
static void fail(struct inet_sock *i, int err)
{
	stop_knocking(i);
	i->state = INET_CLOSE;
	inet_release_port(i);
	i->sk.shut_rd = i->sk.shut_wr = true;
	socket_set_error(&i->sk, err);
}

void inet_timer_fired(struct timer *t)
{
	fail(container_of(t, struct inet_sock, timer), ETIMEDOUT);
}

static void join(struct inet_sock *a, struct inet_sock *b)
{
	socket_get(&b->sk);
	a->peer = b;
	socket_get(&a->sk);
	b->peer = a;
	a->state = b->state = INET_ESTABLISHED;
	a->rx.capacity = tcp_capacity(a);
	b->rx.capacity = tcp_capacity(b);
}

static int establish(struct inet_sock *i, struct inet_sock *listener)
{
	struct inet_sock *child = inet_new(listener->sk.domain, SOCK_STREAM, IPPROTO_TCP);

	if (!child)
		return -ENOBUFS;
	if (inet_copy_options(child, listener)) {
		socket_put(&child->sk);
		return -ENOBUFS;
	}
	child->uid = listener->uid;
	child->v6only = listener->v6only;
	child->local = i->remote;
	child->remote = i->local;
	child->phase = PHASE_CONNECTED;
	inet_link_port(child);
	join(i, child);
	list_add_tail(&listener->pending, &child->queue_link);
	listener->pending_count++;
	waitq_wake(&listener->sk.wq, EPOLLIN | EPOLLRDNORM);
	waitq_wake(&i->sk.wq, EPOLLOUT | EPOLLWRNORM);
	return 0;
}

int tcp_start(struct inet_sock *i, const struct inet_name *to)
{
	struct inet_name dst = *to;
	bool v4 = inet_is_v4(&dst.ip);

	if (inet_is_any(&dst.ip))
		dst.ip = inet_loopback(v4 || inet_is_v4(&i->local.ip));
	if (inet_is_any(&i->local.ip))
		i->local.ip = inet_loopback(inet_is_v4(&dst.ip));
	else if (inet_is_v4(&i->local.ip) && !inet_is_v4(&dst.ip))
		return -EAFNOSUPPORT;
	else if (!inet_is_v4(&i->local.ip) && inet_is_v4(&dst.ip))
		return -ENETUNREACH;
	int err = inet_autobind(i);
	if (err)
		return err == -EAGAIN ? -EADDRNOTAVAIL : err;
	if (inet_connection_exists(&i->local, &dst))
		return -EADDRNOTAVAIL;
	struct inet_sock *listener = inet_find_listener(&dst);
	bool itself = i->local.port == dst.port && inet_same_ip(&i->local.ip, &dst.ip);
	if (!listener && !itself)
		return -ECONNREFUSED;
	i->remote = dst;
	i->rx_fin = i->peer_gone = false;
	if (!listener) { /* RFC 793: a simultaneous open, with oneself */
		join(i, i);
		return 0;
	}
	if (listener->pending_count <= listener->backlog)
		return establish(i, listener);
	err = timer_arm(&i->timer, TIMER_INET, clock_mono() + CONNECT_TIMEOUT_NS);
	if (err)
		return err;
	i->state = INET_SYN_SENT;
	list_add_tail(&listener->knocking, &i->queue_link);
	return 0;
}

/* There is room in the backlog again. */
static void let_in(struct inet_sock *listener)
{
	while (!list_empty(&listener->knocking) && listener->pending_count <= listener->backlog) {
		struct inet_sock *i = list_first(&listener->knocking, struct inet_sock, queue_link);
		stop_knocking(i);
		if (establish(i, listener))
			fail(i, ENOBUFS);
	}
}

/* Unconnected again, as after connect(AF_UNSPEC). */
static void forget(struct inet_sock *i)
{
	i->phase = PHASE_UNCONNECTED;
	i->state = INET_CLOSE;
	i->rx_fin = i->peer_gone = false;
	i->sk.shut_rd = i->sk.shut_wr = false;
	memset(&i->remote, 0, sizeof(i->remote));
	ring_clear(&i->rx);
	if (!i->bound_ip)
		i->local.ip = inet_any(i->sk.domain == AF_INET);
	if (!i->bound_port) {
		inet_unbind(i);
		i->local.port = 0;
	}
}

static int disconnect(struct inet_sock *i)
{
	tcp_close(i);
	forget(i);
	return 0;
}

/* connect() on a socket that began connecting earlier. */
static long connect_again(struct call *c, struct file *f, struct inet_sock *i)
{
	if (i->state == INET_SYN_SENT) {
		/* A retry of the call that began it goes on waiting, another call does not. */
		if (socket_nonblock(f, 0))
			return -EALREADY;
		return socket_wait(c, f, &i->sk, i->sk.sndtimeo_ns, -EINPROGRESS);
	}
	if (i->state == INET_CLOSE && !i->rx_fin) {
		int err = socket_take_error(&i->sk);
		forget(i);
		return err ? err : -ECONNABORTED;
	}
	i->phase = PHASE_CONNECTED;
	return 0;
}

long tcp_connect(struct call *c, struct file *f, struct inet_sock *i, const void *addr,
		 socklen_t size)
{
	struct inet_name dst;

	if (((const struct sockaddr *)addr)->sa_family == AF_UNSPEC)
		return disconnect(i);
	if (i->phase == PHASE_DISCONNECTING)
		return -EINVAL;
	if (i->phase == PHASE_CONNECTED || i->state == INET_LISTEN)
		return -EISCONN;
	if (i->phase == PHASE_CONNECTING)
		return connect_again(c, f, i);
	int err = inet_parse(i, INET_CONNECT, addr, size, &dst);
	if (err)
		return err;
	err = inet_route(i, &dst.ip);
	if (!err)
		err = inet_is_multicast(&dst.ip) ? -ENETUNREACH : 0;
	if (!err)
		err = tcp_start(i, &dst);
	if (err && err != -ECONNREFUSED)
		return err;
	bool nonblock = socket_nonblock(f, 0);
	if (err && !nonblock) {
		forget(i);
		return err;
	}
	i->phase = PHASE_CONNECTING;
	if (err)
		fail(i, -err);
	return nonblock ? -EINPROGRESS : connect_again(c, f, i);
}

/* ---- listening ---- */

int tcp_listen(struct call *c, struct inet_sock *i, int backlog)
{
	(void)c;
	if (i->phase != PHASE_UNCONNECTED || (i->state != INET_CLOSE && i->state != INET_LISTEN))
		return -EINVAL;
	int err = inet_autobind(i);
	if (err)
		return -EADDRINUSE;
	if (i->state == INET_CLOSE && (err = inet_check_listen(i)))
		return err;
	i->state = INET_LISTEN;
	i->backlog = (uint32_t)backlog;
	let_in(i);
	return 0;
}

int tcp_accept(struct inet_sock *i, struct socket **ret)
{
	if (i->state != INET_LISTEN)
		return -EINVAL;
	if (i->sk.error)
		return socket_take_error(&i->sk);
	if (list_empty(&i->pending))
		return -EAGAIN;
	struct inet_sock *child = list_first(&i->pending, struct inet_sock, queue_link);
	list_del(&child->queue_link);
	i->pending_count--;
	*ret = &child->sk;
	let_in(i);
	return 0;
}

/* ---- ending ---- */

static void part(struct inet_sock *i)
{
	struct inet_sock *peer = i->peer;

	if (!peer)
		return;
	i->peer = NULL;
	peer->peer = NULL;
	socket_put(&peer->sk);
	socket_put(&i->sk); /* the caller holds another reference */
}

static void tcp_reset(struct inet_sock *i)
{
	int err = i->rx_fin ? EPIPE : ECONNRESET;

	part(i);
	i->state = INET_CLOSE;
	inet_release_port(i);
	i->sk.shut_rd = i->sk.shut_wr = true;
	socket_set_error(&i->sk, err);
}

static void stop_listening(struct inet_sock *i)
{
	while (!list_empty(&i->pending)) {
		struct inet_sock *child = list_first(&i->pending, struct inet_sock, queue_link);
		list_del(&child->queue_link);
		child->sk.linger_on = true; /* nobody will read: a reset, not a FIN */
		child->sk.linger_s = 0;
		tcp_close(child);
		socket_put(&child->sk);
	}
	i->pending_count = 0;
	i->state = INET_CLOSE;
	while (!list_empty(&i->knocking))
		fail(list_first(&i->knocking, struct inet_sock, queue_link), ECONNREFUSED);
	waitq_wake(&i->sk.wq, 0);
}

/* The end of our side: the peer sees FIN or RST. The socket object lives on. */
void tcp_close(struct inet_sock *i)
{
	struct inet_sock *peer = i->peer;

	if (i->state == INET_LISTEN)
		stop_listening(i);
	stop_knocking(i);
	if (peer) {
		bool reset = i->state == INET_ESTABLISHED &&
			     (i->rx.size || (i->sk.linger_on && !i->sk.linger_s));
		socket_get(&peer->sk);
		part(i);
		if (reset) {
			tcp_reset(peer);
		} else {
			peer->rx_fin = peer->peer_gone = true;
			settle(peer);
			waitq_wake(&peer->sk.wq, 0);
		}
		socket_put(&peer->sk);
	}
	i->state = INET_CLOSE;
	i->sk.shut_rd = i->sk.shut_wr = true;
	ring_clear(&i->rx);
	waitq_wake(&i->sk.wq, 0);
}

int tcp_shutdown(struct inet_sock *i, int how)
{
	bool rd = how != SHUT_WR, wr = how != SHUT_RD;

	if (i->phase == PHASE_CONNECTING)
		i->phase = i->state == INET_ESTABLISHED ? PHASE_CONNECTED : PHASE_DISCONNECTING;
	if (i->state == INET_CLOSE) {
		i->sk.shut_rd |= rd;
		i->sk.shut_wr |= wr;
		waitq_wake(&i->sk.wq, 0);
		return -ENOTCONN;
	}
	if (i->state == INET_LISTEN) {
		if (rd) {
			stop_listening(i);
			inet_release_port(i);
		}
		return 0;
	}
	if (i->state == INET_SYN_SENT) {
		fail(i, ECONNRESET);
		return 0;
	}
	i->sk.shut_rd |= rd;
	i->sk.shut_wr |= wr;
	if (wr && i->peer) {
		i->peer->rx_fin = true;
		settle(i->peer);
		waitq_wake(&i->peer->sk.wq, EPOLLIN | EPOLLRDNORM | EPOLLRDHUP);
	}
	settle(i);
	waitq_wake(&i->sk.wq, 0);
	return 0;
}
