/* epoll(7). */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>

/* An address nothing is mapped at; volatile, so that the compiler does not object. */
static void *volatile bad_address = (void *)8;
static volatile int minus_one = -1;
#define BAD bad_address

static int ep;

static void ctl(int op, int fd, uint32_t events, uint64_t data)
{
	struct epoll_event ev = { .events = events, .data.u64 = data };

	CHECK_EQ(epoll_ctl(ep, op, fd, &ev), 0);
}

/* The one event that is there, or 0. */
static uint32_t one(uint64_t *data)
{
	struct epoll_event ev;
	int n = epoll_wait(ep, &ev, 1, 0);

	CHECK(n >= 0);
	if (n && data)
		*data = ev.data.u64;
	return n ? ev.events : 0;
}

static void start(int p[2])
{
	ep = epoll_create1(EPOLL_CLOEXEC);
	CHECK(ep >= 0);
	CHECK_EQ(pipe2(p, O_NONBLOCK), 0);
}

TEST(level)
{
	uint64_t data = 0;
	char c;
	int p[2];

	start(p);
	ctl(EPOLL_CTL_ADD, p[0], EPOLLIN, 0x123456789abcull);
	CHECK_EQ(one(NULL), 0);
	CHECK_EQ(write(p[1], "ab", 2), 2);
	CHECK_EQ(one(&data), EPOLLIN);
	CHECK_EQ(data, 0x123456789abcull);
	CHECK_EQ(one(NULL), EPOLLIN);
	CHECK_EQ(read(p[0], &c, 1), 1);
	CHECK_EQ(one(NULL), EPOLLIN);
	CHECK_EQ(read(p[0], &c, 1), 1);
	CHECK_EQ(one(NULL), 0);
	close(p[1]);
	CHECK_EQ(one(NULL), EPOLLHUP);
}

TEST(edge)
{
	char c;
	int p[2];

	start(p);
	CHECK_EQ(write(p[1], "a", 1), 1);
	ctl(EPOLL_CTL_ADD, p[0], EPOLLIN | EPOLLET, 1);
	CHECK_EQ(one(NULL), EPOLLIN); /* ready when added */
	CHECK_EQ(one(NULL), 0);
	CHECK_EQ(write(p[1], "b", 1), 1);
	CHECK_EQ(one(NULL), EPOLLIN); /* every write is an event */
	CHECK_EQ(one(NULL), 0);
	CHECK_EQ(read(p[0], &c, 1), 1);
	CHECK_EQ(one(NULL), 0);
	ctl(EPOLL_CTL_MOD, p[0], EPOLLIN | EPOLLET, 1);
	CHECK_EQ(one(NULL), EPOLLIN);
	CHECK_EQ(one(NULL), 0);
}

TEST(edge_for_writing)
{
	static char block[65536];
	int p[2];

	start(p);
	ctl(EPOLL_CTL_ADD, p[1], EPOLLOUT | EPOLLET, 1);
	CHECK_EQ(one(NULL), EPOLLOUT);
	CHECK_EQ(write(p[1], block, sizeof(block)), sizeof(block));
	CHECK_EQ(one(NULL), 0);
	CHECK_EQ(read(p[0], block, 4096), 4096);
	CHECK_EQ(one(NULL), EPOLLOUT);
	CHECK_EQ(one(NULL), 0);
}

TEST(oneshot)
{
	int p[2];

	start(p);
	ctl(EPOLL_CTL_ADD, p[0], EPOLLIN | EPOLLONESHOT, 1);
	CHECK_EQ(write(p[1], "a", 1), 1);
	CHECK_EQ(one(NULL), EPOLLIN);
	CHECK_EQ(write(p[1], "a", 1), 1);
	CHECK_EQ(one(NULL), 0);
	ctl(EPOLL_CTL_MOD, p[0], EPOLLIN | EPOLLONESHOT, 1);
	CHECK_EQ(one(NULL), EPOLLIN);
	close(p[1]);
	CHECK_EQ(one(NULL), 0); /* not even a hang-up */
}

