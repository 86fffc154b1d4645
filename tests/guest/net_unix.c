/* Unix sockets: streams, messages, names, shutdown, errors. */
/* also as root */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "check.h"

static char dir[64];

static struct sockaddr_un path_name(const char *leaf, socklen_t *size)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	if (!dir[0]) {
		strcpy(dir, "/tmp/net_unix.XXXXXX");
		CHECK(mkdtemp(dir) != NULL);
	}
	snprintf(a.sun_path, sizeof(a.sun_path), "%s/%s", dir, leaf);
	*size = offsetof(struct sockaddr_un, sun_path) + strlen(a.sun_path) + 1;
	return a;
}

static struct sockaddr_un abstract_name(const char *leaf, socklen_t *size)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "net_unix.%d.%s", getpid(), leaf);
	*size = offsetof(struct sockaddr_un, sun_path) + 1 + n;
	return a;
}

static int listener(int type, struct sockaddr_un *a, socklen_t *size, int backlog)
{
	int s = socket(AF_UNIX, type, 0);
	*a = abstract_name("listener", size);
	CHECK_EQ(bind(s, (void *)a, *size), 0);
	CHECK_EQ(listen(s, backlog), 0);
	return s;
}

static short events_of(int fd)
{
	struct pollfd p = { fd, POLLIN | POLLOUT | POLLRDHUP, 0 };
	CHECK(poll(&p, 1, 0) >= 0);
	return p.revents;
}

TEST(pair_both_ways)
{
	int s[2];
	char buf[16];
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_EQ(write(s[0], "hello", 5), 5);
	CHECK_EQ(write(s[1], "world!", 6), 6);
	CHECK_EQ(read(s[1], buf, sizeof(buf)), 5);
	CHECK(!memcmp(buf, "hello", 5));
	CHECK_EQ(read(s[0], buf, 3), 3);
	CHECK_EQ(read(s[0], buf, 16), 3);
	CHECK(!memcmp(buf, "ld!", 3));
}

TEST(eof_epipe_and_poll_after_close)
{
	int s[2];
	char buf[4];
	signal(SIGPIPE, SIG_IGN);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_EQ(events_of(s[0]), POLLOUT);
	CHECK_EQ(write(s[1], "x", 1), 1);
	close(s[1]);
	CHECK_EQ(events_of(s[0]), POLLIN | POLLOUT | POLLHUP | POLLRDHUP);
	CHECK_EQ(read(s[0], buf, 4), 1);
	CHECK_EQ(read(s[0], buf, 4), 0);
	CHECK_ERRNO(write(s[0], "x", 1), EPIPE);
}

