/*
 * Signals at any moment: calls that never wait do not fail with EINTR, whatever the handler's
 * flags; calls that wait are interrupted or restarted as the flags say; nothing happens twice.
 */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t hits;

static void count_hits(int sig)
{
	(void)sig;
	hits++;
}

/* A handler that makes system calls of its own. */
static void busy(int sig)
{
	struct stat st;
	int saved = errno;

	(void)sig;
	hits++;
	stat("/", &st);
	access("/nowhere", F_OK);
	errno = saved;
}

static void storm(void (*handler)(int), int flags, int microseconds)
{
	struct sigaction a = { .sa_handler = handler, .sa_flags = flags };
	struct itimerval t = { { 0, microseconds }, { 0, microseconds } };

	hits = 0;
	CHECK(sigaction(SIGALRM, &a, NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &t, NULL) == 0);
}

static void calm(void)
{
	struct itimerval t = { { 0, 0 }, { 0, 0 } };

	setitimer(ITIMER_REAL, &t, NULL);
	signal(SIGALRM, SIG_IGN);
}

/* Opens, reads, closes and looks until many signals have come; every single call must succeed. */
static void calls_that_never_wait(void)
{
	struct stat st;
	char buf[10];

	for (int i = 0; hits < 300; i++) {
		CHECK(stat("/etc/passwd", &st) == 0);
		int fd = open("/etc/passwd", O_RDONLY);
		CHECK(fd >= 0);
		CHECK_EQ(pread(fd, buf, 4, 0), 4);
		CHECK_EQ(lseek(fd, 3, SEEK_SET), 3);
		CHECK_EQ(read(fd, buf, 4), 4);
		CHECK(close(fd) == 0);
		CHECK_ERRNO(close(fd), EBADF);
		if (i % 16 == 0) {
			pid_t pid = fork();
			CHECK(pid >= 0);
			if (pid == 0)
				_exit(7);
			int status;
			while (waitpid(pid, &status, 0) < 0)
				CHECK(errno == EINTR);
			CHECK_EQ(WEXITSTATUS(status), 7);
		}
	}
}

TEST(handler_without_restart)
{
	storm(count_hits, 0, 400);
	calls_that_never_wait();
	calm();
}

TEST(handler_with_restart)
{
	storm(count_hits, SA_RESTART, 400);
	calls_that_never_wait();
	calm();
}

TEST(handler_that_makes_calls)
{
	storm(busy, 0, 400);
	calls_that_never_wait();
	calm();
}

/* Every byte of a counter file is written exactly once, in order. */
TEST(appends_happen_once)
{
	char name[] = "/tmp/signal_exact.XXXXXX";
	int fd = mkstemp(name);
	unsigned char b, all[256];

	CHECK(fd >= 0);
	storm(busy, SA_RESTART, 300);
	for (int i = 0; i < 256; i++) {
		b = (unsigned char)i;
		CHECK_EQ(write(fd, &b, 1), 1);
	}
	calm();
	CHECK_EQ(pread(fd, all, sizeof(all), 0), 256);
	for (int i = 0; i < 256; i++)
		CHECK_EQ(all[i], i);
	unlink(name);
	close(fd);
}

/* Numbers through a pipe; both ends are under signals, so that no wait is long. */
static void numbers_through_a_pipe(unsigned count)
{
	unsigned got;
	int p[2];

	CHECK_EQ(pipe(p), 0);
	pid_t writer = fork();
	if (writer == 0) {
		close(p[0]);
		storm(count_hits, 0, 500);
		for (unsigned i = 0; i < count; i++)
			while (write(p[1], &i, sizeof(i)) != sizeof(i))
				CHECK_EQ(errno, EINTR);
		calm();
		_exit(0);
	}
	close(p[1]);
	storm(count_hits, 0, 500);
	for (unsigned i = 0; i < count; i++) {
		while (read(p[0], &got, sizeof(got)) != sizeof(got))
			CHECK_EQ(errno, EINTR);
		CHECK_EQ(got, i);
	}
	calm();
	CHECK_EQ(read(p[0], &got, sizeof(got)), 0);
}

/* Several threads are hit by signals inside their calls at the same time. */
TEST(crossfire)
{
	enum { PAIRS = 2 };
	int status;

	for (int i = 0; i < PAIRS; i++) {
		if (fork() == 0) {
			numbers_through_a_pipe(1000);
			_exit(0);
		}
	}
	for (int i = 0; i < PAIRS; i++) {
		CHECK(wait(&status) > 0);
		CHECK_EQ(status, 0);
	}
}

TEST(waiting_is_interrupted)
{
	int p[2];
	char b;

	CHECK(pipe(p) == 0);
	storm(count_hits, 0, 2000);
	CHECK_ERRNO(read(p[0], &b, 1), EINTR);
	struct pollfd pfd = { p[0], POLLIN, 0 };
	CHECK_ERRNO(poll(&pfd, 1, -1), EINTR);
	CHECK_ERRNO(pause(), EINTR);
	calm();
	close(p[0]);
	close(p[1]);
}

TEST(waiting_is_restarted)
{
	int p[2];
	char b = 0;

	CHECK(pipe(p) == 0);
	storm(count_hits, SA_RESTART, 1000);
	pid_t pid = fork();
	if (pid == 0) {
		/* Timers are not inherited: writes when the parent has been hit often enough. */
		struct timespec t = { 0, 50000000 };
		nanosleep(&t, NULL);
		_exit(write(p[1], "x", 1) == 1 ? 0 : 1);
	}
	CHECK_EQ(read(p[0], &b, 1), 1);
	CHECK(b == 'x');
	/* poll is never restarted. */
	struct pollfd pfd = { p[0], POLLIN, 0 };
	CHECK_ERRNO(poll(&pfd, 1, -1), EINTR);
	calm();
	CHECK(waitpid(pid, NULL, 0) == pid);
	close(p[0]);
	close(p[1]);
}

static sigjmp_buf back;

static void jump(int sig)
{
	(void)sig;
	hits++;
	siglongjmp(back, 1);
}

/* A handler that never returns leaves nothing behind for later calls. */
TEST(jumping_out)
{
	int p[2];
	char b;

	CHECK(pipe(p) == 0);
	for (int i = 0; i < 50; i++) {
		if (sigsetjmp(back, 1) == 0) {
			storm(jump, SA_RESTART, 500);
			(void)!read(p[0], &b, 1);
			CHECK(0);
		}
		calm();
		CHECK_EQ(write(p[1], "y", 1), 1);
		CHECK_EQ(read(p[0], &b, 1), 1);
	}
	close(p[0]);
	close(p[1]);
}

CHECK_MAIN()
