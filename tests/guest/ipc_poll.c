/* poll(2), ppoll(2), select(2), pselect(2). */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void on_signal(int sig)
{
	(void)sig;
}

static void catch(int sig, int flags)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = flags };

	CHECK_EQ(sigaction(sig, &sa, NULL), 0);
}

static pid_t later(long us, int fd, int sig)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	usleep((useconds_t)us);
	check_until_asleep(parent);
	if (sig)
		kill(parent, sig);
	else
		CHECK_EQ(write(fd, "x", 1), 1);
	_exit(0);
}

TEST(poll_basics)
{
	struct pollfd f[4];
	int p[2];

	CHECK_EQ(pipe(p), 0);
	f[0] = (struct pollfd){ .fd = p[0], .events = POLLIN, .revents = 77 };
	f[1] = (struct pollfd){ .fd = p[1], .events = POLLOUT };
	f[2] = (struct pollfd){ .fd = -5, .events = POLLIN, .revents = 77 };
	f[3] = (struct pollfd){ .fd = 999, .events = POLLIN };
	CHECK_EQ(poll(f, 4, -1), 2);
	CHECK_EQ(f[0].revents, 0);
	CHECK_EQ(f[1].revents, POLLOUT);
	CHECK_EQ(f[2].revents, 0);
	CHECK_EQ(f[3].revents, POLLNVAL);
	CHECK_EQ(f[0].events, POLLIN);
	CHECK_EQ(poll(f, 1, 0), 0);
	CHECK_EQ(poll(NULL, 0, 0), 0);
}

TEST(regular_files_are_ready)
{
	struct pollfd f = { .events = POLLIN | POLLOUT };

	f.fd = open("/etc/passwd", O_RDONLY);
	CHECK_EQ(poll(&f, 1, -1), 1);
	CHECK_EQ(f.revents, POLLIN | POLLOUT);
	f.fd = open("/dev/null", O_RDWR);
	CHECK_EQ(poll(&f, 1, -1), 1);
	CHECK_EQ(f.revents, POLLIN | POLLOUT);
}

TEST(poll_blocks_and_wakes)
{
	struct pollfd f = { .events = POLLIN };
	int p[2];

	CHECK_EQ(pipe(p), 0);
	f.fd = p[0];
	pid_t pid = later(10000, p[1], 0);
	CHECK_EQ(poll(&f, 1, -1), 1);
	CHECK_EQ(f.revents, POLLIN);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

TEST(poll_timeout)
{
	struct pollfd f = { .events = POLLIN };
	int p[2];
	double start = now();

	CHECK_EQ(pipe(p), 0);
	f.fd = p[0];
	f.revents = 5;
	CHECK_EQ(poll(&f, 1, 30), 0);
	CHECK_EQ(f.revents, 0);
	CHECK(now() - start >= 0.030);
	start = now();
	CHECK_EQ(poll(NULL, 0, 20), 0);
	CHECK(now() - start >= 0.020);
}

TEST(poll_errors)
{
	struct rlimit small = { 20, 20 };
	struct pollfd f[32] = { 0 };

	for (int i = 0; i < 32; i++)
		f[i].fd = -1;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &small), 0);
	CHECK_ERRNO(poll(f, 21, 0), EINVAL);
	CHECK_EQ(poll(f, 20, 0), 0);
	CHECK_ERRNO(syscall(SYS_poll, 8, 1, 0), EFAULT);
}

/* Another thread may change `events` while we poll: they must not be written back. */
static struct pollfd shared_fds[2];
static void *changer(void *arg)
{
	usleep(10000);
	shared_fds[1].events = 0x44;
	CHECK_EQ(write(*(int *)arg, "x", 1), 1);
	return NULL;
}

TEST(poll_keeps_events)
{
	pthread_t t;
	int p[2];

	CHECK_EQ(pipe(p), 0);
	shared_fds[0] = (struct pollfd){ .fd = p[0], .events = POLLIN };
	shared_fds[1] = (struct pollfd){ .fd = -1, .events = 1, .revents = 9 };
	CHECK_EQ(pthread_create(&t, NULL, changer, &p[1]), 0);
	CHECK_EQ(poll(shared_fds, 2, -1), 1);
	CHECK_EQ(pthread_join(t, NULL), 0);
	CHECK_EQ(shared_fds[1].events, 0x44);
	CHECK_EQ(shared_fds[1].revents, 0);
}

