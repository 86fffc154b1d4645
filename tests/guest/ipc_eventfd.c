/* eventfd(2), timerfd_create(2). */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>

static int revents(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	CHECK(poll(&p, 1, 0) >= 0);
	return p.revents;
}

static uint64_t take(int fd)
{
	uint64_t v = 0;

	CHECK_EQ(read(fd, &v, sizeof(v)), sizeof(v));
	return v;
}

static void give(int fd, uint64_t v)
{
	CHECK_EQ(write(fd, &v, sizeof(v)), sizeof(v));
}

TEST(counter)
{
	int fd = eventfd(3, EFD_NONBLOCK);
	uint64_t v;

	CHECK_EQ(revents(fd, POLLIN | POLLOUT), POLLIN | POLLOUT);
	give(fd, 4);
	CHECK_EQ(take(fd), 7);
	CHECK_ERRNO(read(fd, &v, sizeof(v)), EAGAIN);
	CHECK_EQ(revents(fd, POLLIN | POLLOUT), POLLOUT);
	give(fd, 0);
	CHECK_EQ(revents(fd, POLLIN), 0);
}

TEST(semaphore)
{
	int fd = eventfd(2, EFD_NONBLOCK | EFD_SEMAPHORE);
	uint64_t v;

	CHECK_EQ(take(fd), 1);
	CHECK_EQ(take(fd), 1);
	CHECK_ERRNO(read(fd, &v, sizeof(v)), EAGAIN);
}

TEST(limits)
{
	int fd = eventfd(0, EFD_NONBLOCK);
	uint64_t v = UINT64_MAX;
	char buf[16] = "";

	CHECK_ERRNO(write(fd, &v, sizeof(v)), EINVAL);
	v = UINT64_MAX - 1;
	CHECK_EQ(write(fd, &v, sizeof(v)), 8);
	CHECK_EQ(revents(fd, POLLIN | POLLOUT), POLLIN);
	v = 1;
	CHECK_ERRNO(write(fd, &v, sizeof(v)), EAGAIN);
	CHECK_ERRNO(read(fd, buf, 7), EINVAL);
	CHECK_ERRNO(write(fd, buf, 7), EINVAL);
	CHECK_EQ(read(fd, buf, 16), 8);
	CHECK_ERRNO(eventfd(0, 0x100), EINVAL);
}

static void *adder(void *arg)
{
	for (int i = 0; i < 1000; i++)
		give(*(int *)arg, 1);
	return NULL;
}

TEST(threads_add_up)
{
	int fd = eventfd(0, 0);
	pthread_t threads[4];
	uint64_t sum = 0;

	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, adder, &fd), 0);
	while (sum < 4000)
		sum += take(fd);
	CHECK_EQ(sum, 4000);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

TEST(writer_blocks_at_the_limit)
{
	int fd = eventfd(0, 0);

	give(fd, UINT64_MAX - 1);
	pid_t pid = fork();
	if (!pid) {
		give(fd, 5);
		_exit(0);
	}
	usleep(10000);
	CHECK_EQ(take(fd), UINT64_MAX - 1);
	CHECK_EQ(take(fd), 5);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

/* ---- timerfd ---- */

static void arm(int fd, int flags, long value_ms, long interval_ms)
{
	struct itimerspec its = {
		.it_value = { value_ms / 1000, value_ms % 1000 * 1000000 },
		.it_interval = { interval_ms / 1000, interval_ms % 1000 * 1000000 },
	};

	CHECK_EQ(timerfd_settime(fd, flags, &its, NULL), 0);
}

static double now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

TEST(timer_one_shot)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	struct itimerspec its;
	uint64_t v;

	CHECK_ERRNO(read(fd, &v, sizeof(v)), EAGAIN);
	arm(fd, 0, 1000000, 0);
	CHECK_EQ(timerfd_gettime(fd, &its), 0);
	CHECK(its.it_value.tv_sec > 900 && its.it_value.tv_sec <= 1000);
	double start = now(CLOCK_MONOTONIC);
	arm(fd, 0, 30, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	CHECK_EQ(poll(&p, 1, -1), 1);
	CHECK_EQ(p.revents, POLLIN);
	CHECK(now(CLOCK_MONOTONIC) - start >= 0.030);
	CHECK_EQ(take(fd), 1);
	CHECK_EQ(revents(fd, POLLIN), 0);
	CHECK_EQ(timerfd_gettime(fd, &its), 0);
	CHECK_EQ(its.it_value.tv_sec + its.it_value.tv_nsec, 0);
}

TEST(timer_blocking_read)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	double start = now(CLOCK_MONOTONIC);

	arm(fd, 0, 20, 0);
	CHECK_EQ(take(fd), 1);
	CHECK(now(CLOCK_MONOTONIC) - start >= 0.020);
}

