/* TCP over loopback, IPv4 and IPv6. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/sendfile.h>

#include "check.h"

static struct sockaddr_in v4(uint32_t host, int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	a.sin_addr.s_addr = htonl(host);
	return a;
}

static int port_of(int s)
{
	struct sockaddr_storage a;
	socklen_t size = sizeof(a);
	CHECK_EQ(getsockname(s, (void *)&a, &size), 0);
	return ntohs(a.ss_family == AF_INET ? ((struct sockaddr_in *)&a)->sin_port :
					      ((struct sockaddr_in6 *)&a)->sin6_port);
}

static int listener(uint32_t host, int backlog, struct sockaddr_in *ret)
{
	int l = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in a = v4(host, 0);
	CHECK_EQ(bind(l, (void *)&a, sizeof(a)), 0);
	CHECK_EQ(listen(l, backlog), 0);
	*ret = v4(INADDR_LOOPBACK, port_of(l));
	return l;
}

static void pair(int s[2])
{
	struct sockaddr_in a;
	int l = listener(INADDR_LOOPBACK, 1, &a);
	s[0] = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_EQ(connect(s[0], (void *)&a, sizeof(a)), 0);
	s[1] = accept(l, NULL, NULL);
	CHECK(s[1] >= 0);
	close(l);
}

static short wait_events(int fd, short want, short until)
{
	struct pollfd p = { fd, want, 0 };
	for (int i = 0; i < 200; i++) {
		CHECK(poll(&p, 1, 10) >= 0);
		if ((p.revents & until) == until)
			break;
	}
	return p.revents;
}

#define ALL (POLLIN | POLLOUT | POLLRDHUP)

TEST(connect_accept_names)
{
	struct sockaddr_in a, b, d;
	socklen_t size = sizeof(b);
	char buf[8];
	int l = listener(INADDR_LOOPBACK, 5, &a);
	int c = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_ERRNO(getpeername(c, (void *)&b, &size), ENOTCONN);
	CHECK_EQ(connect(c, (void *)&a, sizeof(a)), 0);
	CHECK_ERRNO(connect(c, (void *)&a, sizeof(a)), EISCONN);
	int s = accept(l, (void *)&b, &size);
	CHECK(s >= 0);
	CHECK_EQ(size, sizeof(b));
	CHECK_EQ(ntohl(b.sin_addr.s_addr), INADDR_LOOPBACK);
	CHECK_EQ(ntohs(b.sin_port), port_of(c));
	CHECK_EQ(getpeername(c, (void *)&d, &size), 0);
	CHECK_EQ(d.sin_port, a.sin_port);
	CHECK_EQ(port_of(s), ntohs(a.sin_port));
	CHECK_EQ(write(c, "ping", 4), 4);
	CHECK_EQ(read(s, buf, 8), 4);
	CHECK_EQ(write(s, "pong!", 5), 5);
	size = sizeof(b);
	CHECK_EQ(recvfrom(c, buf, 8, 0, (void *)&b, &size), 5);
}

TEST(refused)
{
	struct sockaddr_in a;
	int l = listener(INADDR_LOOPBACK, 5, &a);
	close(l);
	int c = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_ERRNO(connect(c, (void *)&a, sizeof(a)), ECONNREFUSED);
	CHECK_ERRNO(connect(c, (void *)&a, sizeof(a)), ECONNREFUSED);
	int nb = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), err;
	socklen_t size = sizeof(err);
	CHECK_ERRNO(connect(nb, (void *)&a, sizeof(a)), EINPROGRESS);
	CHECK_EQ(wait_events(nb, ALL, POLLERR), POLLIN | POLLOUT | POLLRDHUP | POLLERR | POLLHUP);
	CHECK_EQ(getsockopt(nb, SOL_SOCKET, SO_ERROR, &err, &size), 0);
	CHECK_EQ(err, ECONNREFUSED);
	CHECK_EQ(getsockopt(nb, SOL_SOCKET, SO_ERROR, &err, &size), 0);
	CHECK_EQ(err, 0);
}

TEST(nonblocking_connect)
{
	struct sockaddr_in a;
	int err;
	socklen_t size = sizeof(err);
	int l = listener(INADDR_ANY, 5, &a);
	int c = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	CHECK_EQ(wait_events(c, ALL, POLLHUP), POLLOUT | POLLHUP);
	CHECK_ERRNO(connect(c, (void *)&a, sizeof(a)), EINPROGRESS);
	CHECK_EQ(wait_events(c, ALL, POLLOUT), POLLOUT);
	CHECK_EQ(getsockopt(c, SOL_SOCKET, SO_ERROR, &err, &size), 0);
	CHECK_EQ(err, 0);
	CHECK_EQ(connect(c, (void *)&a, sizeof(a)), 0);
	CHECK_ERRNO(connect(c, (void *)&a, sizeof(a)), EISCONN);
	CHECK_EQ(wait_events(l, ALL, POLLIN), POLLIN);
	CHECK(accept(l, NULL, NULL) >= 0);
}

TEST(half_close)
{
	int s[2];
	char buf[8];
	pair(s);
	CHECK_EQ(wait_events(s[0], ALL, POLLOUT), POLLOUT);
	CHECK_EQ(write(s[0], "end", 3), 3);
	CHECK_EQ(shutdown(s[0], SHUT_WR), 0);
	CHECK_ERRNO(send(s[0], "x", 1, MSG_NOSIGNAL), EPIPE);
	CHECK_EQ(wait_events(s[1], ALL, POLLRDHUP), POLLIN | POLLOUT | POLLRDHUP);
	CHECK_EQ(read(s[1], buf, 8), 3);
	CHECK_EQ(read(s[1], buf, 8), 0);
	CHECK_EQ(write(s[1], "back", 4), 4);
	CHECK_EQ(read(s[0], buf, 8), 4);
	CHECK_EQ(shutdown(s[1], SHUT_WR), 0);
	CHECK(wait_events(s[0], ALL, POLLHUP) & POLLHUP);
	CHECK_EQ(read(s[0], buf, 8), 0);
	int lone = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_ERRNO(shutdown(lone, SHUT_WR), ENOTCONN);
}

TEST(write_after_close_is_reset)
{
	int s[2];
	char c;
	signal(SIGPIPE, SIG_IGN);
	pair(s);
	close(s[1]);
	CHECK(wait_events(s[0], ALL, POLLRDHUP) & POLLIN);
	CHECK_EQ(write(s[0], "x", 1), 1);
	wait_events(s[0], ALL, POLLHUP);
	CHECK_ERRNO(write(s[0], "x", 1), EPIPE);
	CHECK_EQ(read(s[0], &c, 1), 0);
}

TEST(unread_data_resets)
{
	int s[2];
	char c;
	pair(s);
	CHECK_EQ(write(s[0], "x", 1), 1);
	wait_events(s[1], ALL, POLLIN);
	close(s[1]);
	CHECK(wait_events(s[0], ALL, POLLERR) & POLLHUP);
	CHECK_ERRNO(read(s[0], &c, 1), ECONNRESET);
	CHECK_EQ(read(s[0], &c, 1), 0);
	CHECK_ERRNO(send(s[0], &c, 1, MSG_NOSIGNAL), EPIPE);
}

TEST(linger_zero_resets)
{
	int s[2];
	char buf[4];
	struct linger l = { 1, 0 };
	pair(s);
	CHECK_EQ(write(s[1], "ab", 2), 2);
	CHECK_EQ(setsockopt(s[1], SOL_SOCKET, SO_LINGER, &l, sizeof(l)), 0);
	close(s[1]);
	wait_events(s[0], ALL, POLLERR);
	ssize_t n = read(s[0], buf, 4);
	CHECK(n == 2 || (n < 0 && errno == ECONNRESET));
}

TEST(closing_the_listener_resets)
{
	struct sockaddr_in a;
	char c;
	int l = listener(INADDR_LOOPBACK, 5, &a), s = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_EQ(connect(s, (void *)&a, sizeof(a)), 0);
	close(l);
	wait_events(s, ALL, POLLERR);
	CHECK_ERRNO(read(s, &c, 1), ECONNRESET);
}

static void *accept_slowly(void *arg)
{
	usleep(50000);
	for (int i = 0; i < 6; i++)
		CHECK(accept(*(int *)arg, NULL, NULL) >= 0);
	return NULL;
}

TEST(backlog_overflow_waits)
{
	struct sockaddr_in a;
	int c[6], l = listener(INADDR_LOOPBACK, 1, &a);
	pthread_t t;
	CHECK_EQ(pthread_create(&t, NULL, accept_slowly, &l), 0);
	for (int i = 0; i < 6; i++) {
		c[i] = socket(AF_INET, SOCK_STREAM, 0);
		CHECK_EQ(connect(c[i], (void *)&a, sizeof(a)), 0);
	}
	pthread_join(t, NULL);
}

TEST(port_rules)
{
	struct sockaddr_in a, b;
	int one = 1, l = listener(INADDR_LOOPBACK, 5, &a);
	int x = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(ntohs(a.sin_port) >= 1024);
	CHECK_ERRNO(bind(x, (void *)&a, sizeof(a)), EADDRINUSE);
	b = v4(INADDR_ANY, ntohs(a.sin_port));
	CHECK_ERRNO(bind(x, (void *)&b, sizeof(b)), EADDRINUSE);
	b = v4(INADDR_LOOPBACK + 1, ntohs(a.sin_port));
	CHECK_EQ(bind(x, (void *)&b, sizeof(b)), 0);
	CHECK_ERRNO(bind(x, (void *)&b, sizeof(b)), EINVAL);
	int y = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_EQ(setsockopt(y, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	CHECK_ERRNO(bind(y, (void *)&a, sizeof(a)), EADDRINUSE);
	close(l);
	CHECK_EQ(bind(y, (void *)&a, sizeof(a)), 0);
	b = v4(0x08080808, 0);
	int z = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_ERRNO(bind(z, (void *)&b, sizeof(b)), EADDRNOTAVAIL);
	b.sin_family = AF_INET6;
	CHECK_ERRNO(bind(z, (void *)&b, sizeof(b)), EAFNOSUPPORT);
	CHECK_ERRNO(bind(z, (void *)&b, 3), EINVAL);
}

TEST(reuseaddr_with_live_connection)
{
	struct sockaddr_in a;
	int one = 1, l = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_EQ(setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	a = v4(INADDR_LOOPBACK, 0);
	CHECK_EQ(bind(l, (void *)&a, sizeof(a)), 0);
	CHECK_EQ(listen(l, 5), 0);
	a = v4(INADDR_LOOPBACK, port_of(l));
	int c = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_EQ(connect(c, (void *)&a, sizeof(a)), 0);
	int s = accept(l, NULL, NULL);
	close(l);
	l = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_ERRNO(bind(l, (void *)&a, sizeof(a)), EADDRINUSE);
	CHECK_EQ(setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	CHECK_EQ(bind(l, (void *)&a, sizeof(a)), 0);
	CHECK_EQ(listen(l, 5), 0);
	CHECK_EQ(write(s, "x", 1), 1);
}

TEST(reuseport_shares)
{
	struct sockaddr_in a = v4(INADDR_LOOPBACK, 0);
	int one = 1, l[2];
	for (int i = 0; i < 2; i++) {
		l[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		CHECK_EQ(setsockopt(l[i], SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)), 0);
		CHECK_EQ(bind(l[i], (void *)&a, sizeof(a)), 0);
		CHECK_EQ(listen(l[i], 64), 0);
		a = v4(INADDR_LOOPBACK, port_of(l[i]));
	}
	for (int i = 0; i < 40; i++) {
		int c = socket(AF_INET, SOCK_STREAM, 0);
		CHECK_EQ(connect(c, (void *)&a, sizeof(a)), 0);
	}
	int n[2] = { 0, 0 };
	for (int i = 0; i < 2; i++)
		while (accept(l[i], NULL, NULL) >= 0)
			n[i]++;
	CHECK_EQ(n[0] + n[1], 40);
	CHECK(n[0] && n[1]);
}

TEST(ipv6_and_mapped)
{
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6 }, peer;
	socklen_t size = sizeof(peer);
	int off = 0, l = socket(AF_INET6, SOCK_STREAM, 0);
	if (l < 0)
		SKIP("no IPv6");
	CHECK_EQ(setsockopt(l, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)), 0);
	if (bind(l, (void *)&a6, sizeof(a6)) < 0)
		SKIP("no IPv6");
	CHECK_EQ(listen(l, 5), 0);
	struct sockaddr_in a = v4(INADDR_LOOPBACK, port_of(l));
	int c = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_EQ(connect(c, (void *)&a, sizeof(a)), 0);
	int s = accept(l, (void *)&peer, &size);
	CHECK(s >= 0);
	CHECK_EQ(size, sizeof(peer));
	CHECK(IN6_IS_ADDR_V4MAPPED(&peer.sin6_addr));
	a6.sin6_addr = in6addr_loopback;
	a6.sin6_port = a.sin_port;
	int c6 = socket(AF_INET6, SOCK_STREAM, 0);
	CHECK_EQ(connect(c6, (void *)&a6, sizeof(a6)), 0);
	CHECK(accept(l, (void *)&peer, &size) >= 0);
	CHECK(IN6_IS_ADDR_LOOPBACK(&peer.sin6_addr));
	int x = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_ERRNO(bind(x, (void *)&a, sizeof(a)), EADDRINUSE);
	close(l);
	int on = 1;
	l = socket(AF_INET6, SOCK_STREAM, 0);
	a6.sin6_addr = in6addr_any;
	a6.sin6_port = 0;
	CHECK_EQ(setsockopt(l, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)), 0);
	CHECK_EQ(bind(l, (void *)&a6, sizeof(a6)), 0);
	CHECK_EQ(listen(l, 5), 0);
	a = v4(INADDR_LOOPBACK, port_of(l));
	int y = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_ERRNO(connect(y, (void *)&a, sizeof(a)), ECONNREFUSED);
	CHECK_EQ(bind(x, (void *)&a, sizeof(a)), 0);
}

TEST(states_of_unconnected_sockets)
{
	char c;
	int s = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_ERRNO(recv(s, &c, 1, 0), ENOTCONN);
	CHECK_ERRNO(send(s, &c, 1, MSG_NOSIGNAL), EPIPE);
	CHECK_ERRNO(accept(s, NULL, NULL), EINVAL);
	CHECK_EQ(listen(s, 5), 0); /* binds by itself */
	CHECK(port_of(s) > 0);
	CHECK_ERRNO(recv(s, &c, 1, 0), ENOTCONN);
	struct sockaddr_in a = v4(INADDR_LOOPBACK, 1);
	CHECK_ERRNO(connect(s, (void *)&a, sizeof(a)), EISCONN);
	CHECK_ERRNO(connect(s, (void *)&a, 1), EINVAL);
	CHECK_ERRNO(socket(AF_INET, SOCK_STREAM, IPPROTO_UDP), EPROTONOSUPPORT);
	CHECK_ERRNO(socket(AF_INET, SOCK_SEQPACKET, 0), ESOCKTNOSUPPORT);
	CHECK_ERRNO(socket(AF_INET, SOCK_STREAM, 255), EPROTONOSUPPORT);
	CHECK_ERRNO(socket(200, SOCK_STREAM, 0), EAFNOSUPPORT);
	int v[2];
	CHECK_ERRNO(socketpair(AF_INET, SOCK_STREAM, 0, v), EOPNOTSUPP);
}

