/*
 * Options of the levels IP, IPv6, TCP and UDP (ip(7), ipv6(7), tcp(7), udp(7)).
 *
 * Most of them tune a wire that does not exist here: they are checked, kept and returned, driven by
 * one table. Only values that differ from the default take memory. Options with a structure as
 * value, or with an effect, have code of their own.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <string.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/net/inet/inet.h"
#include "kernel/net/loopback.h"

#define MSS_LOOPBACK 65483

#ifndef IP_LOCAL_PORT_RANGE
#define IP_LOCAL_PORT_RANGE 51
#endif
#ifndef IP_BIND_ADDRESS_NO_PORT
#define IP_BIND_ADDRESS_NO_PORT 24
#endif

enum { LEVEL_IP, LEVEL_IPV6, LEVEL_TCP, LEVEL_UDP };

struct row {
	uint8_t level, opt;
	int preset, min, max;
};

#define FLAG(level, opt, preset) { level, opt, preset, INT_MIN, INT_MAX }
#define READ_ONLY(level, opt, preset) { level, opt, preset, 1, 0 }

static const struct row rows[] = {
	{ LEVEL_IP, IP_TOS, 0, 0, 255 },
	{ LEVEL_IP, IP_TTL, 64, -1, 255 },
	{ LEVEL_IP, IP_MTU_DISCOVER, IP_PMTUDISC_WANT, 0, 5 },
	FLAG(LEVEL_IP, IP_RECVERR, 0),
	FLAG(LEVEL_IP, IP_PKTINFO, 0),
	FLAG(LEVEL_IP, IP_RECVTTL, 0),
	FLAG(LEVEL_IP, IP_RECVTOS, 0),
	FLAG(LEVEL_IP, IP_RECVOPTS, 0),
	FLAG(LEVEL_IP, IP_RETOPTS, 0),
	FLAG(LEVEL_IP, IP_RECVORIGDSTADDR, 0),
	FLAG(LEVEL_IP, IP_FREEBIND, 0),
	FLAG(LEVEL_IP, IP_BIND_ADDRESS_NO_PORT, 0),
	{ LEVEL_IP, IP_MINTTL, 0, 0, 255 },
	{ LEVEL_IP, IP_MULTICAST_TTL, 1, -1, 255 },
	{ LEVEL_IP, IP_MULTICAST_LOOP, 1, 0, 255 },
	FLAG(LEVEL_IP, IP_MULTICAST_ALL, 1),
	FLAG(LEVEL_IP, IP_UNICAST_IF, 0),
	READ_ONLY(LEVEL_IP, IP_MTU, LO_MTU),
	{ LEVEL_IPV6, IPV6_UNICAST_HOPS, 64, -1, 255 },
	{ LEVEL_IPV6, IPV6_MULTICAST_HOPS, 1, -1, 255 },
	{ LEVEL_IPV6, IPV6_MULTICAST_LOOP, 1, 0, 1 },
	{ LEVEL_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_WANT, 0, 5 },
	{ LEVEL_IPV6, IPV6_MTU, 0, 0, 65535 },
	FLAG(LEVEL_IPV6, IPV6_RECVERR, 0),
	FLAG(LEVEL_IPV6, IPV6_RECVPKTINFO, 0),
	FLAG(LEVEL_IPV6, IPV6_RECVHOPLIMIT, 0),
	FLAG(LEVEL_IPV6, IPV6_RECVTCLASS, 0),
	FLAG(LEVEL_IPV6, IPV6_RECVHOPOPTS, 0),
	FLAG(LEVEL_IPV6, IPV6_RECVRTHDR, 0),
	FLAG(LEVEL_IPV6, IPV6_RECVDSTOPTS, 0),
	FLAG(LEVEL_IPV6, IPV6_RECVPATHMTU, 0),
	FLAG(LEVEL_IPV6, IPV6_DONTFRAG, 0),
	FLAG(LEVEL_IPV6, IPV6_AUTOFLOWLABEL, 1),
	FLAG(LEVEL_IPV6, IPV6_ADDR_PREFERENCES, 2),
	FLAG(LEVEL_IPV6, IPV6_FREEBIND, 0),
	FLAG(LEVEL_IPV6, IPV6_MULTICAST_ALL, 1),
	FLAG(LEVEL_IPV6, 33 /* IPV6_FLOWINFO_SEND */, 0),
	{ LEVEL_IPV6, IPV6_TCLASS, 0, -1, 255 },
	FLAG(LEVEL_TCP, TCP_NODELAY, 0),
	FLAG(LEVEL_TCP, TCP_CORK, 0),
	FLAG(LEVEL_TCP, TCP_QUICKACK, 1),
	FLAG(LEVEL_TCP, TCP_THIN_LINEAR_TIMEOUTS, 0),
	FLAG(LEVEL_TCP, TCP_THIN_DUPACK, 0),
	FLAG(LEVEL_TCP, TCP_FASTOPEN_CONNECT, 0),
	FLAG(LEVEL_TCP, TCP_FASTOPEN_NO_COOKIE, 0),
	FLAG(LEVEL_TCP, TCP_SAVE_SYN, 0),
	{ LEVEL_TCP, TCP_MAXSEG, MSS_LOOPBACK, 0, 32767 },
	{ LEVEL_TCP, TCP_KEEPIDLE, 7200, 1, 32767 },
	{ LEVEL_TCP, TCP_KEEPINTVL, 75, 1, 32767 },
	{ LEVEL_TCP, TCP_KEEPCNT, 9, 1, 127 },
	{ LEVEL_TCP, TCP_SYNCNT, 6, 1, 127 },
	FLAG(LEVEL_TCP, TCP_LINGER2, 60),
	FLAG(LEVEL_TCP, TCP_DEFER_ACCEPT, 0),
	FLAG(LEVEL_TCP, TCP_WINDOW_CLAMP, 65535),
	{ LEVEL_TCP, TCP_USER_TIMEOUT, 0, 0, INT_MAX },
	{ LEVEL_TCP, TCP_FASTOPEN, 0, 0, INT_MAX },
	{ LEVEL_TCP, TCP_NOTSENT_LOWAT, -1, INT_MIN, INT_MAX },
	FLAG(LEVEL_TCP, TCP_TIMESTAMP, 0),
	FLAG(LEVEL_TCP, TCP_INQ, 0),
	FLAG(LEVEL_UDP, UDP_CORK, 0),
	{ LEVEL_UDP, 10 /* UDPLITE_SEND_CSCOV */, 0, 0, 65535 },
	{ LEVEL_UDP, 11 /* UDPLITE_RECV_CSCOV */, 0, 0, 65535 },
	FLAG(LEVEL_UDP, 101 /* UDP_NO_CHECK6_TX */, 0),
	FLAG(LEVEL_UDP, 102 /* UDP_NO_CHECK6_RX */, 0),
};

