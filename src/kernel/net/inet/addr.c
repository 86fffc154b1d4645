/*
 * Addresses of inet sockets: parsing, showing, classes, and the route decision.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "kernel/net/inet/inet.h"
#include "kernel/net/loopback.h"

#define SIN6_SIZE_MIN 24 /* RFC 2133: without the scope id */

bool inet_is_v4(const struct in6_addr *ip)
{
	return IN6_IS_ADDR_V4MAPPED(ip);
}

uint32_t inet_v4(const struct in6_addr *ip)
{
	return ip->s6_addr32[3];
}

struct in6_addr inet_from_v4(uint32_t network_order)
{
	struct in6_addr ip = { 0 };
	ip.s6_addr32[2] = htonl(0xffff);
	ip.s6_addr32[3] = network_order;
	return ip;
}

struct in6_addr inet_any(bool v4)
{
	return v4 ? inet_from_v4(INADDR_ANY) : (struct in6_addr){ 0 };
}

struct in6_addr inet_loopback(bool v4)
{
	struct in6_addr ip = { 0 };
	if (v4)
		return inet_from_v4(htonl(INADDR_LOOPBACK));
	ip.s6_addr[15] = 1;
	return ip;
}

bool inet_is_any(const struct in6_addr *ip)
{
	return IN6_IS_ADDR_UNSPECIFIED(ip) || (inet_is_v4(ip) && !inet_v4(ip));
}

bool inet_is_loopback(const struct in6_addr *ip)
{
	return IN6_IS_ADDR_LOOPBACK(ip) || (inet_is_v4(ip) && ntohl(inet_v4(ip)) >> 24 == 127);
}

bool inet_is_multicast(const struct in6_addr *ip)
{
	if (inet_is_v4(ip))
		return IN_MULTICAST(ntohl(inet_v4(ip)));
	return IN6_IS_ADDR_MULTICAST(ip);
}

bool inet_is_broadcast(const struct in6_addr *ip)
{
	uint32_t v4 = ntohl(inet_v4(ip));
	return inet_is_v4(ip) && (v4 == INADDR_BROADCAST || v4 == 0x7fffffffu);
}

static int parse_v4(const struct inet_sock *i, const void *addr, socklen_t size,
		    struct inet_name *ret)
{
	struct sockaddr_in sin;

	if (size < sizeof(sin))
		return -EINVAL;
	memcpy(&sin, addr, sizeof(sin));
	(void)i;
	ret->ip = inet_from_v4(sin.sin_addr.s_addr);
	ret->port = ntohs(sin.sin_port);
	return 0;
}

static int parse_v6(const void *addr, socklen_t size, struct inet_name *ret)
{
	struct sockaddr_in6 sin6 = { 0 };

	if (size < SIN6_SIZE_MIN)
		return -EINVAL;
	memcpy(&sin6, addr, MIN(size, sizeof(sin6)));
	ret->ip = sin6.sin6_addr;
	ret->port = ntohs(sin6.sin6_port);
	return 0;
}

int inet_parse(const struct inet_sock *i, enum inet_use use, const void *addr, socklen_t size,
	       struct inet_name *ret)
{
	if (size < sizeof(sa_family_t))
		return -EINVAL;
	int family = ((const struct sockaddr *)addr)->sa_family;

	if (i->sk.domain == AF_INET) {
		if (size < sizeof(struct sockaddr_in))
			return -EINVAL;
		int err = parse_v4(i, addr, size, ret);
		if (err || family == AF_INET)
			return err;
		/* Old programs leave the family out: fine for the wildcard, and for sendto. */
		bool lax = (use == INET_BIND && inet_is_any(&ret->ip)) || use == INET_SEND;
		return family == AF_UNSPEC && lax ? 0 : -EAFNOSUPPORT;
	}
	if (family == AF_INET && i->sk.type == SOCK_DGRAM && use != INET_BIND) {
		if (i->v6only)
			return -ENETUNREACH;
		return parse_v4(i, addr, size, ret);
	}
	if (size < SIN6_SIZE_MIN)
		return -EINVAL;
	if (family != AF_INET6)
		return -EAFNOSUPPORT;
	int err = parse_v6(addr, size, ret);
	if (!err && i->v6only && inet_is_v4(&ret->ip))
		return use == INET_BIND ? -EINVAL : -ENETUNREACH;
	return err;
}

socklen_t inet_format(const struct inet_sock *i, const struct inet_name *name,
		      struct sockaddr_storage *ret)
{
	memset(ret, 0, sizeof(struct sockaddr_in6));
	if (i->sk.domain == AF_INET) {
		struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(name->port) };
		sin.sin_addr.s_addr = inet_is_v4(&name->ip) ? inet_v4(&name->ip) : INADDR_ANY;
		memcpy(ret, &sin, sizeof(sin));
		return sizeof(sin);
	}
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6, .sin6_port = htons(name->port) };
	sin6.sin6_addr = name->ip;
	memcpy(ret, &sin6, sizeof(sin6));
	return sizeof(sin6);
}

int inet_route(const struct inet_sock *i, const struct in6_addr *dst)
{
	if (inet_is_any(dst) || inet_is_loopback(dst))
		return 0;
	/* Multicast stays inside, and only when the program chose the loopback for it. */
	if (i->sk.type == SOCK_DGRAM && inet_is_multicast(dst)) {
		bool on_lo = i->multicast_lo || inet_is_loopback(&i->local.ip);
		return on_lo ? 0 : -ENETUNREACH;
	}
	return -ENETUNREACH;
}