TEST(sigpipe_and_nosignal)
{
	int s[2], status;
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	close(s[1]);
	CHECK_ERRNO(send(s[0], "x", 1, MSG_NOSIGNAL), EPIPE);
	pid_t pid = fork();
	if (!pid) {
		send(s[0], "x", 1, 0);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
}

TEST(unread_data_resets_the_peer)
{
	int s[2];
	char c;
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_EQ(write(s[0], "x", 1), 1);
	close(s[1]);
	CHECK(events_of(s[0]) & POLLERR);
	CHECK_ERRNO(read(s[0], &c, 1), ECONNRESET);
	CHECK_EQ(read(s[0], &c, 1), 0);
}

TEST(shutdown_halves)
{
	int s[2];
	char c;
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_EQ(shutdown(s[0], SHUT_WR), 0);
	CHECK_ERRNO(send(s[0], "x", 1, MSG_NOSIGNAL), EPIPE);
	CHECK_EQ(events_of(s[1]), POLLIN | POLLOUT | POLLRDHUP);
	CHECK_EQ(read(s[1], &c, 1), 0);
	CHECK_EQ(write(s[1], "y", 1), 1);
	CHECK_EQ(read(s[0], &c, 1), 1);
	CHECK_ERRNO(shutdown(s[0], 3), EINVAL);
	int lone = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK_EQ(shutdown(lone, SHUT_RD), 0);
}

TEST(path_bind_connect_accept)
{
	socklen_t size, got;
	struct sockaddr_un a = path_name("stream", &size), b;
	struct stat st;
	char buf[8];
	int l = socket(AF_UNIX, SOCK_STREAM, 0), c = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK_ERRNO(connect(c, (void *)&a, size), ENOENT);
	umask(027);
	CHECK_EQ(bind(l, (void *)&a, size), 0);
	CHECK_EQ(stat(a.sun_path, &st), 0);
	CHECK(S_ISSOCK(st.st_mode));
	CHECK_EQ(st.st_mode & 0777, 0750);
	CHECK_ERRNO(connect(c, (void *)&a, size), ECONNREFUSED);
	CHECK_EQ(listen(l, 5), 0);
	int again = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK_ERRNO(bind(again, (void *)&a, size), EADDRINUSE);
	CHECK_ERRNO(bind(l, (void *)&a, size), EADDRINUSE);
	b = path_name("other", &got);
	CHECK_ERRNO(bind(l, (void *)&b, got), EINVAL);
	CHECK_ERRNO(stat(b.sun_path, &st), ENOENT);
	CHECK_EQ(connect(c, (void *)&a, size), 0);
	CHECK_ERRNO(connect(c, (void *)&a, size), EISCONN);
	CHECK_EQ(write(c, "early", 5), 5);
	got = sizeof(b);
	int s = accept(l, (void *)&b, &got);
	CHECK(s >= 0);
	CHECK_EQ(got, 2);
	CHECK_EQ(read(s, buf, 8), 5);
	got = sizeof(b);
	CHECK_EQ(getsockname(s, (void *)&b, &got), 0);
	CHECK_EQ(got, size);
	CHECK_STR(b.sun_path, a.sun_path);
	got = sizeof(b);
	CHECK_EQ(getpeername(c, (void *)&b, &got), 0);
	CHECK_STR(b.sun_path, a.sun_path);
	CHECK_EQ(open(a.sun_path, O_RDWR), -1);
	CHECK_EQ(errno, ENXIO);
	CHECK_EQ(unlink(a.sun_path), 0);
	int late = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK_ERRNO(connect(late, (void *)&a, size), ENOENT);
	CHECK_EQ(bind(again, (void *)&a, size), 0);
	close(again);
	CHECK_ERRNO(connect(late, (void *)&a, size), ECONNREFUSED);
	unlink(a.sun_path);
}

TEST(path_permission_and_type)
{
	socklen_t size;
	struct sockaddr_un a = path_name("perm", &size);
	int l = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK_EQ(bind(l, (void *)&a, size), 0);
	CHECK_EQ(listen(l, 5), 0);
	int d = socket(AF_UNIX, SOCK_DGRAM, 0);
	CHECK_ERRNO(connect(d, (void *)&a, size), EPROTOTYPE);
	CHECK_EQ(chmod(a.sun_path, 0), 0);
	CHECK_EQ(chmod(dir, 0755), 0);
	if (getuid() == 0) {
		int status;
		pid_t pid = fork();
		if (!pid) {
			CHECK_EQ(setgid(65534), 0);
			CHECK_EQ(setuid(65534), 0);
			int c = socket(AF_UNIX, SOCK_STREAM, 0);
			CHECK_ERRNO(connect(c, (void *)&a, size), EACCES);
			_exit(0);
		}
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
	}
	unlink(a.sun_path);
}

TEST(abstract_names_are_bytes)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX }, b;
	socklen_t got = sizeof(b);
	memcpy(a.sun_path, "\0a\0b", 4);
	snprintf(a.sun_path + 4, 20, "%d", getpid());
	socklen_t size = offsetof(struct sockaddr_un, sun_path) + 20;
	int l = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK_EQ(bind(l, (void *)&a, size), 0);
	CHECK_EQ(listen(l, 1), 0);
	CHECK_EQ(getsockname(l, (void *)&b, &got), 0);
	CHECK_EQ(got, size);
	CHECK(!memcmp(&a, &b, size));
	int c = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK_ERRNO(connect(c, (void *)&a, size - 1), ECONNREFUSED);
	CHECK_EQ(connect(c, (void *)&a, size), 0);
	close(l);
	int again = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK_EQ(bind(again, (void *)&a, size), 0);
}

TEST(autobind)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	socklen_t got = sizeof(a);
	int s = socket(AF_UNIX, SOCK_DGRAM, 0);
	CHECK_EQ(bind(s, (void *)&a, sizeof(sa_family_t)), 0);
	CHECK_EQ(getsockname(s, (void *)&a, &got), 0);
	CHECK_EQ(got, offsetof(struct sockaddr_un, sun_path) + 6);
	CHECK_EQ(a.sun_path[0], 0);
}