TEST(disconnect_and_reconnect)
{
	struct sockaddr_in a;
	struct sockaddr un = { .sa_family = AF_UNSPEC };
	char buf[4];
	int l = listener(INADDR_LOOPBACK, 5, &a), c = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_EQ(connect(c, (void *)&a, sizeof(a)), 0);
	int s = accept(l, NULL, NULL);
	CHECK_EQ(connect(c, &un, sizeof(un)), 0);
	ssize_t n = read(s, buf, 4);
	CHECK(n == 0 || (n < 0 && errno == ECONNRESET));
	CHECK_EQ(connect(c, (void *)&a, sizeof(a)), 0);
	s = accept(l, NULL, NULL);
	CHECK_EQ(write(c, "ok", 2), 2);
	CHECK_EQ(read(s, buf, 4), 2);
}

TEST(options)
{
	int s[2], v;
	socklen_t size = sizeof(v);
	pair(s);
	v = 1;
	CHECK_EQ(setsockopt(s[0], IPPROTO_TCP, TCP_NODELAY, &v, sizeof(v)), 0);
	v = 0;
	CHECK_EQ(getsockopt(s[0], IPPROTO_TCP, TCP_NODELAY, &v, &size), 0);
	CHECK_EQ(v, 1);
	v = 33;
	CHECK_EQ(setsockopt(s[0], IPPROTO_TCP, TCP_KEEPIDLE, &v, sizeof(v)), 0);
	CHECK_EQ(getsockopt(s[0], IPPROTO_TCP, TCP_KEEPIDLE, &v, &size), 0);
	CHECK_EQ(v, 33);
	v = 0;
	CHECK_ERRNO(setsockopt(s[0], IPPROTO_TCP, TCP_KEEPIDLE, &v, sizeof(v)), EINVAL);
	CHECK_ERRNO(setsockopt(s[0], IPPROTO_TCP, 99, &v, sizeof(v)), ENOPROTOOPT);
	CHECK_EQ(getsockopt(s[0], SOL_SOCKET, SO_PROTOCOL, &v, &size), 0);
	CHECK_EQ(v, IPPROTO_TCP);
	v = 1;
	CHECK_EQ(setsockopt(s[0], SOL_SOCKET, SO_KEEPALIVE, &v, sizeof(v)), 0);
	CHECK_EQ(getsockopt(s[0], SOL_SOCKET, SO_KEEPALIVE, &v, &size), 0);
	CHECK_EQ(v, 1);
	v = 0x10;
	CHECK_EQ(setsockopt(s[0], IPPROTO_IP, IP_TOS, &v, sizeof(v)), 0);
	CHECK_EQ(getsockopt(s[0], IPPROTO_IP, IP_TOS, &v, &size), 0);
	CHECK_EQ(v, 0x10);
	struct tcp_info info;
	size = sizeof(info);
	CHECK_EQ(getsockopt(s[0], IPPROTO_TCP, TCP_INFO, &info, &size), 0);
	CHECK_EQ(info.tcpi_state, TCP_ESTABLISHED);
	CHECK(size >= 104);
	char name[16];
	size = sizeof(name);
	CHECK_EQ(getsockopt(s[0], IPPROTO_TCP, TCP_CONGESTION, name, &size), 0);
}

