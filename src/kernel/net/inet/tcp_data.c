/*
 * Data of TCP connections, and what poll says about them.
 *
 * A send writes into the peer's receive ring, whose capacity is the receiver's SO_RCVBUF plus the
 * sender's SO_SNDBUF. Writing to a peer that closed succeeds once, as on a wire: the reset comes
 * back as EPIPE for the next call.
 *
 * Urgent data: the last byte of a MSG_OOB send stays in the stream at a marked position. A read ends
 * before it; the next one passes over it, unless SO_OOBINLINE is set. Newer urgent data takes the
 * mark away from older, which then is ordinary.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/util.h"
#include "kernel/fs/rw.h"
#include "kernel/net/inet/inet.h"

uint32_t tcp_capacity(const struct inet_sock *i)
{
	return i->sk.rcvbuf + (i->peer ? i->peer->sk.sndbuf : i->sk.sndbuf);
}

static bool ring_writable(const struct ring *r)
{
	return ring_space(r) >= r->capacity / 4;
}

/* ---- sending ---- */

ssize_t tcp_send(struct inet_sock *i, struct msg *m)
{
	i->sends_urgent = false;
	if (m->flags & MSG_FASTOPEN)
		return -EOPNOTSUPP; /* as with net.ipv4.tcp_fastopen = 0 */
	if (i->state == INET_SYN_SENT)
		return -EAGAIN;
	if (i->sk.error)
		return socket_take_error(&i->sk);
	if (i->state != INET_ESTABLISHED || i->sk.shut_wr)
		return -EPIPE;
	size_t size = m->u->resid;
	if (!size)
		return 0;
	if (i->peer_gone || !i->peer) {
		uio_skip(m->u, size);
		return (ssize_t)size;
	}
	if (!ring_space(&i->peer->rx))
		return -EAGAIN;
	ssize_t n = ring_stage(&i->peer->rx, m->u, size);
	i->sends_urgent = (m->flags & MSG_OOB) && n == (ssize_t)size;
	return n;
}

void tcp_send_done(struct inet_sock *i, size_t count)
{
	struct inet_sock *peer = i->peer;

	if (!count)
		return;
	if (!peer) { /* a reset comes back */
		i->state = INET_CLOSE;
		i->sk.shut_rd = i->sk.shut_wr = true;
		socket_set_error(&i->sk, EPIPE);
		return;
	}
	peer->bytes_in += count;
	ring_commit(&peer->rx, count);
	if (i->sends_urgent) {
		peer->urgent = true;
		peer->urgent_read = false;
		peer->urgent_pos = peer->bytes_in - 1;
	}
	waitq_wake(&peer->sk.wq, EPOLLIN | EPOLLRDNORM | (i->sends_urgent ? EPOLLPRI : 0));
}

void tcp_send_lost(struct inet_sock *i)
{
	if (i->peer)
		ring_commit(&i->peer->rx, 0);
}

/* ---- receiving ---- */

static ssize_t recv_urgent(struct inet_sock *i, struct msg *m)
{
	if ((i->sk.options & OPTION_OOBINLINE) || !i->urgent || i->urgent_read)
		return -EINVAL;
	i->reads_urgent = true;
	m->out_flags |= MSG_OOB;
	m->at_end = true;
	return ring_peek(&i->rx, i->urgent_pos - i->read_pos, m->u, 1);
}

/* At the urgent byte: it is not part of what an ordinary read gets. */
static void pass_urgent(struct inet_sock *i)
{
	if (!i->urgent || i->urgent_pos != i->read_pos || (i->sk.options & OPTION_OOBINLINE))
		return;
	ring_consume(&i->rx, 1);
	i->read_pos++;
	i->urgent = false;
}

uint32_t tcp_unread(const struct inet_sock *i)
{
	bool stops = i->urgent && !(i->sk.options & OPTION_OOBINLINE);
	return stops ? (uint32_t)(i->urgent_pos - i->read_pos) : i->rx.size;
}

/* Bytes up to the urgent one, if that is ahead. */
static size_t limit_at_urgent(const struct inet_sock *i)
{
	bool ahead = i->urgent && i->urgent_pos > i->read_pos;
	return ahead ? (size_t)(i->urgent_pos - i->read_pos) : i->rx.size;
}

static ssize_t recv_nothing(struct inet_sock *i)
{
	if (i->rx_fin)
		return 0;
	if (i->sk.error)
		return socket_take_error(&i->sk);
	if (i->sk.shut_rd)
		return 0;
	return i->state == INET_CLOSE ? -ENOTCONN : -EAGAIN;
}

ssize_t tcp_recv(struct inet_sock *i, struct msg *m)
{
	i->reads_urgent = false;
	if (i->state == INET_LISTEN)
		return -ENOTCONN;
	if (m->flags & MSG_OOB)
		return recv_urgent(i, m);
	pass_urgent(i);
	m->at_end = i->rx_fin || i->sk.error || i->sk.shut_rd;
	if (!i->rx.size) {
		ssize_t err = recv_nothing(i);
		return err == -EAGAIN && !m->u->resid ? 0 : err;
	}
	m->full = !ring_writable(&i->rx);
	size_t available = limit_at_urgent(i);
	if (available < i->rx.size)
		m->at_end = true;
	if (m->flags & MSG_TRUNC) { /* tcp(7): throws the bytes away */
		size_t n = MIN(available, m->u->resid);
		uio_skip(m->u, n);
		return (ssize_t)n;
	}
	return ring_peek(&i->rx, 0, m->u, available);
}

void tcp_recv_done(struct inet_sock *i, size_t count)
{
	bool was_writable = ring_writable(&i->rx);

	if (i->reads_urgent) {
		i->reads_urgent = false;
		i->urgent_read = true;
		return;
	}
	ring_consume(&i->rx, count);
	i->read_pos += count;
	if (i->urgent_pos < i->read_pos)
		i->urgent = false;
	if (i->peer && !was_writable && ring_writable(&i->rx))
		waitq_wake(&i->peer->sk.wq, EPOLLOUT | EPOLLWRNORM);
}

/* ---- poll ---- */

static uint32_t poll_connected(const struct inet_sock *i)
{
	uint32_t events = 0;

	uint32_t target = (uint32_t)i->sk.rcvlowat;

	if (i->urgent && i->urgent_pos == i->read_pos && !(i->sk.options & OPTION_OOBINLINE))
		target++;
	if (i->rx.size && (i->rx.size >= target || i->rx_fin))
		events |= EPOLLIN | EPOLLRDNORM;
	if (i->urgent && !i->urgent_read)
		events |= EPOLLPRI;
	bool writable = i->sk.shut_wr || i->state == INET_CLOSE || !i->peer ||
			ring_writable(&i->peer->rx);
	if (writable)
		events |= EPOLLOUT | EPOLLWRNORM;
	return events;
}

uint32_t tcp_poll(struct inet_sock *i)
{
	bool no_more = i->rx_fin || i->sk.shut_rd;
	uint32_t events = 0;

	if (i->state == INET_LISTEN)
		return list_empty(&i->pending) ? 0 : EPOLLIN | EPOLLRDNORM;
	if ((no_more && i->sk.shut_wr) || tcp_state(i) == INET_CLOSE)
		events |= EPOLLHUP;
	if (no_more)
		events |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	if (i->state != INET_SYN_SENT)
		events |= poll_connected(i);
	if (i->sk.error)
		events |= EPOLLERR;
	return events;
}
