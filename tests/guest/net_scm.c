/* Ancillary data of unix sockets: descriptors, credentials. */
/* also as root */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "check.h"

static ssize_t send_fds(int s, const char *data, size_t size, const int *fds, int n, int flags)
{
	char control[CMSG_SPACE(sizeof(int) * 300)] = { 0 };
	struct iovec iov = { (void *)data, size };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control };
	m.msg_controllen = CMSG_SPACE(sizeof(int) * n);
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int) * n);
	memcpy(CMSG_DATA(c), fds, sizeof(int) * n);
	return sendmsg(s, &m, flags);
}

static ssize_t recv_fds(int s, char *data, size_t size, int *fds, int max, int *n, int flags,
			int *out_flags)
{
	char control[CMSG_SPACE(sizeof(int) * 300)];
	struct iovec iov = { data, size };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control };
	m.msg_controllen = max ? CMSG_LEN(sizeof(int) * max) : 0;
	*n = 0;
	ssize_t got = recvmsg(s, &m, flags);
	if (got < 0)
		return got;
	if (out_flags)
		*out_flags = m.msg_flags;
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_type == SCM_RIGHTS) {
		*n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(c), *n * sizeof(int));
	}
	return got;
}

TEST(descriptor_arrives_and_works)
{
	int s[2], p[2], n, got[4];
	char buf[8];
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(send_fds(s[0], "x", 1, &p[1], 1, 0), 1);
	close(p[1]);
	CHECK_EQ(recv_fds(s[1], buf, 8, got, 4, &n, 0, NULL), 1);
	CHECK_EQ(n, 1);
	CHECK_EQ(fcntl(got[0], F_GETFD), 0);
	CHECK_EQ(write(got[0], "abc", 3), 3);
	close(got[0]);
	CHECK_EQ(read(p[0], buf, 8), 3);
	CHECK_EQ(read(p[0], buf, 8), 0);
}

TEST(cloexec_and_shared_offset)
{
	int s[2], n, got[2];
	char buf[8], name[] = "/tmp/net_scm.XXXXXX";
	int f = mkstemp(name);
	unlink(name);
	CHECK_EQ(write(f, "0123456789", 10), 10);
	CHECK_EQ(lseek(f, 2, SEEK_SET), 2);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, s), 0);
	int two[2] = { f, f };
	CHECK_EQ(send_fds(s[0], "", 0, two, 2, 0), 0);
	CHECK_EQ(recv_fds(s[1], buf, 8, got, 2, &n, MSG_CMSG_CLOEXEC, NULL), 0);
	CHECK_EQ(n, 2);
	CHECK_EQ(fcntl(got[0], F_GETFD), FD_CLOEXEC);
	CHECK_EQ(read(got[0], buf, 3), 3);
	CHECK_EQ(read(got[1], buf, 3), 3);
	CHECK(!memcmp(buf, "567", 3));
	CHECK_EQ(lseek(f, 0, SEEK_CUR), 8);
}

TEST(stream_descriptors_are_a_border)
{
	int s[2], n, got[4], flags;
	char buf[16];
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_EQ(write(s[0], "aa", 2), 2);
	CHECK_EQ(send_fds(s[0], "bb", 2, s, 1, 0), 2);
	CHECK_EQ(write(s[0], "cc", 2), 2);
	CHECK_EQ(recv_fds(s[1], buf, 16, got, 4, &n, 0, &flags), 4);
	CHECK_EQ(n, 1);
	CHECK_EQ(recv_fds(s[1], buf, 16, got, 4, &n, 0, &flags), 2);
	CHECK_EQ(n, 0);
}

TEST(plain_read_drops_descriptors)
{
	int s[2], p[2];
	char c;
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(send_fds(s[0], "x", 1, &p[1], 1, 0), 1);
	close(p[1]);
	CHECK_EQ(read(s[1], &c, 1), 1);
	CHECK_EQ(read(p[0], &c, 1), 0);
}

