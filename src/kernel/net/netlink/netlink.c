/*
 * Netlink: theory of operation.
 *
 * A send carries requests; each is answered at once by appending to the sender's own receive queue:
 * dumps as a run of messages and NLMSG_DONE, refusals and acknowledgements as NLMSG_ERROR. The
 * interface never changes, so multicast groups can be joined and stay silent.
 *
 * Requests take effect when the send is committed; they are parked in the staged message till then.
 * Only NETLINK_ROUTE exists.
 */
#include "kernel/net/netlink/netlink.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/net/dgram.h"
#include "kernel/task/task.h"

#define REQUEST_MAX KIB(64)
#define REPLY_MAX KIB(16)

struct netlink_root {
	struct list all;
	uint32_t next_pid;
};

static struct netlink_root *root(void)
{
	static struct netlink_root *cached;
	if (cached)
		return cached;
	cached = arena_root(ROOT_NETLINK, sizeof(*cached));
	if (cached && !cached->all.next) {
		list_init(&cached->all);
		cached->next_pid = 0xffffefffu; /* as Linux: negative numbers, downwards */
	}
	return cached;
}

/* ---- life and names ---- */

static int netlink_create(struct task *t, int domain, int type, int protocol, struct socket **ret)
{
	(void)t;
	if (type != SOCK_RAW && type != SOCK_DGRAM)
		return -ESOCKTNOSUPPORT;
	if (protocol != NETLINK_ROUTE)
		return -EPROTONOSUPPORT;
	struct netlink_sock *n = root() ? knew(struct netlink_sock) : NULL;
	if (!n)
		return -ENOMEM;
	socket_setup(&n->sk, FAMILY_NETLINK, domain, type, protocol);
	list_add_tail(&root()->all, &n->all_link);
	*ret = &n->sk;
	return 0;
}

static void netlink_release(struct socket *s)
{
	dgram_purge(s);
}

static void netlink_destroy(struct socket *s)
{
	struct netlink_sock *n = netlink_sock(s);
	list_del(&n->all_link);
	dgram_purge(s);
	kfree(n);
}

static bool pid_taken(uint32_t pid)
{
	struct netlink_sock *n;
	list_for_each(n, &root()->all, all_link)
		if (n->pid == pid)
			return true;
	return false;
}

static void autobind(struct netlink_sock *n, struct task *t)
{
	uint32_t pid = t ? (uint32_t)t->proc->pid : 0;

	if (n->pid)
		return;
	while (!pid || pid_taken(pid))
		pid = root()->next_pid--;
	n->pid = pid;
}

static int read_address(const void *addr, socklen_t size, struct sockaddr_nl *ret)
{
	if (size < sizeof(*ret))
		return -EINVAL;
	memcpy(ret, addr, sizeof(*ret));
	return ret->nl_family == AF_NETLINK ? 0 : -EINVAL;
}

static int netlink_bind(struct call *c, struct socket *s, const void *addr, socklen_t size)
{
	struct netlink_sock *n = netlink_sock(s);
	struct sockaddr_nl snl;

	int err = read_address(addr, size, &snl);
	if (err)
		return err;
	if (n->pid && snl.nl_pid != n->pid)
		return -EINVAL;
	if (!n->pid && snl.nl_pid) {
		if (pid_taken(snl.nl_pid))
			return -EADDRINUSE;
		n->pid = snl.nl_pid;
	}
	autobind(n, c->task);
	n->groups = snl.nl_groups;
	return 0;
}

static long netlink_connect(struct call *c, struct file *f, struct socket *s, const void *addr,
			    socklen_t size)
{
	struct netlink_sock *n = netlink_sock(s);
	struct sockaddr_nl snl;

	(void)f;
	if (size < sizeof(sa_family_t))
		return -EINVAL;
	if (((const struct sockaddr *)addr)->sa_family == AF_UNSPEC) {
		n->peer_pid = n->peer_groups = 0;
		return 0;
	}
	int err = read_address(addr, size, &snl);
	if (err)
		return err;
	if (snl.nl_pid || snl.nl_groups)
		return -EPERM; /* only the kernel is there */
	autobind(n, c->task);
	return 0;
}

static int netlink_name_of(struct socket *s, bool peer, struct sockaddr_storage *ret,
			   socklen_t *size)
{
	struct netlink_sock *n = netlink_sock(s);
	struct sockaddr_nl snl = { .nl_family = AF_NETLINK };

	snl.nl_pid = peer ? n->peer_pid : n->pid;
	snl.nl_groups = peer ? n->peer_groups : n->groups;
	memcpy(ret, &snl, sizeof(snl));
	*size = sizeof(snl);
	return 0;
}

/* ---- replies ---- */