TEST(poll_is_interrupted)
{
	catch(SIGUSR1, SA_RESTART);
	pid_t pid = later(20000, -1, SIGUSR1);
	CHECK_ERRNO(poll(NULL, 0, -1), EINTR);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

TEST(an_interruption_is_told_once)
{
	struct pollfd f = { .events = POLLIN };
	int p[2];

	CHECK_EQ(pipe(p), 0);
	f.fd = p[0];
	for (int restart = 0; restart < 2; restart++) {
		catch(SIGUSR1, restart ? SA_RESTART : 0);
		pid_t pid = later(10000, -1, SIGUSR1);
		for (int round = 0; round < 2; round++) { /* the same call from the same place */
			int n = poll(&f, 1, round ? 60 : -1);
			CHECK_EQ(n, round ? 0 : -1);
		}
		CHECK_EQ(waitpid(pid, NULL, 0), pid);
	}
}

TEST(a_thousand_descriptors)
{
	enum { N = 1000 };
	static struct pollfd f[N];
	struct rlimit rl;
	int p[2];

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &rl), 0);
	rl.rlim_cur = rl.rlim_max;
	if (rl.rlim_max < N + 50)
		SKIP("few descriptors");
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &rl), 0);
	CHECK_EQ(pipe(p), 0);
	for (int i = 0; i < N; i++) {
		f[i].fd = dup(p[0]);
		f[i].events = POLLIN;
		CHECK(f[i].fd >= 0);
	}
	CHECK_EQ(poll(f, N, 0), 0);
	pid_t pid = later(10000, p[1], 0);
	CHECK_EQ(poll(f, N, -1), N);
	for (int i = 0; i < N; i++)
		CHECK_EQ(f[i].revents, POLLIN);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

TEST(ppoll_swaps_the_mask)
{
	struct timespec limit = { 1000, 0 }, zero = { 0, 0 };
	sigset_t block, old, now_set;

	catch(SIGUSR1, 0);
	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	CHECK_EQ(sigprocmask(SIG_BLOCK, &block, &old), 0);
	CHECK_EQ(raise(SIGUSR1), 0);
	CHECK_ERRNO(ppoll(NULL, 0, &limit, &old), EINTR); /* was pending */
	pid_t pid = later(20000, -1, SIGUSR1);
	CHECK_ERRNO(ppoll(NULL, 0, &limit, &old), EINTR); /* comes while waiting */
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK_EQ(ppoll(NULL, 0, &zero, &old), 0);
	CHECK_EQ(sigprocmask(SIG_SETMASK, NULL, &now_set), 0);
	CHECK(sigismember(&now_set, SIGUSR1));
}

TEST(ppoll_with_mask_wakes_and_times_out)
{
	struct pollfd f = { .events = POLLIN };
	struct timespec limit = { 1000, 0 }, brief = { 0, 20000000 };
	sigset_t none;
	int p[2];

	CHECK_EQ(pipe(p), 0);
	f.fd = p[0];
	sigemptyset(&none);
	catch(SIGCHLD, 0);
	sigaddset(&none, SIGCHLD);
	CHECK_EQ(ppoll(&f, 1, &brief, &none), 0);
	pid_t pid = later(20000, p[1], 0);
	CHECK_EQ(ppoll(&f, 1, &limit, &none), 1);
	CHECK_EQ(f.revents, POLLIN);
	while (waitpid(pid, NULL, 0) < 0)
		CHECK_EQ(errno, EINTR);
}

TEST(ppoll_errors)
{
	struct timespec bad = { 0, 1000000000 };
	sigset_t set;

	sigemptyset(&set);
	CHECK_ERRNO(ppoll(NULL, 0, &bad, NULL), EINVAL);
	CHECK_ERRNO(syscall(SYS_ppoll, NULL, 0, NULL, &set, 4), EINVAL);
	CHECK_ERRNO(syscall(SYS_ppoll, NULL, 0, NULL, 8, 8), EFAULT);
}

