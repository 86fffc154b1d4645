/*
 * TCP and UDP: theory of operation.
 *
 * There is no wire. Both ends of every connection are in this sandbox, so a TCP connection is a
 * pair of sockets that write into each other's receive ring, and a UDP message goes straight into
 * its receiver's queue. What programs can observe is kept: states, errors, resets, half-close,
 * backlog, port rules.
 *
 *   struct inet_root: ports of TCP and of UDP, hashed      (port.c)
 *       |
 *   inet_sock (listener) --pending--> accepting ends, connected, not accepted yet
 *       |                \-knocking-> connecting ends that wait for room in the backlog
 *   inet_sock <--peer--> inet_sock    (each holds a reference)
 *
 *   CLOSE --listen--> LISTEN
 *   CLOSE --connect--> SYN_SENT (only while the backlog is full) --> ESTABLISHED
 *   ESTABLISHED: shut_wr (we sent FIN), rx_fin (FIN received); both = CLOSE
 *   close(): FIN; or RST when data is unread or SO_LINGER is 0
 *
 * Addresses are v4-mapped inside, so that one set of rules serves both families; the socket's
 * domain decides how they are shown. Anything that is not loopback has no route (addr.c).
 *
 * Deviations: no TIME_WAIT (a port is free at once), a connection request never times out while
 * the listener lives longer than CONNECT_TIMEOUT, MSG_MORE and corking have no effect, urgent data
 * is one byte beside the stream.
 */
#include "kernel/net/inet/inet.h"

#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/fs/file.h"
#include "kernel/net/dgram.h"
#include "kernel/task/cred.h"
#include "kernel/task/task.h"

struct inet_root *inet_root(void)
{
	static struct inet_root *cached;
	if (cached)
		return cached;
	cached = arena_root(ROOT_INET, sizeof(*cached));
	if (!cached || cached->all.next)
		return cached;
	list_init(&cached->all);
	cached->next_port = INET_EPHEMERAL_FIRST;
	for (size_t b = 0; b < INET_PORT_BUCKETS; b++) {
		list_init(&cached->tcp[b]);
		list_init(&cached->udp[b]);
	}
	return cached;
}

struct inet_sock *inet_new(int domain, int type, int protocol)
{
	struct inet_root *root = inet_root();
	struct inet_sock *i = root ? knew(struct inet_sock) : NULL;

	if (!i)
		return NULL;
	socket_setup(&i->sk, FAMILY_INET, domain, type, protocol);
	i->state = INET_CLOSE;
	i->local.ip = i->remote.ip = inet_any(domain == AF_INET);
	ring_init(&i->rx, tcp_capacity(i));
	list_init(&i->port_link);
	list_init(&i->pending);
	list_init(&i->knocking);
	list_init(&i->queue_link);
	list_add_tail(&root->all, &i->all_link);
	return i;
}

static int check_protocol(int type, int protocol)
{
	switch (type) {
	case SOCK_STREAM:
		return protocol == 0 || protocol == IPPROTO_TCP ? IPPROTO_TCP : -EPROTONOSUPPORT;
	case SOCK_DGRAM:
		if (protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6)
			return -EACCES; /* ping sockets: an empty ping_group_range */
		if (protocol == IPPROTO_UDPLITE) /* UDP in all but name, and ports of its own */
			return protocol;
		return protocol == 0 || protocol == IPPROTO_UDP ? IPPROTO_UDP : -EPROTONOSUPPORT;
	case SOCK_RAW:
		return protocol == 0 ? -EPROTONOSUPPORT : -EPERM;
	default:
		return -ESOCKTNOSUPPORT;
	}
}

static int inet_create(struct task *t, int domain, int type, int protocol, struct socket **ret)
{
	if (protocol < 0 || protocol > 255)
		return protocol == 262 ? -EPROTONOSUPPORT : -EINVAL; /* 262: MPTCP */
	int proto = check_protocol(type, protocol);
	if (proto < 0)
		return proto;
	struct inet_sock *i = inet_new(domain, type, proto);
	if (!i)
		return -ENOMEM;
	i->uid = t->cred->euid;
	*ret = &i->sk;
	return 0;
}

static void inet_release(struct socket *s)
{
	struct inet_sock *i = inet_sock(s);

	if (inet_is_tcp(i))
		tcp_close(i);
	inet_unbind(i);
	dgram_purge(s);
}

static void inet_destroy(struct socket *s)
{
	struct inet_sock *i = inet_sock(s);

	inet_unbind(i);
	list_del(&i->all_link);
	list_del(&i->queue_link);
	timer_cancel(&i->timer);
	ring_clear(&i->rx);
	dgram_purge(s);
	if (i->peer)
		socket_put(&i->peer->sk);
	kfree(i->stored);
	kfree(i);
}

/* ---- names ---- */

static int inet_bind(struct call *c, struct socket *s, const void *addr, socklen_t size)
{
	struct inet_sock *i = inet_sock(s);
	struct inet_name name;

	int err = inet_parse(i, INET_BIND, addr, size, &name);
	if (err)
		return err;
	if (inet_has_port(i) || i->state != INET_CLOSE)
		return -EINVAL;
	bool ours = inet_is_any(&name.ip) || inet_is_loopback(&name.ip);
	if (!ours && !(s->type == SOCK_DGRAM && inet_is_multicast(&name.ip)))
		return -EADDRNOTAVAIL;
	err = inet_bind_port(c->task, i, name);
	if (err)
		return err;
	i->bound_ip = !inet_is_any(&name.ip);
	i->bound_port = name.port != 0;
	return 0;
}