static int level_index(const struct inet_sock *i, int level)
{
	switch (level) {
	case IPPROTO_IP:
		return LEVEL_IP;
	case IPPROTO_IPV6:
		return i->sk.domain == AF_INET6 ? LEVEL_IPV6 : -1;
	case IPPROTO_TCP:
		return inet_is_tcp(i) ? LEVEL_TCP : -1;
	case IPPROTO_UDP:
	case IPPROTO_UDPLITE: /* its options are the checksum coverages */
		return inet_is_tcp(i) || (level == IPPROTO_UDPLITE && i->sk.protocol != level) ?
			       -1 :
			       LEVEL_UDP;
	default:
		return -1;
	}
}

static const struct row *row_of(int level, int opt)
{
	for (size_t r = 0; r < ARRAY_SIZE(rows); r++)
		if (rows[r].level == level && rows[r].opt == opt)
			return &rows[r];
	return NULL;
}

static struct inet_stored *stored_of(const struct inet_sock *i, int level, int opt)
{
	for (uint8_t n = 0; n < i->stored_count; n++)
		if (i->stored[n].level == level && i->stored[n].opt == opt)
			return &i->stored[n];
	return NULL;
}

int inet_option(const struct inet_sock *i, int level, int opt)
{
	int index = level == IPPROTO_IP	  ? LEVEL_IP :
		    level == IPPROTO_IPV6 ? LEVEL_IPV6 :
		    level == IPPROTO_TCP  ? LEVEL_TCP :
					    LEVEL_UDP;
	const struct inet_stored *st = stored_of(i, index, opt);
	if (st)
		return st->value;
	const struct row *row = row_of(index, opt);
	return row ? row->preset : 0;
}

