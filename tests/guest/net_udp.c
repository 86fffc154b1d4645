/* UDP over loopback. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "check.h"

static struct sockaddr_in v4(uint32_t host, int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	a.sin_addr.s_addr = htonl(host);
	return a;
}

static int bound(uint32_t host, struct sockaddr_in *ret)
{
	socklen_t size = sizeof(*ret);
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	*ret = v4(host, 0);
	CHECK_EQ(bind(s, (void *)ret, sizeof(*ret)), 0);
	CHECK_EQ(getsockname(s, (void *)ret, &size), 0);
	if (host == INADDR_ANY)
		ret->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return s;
}

TEST(send_and_receive)
{
	struct sockaddr_in a, from;
	socklen_t size = sizeof(from);
	char buf[16];
	int s = bound(INADDR_ANY, &a), c = socket(AF_INET, SOCK_DGRAM, 0), v;
	CHECK_ERRNO(send(c, "x", 1, 0), EDESTADDRREQ);
	CHECK_EQ(sendto(c, "hello", 5, 0, (void *)&a, sizeof(a)), 5);
	CHECK_EQ(sendto(c, "", 0, 0, (void *)&a, sizeof(a)), 0);
	struct pollfd p = { s, POLLIN | POLLOUT, 0 };
	CHECK_EQ(poll(&p, 1, -1), 1);
	CHECK_EQ(p.revents, POLLIN | POLLOUT);
	CHECK_EQ(ioctl(s, FIONREAD, &v), 0);
	CHECK_EQ(v, 5);
	CHECK_EQ(recvfrom(s, buf, 3, MSG_PEEK | MSG_TRUNC, (void *)&from, &size), 5);
	CHECK_EQ(recvfrom(s, buf, 16, 0, (void *)&from, &size), 5);
	CHECK_EQ(size, sizeof(from));
	CHECK_EQ(ntohl(from.sin_addr.s_addr), INADDR_LOOPBACK);
	CHECK_EQ(recv(s, buf, 16, 0), 0);
	CHECK_EQ(sendto(s, "back", 4, 0, (void *)&from, sizeof(from)), 4);
	CHECK_EQ(recv(c, buf, 16, 0), 4);
	CHECK_ERRNO(recv(c, buf, 16, MSG_DONTWAIT), EAGAIN);
}

TEST(connected_gets_refused)
{
	struct sockaddr_in a;
	char c;
	int dead = bound(INADDR_LOOPBACK, &a), s = socket(AF_INET, SOCK_DGRAM, 0);
	close(dead);
	CHECK_EQ(connect(s, (void *)&a, sizeof(a)), 0);
	CHECK_EQ(send(s, "x", 1, 0), 1);
	CHECK_ERRNO(recv(s, &c, 1, 0), ECONNREFUSED);
	CHECK_EQ(send(s, "x", 1, 0), 1);
	struct pollfd p = { s, POLLIN, 0 };
	CHECK_EQ(poll(&p, 1, -1), 1);
	CHECK(p.revents & POLLERR);
	CHECK_ERRNO(send(s, "x", 1, 0), ECONNREFUSED);
	int u = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK_EQ(sendto(u, "x", 1, 0, (void *)&a, sizeof(a)), 1);
	CHECK_ERRNO(recv(u, &c, 1, MSG_DONTWAIT), EAGAIN);
}

TEST(connected_hears_its_peer_only)
{
	struct sockaddr_in a, b, c;
	char buf[8];
	socklen_t size = sizeof(b);
	int fa = bound(INADDR_LOOPBACK, &a), fb = bound(INADDR_LOOPBACK, &b),
	    fc = bound(INADDR_LOOPBACK, &c);
	CHECK_EQ(connect(fa, (void *)&b, sizeof(b)), 0);
	CHECK_EQ(sendto(fc, "no", 2, 0, (void *)&a, sizeof(a)), 2);
	CHECK_EQ(sendto(fb, "yes", 3, 0, (void *)&a, sizeof(a)), 3);
	CHECK_EQ(recv(fa, buf, 8, 0), 3);
	CHECK_EQ(getpeername(fa, (void *)&c, &size), 0);
	CHECK_EQ(c.sin_port, b.sin_port);
	struct sockaddr un = { .sa_family = AF_UNSPEC };
	CHECK_EQ(connect(fa, &un, sizeof(un)), 0);
	CHECK_ERRNO(getpeername(fa, (void *)&c, &size), ENOTCONN);
	/* A port that was not asked for by number goes with the connection. */
	size = sizeof(c);
	CHECK_EQ(getsockname(fa, (void *)&c, &size), 0);
	CHECK_EQ(c.sin_port, 0);
	CHECK_EQ(ntohl(c.sin_addr.s_addr), INADDR_LOOPBACK);
}

