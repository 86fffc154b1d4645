/*
 * The port table: who may bind what, and who gets what arrives.
 *
 * Every socket with a local port is in one hash chain per protocol and port, accepted and connected
 * ends too. The rules are those of Linux: two sockets on one port exclude each other if their
 * addresses overlap, unless both set SO_REUSEADDR (and, for TCP, the other does not listen) or both
 * set SO_REUSEPORT and belong to one user.
 */
#include <errno.h>
#include <linux/capability.h>
#include <string.h>

#include "base/util.h"
#include "kernel/net/inet/inet.h"
#include "kernel/task/cred.h"
#include "kernel/task/task.h"

#define PORT_PRIVILEGED 1024

static struct list *chain_of(const struct inet_sock *i, uint16_t port)
{
	struct inet_root *root = inet_root();
	return inet_is_tcp(i) ? &root->tcp[port % INET_PORT_BUCKETS] :
				&root->udp[port % INET_PORT_BUCKETS];
}

void inet_link_port(struct inet_sock *i)
{
	list_add_head(chain_of(i, i->local.port), &i->port_link);
}

void inet_unbind(struct inet_sock *i)
{
	list_del(&i->port_link);
}

void inet_release_port(struct inet_sock *i)
{
	if (!i->bound_port)
		inet_unbind(i);
}

/* ---- overlap ---- */

static bool takes_v4(const struct inet_sock *i, const struct in6_addr *ip)
{
	if (inet_is_v4(ip))
		return true;
	return i->sk.domain == AF_INET6 && !i->v6only && inet_is_any(ip);
}

static bool takes_v6(const struct in6_addr *ip)
{
	return !inet_is_v4(ip);
}

static bool overlap(const struct inet_sock *a, const struct in6_addr *ip,
		    const struct inet_sock *b)
{
	bool wild = inet_is_any(ip) || inet_is_any(&b->local.ip);
	bool share = (takes_v4(a, ip) && takes_v4(b, &b->local.ip)) ||
		     (takes_v6(ip) && takes_v6(&b->local.ip));
	return share && (wild || inet_same_ip(ip, &b->local.ip));
}

static bool may_share(const struct inet_sock *a, const struct inet_sock *b)
{
	uint32_t both = a->sk.options & b->sk.options;

	if ((both & OPTION_REUSEPORT) && a->uid == b->uid)
		return true;
	return (both & OPTION_REUSEADDR) && b->state != INET_LISTEN;
}

static bool conflicts(const struct inet_sock *i, struct inet_name local, bool strict)
{
	struct inet_sock *other;

	list_for_each(other, chain_of(i, local.port), port_link) {
		if (other == i || other->local.port != local.port ||
		    other->sk.protocol != i->sk.protocol)
			continue;
		if (overlap(i, &local.ip, other) && (strict || !may_share(i, other)))
			return true;
	}
	return false;
}

/* ---- binding ---- */

static int pick_ephemeral(struct inet_sock *i, struct inet_name *local)
{
	struct inet_root *root = inet_root();
	uint32_t count = INET_EPHEMERAL_LAST - INET_EPHEMERAL_FIRST + 1;

	for (uint32_t tries = 0; tries < count; tries++) {
		if (root->next_port < INET_EPHEMERAL_FIRST || root->next_port >= INET_EPHEMERAL_LAST)
			root->next_port = INET_EPHEMERAL_FIRST;
		local->port = root->next_port++;
		if (!conflicts(i, *local, true))
			return 0;
	}
	return -EADDRINUSE;
}

static void take(struct inet_sock *i, struct inet_name local)
{
	i->local = local;
	inet_link_port(i);
}

int inet_bind_port(struct task *t, struct inet_sock *i, struct inet_name local)
{
	if (t && local.port && local.port < PORT_PRIVILEGED &&
	    !cred_capable(t->cred, CAP_NET_BIND_SERVICE))
		return -EACCES;
	if (!local.port) {
		int err = pick_ephemeral(i, &local);
		if (err)
			return err;
	} else if (conflicts(i, local, false)) {
		return -EADDRINUSE;
	}
	take(i, local);
	return 0;
}

