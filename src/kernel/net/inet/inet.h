/*
 * AF_INET and AF_INET6 sockets: TCP and UDP, in memory. Theory of operation: inet.c.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "kernel/core/ring.h"
#include "kernel/core/timer.h"
#include "kernel/net/socket.h"

/* States as /proc/net/tcp and TCP_INFO number them. */
enum inet_state {
	INET_ESTABLISHED = 1,
	INET_SYN_SENT = 2,
	INET_FIN_WAIT2 = 5,
	INET_CLOSE = 7,
	INET_CLOSE_WAIT = 8,
	INET_LISTEN = 10,
};

/* What connect() has been told so far (the SS_* of Linux). */
enum inet_phase { PHASE_UNCONNECTED, PHASE_CONNECTING, PHASE_CONNECTED, PHASE_DISCONNECTING };

#define INET_GROUPS_MAX 20 /* net.ipv4.igmp_max_memberships */
#define INET_STORED_MAX 64

/* IPv4 addresses are kept in their v4-mapped form everywhere inside. Ports are in host order. */
struct inet_name {
	struct in6_addr ip;
	uint16_t port;
};

struct inet_stored { /* an option that was set */
	uint8_t level; /* index, option.c */
	uint8_t opt;
	int value;
};

struct inet_sock {
	struct socket sk;
	uint8_t state; /* enum inet_state; a UDP socket is CLOSE or ESTABLISHED */
	uint8_t phase; /* enum inet_phase */
	bool v6only;
	bool bound_ip;	 /* bind() named an address */
	bool bound_port; /* bind() named a port */
	bool rx_fin;	 /* the peer will send no more */
	bool peer_gone;	 /* the peer closed: writing gets a reset */
	bool internal;	 /* the kernel's own end (net/dial.h) */
	bool urgent, urgent_read; /* there is an urgent byte ahead; MSG_OOB got it already */
	bool sends_urgent, reads_urgent; /* between move and effect */
	bool also_v4; /* UDP: an IPv6 address, and a peer of IPv4 */
	uint32_t uid;		/* who made it: SO_REUSEPORT groups */
	struct inet_name local, remote;
	struct list port_link; /* in the port table while it owns local.port */
	struct list all_link;

	struct inet_sock *peer; /* connected TCP: holds a reference */
	struct ring rx;		/* TCP: what was sent to us */
	uint64_t bytes_in;   /* received so far */
	uint64_t urgent_pos; /* stream position of the urgent byte */
	uint64_t read_pos;   /* bytes read so far */

	/* listener */
	struct list pending; /* established, not accepted: queue_link of the accepting ends */
	struct list knocking; /* SYN_SENT, no room in pending: queue_link of the connecting ends */
	struct list queue_link;
	uint32_t pending_count, backlog;
	struct timer timer; /* connect */

	/* UDP */
	struct in6_addr groups[INET_GROUPS_MAX];
	uint8_t group_count;
	bool multicast_lo; /* IP_MULTICAST_IF names the loopback */

	struct inet_stored *stored;
	uint8_t stored_count, stored_capacity;
};

static inline struct inet_sock *inet_sock(struct socket *s)
{
	return container_of(s, struct inet_sock, sk);
}
/* A port can be left over from a connection that ended: shown by getsockname, but not ours. */
static inline bool inet_has_port(const struct inet_sock *i)
{
	return list_linked(&i->port_link);
}
static inline bool inet_is_tcp(const struct inet_sock *i)
{
	return i->sk.type == SOCK_STREAM;
}

#define INET_PORT_BUCKETS 256
#define INET_EPHEMERAL_FIRST 32768
#define INET_EPHEMERAL_LAST 60999

struct inet_root {
	struct list tcp[INET_PORT_BUCKETS], udp[INET_PORT_BUCKETS];
	struct list all;
	uint16_t next_port;
};
struct inet_root *inet_root(void); /* NULL only without memory */

struct inet_sock *inet_new(int domain, int type, int protocol); /* one reference */

/* ---- addr.c ---- */
enum inet_use { INET_BIND, INET_CONNECT, INET_SEND };
/* A sockaddr as this socket may use it. -EINVAL, -EAFNOSUPPORT. */
int inet_parse(const struct inet_sock *i, enum inet_use use, const void *addr, socklen_t size,
	       struct inet_name *ret);
/* The way the socket's family shows an address. Returns its size. */
socklen_t inet_format(const struct inet_sock *i, const struct inet_name *name,
		      struct sockaddr_storage *ret);