TEST(too_little_room_truncates)
{
	int s[2], n, got[4], flags, three[3];
	char c;
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	three[0] = three[1] = three[2] = s[0];
	CHECK_EQ(send_fds(s[0], "x", 1, three, 3, 0), 1);
	CHECK_EQ(recv_fds(s[1], &c, 1, got, 1, &n, 0, &flags), 1);
	/* CMSG_LEN(4) leaves room for one, the padding is not used. */
	CHECK_EQ(n, 1);
	CHECK(flags & MSG_CTRUNC);
	CHECK_EQ(send_fds(s[0], "x", 1, three, 1, 0), 1);
	CHECK_EQ(recv_fds(s[1], &c, 1, got, 0, &n, 0, &flags), 1);
	CHECK(flags & MSG_CTRUNC);
}

TEST(peek_duplicates)
{
	int s[2], n, a[2], b[2];
	char c;
	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, s), 0);
	CHECK_EQ(send_fds(s[0], "x", 1, s, 1, 0), 1);
	CHECK_EQ(recv_fds(s[1], &c, 1, a, 2, &n, MSG_PEEK, NULL), 1);
	CHECK_EQ(n, 1);
	CHECK_EQ(recv_fds(s[1], &c, 1, b, 2, &n, 0, NULL), 1);
	CHECK_EQ(n, 1);
	CHECK(a[0] != b[0]);
}

TEST(bad_control_data)
{
	int s[2], bad[2] = { 777, 0 }, many[254];
	struct iovec iov = { "x", 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr h = { .cmsg_len = 4, .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_ERRNO(send_fds(s[0], "x", 1, bad, 1, 0), EBADF);
	for (int i = 0; i < 254; i++)
		many[i] = s[0];
	CHECK_ERRNO(send_fds(s[0], "x", 1, many, 254, 0), EINVAL);
	CHECK_EQ(send_fds(s[0], "x", 1, many, 253, 0), 1);
	m.msg_control = &h;
	m.msg_controllen = sizeof(h);
	CHECK_ERRNO(sendmsg(s[0], &m, 0), EINVAL);
	h.cmsg_len = 1000;
	CHECK_ERRNO(sendmsg(s[0], &m, 0), EINVAL);
	h.cmsg_len = sizeof(h);
	h.cmsg_type = 99;
	CHECK_ERRNO(sendmsg(s[0], &m, 0), EINVAL);
	m.msg_control = (void *)8;
	CHECK_ERRNO(sendmsg(s[0], &m, 0), EFAULT);
	m.msg_control = NULL;
	m.msg_controllen = 0;
	m.msg_iovlen = 1025;
	CHECK_ERRNO(sendmsg(s[0], &m, 0), EMSGSIZE);
}

TEST(credentials)
{
	int s[2], one = 1;
	char c, control[CMSG_SPACE(sizeof(struct ucred))];
	struct iovec iov = { &c, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control };
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_EQ(setsockopt(s[1], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)), 0);
	pid_t pid = fork();
	if (!pid)
		_exit(write(s[0], "x", 1) != 1);
	waitpid(pid, NULL, 0);
	m.msg_controllen = sizeof(control);
	CHECK_EQ(recvmsg(s[1], &m, 0), 1);
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	CHECK(h && h->cmsg_type == SCM_CREDENTIALS);
	struct ucred uc;
	memcpy(&uc, CMSG_DATA(h), sizeof(uc));
	CHECK_EQ(uc.pid, pid);
	CHECK_EQ(uc.uid, geteuid());
	/* Given by the sender. */
	memset(control, 0, sizeof(control));
	m.msg_controllen = sizeof(control);
	h = CMSG_FIRSTHDR(&m);
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_CREDENTIALS;
	h->cmsg_len = CMSG_LEN(sizeof(uc));
	uc = (struct ucred){ getpid(), getuid(), getgid() };
	memcpy(CMSG_DATA(h), &uc, sizeof(uc));
	CHECK_EQ(sendmsg(s[0], &m, 0), 1);
	CHECK_EQ(recvmsg(s[1], &m, 0), 1);
	memcpy(&uc, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(uc));
	CHECK_EQ(uc.pid, getpid());
}

TEST(writers_are_kept_apart)
{
	int s[2], one = 1;
	char buf[8], control[64];
	struct iovec iov = { buf, 8 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control };
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_EQ(setsockopt(s[1], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)), 0);
	CHECK_EQ(write(s[0], "a", 1), 1);
	CHECK_EQ(write(s[0], "b", 1), 1);
	pid_t pid = fork();
	if (!pid)
		_exit(write(s[0], "c", 1) != 1);
	waitpid(pid, NULL, 0);
	m.msg_controllen = sizeof(control);
	CHECK_EQ(recvmsg(s[1], &m, 0), 2);
	m.msg_controllen = sizeof(control);
	CHECK_EQ(recvmsg(s[1], &m, 0), 1);
	CHECK_EQ(buf[0], 'c');
}