TEST(ports)
{
	struct sockaddr_in a;
	int s = bound(INADDR_LOOPBACK, &a), x = socket(AF_INET, SOCK_DGRAM, 0), one = 1;
	CHECK_ERRNO(bind(x, (void *)&a, sizeof(a)), EADDRINUSE);
	CHECK_EQ(setsockopt(x, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	CHECK_ERRNO(bind(x, (void *)&a, sizeof(a)), EADDRINUSE);
	CHECK_EQ(setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	CHECK_EQ(bind(x, (void *)&a, sizeof(a)), 0);
	CHECK_ERRNO(listen(x, 1), EOPNOTSUPP);
	CHECK_ERRNO(accept(x, NULL, NULL), EOPNOTSUPP);
}

TEST(sizes)
{
	struct sockaddr_in a;
	static char big[70000];
	int s = bound(INADDR_LOOPBACK, &a), c = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK_ERRNO(sendto(c, big, 65508, 0, (void *)&a, sizeof(a)), EMSGSIZE);
	CHECK_EQ(sendto(c, big, 65507, 0, (void *)&a, sizeof(a)), 65507);
	CHECK_EQ(recv(s, big, sizeof(big), 0), 65507);
	a.sin_port = 0;
	CHECK_ERRNO(sendto(c, big, 1, 0, (void *)&a, sizeof(a)), EINVAL);
}

TEST(broadcast_needs_permission)
{
	struct sockaddr_in a = v4(INADDR_BROADCAST, 9);
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	int r = sendto(s, "x", 1, 0, (void *)&a, sizeof(a));
	CHECK(r < 0 && (errno == EACCES || errno == ENETUNREACH));
}

TEST(packet_info)
{
	struct sockaddr_in a;
	int s = bound(INADDR_ANY, &a), c = socket(AF_INET, SOCK_DGRAM, 0), one = 1;
	char data[8], control[256];
	struct iovec iov = { data, 8 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			    .msg_controllen = sizeof(control) };
	CHECK_EQ(setsockopt(s, IPPROTO_IP, IP_PKTINFO, &one, sizeof(one)), 0);
	CHECK_EQ(setsockopt(s, SOL_SOCKET, SO_TIMESTAMP, &one, sizeof(one)), 0);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 4);
	CHECK_EQ(sendto(c, "x", 1, 0, (void *)&a, sizeof(a)), 1);
	CHECK_EQ(recvmsg(s, &m, 0), 1);
	bool info = false, stamp = false;
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h)) {
		if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SO_TIMESTAMP)
			stamp = true;
		if (h->cmsg_level == IPPROTO_IP && h->cmsg_type == IP_PKTINFO) {
			struct in_pktinfo *i = (void *)CMSG_DATA(h);
			CHECK_EQ(i->ipi_ifindex, 1);
			CHECK_EQ(ntohl(i->ipi_addr.s_addr), INADDR_LOOPBACK + 4);
			info = true;
		}
	}
	CHECK(info && stamp);
}

TEST(ipv6)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6 }, from;
	socklen_t size = sizeof(a);
	char buf[8];
	int s = socket(AF_INET6, SOCK_DGRAM, 0), c = socket(AF_INET6, SOCK_DGRAM, 0);
	a.sin6_addr = in6addr_loopback;
	if (s < 0 || bind(s, (void *)&a, sizeof(a)) < 0)
		SKIP("no IPv6");
	CHECK_EQ(getsockname(s, (void *)&a, &size), 0);
	CHECK_EQ(sendto(c, "six", 3, 0, (void *)&a, sizeof(a)), 3);
	size = sizeof(from);
	CHECK_EQ(recvfrom(s, buf, 8, 0, (void *)&from, &size), 3);
	CHECK_EQ(size, sizeof(from));
	CHECK(IN6_IS_ADDR_LOOPBACK(&from.sin6_addr));
}

TEST(timeout_and_shutdown)
{
	struct sockaddr_in a;
	struct timeval tv = { 0, 20000 };
	char c;
	int s = bound(INADDR_LOOPBACK, &a);
	CHECK_EQ(setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)), 0);
	CHECK_ERRNO(recv(s, &c, 1, 0), EAGAIN);
	CHECK_ERRNO(shutdown(s, SHUT_RDWR), ENOTCONN);
	CHECK_EQ(recv(s, &c, 1, 0), 0);
}

TEST(multicast_on_loopback)
{
	struct sockaddr_in a = v4(INADDR_ANY, 0), to;
	socklen_t size = sizeof(a);
	struct ip_mreqn m = { .imr_ifindex = 1 };
	char buf[8];
	int s = socket(AF_INET, SOCK_DGRAM, 0), c = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK_EQ(bind(s, (void *)&a, sizeof(a)), 0);
	CHECK_EQ(getsockname(s, (void *)&a, &size), 0);
	inet_aton("239.1.2.3", &m.imr_multiaddr);
	CHECK_EQ(setsockopt(s, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof(m)), 0);
	CHECK_ERRNO(setsockopt(s, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof(m)), EADDRINUSE);
	struct ip_mreqn on_lo = { .imr_ifindex = 1 };
	CHECK_EQ(setsockopt(c, IPPROTO_IP, IP_MULTICAST_IF, &on_lo, sizeof(on_lo)), 0);
	to = v4(0, ntohs(a.sin_port));
	to.sin_addr = m.imr_multiaddr;
	CHECK_EQ(sendto(c, "many", 4, 0, (void *)&to, sizeof(to)), 4);
	struct pollfd p = { s, POLLIN, 0 };
	CHECK_EQ(poll(&p, 1, -1), 1);
	CHECK_EQ(recv(s, buf, 8, 0), 4);
	CHECK_EQ(setsockopt(s, IPPROTO_IP, IP_DROP_MEMBERSHIP, &m, sizeof(m)), 0);
	CHECK_ERRNO(setsockopt(s, IPPROTO_IP, IP_DROP_MEMBERSHIP, &m, sizeof(m)), EADDRNOTAVAIL);
}

CHECK_MAIN()