static bool has_peer_name(const struct inet_sock *i)
{
	if (!i->remote.port)
		return false;
	return !inet_is_tcp(i) || (tcp_state(i) != INET_CLOSE && i->state != INET_SYN_SENT);
}

static int inet_name_of(struct socket *s, bool peer, struct sockaddr_storage *ret, socklen_t *size)
{
	struct inet_sock *i = inet_sock(s);

	if (peer && !has_peer_name(i) && s->file)
		return -ENOTCONN;
	*size = inet_format(i, peer ? &i->remote : &i->local, ret);
	return 0;
}

/* ---- dispatch by type ---- */

static int inet_listen(struct call *c, struct socket *s, int backlog)
{
	return inet_is_tcp(inet_sock(s)) ? tcp_listen(c, inet_sock(s), backlog) : -EOPNOTSUPP;
}

static long inet_connect(struct call *c, struct file *f, struct socket *s, const void *addr,
			 socklen_t size)
{
	if (size < sizeof(sa_family_t))
		return -EINVAL;
	return inet_is_tcp(inet_sock(s)) ? tcp_connect(c, f, inet_sock(s), addr, size) :
					   udp_connect(c, inet_sock(s), addr, size);
}

static int inet_accept(struct socket *s, struct socket **ret)
{
	return inet_is_tcp(inet_sock(s)) ? tcp_accept(inet_sock(s), ret) : -EOPNOTSUPP;
}

static int inet_shutdown(struct socket *s, int how)
{
	struct inet_sock *i = inet_sock(s);

	if (inet_is_tcp(i))
		return tcp_shutdown(i, how);
	s->shut_rd |= how != SHUT_WR;
	s->shut_wr |= how != SHUT_RD;
	waitq_wake(&s->wq, 0);
	return i->state == INET_ESTABLISHED ? 0 : -ENOTCONN;
}

static ssize_t inet_send(struct socket *s, struct msg *m)
{
	return inet_is_tcp(inet_sock(s)) ? tcp_send(inet_sock(s), m) : udp_send(inet_sock(s), m);
}

static void inet_send_done(struct socket *s, size_t count)
{
	if (inet_is_tcp(inet_sock(s)))
		tcp_send_done(inet_sock(s), count);
	else
		udp_send_done(inet_sock(s), count);
}

static void inet_send_lost(struct socket *s)
{
	if (inet_is_tcp(inet_sock(s)))
		tcp_send_lost(inet_sock(s));
}

static ssize_t inet_recv(struct socket *s, struct msg *m)
{
	if (m->flags & MSG_ERRQUEUE)
		return -EAGAIN;
	return inet_is_tcp(inet_sock(s)) ? tcp_recv(inet_sock(s), m) : udp_recv(inet_sock(s), m);
}

static void inet_recv_control(struct socket *s, struct msg *m)
{
	if (!inet_is_tcp(inet_sock(s)))
		udp_recv_control(inet_sock(s), m);
}

static void inet_recv_done(struct socket *s, size_t count)
{
	if (inet_is_tcp(inet_sock(s)))
		tcp_recv_done(inet_sock(s), count);
	else
		udp_recv_done(inet_sock(s), count);
}

static uint32_t inet_poll(struct socket *s)
{
	uint32_t events = EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND;

	if (inet_is_tcp(inet_sock(s)))
		return tcp_poll(inet_sock(s));
	if (s->rxq_count)
		events |= EPOLLIN | EPOLLRDNORM;
	if (s->error)
		events |= EPOLLERR;
	if (s->shut_rd)
		events |= EPOLLRDHUP | EPOLLIN | EPOLLRDNORM;
	if (s->shut_rd && s->shut_wr)
		events |= EPOLLHUP;
	return events;
}

static long inet_ioctl(struct call *c, struct socket *s, uint32_t cmd, uint64_t arg)
{
	struct inet_sock *i = inet_sock(s);
	struct dgram *d = dgram_head(s);
	uint32_t v;

	switch (cmd) {
	case FIONREAD:
		if (i->state == INET_LISTEN)
			return -EINVAL;
		v = inet_is_tcp(i) ? tcp_unread(i) : d ? d->size : 0;
		break;
	case SIOCOUTQ: /* nothing is ever on its way */
	case SIOCOUTQNSD:
		if (i->state == INET_LISTEN)
			return -EINVAL;
		v = 0;
		break;
	case SIOCATMARK:
		v = i->urgent && i->urgent_pos == i->read_pos;
		break;
	default:
		return -ENOTTY;
	}
	return user_write_u32(c->task, uaddr(arg), v);
}

static void inet_buffers_changed(struct socket *s)
{
	struct inet_sock *i = inet_sock(s);
	i->rx.capacity = tcp_capacity(i);
	if (i->peer)
		i->peer->rx.capacity = tcp_capacity(i->peer);
}

const struct socket_ops inet_socket_ops = {
	.name = "inet",
	.create = inet_create,
	.bind = inet_bind,
	.listen = inet_listen,
	.connect = inet_connect,
	.accept = inet_accept,
	.shutdown = inet_shutdown,
	.name_of = inet_name_of,
	.send = inet_send,
	.send_done = inet_send_done,
	.send_lost = inet_send_lost,
	.recv = inet_recv,
	.recv_control = inet_recv_control,
	.recv_done = inet_recv_done,
	.poll = inet_poll,
	.send_control = inet_send_control,
	.setsockopt = inet_setsockopt,
	.getsockopt = inet_getsockopt,
	.ioctl = inet_ioctl,
	.buffers_changed = inet_buffers_changed,
	.release = inet_release,
	.destroy = inet_destroy,
};