TEST(hangup_and_error_are_always_reported)
{
	int p[2], q[2];

	start(p);
	ctl(EPOLL_CTL_ADD, p[0], 0, 1);
	CHECK_EQ(write(p[1], "a", 1), 1);
	CHECK_EQ(one(NULL), 0);
	close(p[1]);
	CHECK_EQ(one(NULL), EPOLLHUP);
	close(p[0]);
	CHECK_EQ(pipe(q), 0);
	ctl(EPOLL_CTL_ADD, q[1], 0, 1);
	close(q[0]);
	CHECK_EQ(one(NULL), EPOLLERR);
}

TEST(ctl_errors)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int p[2], file = open("/tmp/check-epoll", O_CREAT | O_RDWR, 0600);

	start(p);
	CHECK_ERRNO(epoll_create(0), EINVAL);
	CHECK_ERRNO(epoll_create1(1), EINVAL);
	CHECK_ERRNO(epoll_ctl(ep, EPOLL_CTL_MOD, p[0], &ev), ENOENT);
	CHECK_ERRNO(epoll_ctl(ep, EPOLL_CTL_DEL, p[0], NULL), ENOENT);
	ctl(EPOLL_CTL_ADD, p[0], EPOLLIN, 1);
	CHECK_ERRNO(epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &ev), EEXIST);
	CHECK_ERRNO(epoll_ctl(ep, 99, p[0], &ev), EINVAL);
	CHECK_ERRNO(epoll_ctl(ep, EPOLL_CTL_ADD, ep, &ev), EINVAL);
	CHECK_ERRNO(epoll_ctl(p[0], EPOLL_CTL_ADD, p[1], &ev), EINVAL);
	CHECK_ERRNO(epoll_ctl(ep, EPOLL_CTL_ADD, 999, &ev), EBADF);
	CHECK_ERRNO(epoll_ctl(999, EPOLL_CTL_ADD, p[0], &ev), EBADF);
	CHECK_ERRNO(epoll_ctl(ep, EPOLL_CTL_MOD, p[0], BAD), EFAULT);
	CHECK_ERRNO(epoll_ctl(ep, EPOLL_CTL_ADD, file, &ev), EPERM);
	CHECK_ERRNO(epoll_ctl(ep, EPOLL_CTL_ADD, open("/", O_RDONLY), &ev), EPERM);
	CHECK_ERRNO(epoll_ctl(ep, EPOLL_CTL_ADD, open("/", O_PATH), &ev), EBADF);
	CHECK_ERRNO(epoll_wait(ep, &ev, 0, 0), EINVAL);
	CHECK_ERRNO(epoll_wait(ep, &ev, minus_one, 0), EINVAL);
	CHECK_ERRNO(epoll_wait(p[0], &ev, 1, 0), EINVAL);
	CHECK_ERRNO(epoll_wait(999, &ev, 1, 0), EBADF);
	CHECK_EQ(epoll_ctl(ep, EPOLL_CTL_DEL, p[0], NULL), 0);
	ev.events = EPOLLIN | EPOLLEXCLUSIVE | EPOLLONESHOT;
	CHECK_ERRNO(epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &ev), EINVAL);
	ev.events = EPOLLIN | EPOLLEXCLUSIVE;
	CHECK_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &ev), 0);
	CHECK_ERRNO(epoll_ctl(ep, EPOLL_CTL_MOD, p[0], &ev), EINVAL);
	unlink("/tmp/check-epoll");
}

TEST(bad_buffer_keeps_the_edge)
{
	int p[2];

	start(p);
	ctl(EPOLL_CTL_ADD, p[0], EPOLLIN | EPOLLET, 1);
	CHECK_EQ(write(p[1], "a", 1), 1);
	CHECK_ERRNO(epoll_wait(ep, BAD, 1, 0), EFAULT);
	CHECK_EQ(one(NULL), EPOLLIN);
}

TEST(duplicates_keep_it_alive)
{
	uint64_t data = 0;
	int p[2];

	start(p);
	ctl(EPOLL_CTL_ADD, p[0], EPOLLIN, 7);
	int copy = dup(p[0]);
	ctl(EPOLL_CTL_ADD, copy, EPOLLIN, 8); /* another key */
	CHECK_EQ(epoll_ctl(ep, EPOLL_CTL_DEL, copy, NULL), 0);
	close(p[0]);
	CHECK_EQ(write(p[1], "a", 1), 1);
	CHECK_EQ(one(&data), EPOLLIN);
	CHECK_EQ(data, 7);
	close(copy);
	CHECK_EQ(one(NULL), 0); /* the open file is gone */
}