void *netlink_begin(struct netlink_reply *r, uint16_t type, uint16_t flags, size_t size)
{
	size_t total = NLMSG_SPACE(size);

	if (r->capacity - r->used < total) {
		r->overflow = true;
		return NULL;
	}
	struct nlmsghdr *h = (struct nlmsghdr *)(void *)(r->buf + r->used);
	memset(h, 0, total);
	*h = (struct nlmsghdr){ .nlmsg_len = (uint32_t)NLMSG_LENGTH(size),
				.nlmsg_type = type,
				.nlmsg_flags = flags,
				.nlmsg_seq = r->request->nlmsg_seq,
				.nlmsg_pid = r->to->pid };
	r->last = r->used;
	r->used += total;
	return NLMSG_DATA(h);
}

void netlink_attr(struct netlink_reply *r, uint16_t type, const void *data, size_t size)
{
	size_t total = RTA_SPACE(size);

	if (r->overflow || r->capacity - r->used < total) {
		r->overflow = true;
		return;
	}
	struct nlmsghdr *h = (struct nlmsghdr *)(void *)(r->buf + r->last);
	struct rtattr attr = { .rta_len = (uint16_t)RTA_LENGTH(size), .rta_type = type };
	memset(r->buf + r->used, 0, total);
	memcpy(r->buf + r->used, &attr, sizeof(attr));
	if (size)
		memcpy(r->buf + r->used + RTA_LENGTH(0), data, size);
	r->used += total;
	h->nlmsg_len = (uint32_t)(r->used - r->last);
}

void netlink_attr_u32(struct netlink_reply *r, uint16_t type, uint32_t v)
{
	netlink_attr(r, type, &v, sizeof(v));
}

static void push(struct netlink_sock *n, const uint8_t *data, size_t size)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	if (!size)
		return;
	struct dgram *d = n->sk.rxq_bytes + size > n->sk.rcvbuf ?
				  NULL :
				  dgram_new(&kernel, sizeof(kernel), size);
	if (!d) {
		socket_set_error(&n->sk, ENOBUFS); /* netlink(7): replies were lost */
		return;
	}
	memcpy(dgram_data(d), data, size);
	dgram_enqueue(&n->sk, d);
	waitq_wake(&n->sk.wq, EPOLLIN | EPOLLRDNORM);
}

/* NLMSG_ERROR: a refusal or, with err 0, an acknowledgement. */
static void put_error(struct netlink_reply *r, int err)
{
	/* A refusal carries the whole request, unless NETLINK_CAP_ACK says otherwise. */
	bool whole = err && !(r->to->flags & (1u << NETLINK_CAP_ACK));
	size_t extra = whole ? r->request->nlmsg_len - sizeof(*r->request) : 0;
	struct nlmsgerr *e = netlink_begin(r, NLMSG_ERROR, whole ? 0 : NLM_F_CAPPED,
					   sizeof(*e) + extra);
	if (!e)
		return;
	e->error = err;
	memcpy(&e->msg, r->request, sizeof(*r->request) + extra);
}

static void answer(struct netlink_sock *n, const struct nlmsghdr *request, const uint8_t *payload,
		   size_t size, uint8_t *buf)
{
	struct netlink_reply r = { .to = n, .request = request, .buf = buf,
				   .capacity = REPLY_MAX };
	bool dump = false;
	int err;

	if (!(request->nlmsg_flags & NLM_F_REQUEST) || request->nlmsg_type < NLMSG_MIN_TYPE)
		err = 0;
	else
		err = rtnetlink_request(&r, payload, size, &dump);
	if (err)
		r.used = 0;
	if (!err && dump) {
		push(n, buf, r.used);
		r.used = 0;
		int *status = netlink_begin(&r, NLMSG_DONE, NLM_F_MULTI, sizeof(int));
		if (status)
			*status = 0;
	} else if (err || (request->nlmsg_flags & NLM_F_ACK)) {
		put_error(&r, err);
	}
	push(n, buf, r.used);
}

/* ---- data ---- */

static ssize_t netlink_send(struct socket *s, struct msg *m)
{
	struct netlink_sock *n = netlink_sock(s);
	size_t size = m->u->resid;
	struct sockaddr_nl to = { 0 };
	struct dgram *d;

	if (m->flags & MSG_OOB)
		return -EOPNOTSUPP;
	if (m->name_len) {
		int err = read_address(&m->name, m->name_len, &to);
		if (err)
			return err;
		if (to.nl_groups)
			return -EPERM;
		if (to.nl_pid)
			return -ECONNREFUSED;
	}
	if (size > REQUEST_MAX)
		return -EMSGSIZE;
	autobind(n, m->task);
	int err = dgram_from_uio(NULL, 0, m->u, &d);
	if (err)
		return err;
	dgram_stage(s, d);
	return (ssize_t)size;
}