int inet_autobind(struct inet_sock *i)
{
	struct inet_name local = i->local;

	if (inet_has_port(i))
		return 0;
	int err = pick_ephemeral(i, &local);
	if (err)
		return err == -EADDRINUSE ? -EAGAIN : err;
	take(i, local);
	return 0;
}

int inet_check_listen(struct inet_sock *i)
{
	struct inet_sock *other;

	list_for_each(other, chain_of(i, i->local.port), port_link) {
		if (other == i || other->local.port != i->local.port ||
		    other->state != INET_LISTEN || !overlap(i, &i->local.ip, other))
			continue;
		if (!may_share(i, other))
			return -EADDRINUSE;
	}
	return 0;
}

/* ---- finding the receiver ---- */

/* 0: does not take it; higher is more specific. */
static int score_local(const struct inet_sock *i, const struct inet_name *dst)
{
	if (i->local.port != dst->port)
		return 0;
	if (inet_same_ip(&i->local.ip, &dst->ip))
		return 4;
	if (i->also_v4 && inet_is_v4(&dst->ip))
		return 3;
	if (!inet_is_any(&i->local.ip))
		return 0;
	if (inet_is_v4(&dst->ip))
		return inet_is_v4(&i->local.ip) ? 3 : takes_v4(i, &i->local.ip) ? 2 : 0;
	return takes_v6(&i->local.ip) ? 3 : 0;
}

struct inet_sock *inet_find_listener(const struct inet_name *dst)
{
	struct inet_sock *i, *best = NULL;
	struct list *chain = &inet_root()->tcp[dst->port % INET_PORT_BUCKETS];
	int best_score = 0;

	list_for_each(i, chain, port_link) {
		int score = i->state == INET_LISTEN ? score_local(i, dst) : 0;
		bool better = score > best_score ||
			      (score && score == best_score &&
			       i->pending_count < best->pending_count);
		if (better) {
			best = i;
			best_score = score;
		}
	}
	if (best && (best->sk.options & OPTION_REUSEPORT)) {
		/* Spread over the group: the next connection tries another one first. */
		list_del(&best->port_link);
		list_add_tail(chain, &best->port_link);
	}
	return best;
}

bool inet_connection_exists(const struct inet_name *local, const struct inet_name *remote)
{
	struct inet_sock *i;

	list_for_each(i, &inet_root()->tcp[local->port % INET_PORT_BUCKETS], port_link)
		if (i->peer && i->local.port == local->port && i->remote.port == remote->port &&
		    inet_same_ip(&i->local.ip, &local->ip) &&
		    inet_same_ip(&i->remote.ip, &remote->ip))
			return true;
	return false;
}

static bool from_peer(const struct inet_sock *i, const struct inet_name *src)
{
	return i->remote.port == src->port && inet_same_ip(&i->remote.ip, &src->ip);
}

struct inet_sock *inet_find_udp(int protocol, const struct inet_name *dst,
				const struct inet_name *src)
{
	struct inet_sock *i, *best = NULL;
	int best_score = 0, group = 0;

	list_for_each(i, &inet_root()->udp[dst->port % INET_PORT_BUCKETS], port_link) {
		int score = i->sk.protocol == protocol ? score_local(i, dst) : 0;
		if (score && i->remote.port)
			score = from_peer(i, src) ? score + 8 : 0;
		if (score > best_score) {
			best = i;
			best_score = score;
			group = 1;
		} else if (score && score == best_score && (i->sk.options & OPTION_REUSEPORT)) {
			/* One sender always meets the same member of a group. */
			group++;
			if (src->port % group == group - 1)
				best = i;
		}
	}
	return best;
}

static bool in_group(const struct inet_sock *i, const struct in6_addr *group)
{
	for (uint8_t g = 0; g < i->group_count; g++)
		if (inet_same_ip(&i->groups[g], group))
			return true;
	return false;
}

struct inet_sock *inet_next_member(struct inet_sock *prev, int protocol,
				   const struct inet_name *dst)
{
	struct list *chain = &inet_root()->udp[dst->port % INET_PORT_BUCKETS];
	struct list *at = prev ? prev->port_link.next : chain->next;

	for (; at != chain; at = at->next) {
		struct inet_sock *i = list_entry(at, struct inet_sock, port_link);
		if (i->sk.protocol == protocol && score_local(i, dst) && in_group(i, &dst->ip))
			return i;
	}
	return NULL;
}