static int store(struct inet_sock *i, int level, int opt, int value)
{
	struct inet_stored *st = stored_of(i, level, opt);

	if (st) {
		st->value = value;
		return 0;
	}
	if (i->stored_count == i->stored_capacity) {
		if (i->stored_capacity >= INET_STORED_MAX)
			return -ENOBUFS;
		uint8_t more = (uint8_t)(i->stored_capacity + 8);
		st = krealloc(i->stored, i->stored_capacity * sizeof(*st), more * sizeof(*st));
		if (!st)
			return -ENOBUFS;
		i->stored = st;
		i->stored_capacity = more;
	}
	i->stored[i->stored_count++] =
		(struct inet_stored){ .level = (uint8_t)level, .opt = (uint8_t)opt, .value = value };
	return 0;
}

int inet_copy_options(struct inet_sock *to, const struct inet_sock *from)
{
	to->sk.options = from->sk.options;
	to->sk.linger_on = from->sk.linger_on;
	to->sk.linger_s = from->sk.linger_s;
	to->sk.rcvbuf = from->sk.rcvbuf;
	to->sk.sndbuf = from->sk.sndbuf;
	to->sk.rcvtimeo_ns = from->sk.rcvtimeo_ns;
	to->sk.sndtimeo_ns = from->sk.sndtimeo_ns;
	to->sk.rcvlowat = from->sk.rcvlowat;
	if (!from->stored_count)
		return 0;
	to->stored = kmalloc(from->stored_capacity * sizeof(*to->stored));
	if (!to->stored)
		return -ENOBUFS;
	memcpy(to->stored, from->stored, from->stored_count * sizeof(*to->stored));
	to->stored_count = from->stored_count;
	to->stored_capacity = from->stored_capacity;
	return 0;
}

/* ---- set ---- */

static int set_membership(struct inet_sock *i, int opt, const void *value, size_t size)
{
	struct ip_mreqn m4 = { 0 };
	struct ipv6_mreq m6;
	struct in6_addr group;
	bool join;

	if (opt == IP_ADD_MEMBERSHIP || opt == IP_DROP_MEMBERSHIP) {
		if (size < sizeof(struct ip_mreq))
			return -EINVAL;
		memcpy(&m4, value, MIN(size, sizeof(m4)));
		uint32_t iface = ntohl(m4.imr_address.s_addr);
		if (size >= sizeof(m4) && m4.imr_ifindex > LO_INDEX)
			return -ENODEV;
		if (iface && iface >> 24 != 127)
			return -ENODEV;
		group = inet_from_v4(m4.imr_multiaddr.s_addr);
		join = opt == IP_ADD_MEMBERSHIP;
	} else {
		if (size < sizeof(m6))
			return -EINVAL;
		memcpy(&m6, value, sizeof(m6));
		if (m6.ipv6mr_interface > LO_INDEX)
			return -ENODEV;
		group = m6.ipv6mr_multiaddr;
		join = opt == IPV6_ADD_MEMBERSHIP;
	}
	return inet_is_tcp(i) ? -EPROTO : udp_membership(i, &group, join);
}

static int set_multicast_if(struct inet_sock *i, int level, const void *value, size_t size)
{
	struct ip_mreqn m = { 0 };
	int index;

	if (level == IPPROTO_IPV6) {
		if (option_get_int(value, size, &index))
			return -EINVAL;
	} else if (size >= sizeof(struct ip_mreq)) {
		memcpy(&m, value, MIN(size, sizeof(m)));
		index = m.imr_ifindex;
	} else if (size >= sizeof(struct in_addr)) {
		memcpy(&m.imr_address, value, sizeof(m.imr_address));
		index = 0;
	} else {
		return -EINVAL;
	}
	uint32_t address = ntohl(m.imr_address.s_addr);
	if (index > LO_INDEX || index < 0)
		return -ENODEV;
	if (address && address >> 24 != 127)
		return -EADDRNOTAVAIL;
	i->multicast_lo = index == LO_INDEX || address;
	return 0;
}

static int set_v6only(struct inet_sock *i, const void *value, size_t size)
{
	int v;

	if (option_get_int(value, size, &v))
		return -EINVAL;
	if (inet_has_port(i))
		return -EINVAL;
	i->v6only = v != 0;
	return 0;
}

static int set_congestion(const void *value, size_t size)
{
	static const char *const known[] = { "cubic", "reno" };
	for (size_t k = 0; k < ARRAY_SIZE(known); k++)
		if (strnlen(value, size) == strlen(known[k]) &&
		    !memcmp(value, known[k], strlen(known[k])))
			return 0;
	return -ENOENT;
}

