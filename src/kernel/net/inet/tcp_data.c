/*
 * Data of TCP connections, and what poll says about them.
 *
 * A send writes into the peer's receive ring, whose capacity is the receiver's SO_RCVBUF plus the
 * sender's SO_SNDBUF. Writing to a peer that closed succeeds once, as on a wire: the reset comes
 * back as EPIPE for the next call.
 *
 * Urgent data: the last byte of a MSG_OOB send is kept beside the ring (or in it with
 * SO_OOBINLINE); a read does not go past its position.
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

static ssize_t stage_urgent(struct inet_sock *i, struct msg *m)
{
	struct inet_sock *peer = i->peer;
	size_t before = m->u->resid - 1;

	ssize_t n = before ? ring_stage(&peer->rx, m->u, before) : 0;
	if (n < 0 || (size_t)n < before)
		return n;
	if (uio_get(m->u, &i->oob_sent, 1) != 1)
		return n ? n : -EFAULT;
	i->oob_staged = true;
	return n + 1;
}

ssize_t tcp_send(struct inet_sock *i, struct msg *m)
{
	i->oob_staged = false;
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
	return m->flags & MSG_OOB ? stage_urgent(i, m) : ring_stage(&i->peer->rx, m->u, size);
}

static void send_urgent(struct inet_sock *i, struct inet_sock *peer)
{
	i->oob_staged = false;
	peer->oob_mark = peer->bytes_in;
	if (peer->sk.options & OPTION_OOBINLINE) {
		struct uio u;
		uio_kernel(&u, &i->oob_sent, 1);
		if (ring_stage(&peer->rx, &u, 1) == 1) {
			ring_commit(&peer->rx, 1);
			peer->bytes_in++;
		}
		peer->oob_inline_mark = true;
	} else {
		peer->oob_byte = i->oob_sent;
		peer->oob_valid = true;
	}
	waitq_wake(&peer->sk.wq, EPOLLPRI | EPOLLIN | EPOLLRDNORM);
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
	i->bytes_out += count;
	if (i->oob_staged)
		count--;
	peer->bytes_in += count;
	ring_commit(&peer->rx, count);
	if (i->oob_staged)
		send_urgent(i, peer);
	waitq_wake(&peer->sk.wq, EPOLLIN | EPOLLRDNORM);
}

/* ---- receiving ---- */

static ssize_t recv_urgent(struct inet_sock *i, struct msg *m)
{
	if ((i->sk.options & OPTION_OOBINLINE) || !i->oob_valid)
		return -EINVAL;
	m->out_flags |= MSG_OOB;
	m->at_end = true;
	m->full_size = 0;
	ssize_t n = m->u->resid ? uio_put(m->u, &i->oob_byte, 1) : 0;
	return n < 0 ? n : n;
}

/* Bytes up to the urgent mark, if that is ahead. */
static size_t limit_at_mark(const struct inet_sock *i, size_t size)
{
	uint64_t ahead = i->oob_mark - i->read_pos;
	return i->oob_mark > i->read_pos && ahead < size ? (size_t)ahead : size;
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
	i->oob_reading = false;
	if (i->state == INET_LISTEN)
		return -ENOTCONN;
	if (m->flags & MSG_OOB) {
		i->oob_reading = true;
		return recv_urgent(i, m);
	}
	m->at_end = i->rx_fin || i->sk.error || i->sk.shut_rd;
	if (!i->rx.size) {
		ssize_t err = recv_nothing(i);
		return err == -EAGAIN && !m->u->resid ? 0 : err;
	}
	m->full = !ring_writable(&i->rx);
	size_t available = limit_at_mark(i, i->rx.size);
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

	if (i->oob_reading) {
		i->oob_reading = false;
		i->oob_valid = false;
		return;
	}
	ring_consume(&i->rx, count);
	i->read_pos += count;
	if (i->oob_mark < i->read_pos)
		i->oob_inline_mark = false;
	if (i->peer && !was_writable && ring_writable(&i->rx))
		waitq_wake(&i->peer->sk.wq, EPOLLOUT | EPOLLWRNORM);
}

/* ---- poll ---- */

static uint32_t poll_connected(const struct inet_sock *i)
{
	uint32_t events = 0;

	if (i->rx.size && (i->rx.size >= (uint32_t)i->sk.rcvlowat || i->rx_fin))
		events |= EPOLLIN | EPOLLRDNORM;
	if (i->oob_valid || i->oob_inline_mark)
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
