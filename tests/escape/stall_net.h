/* For helper_stall.c: sockets in flight, multicast, ports, names, connections. */
#pragma once

#include "stall.h"

static void prepare_exit_sockets(void)
{
	/* Sockets in flight between them: each close looks for cycles. */
	if (!in_child())
		return;
	many_files();
	for (int i = 0; i < 30000; i++)
		if (socket(AF_UNIX, SOCK_STREAM, 0) < 0)
			break;
	for (int i = 0; i < 8000; i++) {
		int pair[2];
		char control[CMSG_SPACE(sizeof(int) * 2)] = "", byte = 'x';
		struct iovec iov = { &byte, 1 };
		struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) < 0)
			break;
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * 2);
		memcpy(CMSG_DATA(c), pair, sizeof(pair));
		if (sendmsg(pair[0], &m, 0) < 0)
			break;
	}
	child_ready();
}

static struct sockaddr_in group_name = { .sin_family = AF_INET };
static void prepare_multicast(void)
{
	struct ip_mreq group = { .imr_multiaddr.s_addr = inet_addr("224.0.0.251"), .imr_interface.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(5353), .sin_addr.s_addr = group.imr_multiaddr.s_addr };
	int one = 1, small = 1;
	many_files();
	group_name = any;
	for (int i = 0; i < 10000; i++) {
		int s = socket(AF_INET, SOCK_DGRAM, 0);
		setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		setsockopt(s, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
		if (s < 0 || bind(s, (struct sockaddr *)&any, sizeof(any)) < 0 ||
		    setsockopt(s, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof(group)) < 0)
			break;
	}
}

static void attack_multicast(void)
{
	struct in_addr loopback = { htonl(INADDR_LOOPBACK) };
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	setsockopt(s, IPPROTO_IP, IP_MULTICAST_IF, &loopback, sizeof(loopback));
	for (int i = 0; i < 3; i++)
		IGNORE(sendto(s, block, 60000, MSG_DONTWAIT, (struct sockaddr *)&group_name, sizeof(group_name)));
	close(s);
}

static void prepare_ports(void)
{
	/* One port at as many addresses as there are sockets; then whoever wants any port. */
	many_files();
	for (uint32_t i = 0; i < 15000; i++) {
		struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(40000), .sin_addr.s_addr = htonl(0x7f000001 + i) };
		int s = socket(AF_INET, i & 1 ? SOCK_DGRAM : SOCK_STREAM, 0);
		if (s < 0 || bind(s, (struct sockaddr *)&name, sizeof(name)) < 0)
			break;
	}
	for (uint32_t i = 0; i < 10000; i++) {
		struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons((uint16_t)(32768 + i)) };
		int s = socket(AF_INET, SOCK_STREAM, 0);
		if (s < 0)
			break;
		IGNORE(bind(s, (struct sockaddr *)&name, sizeof(name)));
	}
}

static void attack_ports(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	for (int i = 0; i < 2; i++) {
		int s = socket(AF_INET, i ? SOCK_DGRAM : SOCK_STREAM, 0);
		IGNORE(bind(s, (struct sockaddr *)&any, sizeof(any)));
		close(s);
	}
}

static void prepare_names_unix(void)
{
	many_files();
	for (int i = 0; i < 30000; i++) {
		struct sockaddr_un name = { .sun_family = AF_UNIX };
		snprintf(name.sun_path + 1, 20, "%05x", i);
		int s = socket(AF_UNIX, SOCK_STREAM, 0);
		if (s < 0 || bind(s, (struct sockaddr *)&name, 2 + 6) < 0)
			break;
	}
}

static void attack_names_unix(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	IGNORE(bind(s, (struct sockaddr *)&name, 2));
	close(s);
	int fd = open("/proc/net/unix", O_RDONLY);
	while (read(fd, block, 4096) > 0)
		;
	close(fd);
}

static int peeked = -1;
static void prepare_marks(void)
{
	int pair[2], one = 1, size = 1 << 24;
	IGNORE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair));
	setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one));
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	for (int i = 0; i < 50000 && send(pair[0], "x", 1, 0) == 1; i++)
		;
	peeked = pair[1];
}

static void attack_marks(void)
{
	for (int i = 0; i < 20; i++)
		IGNORE(recv(peeked, block, 1, 0));
	IGNORE(recv(peeked, block, sizeof(block), MSG_PEEK));
}

static void prepare_pending(void)
{
	/* Connections that nobody accepts. */
	if (!in_child())
		return;
	many_files();
	for (int l = 0; l < 10; l++) {
		struct sockaddr_un name = { .sun_family = AF_UNIX };
		snprintf(name.sun_path + 1, 20, "pending-%d", l);
		int s = socket(AF_UNIX, SOCK_STREAM, 0);
		if (bind(s, (struct sockaddr *)&name, sizeof(name)) < 0 || listen(s, 100000) < 0)
			break;
		for (int i = 0; i < 5000; i++) {
			int c = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
			if (connect(c, (struct sockaddr *)&name, sizeof(name)) < 0)
				i = 5000;
			close(c);
		}
	}
	child_ready();
}

static void prepare_listeners(void)
{
	/* Every connection looks for its twin among those of the port. */
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(7777), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	many_files();
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	IGNORE(bind(s, (struct sockaddr *)&name, sizeof(name)));
	IGNORE(listen(s, 4096));
	for (int i = 0; i < 10000; i++) {
		int c = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (c < 0 || (connect(c, (struct sockaddr *)&name, sizeof(name)) < 0 && errno != EINPROGRESS))
			break;
		accept4(s, NULL, NULL, SOCK_NONBLOCK);
	}
}

static void attack_listeners(void)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(7777), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int c = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	IGNORE(connect(c, (struct sockaddr *)&name, sizeof(name)));
	close(c);
	int fd = open("/proc/net/tcp", O_RDONLY);
	while (read(fd, block, 4096) > 0)
		;
	close(fd);
}
