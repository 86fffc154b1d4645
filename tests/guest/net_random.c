/*
 * Random socket calls on a small set of descriptors: nothing may hang, crash or deliver bytes that
 * nobody sent. NET_RANDOM_SEED and NET_RANDOM_ROUNDS in the environment make longer runs.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "check.h"

#define SLOTS 24

static int fds[SLOTS], epfd;
static uint32_t state;
static char out_data[70000], in_data[70000];

static uint32_t rnd(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return (state >> 3) % below;
}

static int *slot(void)
{
	return &fds[rnd(SLOTS)];
}

static void keep(int fd)
{
	if (fd < 0)
		return;
	int *s = slot();
	if (*s >= 0)
		close(*s);
	*s = fd;
	int fl = fcntl(fd, F_GETFL);
	fcntl(fd, F_SETFL, fl | O_NONBLOCK);
}

/* An address of one of a few names, good and bad. */
static socklen_t address(struct sockaddr_storage *a)
{
	struct sockaddr_un *un = (void *)a;
	struct sockaddr_in *in = (void *)a;
	struct sockaddr_in6 *in6 = (void *)a;
	memset(a, 0, sizeof(*a));
	switch (rnd(8)) {
	case 0:
	case 1:
		un->sun_family = AF_UNIX;
		snprintf(un->sun_path + 1, 40, "random.%d.%u", getpid(), rnd(4));
		return 2 + 1 + (socklen_t)strlen(un->sun_path + 1);
	case 2:
		un->sun_family = AF_UNIX;
		snprintf(un->sun_path, 60, "/tmp/net_random.%d.%u", getpid(), rnd(3));
		if (!rnd(4))
			unlink(un->sun_path);
		return sizeof(*un);
	case 3:
	case 4:
		in->sin_family = AF_INET;
		in->sin_addr.s_addr = htonl(rnd(3) ? INADDR_LOOPBACK : INADDR_ANY);
		in->sin_port = htons((uint16_t)(21000 + (getpid() & 1023) * 4 + rnd(4)));
		return sizeof(*in);
	case 5:
	case 6:
		in6->sin6_family = AF_INET6;
		if (rnd(2))
			in6->sin6_addr = in6addr_loopback;
		in6->sin6_port = htons((uint16_t)(21000 + (getpid() & 1023) * 4 + rnd(4)));
		return sizeof(*in6);
	default:
		a->ss_family = rnd(2) ? AF_UNSPEC : AF_UNIX;
		return 2 + rnd(3) * 7;
	}
}

static void make_socket(void)
{
	static const int domains[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET, SOCK_RAW };
	int p[2];
	if (rnd(2)) {
		keep(socket(domains[rnd(4)], types[rnd(rnd(4) ? 2 : 4)], 0));
	} else if (socketpair(AF_UNIX, types[rnd(3)], 0, p) == 0) {
		keep(p[0]);
		keep(p[1]);
	}
}

/* A listener and somebody at its door. */
static void make_server(void)
{
	struct sockaddr_storage a;
	socklen_t size = address(&a), bound = sizeof(a);
	int type = rnd(4) ? SOCK_STREAM : SOCK_SEQPACKET;
	int l = socket(a.ss_family, type | SOCK_NONBLOCK, 0);
	if (l < 0)
		return;
	bind(l, (void *)&a, size);
	listen(l, (int)rnd(4));
	if (getsockname(l, (void *)&a, &bound) == 0) {
		for (uint32_t i = rnd(6); i > 0; i--) {
			int c = socket(a.ss_family, type | SOCK_NONBLOCK, 0);
			connect(c, (void *)&a, bound);
			if (rnd(2))
				keep(accept(l, NULL, NULL));
			keep(c);
		}
	}
	keep(l);
}

static void send_message(int fd)
{
	char control[CMSG_SPACE(8 * sizeof(int)) + 64] = { 0 };
	struct sockaddr_storage a;
	struct iovec v[3];
	struct msghdr m = { .msg_iov = v, .msg_iovlen = rnd(4) };
	for (int i = 0; i < 3; i++)
		v[i] = (struct iovec){ out_data, rnd(3) ? rnd(200) : rnd(sizeof(out_data)) };
	if (rnd(4) == 0) {
		m.msg_namelen = address(&a);
		m.msg_name = &a;
	}
	if (rnd(3) == 0) {
		uint32_t n = rnd(4);
		m.msg_control = control;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
		struct cmsghdr *c = (void *)control;
		c->cmsg_level = rnd(8) ? SOL_SOCKET : (int)rnd(50);
		c->cmsg_type = rnd(8) ? SCM_RIGHTS : (int)rnd(4);
		c->cmsg_len = rnd(16) ? CMSG_LEN(n * sizeof(int)) : rnd(100);
		for (uint32_t i = 0; i < n; i++)
			((int *)CMSG_DATA(c))[i] = *slot();
	}
	sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL | (rnd(20) ? 0 : MSG_OOB));
}

static void take_descriptors(struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++)
			keep(((int *)CMSG_DATA(c))[i]);
	}
}