/* Sockets that only their own queues hold; a pipe end among them tells when they are collected. */
TEST(cycles_are_collected)
{
	int p[2], s[2];
	char c;
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, s), 0);
	CHECK_EQ(send_fds(s[0], "x", 1, &s[1], 1, 0), 1);
	CHECK_EQ(send_fds(s[1], "x", 1, &s[0], 1, 0), 1);
	CHECK_EQ(send_fds(s[0], "x", 1, &p[1], 1, 0), 1);
	close(p[1]);
	close(s[0]);
	close(s[1]);
	int other[2];
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
	close(other[0]);
	close(other[1]);
	CHECK_EQ(read(p[0], &c, 1), 0);
}

TEST(reachable_ones_are_kept)
{
	int a[2], b[2], n, got[2];
	char c;
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, a), 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, b), 0);
	CHECK_EQ(write(b[1], "k", 1), 1);
	CHECK_EQ(send_fds(a[0], "x", 1, &b[0], 1, 0), 1);
	close(b[0]);
	int other = socket(AF_UNIX, SOCK_STREAM, 0);
	close(other);
	CHECK_EQ(recv_fds(a[1], &c, 1, got, 2, &n, 0, NULL), 1);
	CHECK_EQ(n, 1);
	CHECK_EQ(read(got[0], &c, 1), 1);
	CHECK_EQ(c, 'k');
}

TEST(deeply_nested_descriptors)
{
	int p[2], inner = -1;
	char c;
	CHECK_EQ(pipe(p), 0);
	inner = p[1];
	for (int i = 0; i < 700; i++) {
		int s[2];
		CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, s), 0);
		CHECK_EQ(send_fds(s[0], "x", 1, &inner, 1, 0), 1);
		close(inner);
		close(s[0]);
		inner = s[1];
	}
	close(inner);
	CHECK_EQ(read(p[0], &c, 1), 0);
}

TEST(listener_in_its_own_backlog)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int p[2], l = socket(AF_UNIX, SOCK_STREAM, 0), c = socket(AF_UNIX, SOCK_STREAM, 0);
	socklen_t size = 2 + 1 + snprintf(a.sun_path + 1, 50, "scm.%d", getpid());
	char x;
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(bind(l, (void *)&a, size), 0);
	CHECK_EQ(listen(l, 1), 0);
	CHECK_EQ(connect(c, (void *)&a, size), 0);
	int fds[2] = { l, p[1] };
	CHECK_EQ(send_fds(c, "x", 1, fds, 2, 0), 1);
	close(p[1]);
	close(l);
	close(c);
	int other = socket(AF_UNIX, SOCK_STREAM, 0);
	close(other);
	CHECK_EQ(read(p[0], &x, 1), 0);
}

CHECK_MAIN()