TEST(bad_names)
{
	struct sockaddr_un a = { .sun_family = AF_INET };
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK_ERRNO(bind(s, (void *)&a, sizeof(a)), EINVAL);
	a.sun_family = AF_UNIX;
	CHECK_ERRNO(bind(s, (void *)&a, sizeof(a) + 1), EINVAL);
	CHECK_ERRNO(bind(s, (void *)&a, -1), EINVAL);
	CHECK_ERRNO(bind(s, (void *)8, sizeof(a)), EFAULT);
	strcpy(a.sun_path, "/nonexistent-dir/x");
	CHECK_ERRNO(bind(s, (void *)&a, sizeof(a)), ENOENT);
	CHECK_ERRNO(listen(s, 1), EINVAL);
	CHECK_ERRNO(socket(AF_UNIX, SOCK_STREAM, 7), EPROTONOSUPPORT);
	CHECK_ERRNO(socket(AF_UNIX, 9, 0), ESOCKTNOSUPPORT);
	CHECK_ERRNO(socket(AF_UNIX, SOCK_STREAM | 0x100, 0), EINVAL);
	CHECK_ERRNO(accept(s, NULL, NULL), EINVAL);
	char c;
	CHECK_ERRNO(recv(s, &c, 1, 0), EINVAL);
	CHECK_ERRNO(send(s, "x", 1, MSG_NOSIGNAL), ENOTCONN);
}

static void *connect_later(void *arg)
{
	struct sockaddr_un *a = arg;
	usleep(30000);
	int c = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK_EQ(connect(c, (void *)a, offsetof(struct sockaddr_un, sun_path) + 1 +
					      strlen(a->sun_path + 1)),
		 0);
	return (void *)(long)c;
}

TEST(accept_blocks_until_connect)
{
	struct sockaddr_un a;
	socklen_t size;
	pthread_t t;
	int l = listener(SOCK_STREAM, &a, &size, 5);
	CHECK_EQ(fcntl(l, F_SETFL, O_NONBLOCK), 0);
	CHECK_ERRNO(accept(l, NULL, NULL), EAGAIN);
	CHECK_EQ(fcntl(l, F_SETFL, 0), 0);
	CHECK_EQ(pthread_create(&t, NULL, connect_later, &a), 0);
	int s = accept4(l, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	CHECK(s >= 0);
	CHECK_EQ(fcntl(s, F_GETFD), FD_CLOEXEC);
	CHECK_EQ(fcntl(s, F_GETFL), O_RDWR | O_NONBLOCK);
	pthread_join(t, NULL);
	CHECK_ERRNO(accept4(l, NULL, NULL, 1), EINVAL);
}

TEST(full_backlog_blocks_connect)
{
	struct sockaddr_un a;
	socklen_t size;
	pthread_t t;
	void *fd;
	int l = listener(SOCK_STREAM, &a, &size, 0);
	int first = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK_EQ(connect(first, (void *)&a, size), 0);
	int nb = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	CHECK_ERRNO(connect(nb, (void *)&a, size), EAGAIN);
	int timed = socket(AF_UNIX, SOCK_STREAM, 0);
	struct timeval tv = { 0, 30000 };
	CHECK_EQ(setsockopt(timed, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)), 0);
	CHECK_ERRNO(connect(timed, (void *)&a, size), EAGAIN);
	CHECK_EQ(pthread_create(&t, NULL, connect_later, &a), 0);
	usleep(60000);
	CHECK(accept(l, NULL, NULL) >= 0);
	CHECK_EQ(pthread_join(t, &fd), 0);
	CHECK(accept(l, NULL, NULL) >= 0);
}

TEST(closing_listener_resets_pending)
{
	struct sockaddr_un a;
	socklen_t size;
	char c;
	int l = listener(SOCK_STREAM, &a, &size, 5);
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK_EQ(connect(s, (void *)&a, size), 0);
	close(l);
	CHECK_ERRNO(read(s, &c, 1), ECONNRESET);
	CHECK_EQ(read(s, &c, 1), 0);
}

static void *write_much(void *arg)
{
	static char block[1 << 20];
	memset(block, 'w', sizeof(block));
	CHECK_EQ(write(*(int *)arg, block, sizeof(block)), sizeof(block));
	return NULL;
}

TEST(big_write_waits_for_the_reader)
{
	int s[2];
	pthread_t t;
	static char buf[100000];
	size_t total = 0;
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_EQ(pthread_create(&t, NULL, write_much, &s[0]), 0);
	while (total < 1 << 20) {
		ssize_t n = read(s[1], buf, sizeof(buf));
		CHECK(n > 0);
		for (ssize_t i = 0; i < n; i++)
			CHECK(buf[i] == 'w');
		total += n;
	}
	pthread_join(t, NULL);
	CHECK_EQ(total, 1 << 20);
}

