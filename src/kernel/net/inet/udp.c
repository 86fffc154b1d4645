/*
 * UDP: messages between sockets of the sandbox.
 *
 * A message finds its receiver by port and address, most specific first. A full queue drops it. No
 * receiver: a connected sender gets ECONNREFUSED at its next call, as if an ICMP message had come.
 * Multicast is delivered to every member; broadcasts have nowhere to go.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/util.h"
#include "kernel/net/dgram.h"
#include "kernel/net/inet/inet.h"
#include "kernel/net/loopback.h"
#include "kernel/task/task.h"

#define UDP_MAX_V4 65507
#define UDP_MAX_V6 65527

static int check_destination(struct inet_sock *i, struct inet_name *dst)
{
	if (inet_is_broadcast(&dst->ip))
		return i->sk.options & OPTION_BROADCAST ? -ENETUNREACH : -EACCES;
	int err = inet_route(i, &dst->ip);
	if (err)
		return err;
	if (inet_is_any(&dst->ip))
		dst->ip = inet_loopback(inet_is_v4(&dst->ip) || inet_is_v4(&i->local.ip));
	if (inet_is_any(&i->local.ip) || inet_is_v4(&i->local.ip) == inet_is_v4(&dst->ip))
		return 0;
	if (inet_is_v4(&i->local.ip))
		return -EAFNOSUPPORT;
	return i->bound_ip ? -ENETUNREACH : 0;
}

static struct inet_name source_for(const struct inet_sock *i, const struct inet_name *dst)
{
	struct inet_name src = i->local;
	if (inet_is_any(&src.ip) || inet_is_multicast(&src.ip) ||
	    inet_is_v4(&src.ip) != inet_is_v4(&dst->ip))
		src.ip = inet_loopback(inet_is_v4(&dst->ip));
	return src;
}

long udp_connect(struct call *c, struct inet_sock *i, const void *addr, socklen_t size)
{
	struct inet_name dst;

	(void)c;
	if (((const struct sockaddr *)addr)->sa_family == AF_UNSPEC) {
		i->state = INET_CLOSE;
		i->also_v4 = false;
		memset(&i->remote, 0, sizeof(i->remote));
		if (!i->bound_ip)
			i->local.ip = inet_any(i->sk.domain == AF_INET);
		if (!i->bound_port) {
			inet_unbind(i);
			i->local.port = 0;
		}
		return 0;
	}
	int err = inet_autobind(i); /* first, as Linux does it */
	if (!err)
		err = inet_parse(i, INET_CONNECT, addr, size, &dst);
	if (!err)
		err = check_destination(i, &dst);
	if (err)
		return err;
	if (inet_is_any(&i->local.ip)) /* it stays what the first connect() made it */
		i->local.ip = source_for(i, &dst).ip;
	i->also_v4 = !inet_is_v4(&i->local.ip) && inet_is_v4(&dst.ip);
	i->remote = dst;
	i->state = INET_ESTABLISHED;
	return 0;
}

/* ---- sending ---- */

static int destination(struct inet_sock *i, struct msg *m, struct inet_name *ret)
{
	/* IPv6 takes an address of no family for none. */
	bool no_name = !m->name_len || (i->sk.domain == AF_INET6 && m->name_len >= 2 &&
					m->name.ss_family == AF_UNSPEC);
	if (no_name) {
		if (i->state != INET_ESTABLISHED)
			return -EDESTADDRREQ;
		*ret = i->remote;
		return 0;
	}
	int err = inet_parse(i, INET_SEND, &m->name, m->name_len, ret);
	if (err == -EAFNOSUPPORT && i->sk.domain == AF_INET6)
		err = -EINVAL;
	if (err)
		return err;
	return ret->port ? check_destination(i, ret) : -EINVAL;
}

/* Hop limit and traffic class: of this message, or of the socket. */
static void set_header(const struct inet_sock *i, const struct msg *m, const struct inet_name *dst,
		       struct dgram *d)
{
	bool v4 = inet_is_v4(&dst->ip), many = inet_is_multicast(&dst->ip);
	int level = v4 ? IPPROTO_IP : IPPROTO_IPV6;
	int hops_option = v4 ? (many ? IP_MULTICAST_TTL : IP_TTL) :
			       (many ? IPV6_MULTICAST_HOPS : IPV6_UNICAST_HOPS);

