/*
 * Data of connected unix streams: see unix.c.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/net/unix/unix.h"
#include "kernel/task/task.h"

void unix_mark_free(struct unix_mark *mark)
{
	if (!mark)
		return;
	if (mark->fds)
		scm_fds_free(mark->fds);
	kfree(mark);
}

void unix_stream_purge(struct unix_sock *u)
{
	while (!list_empty(&u->marks)) {
		struct unix_mark *mark = list_first(&u->marks, struct unix_mark, link);
		list_del(&mark->link);
		if (mark->fds)
			scm_fds_dequeued(mark->fds);
		unix_mark_free(mark);
	}
	ring_clear(&u->rx);
}

static bool passcred(const struct unix_sock *u)
{
	return u->sk.options & OPTION_PASSCRED;
}

/* Writing may go on in earnest: a quarter of the peer's ring is free (poll's threshold, too). */
static bool ring_writable(const struct ring *r)
{
	return ring_space(r) >= r->capacity / 4;
}

bool unix_stream_writable(const struct unix_sock *u)
{
	return !u->peer || u->sk.shut_wr || ring_writable(&u->peer->rx);
}

/* ---- sending ---- */

/* Parks what accompanies the bytes about to be staged. */
static int stage_mark(struct unix_sock *u, struct msg *m)
{
	unix_mark_free(u->staged_mark);
	u->staged_mark = NULL;
	if (!m->scm.fds && !m->scm.has_cred && !passcred(u) && !passcred(u->peer))
		return 0;
	struct unix_mark *mark = knew(struct unix_mark);
	if (!mark)
		return -ENOMEM;
	mark->fds = m->scm.fds;
	m->scm.fds = NULL;
	mark->cred = m->scm.has_cred || !m->task ? m->scm.cred : scm_cred_of(m->task);
	u->staged_mark = mark;
	return 0;
}

ssize_t unix_stream_send(struct unix_sock *u, struct msg *m)
{
	if (m->flags & MSG_OOB)
		return -EOPNOTSUPP;
	if (m->name_len)
		return u->state == UNIX_CONNECTED ? -EISCONN : -EOPNOTSUPP;
	if (u->state != UNIX_CONNECTED)
		return -ENOTCONN;
	if (u->sk.shut_wr || !u->peer || u->peer->dead || u->peer->sk.shut_rd)
		return -EPIPE;
	if (!m->u->resid)
		return 0;
	ssize_t n = ring_stage(&u->peer->rx, m->u, m->u->resid);
	if (n <= 0)
		return n ? n : -EAGAIN;
	int err = stage_mark(u, m);
	return err ? err : n;
}

void unix_stream_send_done(struct unix_sock *u, size_t count)
{
	struct unix_sock *peer = u->peer;
	struct unix_mark *mark = u->staged_mark;

	u->staged_mark = NULL;
	if (!peer || !count) {
		unix_mark_free(mark);
		return;
	}
	if (mark) {
		mark->start = peer->rx_pos + peer->rx.size;
		mark->end = mark->start + count;
		list_add_tail(&peer->marks, &mark->link);
		if (mark->fds)
			scm_fds_enqueued(mark->fds);
	}
	ring_commit(&peer->rx, count);
	waitq_wake(&peer->sk.wq, EPOLLIN | EPOLLRDNORM);
}

void unix_stream_send_lost(struct unix_sock *u)
{
	struct unix_mark *mark = u->staged_mark;

	u->staged_mark = NULL; /* first: it may hold the last reference to us */
	unix_mark_free(mark);
	if (u->peer)
		ring_commit(&u->peer->rx, 0);
}

/* ---- receiving ---- */

/* The mark over position `pos`, or the next one behind it; NULL = none. */
static struct unix_mark *mark_from(struct unix_sock *u, uint64_t pos)
{
	struct unix_mark *mark;
	list_for_each(mark, &u->marks, link)
		if (mark->end > pos)
			return mark;
	return NULL;
}

static struct unix_mark *next_mark(struct unix_sock *u, struct unix_mark *mark)
{
	return mark->link.next == &u->marks ? NULL :
					      list_entry(mark->link.next, struct unix_mark, link);
}