TEST(waitall_larger_than_the_buffer)
{
	int s[2];
	pthread_t t;
	static char buf[1 << 20];
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_EQ(pthread_create(&t, NULL, write_much, &s[0]), 0);
	CHECK_EQ(recv(s[1], buf, 10, 0), 10);
	CHECK_EQ(recv(s[1], buf, sizeof(buf) - 10, MSG_WAITALL), sizeof(buf) - 10);
	pthread_join(t, NULL);
}

TEST(nonblocking_fills_up)
{
	int s[2];
	static char block[65536];
	size_t total = 0;
	ssize_t n;
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s), 0);
	char c;
	CHECK_ERRNO(read(s[0], &c, 1), EAGAIN);
	while ((n = write(s[0], block, sizeof(block))) > 0)
		total += n;
	CHECK_EQ(errno, EAGAIN);
	CHECK(total >= 65536);
	CHECK_EQ(events_of(s[0]) & POLLOUT, 0);
	while (total) {
		n = read(s[1], block, sizeof(block));
		CHECK(n > 0);
		total -= n;
	}
	CHECK_EQ(events_of(s[0]) & POLLOUT, POLLOUT);
}

TEST(peek_and_waitall)
{
	int s[2];
	char buf[8];
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_EQ(write(s[0], "abc", 3), 3);
	CHECK_EQ(recv(s[1], buf, 2, MSG_PEEK), 2);
	CHECK_EQ(recv(s[1], buf, 8, MSG_PEEK), 3);
	CHECK_EQ(recv(s[1], buf, 8, MSG_DONTWAIT | MSG_WAITALL), 3);
	CHECK_ERRNO(recv(s[1], buf, 8, MSG_DONTWAIT), EAGAIN);
	CHECK_EQ(write(s[0], "abc", 3), 3);
	close(s[0]);
	CHECK_EQ(recv(s[1], buf, 8, MSG_WAITALL), 3);
}

TEST(receive_timeout)
{
	int s[2];
	char c;
	struct timeval tv = { 0, 20000 }, got;
	socklen_t size = sizeof(got);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_EQ(setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)), 0);
	CHECK_EQ(getsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &got, &size), 0);
	CHECK_EQ(got.tv_sec, 0);
	CHECK(got.tv_usec >= 20000);
	CHECK_ERRNO(recv(s[0], &c, 1, 0), EAGAIN);
	CHECK_ERRNO(read(s[0], &c, 1), EAGAIN);
	CHECK_EQ(write(s[1], "ab", 2), 2);
	char buf[4];
	CHECK_EQ(recv(s[0], buf, 4, MSG_WAITALL), 2);
	tv.tv_usec = 1000000;
	CHECK_ERRNO(setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)), EDOM);
}

static void on_alarm(int sig)
{
}

TEST(signals_interrupt_and_restart)
{
	int s[2];
	char c;
	struct sigaction sa = { .sa_handler = on_alarm };
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	sigaction(SIGALRM, &sa, NULL);
	ualarm(20000, 20000);
	CHECK_ERRNO(recv(s[0], &c, 1, 0), EINTR);
	sa.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &sa, NULL);
	pid_t pid = fork();
	if (!pid) {
		usleep(80000);
		_exit(write(s[1], "x", 1) != 1);
	}
	CHECK_EQ(recv(s[0], &c, 1, 0), 1);
	waitpid(pid, NULL, 0);
}