	d->hops = m->scm.has_hops ? m->scm.hops : (uint8_t)inet_option(i, level, hops_option);
	d->traffic_class = m->scm.has_class ?
				   m->scm.traffic_class :
				   (uint8_t)inet_option(i, level, v4 ? IP_TOS : IPV6_TCLASS);
}

ssize_t udp_send(struct inet_sock *i, struct msg *m)
{
	struct inet_name dst, src;
	struct dgram *d;
	size_t size = m->u->resid;

	int err = inet_autobind(i);
	if (err)
		return err;
	if ((m->flags & MSG_OOB) && i->sk.domain == AF_INET)
		return -EOPNOTSUPP;
	err = destination(i, m, &dst);
	if (err)
		return err;
	if ((m->flags & MSG_OOB) && inet_is_v4(&dst.ip))
		return -EOPNOTSUPP;
	if (size > (inet_is_v4(&dst.ip) ? UDP_MAX_V4 : UDP_MAX_V6))
		return -EMSGSIZE;
	if (i->sk.error)
		return socket_take_error(&i->sk);
	if (i->sk.shut_wr)
		return -EPIPE;
	src = source_for(i, &dst);
	if (m->scm.has_pktinfo) {
		memcpy(&src.ip, m->scm.pktinfo_src, sizeof(src.ip));
		if (!inet_is_loopback(&src.ip))
			return -EINVAL;
	}
	/* The name is kept in inner form; recv shows it in the receiver's family. */
	err = dgram_from_uio(&src, sizeof(src), m->u, &d);
	if (err)
		return err;
	memcpy(d->dst, &dst.ip, sizeof(d->dst));
	d->dst_port = dst.port;
	set_header(i, m, &dst, d);
	dgram_stage(&i->sk, d);
	return (ssize_t)size;
}

static bool has_room(const struct inet_sock *to, const struct dgram *d)
{
	return !to->sk.shut_rd && to->sk.rxq_bytes + d->charge <= to->sk.rcvbuf;
}

static bool deliver(struct inet_sock *to, struct dgram *d)
{
	if (!has_room(to, d))
		return false;
	dgram_enqueue(&to->sk, d);
	waitq_wake(&to->sk.wq, EPOLLIN | EPOLLRDNORM);
	return true;
}

static void deliver_to_group(int protocol, const struct inet_name *dst, struct dgram *d)
{
	struct inet_sock *to = NULL;

	while ((to = inet_next_member(to, protocol, dst))) {
		if (!has_room(to, d)) /* no copy only to drop it: there may be thousands */
			continue;
		struct dgram *copy = dgram_new(d->bytes, d->name_size, d->size);
		if (!copy)
			break;
		memcpy(copy->dst, d->dst, sizeof(copy->dst));
		copy->hops = d->hops;
		copy->traffic_class = d->traffic_class;
		memcpy(dgram_data(copy), dgram_data(d), d->size);
		deliver(to, copy);
	}
	dgram_free(d);
}

/* Only an error from the peer finds its way to a connected socket. */
static bool is_peer(const struct inet_sock *i, const struct inet_name *dst)
{
	return i->state == INET_ESTABLISHED && i->remote.port == dst->port &&
	       inet_same_ip(&i->remote.ip, &dst->ip);
}

void udp_send_done(struct inet_sock *i, size_t count)
{
	struct dgram *d = dgram_unstage(&i->sk);
	struct inet_name dst, src;

	(void)count;
	if (!d)
		return;
	memcpy(&dst.ip, d->dst, sizeof(dst.ip));
	dst.port = d->dst_port;
	memcpy(&src, d->bytes, sizeof(src));
	if (inet_is_multicast(&dst.ip)) {
		deliver_to_group(i->sk.protocol, &dst, d);
		return;
	}
	struct inet_sock *to = inet_find_udp(i->sk.protocol, &dst, &src);
	if (to && deliver(to, d))
		return;
	dgram_free(d);
	if (!to && (is_peer(i, &dst) || inet_option(i, IPPROTO_IP, IP_RECVERR) ||
		    inet_option(i, IPPROTO_IPV6, IPV6_RECVERR)))
		socket_set_error(&i->sk, ECONNREFUSED);
}