TEST(peek_waitall_timeout)
{
	int s[2];
	char buf[8];
	struct timeval tv = { 0, 20000 };
	pair(s);
	CHECK_EQ(write(s[0], "abc", 3), 3);
	wait_events(s[1], POLLIN, POLLIN);
	CHECK_EQ(recv(s[1], buf, 8, MSG_PEEK), 3);
	CHECK_EQ(setsockopt(s[1], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)), 0);
	CHECK_EQ(recv(s[1], buf, 8, MSG_WAITALL), 3);
	CHECK_ERRNO(recv(s[1], buf, 8, 0), EAGAIN);
	pid_t pid = fork();
	if (!pid) {
		for (int i = 0; i < 4; i++) {
			usleep(2000);
			CHECK_EQ(write(s[0], "zz", 2), 2);
		}
		_exit(0);
	}
	tv = (struct timeval){ 0, 0 };
	CHECK_EQ(setsockopt(s[1], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)), 0);
	CHECK_EQ(recv(s[1], buf, 8, MSG_WAITALL), 8);
	waitpid(pid, NULL, 0);
}

TEST(urgent_data)
{
	int s[2];
	char c;
	pair(s);
	CHECK_EQ(send(s[0], "abU", 3, MSG_OOB), 3);
	struct pollfd p = { s[1], POLLPRI, 0 };
	CHECK_EQ(poll(&p, 1, -1), 1);
	CHECK_EQ(recv(s[1], &c, 1, MSG_OOB), 1);
	CHECK_EQ(c, 'U');
	CHECK_ERRNO(recv(s[1], &c, 1, MSG_OOB), EINVAL);
	char buf[8];
	CHECK_EQ(recv(s[1], buf, 8, 0), 2);
}