TEST(turns_are_taken)
{
	enum { N = 10 };
	int fds[N], seen[N] = { 0 };
	struct epoll_event ev[3];

	ep = epoll_create1(0);
	for (int i = 0; i < N; i++) {
		fds[i] = eventfd(1, 0);
		ctl(EPOLL_CTL_ADD, fds[i], EPOLLIN, (uint64_t)i);
	}
	for (int round = 0; round < N; round++) {
		CHECK_EQ(epoll_wait(ep, ev, 3, 0), 3);
		for (int i = 0; i < 3; i++)
			seen[ev[i].data.u64]++;
	}
	for (int i = 0; i < N; i++)
		CHECK_EQ(seen[i], 3);
}

TEST(nested)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct pollfd pf;
	int p[2];

	start(p);
	int inner = ep, outer = epoll_create1(0);
	ctl(EPOLL_CTL_ADD, p[0], EPOLLIN, 1);
	CHECK_EQ(epoll_ctl(outer, EPOLL_CTL_ADD, inner, &ev), 0);
	CHECK_EQ(epoll_wait(outer, &ev, 1, 0), 0);
	CHECK_EQ(write(p[1], "a", 1), 1);
	CHECK_EQ(epoll_wait(outer, &ev, 1, 0), 1);
	CHECK_EQ(ev.events, EPOLLIN);
	pf = (struct pollfd){ .fd = outer, .events = POLLIN };
	CHECK_EQ(poll(&pf, 1, 0), 1);
	CHECK_EQ(read(p[0], &ev, 1), 1);
	CHECK_EQ(epoll_wait(outer, &ev, 1, 0), 0);
	CHECK_EQ(poll(&pf, 1, 0), 0);
	/* A blocked waiter of the outer one is woken by the innermost event. */
	pid_t pid = fork();
	if (!pid) {
		usleep(10000);
		_exit(write(p[1], "b", 1) != 1);
	}
	CHECK_EQ(epoll_wait(outer, &ev, 1, -1), 1);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

TEST(nested_edge)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	int p[2];

	start(p);
	int inner = ep, outer = epoll_create1(0);
	ctl(EPOLL_CTL_ADD, p[0], EPOLLIN, 1);
	CHECK_EQ(epoll_ctl(outer, EPOLL_CTL_ADD, inner, &ev), 0);
	CHECK_EQ(write(p[1], "a", 1), 1);
	CHECK_EQ(epoll_wait(outer, &ev, 1, 0), 1);
	CHECK_EQ(epoll_wait(outer, &ev, 1, 0), 0);
	CHECK_EQ(write(p[1], "a", 1), 1);
	CHECK_EQ(epoll_wait(outer, &ev, 1, 0), 1);
}

TEST(loops_and_depth)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int a = epoll_create1(0), b = epoll_create1(0), chain[8], length = 1;

	CHECK_EQ(epoll_ctl(a, EPOLL_CTL_ADD, b, &ev), 0);
	CHECK_ERRNO(epoll_ctl(b, EPOLL_CTL_ADD, a, &ev), ELOOP);
	chain[0] = epoll_create1(0);
	for (int i = 1; i < 8; i++) {
		chain[i] = epoll_create1(0);
		if (epoll_ctl(chain[i], EPOLL_CTL_ADD, chain[i - 1], &ev) < 0) {
			CHECK_EQ(errno, ELOOP);
			break;
		}
		length++;
	}
	CHECK_EQ(length, 5);
}