bool inet_is_v4(const struct in6_addr *ip); /* v4-mapped */
bool inet_is_any(const struct in6_addr *ip);
bool inet_is_loopback(const struct in6_addr *ip);
bool inet_is_multicast(const struct in6_addr *ip);
bool inet_is_broadcast(const struct in6_addr *ip);
static inline bool inet_same_ip(const struct in6_addr *a, const struct in6_addr *b)
{
	return !__builtin_memcmp(a, b, sizeof(*a));
}
struct in6_addr inet_loopback(bool v4);
struct in6_addr inet_any(bool v4);
uint32_t inet_v4(const struct in6_addr *ip); /* network order */
struct in6_addr inet_from_v4(uint32_t network_order);

/*
 * Where a destination is. Everything but ourselves is unreachable: connections to the outside will
 * get their own result here and a peer end that the control side feeds (see net/dial.h).
 * 0 (this sandbox) or -ENETUNREACH.
 */
int inet_route(const struct inet_sock *i, const struct in6_addr *dst);

/* ---- port.c ---- */
/* Takes a port for `local`; port 0: an ephemeral one. t NULL: the kernel itself. -EADDRINUSE, -EACCES. */
int inet_bind_port(struct task *t, struct inet_sock *i, struct inet_name local);
int inet_autobind(struct inet_sock *i);
void inet_unbind(struct inet_sock *i);
/* The connection is over: a port that bind() did not ask for by number is free again. */
void inet_release_port(struct inet_sock *i);
void inet_link_port(struct inet_sock *i); /* an accepted end: shares its listener's port */
/* listen(): may it, beside other listeners? */
int inet_check_listen(struct inet_sock *i);
struct inet_sock *inet_find_listener(const struct inet_name *dst);
/* A connected TCP end with exactly these names. */
bool inet_connection_exists(const struct inet_name *local, const struct inet_name *remote);
struct inet_sock *inet_find_udp(int protocol, const struct inet_name *dst,
				const struct inet_name *src);
/* Next UDP socket after `prev` (NULL = first) that gets messages to the group `dst`. */
struct inet_sock *inet_next_member(struct inet_sock *prev, int protocol,
				   const struct inet_name *dst);

/* ---- tcp.c ---- */
int tcp_listen(struct call *c, struct inet_sock *i, int backlog);
long tcp_connect(struct call *c, struct file *f, struct inet_sock *i, const void *addr,
		 socklen_t size);
/* Starts connecting to `dst`. 0: connected or knocking (SYN_SENT); -ECONNREFUSED. */
int tcp_start(struct inet_sock *i, const struct inet_name *dst);
int tcp_accept(struct inet_sock *i, struct socket **ret);
int tcp_shutdown(struct inet_sock *i, int how);
void tcp_close(struct inet_sock *i);
void inet_timer_fired(struct timer *t); /* table entry for TIMER_INET */
int tcp_state(const struct inet_sock *i); /* as Linux would name it */

/* ---- tcp_data.c ---- */
ssize_t tcp_send(struct inet_sock *i, struct msg *m);
void tcp_send_done(struct inet_sock *i, size_t count);
void tcp_send_lost(struct inet_sock *i);
ssize_t tcp_recv(struct inet_sock *i, struct msg *m);
void tcp_recv_done(struct inet_sock *i, size_t count);
uint32_t tcp_poll(struct inet_sock *i);
uint32_t tcp_capacity(const struct inet_sock *i); /* of its receive ring */

uint32_t tcp_unread(const struct inet_sock *i); /* FIONREAD */

/* ---- udp.c ---- */
long udp_connect(struct call *c, struct inet_sock *i, const void *addr, socklen_t size);
ssize_t udp_send(struct inet_sock *i, struct msg *m);
void udp_send_done(struct inet_sock *i, size_t count);
ssize_t udp_recv(struct inet_sock *i, struct msg *m);
void udp_recv_control(struct inet_sock *i, struct msg *m);
void udp_recv_done(struct inet_sock *i, size_t count);
int udp_membership(struct inet_sock *i, const struct in6_addr *group, bool join);

/* ---- option.c ---- */
int inet_setsockopt(struct call *c, struct socket *s, int level, int opt, const void *value,
		    size_t size);
int inet_getsockopt(struct call *c, struct socket *s, int level, int opt, void *value,
		    size_t *size);
int inet_option(const struct inet_sock *i, int level, int opt); /* current value of an int option */
int inet_copy_options(struct inet_sock *to, const struct inet_sock *from);
int inet_send_control(struct socket *s, struct msg *m, int level, int type, const void *data,
		      size_t size);