static void *pump(void *arg)
{
	int fd = *(int *)arg;
	static char block[300000];
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (char)(i * 31 >> 3);
	for (int i = 0; i < 20; i++)
		CHECK_EQ(write(fd, block, sizeof(block)), sizeof(block));
	close(fd);
	return NULL;
}

TEST(six_megabytes_arrive_in_order)
{
	int s[2];
	pthread_t t;
	static char buf[70001];
	size_t at = 0;
	pair(s);
	CHECK_EQ(pthread_create(&t, NULL, pump, &s[0]), 0);
	for (;;) {
		ssize_t n = read(s[1], buf, sizeof(buf));
		CHECK(n >= 0);
		if (!n)
			break;
		for (ssize_t i = 0; i < n; i++, at++)
			CHECK(buf[i] == (char)((at % 300000) * 31 >> 3));
	}
	CHECK_EQ(at, 6000000);
	pthread_join(t, NULL);
}

TEST(epoll_edge_and_sendfile)
{
	int s[2];
	char buf[8], name[] = "/tmp/net_tcp.XXXXXX";
	struct epoll_event e = { .events = EPOLLIN | EPOLLET | EPOLLRDHUP }, got;
	pair(s);
	int ep = epoll_create1(0), f = mkstemp(name);
	unlink(name);
	CHECK_EQ(write(f, "file", 4), 4);
	CHECK_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, s[1], &e), 0);
	CHECK_EQ(epoll_wait(ep, &got, 1, 0), 0);
	off_t off = 0;
	CHECK_EQ(sendfile(s[0], f, &off, 4), 4);
	CHECK_EQ(epoll_wait(ep, &got, 1, -1), 1);
	CHECK_EQ(got.events, EPOLLIN);
	CHECK_EQ(epoll_wait(ep, &got, 1, 0), 0);
	CHECK_EQ(write(s[0], "more", 4), 4);
	CHECK_EQ(epoll_wait(ep, &got, 1, -1), 1);
	CHECK_EQ(read(s[1], buf, 8), 8);
	close(s[0]);
	CHECK_EQ(epoll_wait(ep, &got, 1, -1), 1);
	CHECK_EQ(got.events, EPOLLIN | EPOLLRDHUP);
}