static struct scm_cred cred_at(const struct unix_mark *mark, uint64_t pos)
{
	/* Bytes written while nobody asked for credentials: nobody (65534). */
	if (!mark || mark->start > pos)
		return (struct scm_cred){ 0, 65534, 65534 };
	return mark->cred;
}

static bool same_cred(struct scm_cred a, struct scm_cred b)
{
	return a.pid == b.pid && a.uid == b.uid && a.gid == b.gid;
}

/* Where one read beginning at `pos` must end: behind descriptors, between writers. */
static uint64_t barrier(struct unix_sock *u, uint64_t pos)
{
	struct unix_mark *mark = mark_from(u, pos);
	struct scm_cred first = cred_at(mark, pos);

	for (; mark; mark = next_mark(u, mark)) {
		if (passcred(u) && mark->start > pos && !same_cred(mark->cred, first))
			return mark->start;
		if (mark->fds)
			return mark->end;
		struct unix_mark *next = next_mark(u, mark);
		bool gap = !next || next->start > mark->end;
		if (passcred(u) && gap && !same_cred(first, cred_at(NULL, 0)))
			return mark->end;
	}
	return UINT64_MAX;
}

static uint64_t read_start(const struct unix_sock *u, const struct msg *m)
{
	bool peeking = (m->flags & MSG_PEEK) && u->sk.peek_off > 0;
	return u->rx_pos + (peeking ? (uint64_t)u->sk.peek_off : 0);
}

ssize_t unix_stream_recv(struct unix_sock *u, struct msg *m)
{
	uint64_t pos = read_start(u, m), end = u->rx_pos + u->rx.size;

	if (m->flags & MSG_OOB)
		return -EOPNOTSUPP;
	if (u->state != UNIX_CONNECTED)
		return -EINVAL;
	m->at_end = u->sk.shut_rd || u->sk.error;
	if (pos >= end) {
		if (u->sk.error)
			return socket_take_error(&u->sk);
		return u->sk.shut_rd || !m->u->resid ? 0 : -EAGAIN;
	}
	uint64_t stop = MIN(barrier(u, pos), end);
	if (stop < end)
		m->at_end = true;
	m->full = !ring_writable(&u->rx);
	if (u->peer && u->peer->name_size)
		m->name_len = unix_put_name(u->peer, &m->name);
	ssize_t n = ring_peek(&u->rx, pos - u->rx_pos, m->u, stop - pos);
	/* Everything up to a barrier was taken: more will not join this read. */
	if (n > 0 && pos + (uint64_t)n == barrier(u, pos))
		m->at_end = true;
	m->full_size = n > 0 ? (size_t)n : 0;
	return n;
}

void unix_stream_recv_control(struct unix_sock *u, struct msg *m)
{
	uint64_t pos = read_start(u, m), end = pos + m->full_size;
	struct unix_mark *mark = mark_from(u, pos);

	if (passcred(u))
		unix_put_cred(m->control, cred_at(mark, pos));
	for (; mark && mark->start < end; mark = next_mark(u, mark)) {
		if (mark->fds) {
			cmsg_put_fds(m->control, mark->fds);
			break;
		}
	}
	if ((m->flags & MSG_PEEK) && u->sk.peek_off >= 0)
		u->sk.peek_off += (int)m->full_size;
}

void unix_stream_recv_done(struct unix_sock *u, size_t count)
{
	bool was_writable = ring_writable(&u->rx);

	ring_consume(&u->rx, count);
	u->rx_pos += count;
	if (u->sk.peek_off > 0)
		u->sk.peek_off = MAX(0, u->sk.peek_off - (int)count);
	while (!list_empty(&u->marks)) {
		struct unix_mark *mark = list_first(&u->marks, struct unix_mark, link);
		if (mark->start >= u->rx_pos)
			break;
		struct scm_fds *fds = mark->fds;
		mark->fds = NULL;
		if (fds) {
			scm_fds_dequeued(fds);
			scm_fds_free(fds);
		}
		if (mark->end > u->rx_pos)
			break;
		list_del(&mark->link);
		unix_mark_free(mark);
	}
	if (u->peer && !was_writable && ring_writable(&u->rx))
		waitq_wake(&u->peer->sk.wq, EPOLLOUT | EPOLLWRNORM);
}
