/*
 * Netlink sockets: NETLINK_ROUTE, read-only. Theory of operation: netlink.c.
 */
#pragma once

#include <linux/netlink.h>
#include <stdint.h>

#include "kernel/net/socket.h"

struct netlink_sock {
	struct socket sk;
	struct list all_link;
	uint32_t pid; /* port id; 0 = unbound */
	uint32_t groups;
	uint32_t peer_pid, peer_groups; /* connect(); the kernel is 0 */
	uint32_t flags;			/* bits by NETLINK_* option number */
};

static inline struct netlink_sock *netlink_sock(struct socket *s)
{
	return container_of(s, struct netlink_sock, sk);
}

/* A reply under construction: messages appended to one buffer, sent as one datagram each call. */
struct netlink_reply {
	struct netlink_sock *to;
	const struct nlmsghdr *request;
	uint8_t *buf;
	size_t capacity, used;
	size_t last; /* offset of the message begun last */
	bool overflow;
};

/* Appends a message header with `size` bytes of fixed part (zeroed); NULL when full. */
void *netlink_begin(struct netlink_reply *r, uint16_t type, uint16_t flags, size_t size);
/* Appends an attribute to the message begun last. */
void netlink_attr(struct netlink_reply *r, uint16_t type, const void *data, size_t size);
void netlink_attr_u32(struct netlink_reply *r, uint16_t type, uint32_t v);

/* rtnetlink.c: answers one request. *ret_done: a dump, to be closed with NLMSG_DONE. 0 or -errno. */
int rtnetlink_request(struct netlink_reply *r, const uint8_t *payload, size_t size,
		      bool *ret_dump);