static void *accept_thread(void *arg)
{
	errno = 0;
	int r = accept(*(int *)arg, NULL, NULL);
	return (void *)(long)(r < 0 ? -errno : r);
}

TEST(shutdown_wakes_accept)
{
	struct sockaddr_in a;
	pthread_t t;
	void *ret;
	int l = listener(INADDR_LOOPBACK, 5, &a);
	CHECK_EQ(pthread_create(&t, NULL, accept_thread, &l), 0);
	usleep(30000);
	CHECK_EQ(shutdown(l, SHUT_RD), 0);
	CHECK_EQ(pthread_join(t, &ret), 0);
	CHECK_EQ((long)ret, -EINVAL);
}

static void *read_thread(void *arg)
{
	char c;
	return (void *)recv(*(int *)arg, &c, 1, 0);
}

TEST(shutdown_wakes_reader)
{
	int s[2];
	pthread_t t;
	void *ret;
	pair(s);
	CHECK_EQ(pthread_create(&t, NULL, read_thread, &s[0]), 0);
	usleep(30000);
	CHECK_EQ(shutdown(s[0], SHUT_RDWR), 0);
	CHECK_EQ(pthread_join(t, &ret), 0);
	CHECK_EQ((long)ret, 0);
}

CHECK_MAIN()