/* Options that have no row: -ENOPROTOOPT when there is nothing like that. */
static int set_special(struct inet_sock *i, int level, int opt, const void *value, size_t size)
{
	if (level == IPPROTO_IP) {
		switch (opt) {
		case IP_ADD_MEMBERSHIP:
		case IP_DROP_MEMBERSHIP:
			return set_membership(i, opt, value, size);
		case IP_MULTICAST_IF:
			return set_multicast_if(i, level, value, size);
		case IP_OPTIONS:
			return size ? -EINVAL : 0;
		case IP_TRANSPARENT:
			return -EPERM;
		default:
			return -ENOPROTOOPT;
		}
	}
	if (level == IPPROTO_IPV6) {
		switch (opt) {
		case IPV6_V6ONLY:
			return set_v6only(i, value, size);
		case IPV6_ADD_MEMBERSHIP:
		case IPV6_DROP_MEMBERSHIP:
			return set_membership(i, opt, value, size);
		case IPV6_MULTICAST_IF:
			return set_multicast_if(i, level, value, size);
		case IPV6_TRANSPARENT:
			return -EPERM;
		default:
			return -ENOPROTOOPT;
		}
	}
	if (level == IPPROTO_TCP && opt == TCP_CONGESTION)
		return set_congestion(value, size);
	return level == IPPROTO_TCP && opt == TCP_ULP ? -ENOENT : -ENOPROTOOPT;
}

static bool is_flag(const struct row *row)
{
	return row->min == INT_MIN && row->max == INT_MAX && (row->preset == 0 || row->preset == 1);
}

int inet_setsockopt(struct call *c, struct socket *s, int level, int opt, const void *value,
		    size_t size)
{
	struct inet_sock *i = inet_sock(s);
	int v, index = level_index(i, level);

	(void)c;
	if (level == SOL_SOCKET || index < 0)
		return -ENOPROTOOPT;
	const struct row *row = row_of(index, opt);
	if (!row)
		return set_special(i, level, opt, value, size);
	int err = level == IPPROTO_IP ? option_get_int_or_byte(value, size, &v) :
					option_get_int(value, size, &v);
	if (err)
		return err;
	if (row->min > row->max)
		return -ENOPROTOOPT;
	if (v < row->min || v > row->max || (opt == IP_TTL && level == IPPROTO_IP && !v))
		return -EINVAL;
	bool back_to_default = row->min == -1 && v == -1;
	bool keep = opt == TCP_DEFER_ACCEPT || opt == TCP_LINGER2 || opt == TCP_WINDOW_CLAMP;
	if (is_flag(row) && !(level == IPPROTO_TCP && keep))
		v = v != 0;
	return store(i, index, opt, back_to_default ? row->preset : v);
}

/* ---- get ---- */

static int get_tcp_info(const struct inet_sock *i, void *value, size_t *size)
{
	struct tcp_info info = {
		.tcpi_state = (uint8_t)tcp_state(i),
		.tcpi_options = TCPI_OPT_TIMESTAMPS | TCPI_OPT_SACK | TCPI_OPT_WSCALE,
		.tcpi_snd_wscale = 7,
		.tcpi_rcv_wscale = 7,
		.tcpi_rto = 200000,
		.tcpi_ato = 40000,
		.tcpi_snd_mss = MSS_LOOPBACK,
		.tcpi_rcv_mss = 536,
		.tcpi_advmss = MSS_LOOPBACK,
		.tcpi_pmtu = LO_MTU,
		.tcpi_rcv_ssthresh = 65535,
		.tcpi_rtt = 20,
		.tcpi_rttvar = 10,
		.tcpi_snd_ssthresh = INT_MAX,
		.tcpi_snd_cwnd = 10,
		.tcpi_reordering = 3,
		.tcpi_rcv_space = 65535,
	};
	if (i->state == INET_LISTEN) { /* ss -l shows the queue */
		info.tcpi_unacked = i->pending_count;
		info.tcpi_sacked = i->backlog;
	}
	return option_put(value, size, &info, sizeof(info));
}