TEST(timeouts)
{
	struct timespec a, b, timeout = { 0, 20000000 };
	struct epoll_event ev;
	int p[2];

	start(p);
	ctl(EPOLL_CTL_ADD, p[0], EPOLLIN, 1);
	clock_gettime(CLOCK_MONOTONIC, &a);
	CHECK_EQ(epoll_wait(ep, &ev, 1, 20), 0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	CHECK((b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec >= 20000000);
	int n = epoll_pwait2(ep, &ev, 1, &timeout, NULL);
	CHECK(n == 0 || errno == ENOSYS);
}

static void on_signal(int sig)
{
	(void)sig;
}

TEST(signals)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct epoll_event ev;
	sigset_t block, old;
	int p[2];

	start(p);
	ctl(EPOLL_CTL_ADD, p[0], EPOLLIN, 1);
	sigaction(SIGUSR1, &sa, NULL);
	pid_t pid = fork();
	if (!pid) {
		check_until_asleep(getppid());
		kill(getppid(), SIGUSR1);
		_exit(0);
	}
	CHECK_ERRNO(epoll_wait(ep, &ev, 1, -1), EINTR); /* never restarts */
	CHECK_EQ(waitpid(pid, NULL, 0), pid);

	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	sigprocmask(SIG_BLOCK, &block, &old);
	raise(SIGUSR1);
	CHECK_EQ(epoll_wait(ep, &ev, 1, 10), 0);
	CHECK_ERRNO(epoll_pwait(ep, &ev, 1, -1, &old), EINTR);
	CHECK_EQ(epoll_pwait(ep, &ev, 1, 0, &old), 0);
	sigprocmask(SIG_SETMASK, NULL, &old);
	CHECK(sigismember(&old, SIGUSR1));
}

TEST(rdhup)
{
	int s[2];

	ep = epoll_create1(0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	ctl(EPOLL_CTL_ADD, s[0], EPOLLIN | EPOLLRDHUP, 1);
	CHECK_EQ(one(NULL), 0);
	CHECK_EQ(shutdown(s[1], SHUT_WR), 0);
	CHECK_EQ(one(NULL), EPOLLIN | EPOLLRDHUP);
	close(s[1]);
	CHECK_EQ(one(NULL), EPOLLIN | EPOLLRDHUP | EPOLLHUP);
}

/* Many threads wait on one instance; each event is taken by one of them. */
enum { THREADS = 4, EVENTS = 2000 };
static int event_fd;
static int taken[THREADS];

static void *worker(void *arg)
{
	struct epoll_event ev;
	uint64_t v;

	for (;;) {
		int n = epoll_wait(ep, &ev, 1, -1);
		CHECK_EQ(n, 1);
		if (read(event_fd, &v, sizeof(v)) != sizeof(v)) {
			CHECK_EQ(errno, EAGAIN);
			continue;
		}
		(*(int *)arg)++;
		if (__atomic_add_fetch(&taken[0], 0, __ATOMIC_RELAXED) < 0)
			break;
		static int total;
		if (__atomic_add_fetch(&total, 1, __ATOMIC_RELAXED) == EVENTS)
			_exit(0);
	}
	return NULL;
}

TEST(threads_share_an_instance)
{
	pthread_t t;

	event_fd = eventfd(0, EFD_NONBLOCK | EFD_SEMAPHORE);
	ep = epoll_create1(0);
	ctl(EPOLL_CTL_ADD, event_fd, EPOLLIN, 1);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&t, NULL, worker, &taken[i]), 0);
	for (int i = 0; i < EVENTS; i++) {
		uint64_t v = 1;
		CHECK_EQ(write(event_fd, &v, sizeof(v)), sizeof(v));
	}
	pause();
}

TEST(edge_ping_pong)
{
	char buf[100];
	int a[2], b[2];

	start(a);
	CHECK_EQ(pipe2(b, O_NONBLOCK), 0);
	pid_t pid = fork();
	for (int side = pid ? 0 : 1, rounds = 0; rounds < 1000; rounds++) {
		struct epoll_event ev;
		int in = side ? a[0] : b[0], out = side ? b[1] : a[1];
		if (!rounds) {
			ep = epoll_create1(0);
			ctl(EPOLL_CTL_ADD, in, EPOLLIN | EPOLLET, 1);
		}
		if (!side)
			CHECK_EQ(write(out, "ping", 4), 4);
		CHECK_EQ(epoll_wait(ep, &ev, 1, -1), 1);
		CHECK_EQ(read(in, buf, sizeof(buf)), 4);
		CHECK_ERRNO(read(in, buf, sizeof(buf)), EAGAIN);
		if (side)
			CHECK_EQ(write(out, "pong", 4), 4);
	}
	if (!pid)
		_exit(0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

CHECK_MAIN()
