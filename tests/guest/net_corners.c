/* Corners of sockets that were found by comparing random call sequences with Linux. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "check.h"

static socklen_t abstract(struct sockaddr_un *a, const char *leaf)
{
	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	int n = snprintf(a->sun_path + 1, 60, "corner.%d.%s", getpid(), leaf);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

static struct sockaddr_in loopback(int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return a;
}

static struct sockaddr_in name_of(int s)
{
	struct sockaddr_in a;
	socklen_t size = sizeof(a);
	CHECK_EQ(getsockname(s, (void *)&a, &size), 0);
	return a;
}

static void tcp_pair(int s[2])
{
	struct sockaddr_in a = loopback(0);
	int l = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_EQ(bind(l, (void *)&a, sizeof(a)), 0);
	CHECK_EQ(listen(l, 1), 0);
	a = name_of(l);
	s[0] = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_EQ(connect(s[0], (void *)&a, sizeof(a)), 0);
	s[1] = accept(l, NULL, NULL);
	CHECK(s[1] >= 0);
	close(l);
}

static short events_of(int fd)
{
	struct pollfd p = { fd, POLLIN | POLLOUT | POLLPRI | POLLRDHUP, 0 };
	CHECK(poll(&p, 1, 0) >= 0);
	return p.revents;
}

TEST(abstract_names_belong_to_a_type)
{
	struct sockaddr_un a;
	socklen_t size = abstract(&a, "typed");
	int s = socket(AF_UNIX, SOCK_STREAM, 0), d = socket(AF_UNIX, SOCK_DGRAM, 0);
	CHECK_EQ(bind(s, (void *)&a, size), 0);
	CHECK_EQ(bind(d, (void *)&a, size), 0);
	int q = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	CHECK_ERRNO(connect(q, (void *)&a, size), ECONNREFUSED);
}

TEST(sender_named_after_sending)
{
	struct sockaddr_un a, from;
	socklen_t size = abstract(&a, "late"), got = sizeof(from);
	int s[2];
	char c;
	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, s), 0);
	CHECK_EQ(send(s[0], "x", 1, 0), 1);
	CHECK_EQ(bind(s[0], (void *)&a, size), 0);
	CHECK_EQ(recvfrom(s[1], &c, 1, 0, (void *)&from, &got), 1);
	CHECK_EQ(got, size);
}

TEST(unnamed_stream_peer_has_no_address)
{
	struct sockaddr_un from;
	socklen_t got = sizeof(from);
	int s[2];
	char c;
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_EQ(send(s[0], "x", 1, 0), 1);
	CHECK_EQ(recvfrom(s[1], &c, 1, 0, (void *)&from, &got), 1);
	CHECK_EQ(got, 0);
}

TEST(datagram_reconnect_drops_and_tells)
{
	struct sockaddr_un a;
	socklen_t size = abstract(&a, "third");
	int s[2], third = socket(AF_UNIX, SOCK_DGRAM, 0);
	char c;
	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, s), 0);
	CHECK_EQ(bind(third, (void *)&a, size), 0);
	CHECK_EQ(send(s[1], "x", 1, 0), 1);
	CHECK_EQ(connect(s[0], (void *)&a, size), 0);
	CHECK_ERRNO(recv(s[0], &c, 1, MSG_DONTWAIT), EAGAIN);
	CHECK_ERRNO(recv(s[1], &c, 1, MSG_DONTWAIT), ECONNRESET);
}

TEST(seqpacket_reset_comes_before_data)
{
	int s[2];
	char c;
	CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s), 0);
	CHECK_EQ(send(s[0], "x", 1, 0), 1);
	CHECK_EQ(send(s[1], "y", 1, 0), 1);
	close(s[1]);
	CHECK_ERRNO(recv(s[0], &c, 1, 0), ECONNRESET);
	CHECK_EQ(recv(s[0], &c, 1, 0), 1);
	CHECK_EQ(recv(s[0], &c, 1, 0), 0);
}

TEST(datagram_shutdown_ends_waiting_only)
{
	int s[2];
	char c;
	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, s), 0);
	CHECK_EQ(shutdown(s[0], SHUT_RD), 0);
	CHECK_ERRNO(recv(s[0], &c, 1, MSG_DONTWAIT), EAGAIN);
	CHECK_EQ(recv(s[0], &c, 1, 0), 0);
}

TEST(connect_looks_at_the_address_first)
{
	struct sockaddr_un a;
	socklen_t size = abstract(&a, "nobody");
	int s[2];
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_ERRNO(connect(s[0], (void *)&a, size), ECONNREFUSED);
}

TEST(tcp_connects_to_itself)
{
	struct sockaddr_in a = loopback(0);
	char buf[4];
	int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	CHECK_EQ(setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)), 0);
	CHECK_EQ(bind(s, (void *)&a, sizeof(a)), 0);
	a = name_of(s);
	CHECK_EQ(connect(s, (void *)&a, sizeof(a)), 0);
	CHECK_EQ(send(s, "me", 2, 0), 2);
	CHECK_EQ(recv(s, buf, 4, 0), 2);
	close(s);
}

TEST(port_goes_with_a_failed_connection)
{
	struct sockaddr_in dead = loopback(0), any = loopback(0);
	int l = socket(AF_INET, SOCK_STREAM, 0), s = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_EQ(bind(l, (void *)&dead, sizeof(dead)), 0);
	dead = name_of(l);
	CHECK_ERRNO(connect(s, (void *)&dead, sizeof(dead)), ECONNREFUSED);
	CHECK_EQ(bind(s, (void *)&any, sizeof(any)), 0);
}

TEST(shutdown_of_the_unconnected_counts)
{
	int s = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_ERRNO(shutdown(s, SHUT_RDWR), ENOTCONN);
	CHECK_EQ(events_of(s), POLLIN | POLLOUT | POLLHUP | POLLRDHUP);
}

TEST(udp_sends_bind_even_in_vain)
{
	struct sockaddr_in a = loopback(0);
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK_ERRNO(send(s, "x", 1, 0), EDESTADDRREQ);
	CHECK_ERRNO(bind(s, (void *)&a, sizeof(a)), EINVAL);
}

TEST(udp_error_of_a_stranger_is_not_ours)
{
	struct sockaddr_in a = loopback(0), dead = loopback(0);
	int peer = socket(AF_INET, SOCK_DGRAM, 0), d = socket(AF_INET, SOCK_DGRAM, 0),
	    s = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK_EQ(bind(peer, (void *)&a, sizeof(a)), 0);
	CHECK_EQ(bind(d, (void *)&dead, sizeof(dead)), 0);
	a = name_of(peer);
	dead = name_of(d);
	close(d);
	CHECK_EQ(connect(s, (void *)&a, sizeof(a)), 0);
	CHECK_EQ(sendto(s, "x", 1, 0, (void *)&dead, sizeof(dead)), 1);
	CHECK_EQ(send(s, "x", 1, 0), 1);
}

TEST(ordinary_reads_pass_over_urgent_data)
{
	int s[2], n;
	char buf[8];
	tcp_pair(s);
	CHECK_EQ(send(s[0], "abU", 3, MSG_OOB), 3);
	CHECK_EQ(send(s[0], "cd", 2, 0), 2);
	while ((events_of(s[1]) & (POLLIN | POLLPRI)) != (POLLIN | POLLPRI))
		usleep(1000);
	usleep(5000);
	CHECK_EQ(ioctl(s[1], FIONREAD, &n), 0);
	CHECK_EQ(n, 2);
	CHECK_EQ(recv(s[1], buf, 8, 0), 2);
	CHECK_EQ(ioctl(s[1], SIOCATMARK, &n), 0);
	CHECK_EQ(n, 1);
	CHECK_EQ(recv(s[1], buf, 8, 0), 2);
	CHECK(!memcmp(buf, "cd", 2));
	CHECK_EQ(events_of(s[1]) & POLLPRI, 0);
}

TEST(urgent_data_inline)
{
	int s[2], one = 1;
	char buf[8];
	tcp_pair(s);
	CHECK_EQ(setsockopt(s[1], SOL_SOCKET, SO_OOBINLINE, &one, sizeof(one)), 0);
	CHECK_EQ(send(s[0], "abU", 3, MSG_OOB), 3);
	while (!(events_of(s[1]) & POLLIN))
		usleep(1000);
	CHECK_ERRNO(recv(s[1], buf, 8, MSG_OOB), EINVAL);
	CHECK_EQ(recv(s[1], buf, 8, 0), 2);
	CHECK_EQ(recv(s[1], buf, 8, 0), 1);
	CHECK_EQ(buf[0], 'U');
}

/* A write that a signal interrupts has written what it has written: nothing twice, nothing lost. */
static volatile int alarms;
static void on_alarm(int sig)
{
	alarms++;
}