TEST(ppoll_writes_the_time_left)
{
	struct timespec left = { 1000, 0 };
	struct pollfd f = { .events = POLLIN };
	int p[2];

	CHECK_EQ(pipe(p), 0);
	f.fd = p[0];
	pid_t pid = later(20000, p[1], 0);
	CHECK_EQ(syscall(SYS_ppoll, &f, 1, &left, NULL, 8), 1);
	CHECK(left.tv_sec > 900 && left.tv_sec < 1000);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

/* ---- select ---- */

TEST(select_sets)
{
	struct timeval zero = { 0, 0 };
	fd_set r, w, x;
	int p[2];

	CHECK_EQ(pipe(p), 0);
	FD_ZERO(&r);
	FD_ZERO(&w);
	FD_ZERO(&x);
	FD_SET(p[0], &r);
	FD_SET(p[1], &w);
	FD_SET(p[0], &x);
	CHECK_EQ(select(p[1] + 1, &r, &w, &x, &zero), 1);
	CHECK(!FD_ISSET(p[0], &r));
	CHECK(FD_ISSET(p[1], &w));
	CHECK(!FD_ISSET(p[0], &x));
	CHECK_EQ(write(p[1], "x", 1), 1);
	FD_SET(p[0], &r);
	CHECK_EQ(select(p[1] + 1, &r, &w, NULL, NULL), 2);
	close(p[1]);
	FD_ZERO(&r);
	FD_SET(p[0], &r);
	CHECK_EQ(select(p[0] + 1, &r, NULL, NULL, NULL), 1);
}

TEST(select_hangup_is_readable)
{
	fd_set r;
	int p[2];

	CHECK_EQ(pipe(p), 0);
	close(p[1]);
	FD_ZERO(&r);
	FD_SET(p[0], &r);
	CHECK_EQ(select(p[0] + 1, &r, NULL, NULL, NULL), 1);
	CHECK(FD_ISSET(p[0], &r));
}

TEST(select_errors)
{
	struct timeval bad = { -1, 0 }, zero = { 0, 0 }, many = { 0, 90000000 };
	fd_set r;
	int p[2];

	CHECK_EQ(pipe(p), 0);
	close(p[1]);
	FD_ZERO(&r);
	FD_SET(p[1], &r);
	CHECK_ERRNO(select(p[1] + 1, &r, NULL, NULL, &zero), EBADF);
	CHECK_EQ(select(p[1], &r, NULL, NULL, &zero), 0); /* beyond nfds: not looked at */
	CHECK_ERRNO(select(-1, NULL, NULL, NULL, &zero), EINVAL);
	CHECK_ERRNO(select(0, NULL, NULL, NULL, &bad), EINVAL);
	CHECK_ERRNO(syscall(SYS_select, 4, 8, NULL, NULL, &zero), EFAULT);
	catch(SIGALRM, 0);
	struct itimerval it = { { 0, 20000 }, { 0, 20000 } };
	CHECK_EQ(setitimer(ITIMER_REAL, &it, NULL), 0);
	CHECK_ERRNO(syscall(SYS_select, 0, NULL, NULL, NULL, &many), EINTR);
}

TEST(select_time_left)
{
	struct timeval tv = { 1000, 0 };
	fd_set r;
	int p[2];

	CHECK_EQ(pipe(p), 0);
	FD_ZERO(&r);
	FD_SET(p[0], &r);
	pid_t pid = later(20000, p[1], 0);
	CHECK_EQ(select(p[0] + 1, &r, NULL, NULL, &tv), 1);
	CHECK(tv.tv_sec > 900 && tv.tv_sec < 1000);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	tv = (struct timeval){ 0, 10000 };
	CHECK_EQ(select(0, NULL, NULL, NULL, &tv), 0);
	CHECK_EQ(tv.tv_sec + tv.tv_usec, 0);
}

TEST(pselect_and_signals)
{
	struct timespec limit = { 1000, 0 };
	sigset_t block, old;
	fd_set r;
	int p[2];

	CHECK_EQ(pipe(p), 0);
	catch(SIGCHLD, 0);
	sigemptyset(&block);
	sigaddset(&block, SIGCHLD);
	CHECK_EQ(sigprocmask(SIG_BLOCK, &block, &old), 0);
	/* What make does: wait for a child or a token, without a race between test and wait. */
	for (int i = 0; i < 50; i++) {
		pid_t pid = fork();
		if (!pid)
			_exit(0);
		if (i % 2)
			usleep(1000);
		FD_ZERO(&r);
		FD_SET(p[0], &r);
		CHECK_ERRNO(pselect(p[0] + 1, &r, NULL, NULL, &limit, &old), EINTR);
		CHECK_EQ(waitpid(pid, NULL, 0), pid);
	}
	CHECK_EQ(write(p[1], "t", 1), 1);
	FD_SET(p[0], &r);
	CHECK_EQ(pselect(p[0] + 1, &r, NULL, NULL, &limit, &old), 1);
	/* And a token that comes while it waits with the other mask. */
	char c;
	CHECK_EQ(read(p[0], &c, 1), 1);
	pid_t pid = later(10000, p[1], 0);
	FD_ZERO(&r);
	FD_SET(p[0], &r);
	sigaddset(&old, SIGCHLD);
	CHECK_EQ(pselect(p[0] + 1, &r, NULL, NULL, &limit, &old), 1);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

/* Signals and data at once, in a loop: nothing may get lost, nothing may hang. */
static volatile sig_atomic_t signals_seen;
static void count_signal(int sig)
{
	(void)sig;
	signals_seen++;
}

TEST(pselect_storm)
{
	struct sigaction sa = { .sa_handler = count_signal };
	struct timespec limit = { 1000, 0 };
	sigset_t block, old;
	int p[2], got = 0, sent = 500;
	char c;

	CHECK_EQ(sigaction(SIGUSR1, &sa, NULL), 0);
	CHECK_EQ(pipe(p), 0);
	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	CHECK_EQ(sigprocmask(SIG_BLOCK, &block, &old), 0);
	pid_t pid = fork();
	if (!pid) {
		for (int i = 0; i < sent; i++) {
			kill(getppid(), SIGUSR1);
			if (i % 7 == 0)
				usleep(300);
			CHECK_EQ(write(p[1], "d", 1), 1);
		}
		_exit(0);
	}
	while (got < sent) {
		struct pollfd f = { .fd = p[0], .events = POLLIN };
		int n = ppoll(&f, 1, &limit, &old);
		if (n < 0) {
			CHECK_EQ(errno, EINTR);
			continue;
		}
		CHECK_EQ(n, 1);
		CHECK_EQ(read(p[0], &c, 1), 1);
		got++;
	}
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

CHECK_MAIN()