static int get_special(const struct inet_sock *i, int level, int opt, void *value, size_t *size)
{
	struct in_addr lo = { .s_addr = i->multicast_lo ? htonl(INADDR_LOOPBACK) : 0 };

	if (level == IPPROTO_IP && opt == IP_MULTICAST_IF)
		return option_put(value, size, &lo, sizeof(lo));
	if (level == IPPROTO_IP && opt == IP_OPTIONS) {
		*size = 0;
		return 0;
	}
	if (level == IPPROTO_IP && opt == IP_TRANSPARENT)
		return option_put_int(value, size, 0);
	if (level == IPPROTO_IPV6 && opt == IPV6_V6ONLY)
		return option_put_int(value, size, i->v6only);
	if (level == IPPROTO_IPV6 && opt == IPV6_MULTICAST_IF)
		return option_put_int(value, size, i->multicast_lo ? LO_INDEX : 0);
	if (level == IPPROTO_TCP && opt == TCP_INFO)
		return get_tcp_info(i, value, size);
	if (level == IPPROTO_TCP && opt == TCP_CONGESTION)
		return option_put(value, size, "cubic\0\0\0\0\0\0\0\0\0\0", 16);
	if (level == IPPROTO_TCP && opt == TCP_ULP) {
		*size = 0;
		return 0;
	}
	return -ENOPROTOOPT;
}

int inet_getsockopt(struct call *c, struct socket *s, int level, int opt, void *value,
		    size_t *size)
{
	struct inet_sock *i = inet_sock(s);
	int index = level_index(i, level);

	(void)c;
	if (level == SOL_SOCKET) {
		if (opt == SO_ACCEPTCONN)
			return option_put_int(value, size, i->state == INET_LISTEN);
		if (opt == SO_PEERCRED) {
			struct ucred none = { .pid = 0, .uid = (uid_t)-1, .gid = (gid_t)-1 };
			return option_put(value, size, &none, sizeof(none));
		}
		return -ENOPROTOOPT;
	}
	if (index < 0)
		return level == IPPROTO_IPV6 || level > IPPROTO_RAW ? -EOPNOTSUPP : -ENOPROTOOPT;
	const struct row *row = row_of(index, opt);
	if (!row)
		return get_special(i, level, opt, value, size);
	if (index == LEVEL_IP && opt == IP_MTU && !i->remote.port)
		return -ENOTCONN;
	int v = inet_option(i, level, opt);
	/* Linux answers a one-byte question about small IP options with a byte. */
	if (level == IPPROTO_IP && *size > 0 && *size < sizeof(int) && v >= 0 && v <= 255) {
		uint8_t byte = (uint8_t)v;
		return option_put(value, size, &byte, 1);
	}
	return option_put_int(value, size, v);
}

/* ---- ancillary data of a send ---- */

static int set_hops_or_class(struct msg *m, int level, int type, const void *data, size_t size)
{
	bool hops = level == IPPROTO_IP ? type == IP_TTL : type == IPV6_HOPLIMIT;
	bool class = level == IPPROTO_IP ? type == IP_TOS : type == IPV6_TCLASS;
	int v;

	if (level != IPPROTO_IP && level != IPPROTO_IPV6)
		return 0;
	if (!hops && !class)
		return -EINVAL;
	if (option_get_int_or_byte(data, size, &v) || v < -1 || v > 255)
		return -EINVAL;
	if (v < 0)
		return 0; /* the default */
	if (hops) {
		m->scm.has_hops = true;
		m->scm.hops = (uint8_t)v;
	} else {
		m->scm.has_class = true;
		m->scm.traffic_class = (uint8_t)v;
	}
	return 0;
}

int inet_send_control(struct socket *s, struct msg *m, int level, int type, const void *data,
		      size_t size)
{
	if (level == IPPROTO_IP && type == IP_PKTINFO) {
		struct in_pktinfo info;
		if (size != sizeof(info))
			return -EINVAL;
		memcpy(&info, data, sizeof(info));
		if (!info.ipi_spec_dst.s_addr)
			return 0;
		struct in6_addr src = inet_from_v4(info.ipi_spec_dst.s_addr);
		memcpy(m->scm.pktinfo_src, &src, sizeof(src));
		m->scm.has_pktinfo = true;
		return 0;
	}
	if (level == IPPROTO_IPV6 && type == IPV6_PKTINFO) {
		struct in6_pktinfo info;
		if (size < sizeof(info) || s->domain != AF_INET6)
			return -EINVAL;
		memcpy(&info, data, sizeof(info));
		if (inet_is_any(&info.ipi6_addr))
			return 0;
		memcpy(m->scm.pktinfo_src, &info.ipi6_addr, sizeof(info.ipi6_addr));
		m->scm.has_pktinfo = true;
		return 0;
	}
	return set_hops_or_class(m, level, type, data, size);
}