static void *drain(void *arg)
{
	static char buf[65536];
	long total = 0;
	int fd = *(int *)arg;
	for (;;) {
		usleep(3000);
		ssize_t n = read(fd, buf, sizeof(buf));
		if (n <= 0)
			return (void *)total;
		for (ssize_t i = 0; i < n; i++)
			CHECK_EQ((unsigned char)buf[i], (unsigned char)((total + i) % 251));
		total += n;
	}
}

static void interrupted_write(int s[2], int flags)
{
	static char data[3 << 20];
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = flags };
	sigset_t set;
	pthread_t t;
	void *total;
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i % 251);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	CHECK_EQ(pthread_create(&t, NULL, drain, &s[1]), 0);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	sigaction(SIGALRM, &sa, NULL);
	ualarm(7000, 7000);
	size_t done = 0;
	while (done < sizeof(data)) {
		ssize_t n = write(s[0], data + done, sizeof(data) - done);
		if (n < 0 && errno == EINTR)
			continue;
		CHECK(n > 0);
		done += (size_t)n;
	}
	ualarm(0, 0);
	close(s[0]);
	CHECK_EQ(pthread_join(t, &total), 0);
	CHECK_EQ((long)total, sizeof(data));
	CHECK(alarms > 0);
}

TEST(interrupted_writes_to_tcp)
{
	int s[2], small = 65536;
	tcp_pair(s);
	CHECK_EQ(setsockopt(s[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
	CHECK_EQ(setsockopt(s[1], SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	interrupted_write(s, 0);
}

TEST(interrupted_writes_to_unix)
{
	int s[2];
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	interrupted_write(s, 0);
}

TEST(restarted_writes_to_unix)
{
	int s[2];
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	interrupted_write(s, SA_RESTART);
}

CHECK_MAIN()