static void netlink_send_done(struct socket *s, size_t count)
{
	struct netlink_sock *n = netlink_sock(s);
	struct dgram *d = dgram_unstage(s);
	uint8_t *buf = d ? kmalloc(REPLY_MAX) : NULL;
	size_t at = 0;

	(void)count;
	if (d && !buf)
		socket_set_error(s, ENOBUFS);
	while (buf && d->size - at >= sizeof(struct nlmsghdr)) {
		/* The copy in the message is ours: nobody changes it any more. */
		const struct nlmsghdr *h = (const void *)(dgram_data(d) + at);
		if (h->nlmsg_len < sizeof(*h) || h->nlmsg_len > d->size - at)
			break;
		answer(n, h, dgram_data(d) + at + NLMSG_HDRLEN, h->nlmsg_len - NLMSG_HDRLEN, buf);
		at += MIN((size_t)NLMSG_ALIGN(h->nlmsg_len), d->size - at);
	}
	kfree(buf);
	dgram_free(d);
}

static ssize_t netlink_recv(struct socket *s, struct msg *m)
{
	struct dgram *d = dgram_head(s);

	if (m->flags & MSG_OOB)
		return -EOPNOTSUPP;
	if (s->error)
		return socket_take_error(s);
	return d ? dgram_recv(s, d, m) : -EAGAIN;
}

static void netlink_recv_control(struct socket *s, struct msg *m)
{
	struct netlink_sock *n = netlink_sock(s);
	struct nl_pktinfo info = { 0 };
	struct ucred kernel = { 0 };

	if (n->flags & (1u << NETLINK_PKTINFO))
		cmsg_put(m->control, SOL_NETLINK, NETLINK_PKTINFO, &info, sizeof(info));
	if (s->options & OPTION_PASSCRED)
		cmsg_put(m->control, SOL_SOCKET, SCM_CREDENTIALS, &kernel, sizeof(kernel));
}

static void netlink_recv_done(struct socket *s, size_t count)
{
	struct dgram *d = dgram_head(s);

	(void)count;
	if (!d)
		return;
	dgram_remove(s, d);
	dgram_free(d);
}

static uint32_t netlink_poll(struct socket *s)
{
	uint32_t events = EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND;

	if (s->rxq_count)
		events |= EPOLLIN | EPOLLRDNORM;
	return s->error ? events | EPOLLERR : events;
}

/* ---- options ---- */

static int netlink_setsockopt(struct call *c, struct socket *s, int level, int opt,
			      const void *value, size_t size)
{
	struct netlink_sock *n = netlink_sock(s);
	int v;

	(void)c;
	if (level != SOL_NETLINK || opt < 1 || opt > NETLINK_GET_STRICT_CHK)
		return -ENOPROTOOPT;
	if (option_get_int(value, size, &v))
		return -EINVAL;
	if (opt == NETLINK_ADD_MEMBERSHIP || opt == NETLINK_DROP_MEMBERSHIP)
		return v > 0 && v <= RTNLGRP_MAX ? 0 : -EINVAL;
	n->flags = v ? n->flags | (1u << opt) : n->flags & ~(1u << opt);
	return 0;
}

static int netlink_getsockopt(struct call *c, struct socket *s, int level, int opt, void *value,
			      size_t *size)
{
	(void)c;
	if (level == SOL_SOCKET && opt == SO_ACCEPTCONN)
		return option_put_int(value, size, 0);
	if (level != SOL_NETLINK || opt < 1 || opt > NETLINK_GET_STRICT_CHK)
		return -ENOPROTOOPT;
	return option_put_int(value, size, (netlink_sock(s)->flags >> opt) & 1);
}

static long netlink_ioctl(struct call *c, struct socket *s, uint32_t cmd, uint64_t arg)
{
	struct dgram *d = dgram_head(s);

	if (cmd != FIONREAD)
		return -ENOTTY;
	return user_write_u32(c->task, uaddr(arg), d ? d->size : 0);
}

const struct socket_ops netlink_socket_ops = {
	.name = "netlink",
	.create = netlink_create,
	.bind = netlink_bind,
	.connect = netlink_connect,
	.name_of = netlink_name_of,
	.send = netlink_send,
	.send_done = netlink_send_done,
	.recv = netlink_recv,
	.recv_control = netlink_recv_control,
	.recv_done = netlink_recv_done,
	.poll = netlink_poll,
	.setsockopt = netlink_setsockopt,
	.getsockopt = netlink_getsockopt,
	.ioctl = netlink_ioctl,
	.release = netlink_release,
	.destroy = netlink_destroy,
};