/* ---- receiving ---- */

ssize_t udp_recv(struct inet_sock *i, struct msg *m)
{
	struct dgram *d = dgram_head(&i->sk);
	struct inet_name src;

	if (i->sk.error)
		return socket_take_error(&i->sk);
	if (!d)
		return dgram_none(&i->sk, m);
	ssize_t n = dgram_recv(&i->sk, d, m);
	memcpy(&src, d->bytes, sizeof(src));
	m->name_len = inet_format(i, &src, &m->name);
	return n;
}

static void put_v4(struct inet_sock *i, struct cmsg_out *out, const struct dgram *d)
{
	struct in6_addr dst;
	int ttl = d->hops;

	memcpy(&dst, d->dst, sizeof(dst));
	if (inet_option(i, IPPROTO_IP, IP_PKTINFO)) {
		struct in_pktinfo info = { .ipi_ifindex = LO_INDEX };
		info.ipi_addr.s_addr = inet_v4(&dst);
		info.ipi_spec_dst.s_addr = inet_v4(&dst);
		cmsg_put(out, IPPROTO_IP, IP_PKTINFO, &info, sizeof(info));
	}
	if (inet_option(i, IPPROTO_IP, IP_RECVTTL))
		cmsg_put(out, IPPROTO_IP, IP_TTL, &ttl, sizeof(ttl));
	if (inet_option(i, IPPROTO_IP, IP_RECVTOS))
		cmsg_put(out, IPPROTO_IP, IP_TOS, &d->traffic_class, 1);
}

static void put_v6(struct inet_sock *i, struct cmsg_out *out, const struct dgram *d)
{
	int hops = d->hops, class = d->traffic_class;

	if (inet_option(i, IPPROTO_IPV6, IPV6_RECVPKTINFO)) {
		struct in6_pktinfo info = { .ipi6_ifindex = LO_INDEX };
		memcpy(&info.ipi6_addr, d->dst, sizeof(info.ipi6_addr));
		cmsg_put(out, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof(info));
	}
	if (inet_option(i, IPPROTO_IPV6, IPV6_RECVHOPLIMIT))
		cmsg_put(out, IPPROTO_IPV6, IPV6_HOPLIMIT, &hops, sizeof(hops));
	if (inet_option(i, IPPROTO_IPV6, IPV6_RECVTCLASS))
		cmsg_put(out, IPPROTO_IPV6, IPV6_TCLASS, &class, sizeof(class));
}

void udp_recv_control(struct inet_sock *i, struct msg *m)
{
	struct dgram *d = dgram_head(&i->sk);

	if (!d)
		return;
	socket_put_stamp(&i->sk, m->control, d->stamp);
	if (i->sk.domain == AF_INET6)
		put_v6(i, m->control, d);
	else
		put_v4(i, m->control, d);
}

void udp_recv_done(struct inet_sock *i, size_t count)
{
	struct dgram *d = dgram_head(&i->sk);

	(void)count;
	if (!d)
		return;
	dgram_remove(&i->sk, d);
	dgram_free(d);
}

/* ---- groups ---- */

int udp_membership(struct inet_sock *i, const struct in6_addr *group, bool join)
{
	uint8_t at = 0;

	if (!inet_is_multicast(group))
		return -EINVAL;
	while (at < i->group_count && !inet_same_ip(&i->groups[at], group))
		at++;
	if (join) {
		if (at < i->group_count)
			return -EADDRINUSE;
		if (at == INET_GROUPS_MAX)
			return -ENOBUFS;
		i->groups[i->group_count++] = *group;
		return 0;
	}
	if (at == i->group_count)
		return -EADDRNOTAVAIL;
	i->groups[at] = i->groups[--i->group_count];
	return 0;
}