TEST(timer_interval_counts)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	double start = now(CLOCK_MONOTONIC);
	uint64_t sum = 0;

	arm(fd, 0, 5, 5);
	usleep(32000);
	sum = take(fd);
	CHECK(sum >= 5);
	while (sum < 12)
		sum += take(fd);
	CHECK(now(CLOCK_MONOTONIC) - start >= 0.005 * (double)sum);
}

TEST(timer_absolute)
{
	clockid_t clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME };

	for (int i = 0; i < 3; i++) {
		int fd = timerfd_create(clocks[i], 0);
		struct itimerspec its = { 0 };
		CHECK(fd >= 0);
		clock_gettime(clocks[i], &its.it_value);
		double goal = now(clocks[i]) + 0.02;
		its.it_value.tv_sec = (time_t)goal;
		its.it_value.tv_nsec = (long)((goal - (double)its.it_value.tv_sec) * 1e9);
		CHECK_EQ(timerfd_settime(fd, TFD_TIMER_ABSTIME, &its, NULL), 0);
		CHECK_EQ(take(fd), 1);
		CHECK(now(clocks[i]) >= goal - 0.0001);
		/* In the past: at once. */
		its.it_value.tv_sec = 1;
		CHECK_EQ(timerfd_settime(fd, TFD_TIMER_ABSTIME, &its, NULL), 0);
		CHECK_EQ(take(fd), 1);
	}
}

TEST(timer_old_value_and_disarm)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	struct itimerspec zero = { 0 }, old, ten = { .it_value.tv_sec = 1000, .it_interval.tv_sec = 3 };
	uint64_t v;

	CHECK_EQ(timerfd_settime(fd, 0, &ten, &old), 0);
	CHECK_EQ(old.it_value.tv_sec + old.it_value.tv_nsec + old.it_interval.tv_sec, 0);
	CHECK_EQ(timerfd_settime(fd, 0, &zero, &old), 0);
	CHECK(old.it_value.tv_sec > 900 && old.it_value.tv_sec <= 1000);
	CHECK_EQ(old.it_interval.tv_sec, 3);
	arm(fd, 0, 1, 0);
	usleep(5000);
	CHECK_EQ(timerfd_settime(fd, 0, &zero, NULL), 0); /* expirations are forgotten */
	CHECK_ERRNO(read(fd, &v, sizeof(v)), EAGAIN);
}

TEST(timer_errors)
{
	struct itimerspec bad = { .it_value.tv_nsec = 1000000000 }, ok = { .it_value.tv_sec = 1 };
	char buf[4];

	CHECK_ERRNO(timerfd_create(CLOCK_PROCESS_CPUTIME_ID, 0), EINVAL);
	CHECK_ERRNO(timerfd_create(CLOCK_MONOTONIC, 0x3), EINVAL);
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	CHECK_ERRNO(timerfd_settime(fd, 0, &bad, NULL), EINVAL);
	CHECK_ERRNO(timerfd_settime(fd, 0x80, &ok, NULL), EINVAL);
	CHECK_ERRNO(timerfd_settime(999, 0, &ok, NULL), EBADF);
	CHECK_ERRNO(timerfd_settime(0, 0, &ok, NULL), EINVAL);
	CHECK_ERRNO(read(fd, buf, 4), EINVAL);
	CHECK_ERRNO(write(fd, buf, 4), EINVAL);
	CHECK_EQ(timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &ok, NULL), 0);
}

TEST(timer_edge_triggered_needs_a_read)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), ep = epoll_create1(0);
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };

	CHECK_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev), 0);
	arm(fd, 0, 5, 5);
	CHECK_EQ(epoll_wait(ep, &ev, 1, -1), 1);
	CHECK_EQ(epoll_wait(ep, &ev, 1, 30), 0);
	CHECK(take(fd) >= 1);
	CHECK_EQ(epoll_wait(ep, &ev, 1, -1), 1);
}

CHECK_MAIN()
