/*
 * Messages of unix datagram and seqpacket sockets: see unix.c.
 *
 * Back pressure: a message goes into the target's queue only while that holds fewer than
 * QUEUE_MAX messages and rcvbuf bytes. A sender that finds it full puts itself on the target's
 * list of waiting senders and is woken there when room is made or the target goes.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/util.h"
#include "kernel/net/dgram.h"
#include "kernel/net/unix/unix.h"
#include "kernel/task/task.h"

/* Linux has 11 by default (max_dgram_qlen), systemd systems 512. */
#define QUEUE_MAX 512

static bool queue_full(const struct unix_sock *target)
{
	return target->sk.rxq_count >= QUEUE_MAX || target->sk.rxq_bytes >= target->sk.rcvbuf;
}

static void wait_for_room(struct unix_sock *u, struct unix_sock *target)
{
	list_del(&u->waiting_link);
	list_add_tail(&target->waiting_senders, &u->waiting_link);
}

void unix_wake_senders(struct unix_sock *u)
{
	while (!list_empty(&u->waiting_senders)) {
		struct unix_sock *sender =
			list_first(&u->waiting_senders, struct unix_sock, waiting_link);
		list_del(&sender->waiting_link);
		waitq_wake(&sender->sk.wq, EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND);
	}
}

bool unix_message_writable(struct unix_sock *u)
{
	if (!u->peer || u->peer->dead || u->sk.shut_wr || !queue_full(u->peer))
		return true;
	wait_for_room(u, u->peer);
	return false;
}

/* ---- sending ---- */

static int datagram_target(struct unix_sock *u, struct msg *m, struct unix_sock **ret)
{
	if (m->name_len) {
		int err = unix_find(m->task, &m->name, m->name_len, SOCK_DGRAM, ret);
		if (err)
			return err;
	} else {
		*ret = u->peer;
		if (u->peer->dead) {
			unix_dgram_set_peer(u, NULL);
			return -ECONNREFUSED;
		}
	}
	if ((*ret)->peer && (*ret)->peer != u)
		return -EPERM;
	return (*ret)->sk.shut_rd ? -EPIPE : 0;
}

static int packet_target(struct unix_sock *u, struct unix_sock **ret)
{
	if (!u->peer || u->peer->dead || u->peer->sk.shut_rd)
		return -EPIPE;
	*ret = u->peer;
	return 0;
}

/* What can be wrong before there is a target; the order is Linux's. */
static int send_check(struct unix_sock *u, struct msg *m, size_t size)
{
	if (u->sk.type == SOCK_SEQPACKET) {
		if (u->sk.error)
			return socket_take_error(&u->sk);
		if (u->state != UNIX_CONNECTED)
			return -ENOTCONN;
		m->name_len = 0;
	}
	if (m->flags & MSG_OOB)
		return -EOPNOTSUPP;
	if (size > u->sk.sndbuf - 32)
		return -EMSGSIZE;
	if (u->sk.error)
		return socket_take_error(&u->sk);
	if (u->sk.shut_wr)
		return -EPIPE;
	return u->sk.type == SOCK_DGRAM && !m->name_len && !u->peer ? -ENOTCONN : 0;
}

ssize_t unix_message_send(struct unix_sock *u, struct msg *m)
{
	struct unix_sock *target;
	struct sockaddr_storage name;
	struct dgram *d;
	size_t size = m->u->resid;

	int err = send_check(u, m, size);
	if (err)
		return err;
	err = u->sk.type == SOCK_DGRAM ? datagram_target(u, m, &target) : packet_target(u, &target);
	if (err)
		return err;
	if (u->sk.options & OPTION_PASSCRED && !u->name_size && (err = unix_autobind(u)))
		return err;
	if (target != u && queue_full(target)) {
		wait_for_room(u, target);
		return -EAGAIN;
	}
	socklen_t name_len = u->name_size ? unix_put_name(u, &name) : 0;
	err = dgram_from_uio(&name, name_len, m->u, &d);
	if (err)
		return err;
	d->cred = m->scm.has_cred || !m->task ? m->scm.cred : scm_cred_of(m->task);
	d->fds = m->scm.fds;
	m->scm.fds = NULL;
	if (!name_len) /* it may get one before this is read */
		d->sender = socket_get(&u->sk);
	d->target = socket_get(&target->sk);
	dgram_stage(&u->sk, d);
	return (ssize_t)size;
}

void unix_message_send_done(struct unix_sock *u, size_t count)
{
	struct dgram *d = dgram_unstage(&u->sk);

	(void)count;
	if (!d)
		return;
	struct socket *target = d->target;
	d->target = NULL;
	if (unix_sock(target)->dead) {
		dgram_free(d);
	} else {
		dgram_enqueue(target, d);
		waitq_wake(&target->wq, EPOLLIN | EPOLLRDNORM);
	}
	socket_put(target);
}

/* ---- receiving ---- */

ssize_t unix_message_recv(struct unix_sock *u, struct msg *m)
{
	struct dgram *d = dgram_head(&u->sk);

	if (u->sk.type == SOCK_SEQPACKET && u->state != UNIX_CONNECTED)
		return -ENOTCONN;
	if (m->flags & MSG_OOB)
		return -EOPNOTSUPP;
	if (u->sk.error) /* even before what came earlier */
		return socket_take_error(&u->sk);
	if (!d && u->sk.type == SOCK_SEQPACKET)
		return u->sk.shut_rd ? 0 : -EAGAIN;
	if (!d)
		return dgram_none(&u->sk, m);
	ssize_t n = dgram_recv(&u->sk, d, m);
	if (d->sender && unix_sock(d->sender)->name_size)
		m->name_len = unix_put_name(unix_sock(d->sender), &m->name);
	return n;
}

void unix_message_recv_control(struct unix_sock *u, struct msg *m)
{
	struct dgram *d = dgram_head(&u->sk);

	if (!d)
		return;
	socket_put_stamp(&u->sk, m->control, d->stamp);
	if (u->sk.options & OPTION_PASSCRED)
		unix_put_cred(m->control, d->cred);
	if (d->fds)
		cmsg_put_fds(m->control, d->fds);
}

void unix_message_recv_done(struct unix_sock *u, size_t count)
{
	struct dgram *d = dgram_head(&u->sk);

	(void)count;
	if (!d)
		return;
	dgram_remove(&u->sk, d);
	dgram_free(d);
	if (!queue_full(u))
		unix_wake_senders(u);
}