static void receive_message(int fd)
{
	static const int flags[] = { 0, 0, 0, MSG_PEEK, MSG_WAITALL, MSG_TRUNC, MSG_OOB,
				     MSG_CMSG_CLOEXEC, MSG_ERRQUEUE };
	char control[CMSG_SPACE(8 * sizeof(int))];
	struct sockaddr_storage a;
	struct iovec v[2] = { { in_data, rnd(3) ? rnd(300) : 30000 }, { in_data + 35000, 30000 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = rnd(3), .msg_control = control };
	m.msg_controllen = rnd(2) ? sizeof(control) : rnd(sizeof(control));
	if (rnd(2)) {
		m.msg_name = &a;
		m.msg_namelen = sizeof(a);
	}
	memset(in_data, 0, sizeof(in_data));
	int f = flags[rnd(9)];
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT | f);
	if (n >= 0)
		take_descriptors(&m);
	int domain = 0;
	socklen_t size = sizeof(domain);
	getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
	if (n <= 0 || f == MSG_TRUNC || domain == AF_NETLINK)
		return;
	for (size_t i = 0; i < (size_t)n && i < v[0].iov_len && m.msg_iovlen; i++)
		CHECK_EQ(in_data[i], 'd');
}

static void set_option(int fd)
{
	static const int levels[] = { SOL_SOCKET, IPPROTO_TCP, IPPROTO_IP, IPPROTO_IPV6, 270 };
	char value[64];
	int level = levels[rnd(5)], opt = (int)rnd(70);
	socklen_t size = rnd(sizeof(value));
	bool harmful = level == SOL_SOCKET && (opt == SO_RCVBUF || opt == SO_SNDBUF);
	memset(value, rnd(3) ? 0 : 1, sizeof(value));
	if (rnd(2))
		getsockopt(fd, level, opt, value, &size);
	else if (!harmful || rnd(2))
		setsockopt(fd, level, opt, value, size);
}

static void poke(int fd)
{
	struct sockaddr_storage a;
	socklen_t size = rnd(sizeof(a));
	struct pollfd p = { fd, POLLIN | POLLOUT | POLLPRI | POLLRDHUP, 0 };
	struct epoll_event e = { .events = rnd(2) ? EPOLLIN | EPOLLET : EPOLLIN | EPOLLOUT }, got[8];
	int v;
	switch (rnd(9)) {
	case 0:
		getsockname(fd, (void *)&a, &size);
		break;
	case 1:
		getpeername(fd, (void *)&a, &size);
		break;
	case 2:
		shutdown(fd, (int)rnd(3));
		break;
	case 3:
		poll(&p, 1, 0);
		break;
	case 4:
		epoll_ctl(epfd, rnd(2) ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd, &e);
		break;
	case 5:
		epoll_wait(epfd, got, 8, 0);
		break;
	case 6:
		ioctl(fd, rnd(2) ? FIONREAD : TIOCOUTQ, &v);
		break;
	case 7:
		keep(dup(fd));
		break;
	default:
		set_option(fd);
		break;
	}
}

static void step(void)
{
	struct sockaddr_storage a;
	int *s = slot();
	switch (rnd(16)) {
	case 0:
		if (rnd(3) == 0)
			make_socket();
		break;
	case 1:
		if (rnd(6) == 0)
			make_server();
		break;
	case 2: {
		socklen_t size = address(&a);
		bind(*s, (void *)&a, size);
		break;
	}
	case 3: {
		socklen_t size = address(&a);
		if (fcntl(*s, F_GETFL) & O_NONBLOCK)
			connect(*s, (void *)&a, size);
		break;
	}
	case 4:
		listen(*s, (int)rnd(4));
		break;
	case 5:
	case 6:
		if (fcntl(*s, F_GETFL) & O_NONBLOCK)
			keep(accept4(*s, NULL, NULL, SOCK_NONBLOCK));
		break;
	case 7:
	case 8:
	case 9:
		send_message(*s);
		break;
	case 10:
	case 11:
	case 12:
		receive_message(*s);
		break;
	case 13:
		if (rnd(2) && *s >= 0) {
			close(*s);
			*s = -1;
		}
		break;
	default:
		poke(*s);
		break;
	}
}

TEST(random_calls)
{
	const char *seed = getenv("NET_RANDOM_SEED"), *rounds = getenv("NET_RANDOM_ROUNDS");
	state = 2463534242u + (seed ? (uint32_t)atoi(seed) * 7919u : 0);
	int n = rounds ? atoi(rounds) : 20000;
	signal(SIGPIPE, SIG_IGN);
	memset(out_data, 'd', sizeof(out_data));
	epfd = epoll_create1(0);
	for (int i = 0; i < SLOTS; i++)
		fds[i] = -1;
	for (int i = 0; i < n; i++)
		step();
	for (int i = 0; i < SLOTS; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	for (int i = 0; i < 3; i++) {
		char path[80];
		snprintf(path, sizeof(path), "/tmp/net_random.%d.%d", getpid(), i);
		unlink(path);
	}
}

CHECK_MAIN()