TEST(datagrams_keep_their_borders)
{
	socklen_t size, got;
	struct sockaddr_un a = abstract_name("dgram", &size), b, from;
	socklen_t bsize;
	char buf[16];
	b = abstract_name("client", &bsize);
	int s = socket(AF_UNIX, SOCK_DGRAM, 0), c = socket(AF_UNIX, SOCK_DGRAM, 0);
	CHECK_ERRNO(send(c, "x", 1, 0), ENOTCONN);
	CHECK_ERRNO(sendto(c, "x", 1, 0, (void *)&a, size), ECONNREFUSED);
	CHECK_EQ(bind(s, (void *)&a, size), 0);
	CHECK_EQ(bind(c, (void *)&b, bsize), 0);
	CHECK_EQ(sendto(c, "first", 5, 0, (void *)&a, size), 5);
	CHECK_EQ(connect(c, (void *)&a, size), 0);
	CHECK_EQ(send(c, "", 0, 0), 0);
	CHECK_EQ(write(c, "third one", 9), 9);
	got = sizeof(from);
	CHECK_EQ(recvfrom(s, buf, sizeof(buf), 0, (void *)&from, &got), 5);
	CHECK_EQ(got, bsize);
	CHECK(!memcmp(&from, &b, bsize));
	CHECK_EQ(recv(s, buf, sizeof(buf), 0), 0);
	CHECK_EQ(recv(s, buf, 5, MSG_PEEK | MSG_TRUNC), 9);
	struct iovec iov = { buf, 5 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	CHECK_EQ(recvmsg(s, &m, 0), 5);
	CHECK_EQ(m.msg_flags, MSG_TRUNC);
	CHECK_ERRNO(recv(s, buf, 5, MSG_DONTWAIT), EAGAIN);
	close(s);
	CHECK_ERRNO(send(c, "x", 1, 0), ECONNREFUSED);
	CHECK_ERRNO(send(c, "x", 1, 0), ENOTCONN);
}

TEST(connected_datagram_accepts_its_peer_only)
{
	socklen_t sa, sb, sc;
	struct sockaddr_un a = abstract_name("a", &sa), b = abstract_name("b", &sb),
			   c = abstract_name("c", &sc);
	int fa = socket(AF_UNIX, SOCK_DGRAM, 0), fb = socket(AF_UNIX, SOCK_DGRAM, 0),
	    fc = socket(AF_UNIX, SOCK_DGRAM, 0);
	CHECK_EQ(bind(fa, (void *)&a, sa), 0);
	CHECK_EQ(bind(fb, (void *)&b, sb), 0);
	CHECK_EQ(bind(fc, (void *)&c, sc), 0);
	CHECK_EQ(connect(fa, (void *)&b, sb), 0);
	CHECK_ERRNO(sendto(fc, "x", 1, 0, (void *)&a, sa), EPERM);
	CHECK_ERRNO(connect(fc, (void *)&a, sa), EPERM);
	CHECK_EQ(sendto(fb, "x", 1, 0, (void *)&a, sa), 1);
	struct sockaddr un = { .sa_family = AF_UNSPEC };
	CHECK_EQ(connect(fa, &un, sizeof(un)), 0);
	CHECK_EQ(sendto(fc, "x", 1, 0, (void *)&a, sa), 1);
}

static void *drain_later(void *arg)
{
	char buf[1000];
	usleep(30000);
	while (recv(*(int *)arg, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
	return NULL;
}

TEST(datagram_back_pressure)
{
	int s[2];
	char block[1000] = { 0 };
	pthread_t t;
	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, s), 0);
	int n = 0;
	while (send(s[0], block, sizeof(block), MSG_DONTWAIT) == sizeof(block))
		n++;
	CHECK_EQ(errno, EAGAIN);
	CHECK(n > 0);
	CHECK_EQ(events_of(s[0]) & POLLOUT, 0);
	CHECK_EQ(pthread_create(&t, NULL, drain_later, &s[1]), 0);
	CHECK_EQ(send(s[0], block, sizeof(block), 0), sizeof(block));
	pthread_join(t, NULL);
	static char huge[4 << 20];
	CHECK_ERRNO(send(s[0], huge, sizeof(huge), 0), EMSGSIZE);
}

TEST(seqpacket)
{
	struct sockaddr_un a;
	socklen_t size;
	char buf[16];
	int l = listener(SOCK_SEQPACKET, &a, &size, 5);
	int c = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	CHECK_ERRNO(send(c, "x", 1, MSG_NOSIGNAL), ENOTCONN);
	CHECK_ERRNO(recv(c, buf, 1, 0), ENOTCONN);
	CHECK_EQ(connect(c, (void *)&a, size), 0);
	int s = accept(l, NULL, NULL);
	CHECK_EQ(send(c, "one", 3, 0), 3);
	CHECK_EQ(send(c, "twooo", 5, 0), 5);
	CHECK_EQ(recv(s, buf, 16, 0), 3);
	CHECK_EQ(recv(s, buf, 2, 0), 2);
	CHECK_ERRNO(recv(s, buf, 2, MSG_DONTWAIT), EAGAIN);
	close(c);
	CHECK_EQ(recv(s, buf, 2, 0), 0);
	CHECK_ERRNO(send(s, "x", 1, MSG_NOSIGNAL), EPIPE);
}

TEST(options)
{
	int s[2], v;
	socklen_t size = sizeof(v);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_EQ(getsockopt(s[0], SOL_SOCKET, SO_TYPE, &v, &size), 0);
	CHECK_EQ(v, SOCK_STREAM);
	CHECK_EQ(getsockopt(s[0], SOL_SOCKET, SO_DOMAIN, &v, &size), 0);
	CHECK_EQ(v, AF_UNIX);
	CHECK_EQ(getsockopt(s[0], SOL_SOCKET, SO_PROTOCOL, &v, &size), 0);
	CHECK_EQ(v, 0);
	CHECK_EQ(getsockopt(s[0], SOL_SOCKET, SO_ACCEPTCONN, &v, &size), 0);
	CHECK_EQ(v, 0);
	CHECK_EQ(getsockopt(s[0], SOL_SOCKET, SO_ERROR, &v, &size), 0);
	CHECK_EQ(v, 0);
	v = 10000;
	CHECK_EQ(setsockopt(s[0], SOL_SOCKET, SO_SNDBUF, &v, sizeof(v)), 0);
	CHECK_EQ(getsockopt(s[0], SOL_SOCKET, SO_SNDBUF, &v, &size), 0);
	CHECK_EQ(v, 20000);
	struct linger l = { 1, 7 }, lg;
	CHECK_EQ(setsockopt(s[0], SOL_SOCKET, SO_LINGER, &l, sizeof(l)), 0);
	size = sizeof(lg);
	CHECK_EQ(getsockopt(s[0], SOL_SOCKET, SO_LINGER, &lg, &size), 0);
	CHECK(lg.l_onoff == 1 && lg.l_linger == 7);
	size = sizeof(v);
	CHECK_ERRNO(getsockopt(s[0], SOL_SOCKET, 12345, &v, &size), ENOPROTOOPT);
	CHECK_ERRNO(setsockopt(s[0], SOL_SOCKET, SO_REUSEADDR, &v, 2), EINVAL);
	CHECK_ERRNO(getsockopt(0, SOL_SOCKET, SO_TYPE, &v, &size), ENOTSOCK);
	CHECK_ERRNO(getsockopt(99, SOL_SOCKET, SO_TYPE, &v, &size), EBADF);
	struct ucred uc;
	size = sizeof(uc);
	CHECK_EQ(getsockopt(s[0], SOL_SOCKET, SO_PEERCRED, &uc, &size), 0);
	CHECK_EQ(uc.pid, getpid());
	CHECK_EQ(uc.uid, geteuid());
	CHECK_EQ(write(s[1], "abc", 3), 3);
	CHECK_EQ(ioctl(s[0], FIONREAD, &v), 0);
	CHECK_EQ(v, 3);
	v = 1;
	CHECK_EQ(ioctl(s[0], FIONBIO, &v), 0);
	char buf[4];
	CHECK_EQ(read(s[0], buf, 4), 3);
	CHECK_ERRNO(read(s[0], buf, 4), EAGAIN);
	CHECK_ERRNO(lseek(s[0], 0, SEEK_CUR), ESPIPE);
	struct stat st;
	CHECK_EQ(fstat(s[0], &st), 0);
	CHECK(S_ISSOCK(st.st_mode));
}

TEST(vectors_and_many_messages)
{
	int s[2];
	char a[3], b[4];
	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, s), 0);
	struct iovec v[2] = { { "ab", 2 }, { "cdef", 4 } }, r[2] = { { a, 3 }, { b, 4 } };
	CHECK_EQ(writev(s[0], v, 2), 6);
	CHECK_EQ(readv(s[1], r, 2), 6);
	CHECK(!memcmp(a, "abc", 3) && !memcmp(b, "def", 3));
	struct mmsghdr m[3] = { 0 };
	for (int i = 0; i < 3; i++) {
		m[i].msg_hdr.msg_iov = &v[i % 2];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	CHECK_EQ(sendmmsg(s[0], m, 3, 0), 3);
	CHECK_EQ(m[1].msg_len, 4);
	char in[3][8];
	struct iovec iv[3];
	for (int i = 0; i < 3; i++) {
		iv[i] = (struct iovec){ in[i], 8 };
		m[i].msg_hdr = (struct msghdr){ .msg_iov = &iv[i], .msg_iovlen = 1 };
	}
	CHECK_EQ(recvmmsg(s[1], m, 3, MSG_WAITFORONE, NULL), 3);
	CHECK_EQ(m[0].msg_len, 2);
	CHECK_EQ(m[1].msg_len, 4);
	CHECK_ERRNO(recvmmsg(s[1], m, 3, MSG_DONTWAIT, NULL), EAGAIN);
}

CHECK_MAIN()
