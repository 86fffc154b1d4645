/* Many processes and threads on pipes, FIFOs, epoll, poll and semaphores, killed at any moment. */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <time.h>

static unsigned seed = 1;
static unsigned rnd(unsigned below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

/* A ring of processes passes tokens on. */
TEST(token_ring)
{
	enum { N = 20, ROUNDS = 50 };
	int p[N][2], status;
	unsigned token = 0;

	for (int i = 0; i < N; i++)
		CHECK_EQ(pipe(p[i]), 0);
	for (int i = 0; i < N - 1; i++) {
		if (fork())
			continue;
		for (int r = 0; r < ROUNDS; r++) {
			CHECK_EQ(read(p[i][0], &token, sizeof(token)), sizeof(token));
			token++;
			CHECK_EQ(write(p[i + 1][1], &token, sizeof(token)), sizeof(token));
		}
		_exit(0);
	}
	for (int r = 0; r < ROUNDS; r++) {
		CHECK_EQ(write(p[0][1], &token, sizeof(token)), sizeof(token));
		CHECK_EQ(read(p[N - 1][0], &token, sizeof(token)), sizeof(token));
	}
	CHECK_EQ(token, (N - 1) * ROUNDS);
	while (wait(&status) > 0)
		CHECK_EQ(status, 0);
}

/* A long pipeline: what goes in comes out. */
TEST(pipeline)
{
	enum { STAGES = 10 };
	const size_t size = 2000000;
	int first[2], in, status;
	unsigned char buf[5000];
	size_t got = 0;

	CHECK_EQ(pipe(first), 0);
	if (!fork()) {
		close(first[0]);
		for (size_t at = 0; at < size;) {
			size_t n = 1 + rnd(sizeof(buf));
			if (n > size - at)
				n = size - at;
			for (size_t i = 0; i < n; i++)
				buf[i] = (unsigned char)((at + i) * 13 >> 3);
			CHECK_EQ(write(first[1], buf, n), (ssize_t)n);
			at += n;
		}
		_exit(0);
	}
	close(first[1]);
	in = first[0];
	for (int i = 0; i < STAGES; i++) {
		int next[2];
		CHECK_EQ(pipe(next), 0);
		if (!fork()) {
			ssize_t n;
			close(next[0]);
			while ((n = read(in, buf, 1 + rnd(sizeof(buf)))) > 0)
				CHECK_EQ(write(next[1], buf, (size_t)n), n);
			_exit(n != 0);
		}
		close(in);
		close(next[1]);
		in = next[0];
	}
	for (ssize_t n; (n = read(in, buf, sizeof(buf))) > 0; got += (size_t)n)
		for (ssize_t i = 0; i < n; i++)
			CHECK_EQ(buf[i], (unsigned char)((got + (size_t)i) * 13 >> 3));
	CHECK_EQ(got, size);
	while (wait(&status) > 0)
		CHECK_EQ(status, 0);
}

/* Readers are killed while blocked; those that live get everything that is left. */
TEST(killed_while_reading)
{
	enum { N = 10 };
	pid_t pid[N];
	int p[2], acks[2];
	char c;

	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(pipe(acks), 0);
	for (int i = 0; i < N; i++) {
		pid[i] = fork();
		if (pid[i])
			continue;
		close(p[1]);
		while (read(p[0], &c, 1) == 1)
			CHECK_EQ(write(acks[1], &c, 1), 1);
		_exit(0);
	}
	close(acks[1]);
	for (int i = 0; i < N - 1; i++) {
		CHECK_EQ(kill(pid[i], SIGKILL), 0);
		CHECK_EQ(waitpid(pid[i], NULL, 0), pid[i]);
		CHECK_EQ(write(p[1], "x", 1), 1);
		CHECK_EQ(read(acks[0], &c, 1), 1);
	}
	close(p[1]);
	CHECK_EQ(read(acks[0], &c, 1), 0);
	CHECK_EQ(waitpid(pid[N - 1], NULL, 0), pid[N - 1]);
}

static void block_somehow(int how, int fd, int ep, const char *fifo, int sem)
{
	struct pollfd f = { .fd = fd, .events = POLLIN };
	struct timespec limit = { 20, 0 };
	struct sembuf take = { 0, -1, SEM_UNDO };
	struct epoll_event ev;
	sigset_t none;
	char c;

	sigemptyset(&none);
	switch (how) {
	case 0:
		(void)!read(fd, &c, 1);
		break;
	case 1:
		poll(&f, 1, -1);
		break;
	case 2:
		ppoll(&f, 1, &limit, &none);
		break;
	case 3:
		epoll_wait(ep, &ev, 1, -1);
		break;
	case 4:
		epoll_pwait(ep, &ev, 1, -1, &none);
		break;
	case 5:
		(void)!open(fifo, O_RDONLY);
		break;
	default:
		semop(sem, &take, 1);
	}
	pause();
}

TEST(killed_anywhere)
{
	enum { KINDS = 7, EACH = 6 };
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(0), sem = semget(IPC_PRIVATE, 1, 0600), p[2];
	char fifo[64];

	snprintf(fifo, sizeof(fifo), "/tmp/check-stress-%d", getpid());
	CHECK_EQ(mkfifo(fifo, 0600), 0);
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &ev), 0);
	for (int round = 0; round < EACH; round++) {
		pid_t pid[KINDS];
		for (int how = 0; how < KINDS; how++) {
			pid[how] = fork();
			if (!pid[how])
				block_somehow(how, p[0], ep, fifo, sem);
		}
		usleep(1000 + rnd(10000));
		for (int how = 0; how < KINDS; how++)
			CHECK_EQ(kill(pid[how], SIGKILL), 0);
		while (wait(NULL) > 0)
			;
	}
	CHECK_EQ(semctl(sem, 0, GETNCNT), 0);
	CHECK_ERRNO(open(fifo, O_WRONLY | O_NONBLOCK), ENXIO);
	CHECK_EQ(epoll_wait(ep, &ev, 1, 0), 0);
	CHECK_EQ(write(p[1], "x", 1), 1);
	CHECK_EQ(epoll_wait(ep, &ev, 1, 0), 1);
	CHECK_EQ(semctl(sem, 0, IPC_RMID), 0);
	CHECK_EQ(unlink(fifo), 0);
}

/* Threads open, use and close descriptors that others are waiting on. */
static volatile bool stop;
static int shared_ep;

static void *churn(void *arg)
{
	unsigned mine = (unsigned)(uintptr_t)arg;

	while (!stop) {
		struct epoll_event ev = { .events = EPOLLIN | (mine % 2 ? EPOLLET : 0u) };
		int p[2];
		char c;

		CHECK_EQ(pipe2(p, O_NONBLOCK | O_CLOEXEC), 0);
		ev.data.u32 = (unsigned)p[0];
		CHECK_EQ(epoll_ctl(shared_ep, EPOLL_CTL_ADD, p[0], &ev), 0);
		CHECK_EQ(write(p[1], "x", 1), 1);
		if (mine % 3 == 0)
			sched_yield();
		ssize_t n = read(p[0], &c, 1);
		CHECK(n == 1 || errno == EAGAIN);
		close(mine % 2 ? p[0] : p[1]);
		close(mine % 2 ? p[1] : p[0]);
	}
	return NULL;
}

static void *watch(void *arg)
{
	struct epoll_event ev[8];

	(void)arg;
	while (!stop)
		CHECK(epoll_wait(shared_ep, ev, 8, 5) >= 0);
	return NULL;
}

TEST(descriptors_come_and_go)
{
	pthread_t t[8];

	shared_ep = epoll_create1(0);
	for (uintptr_t i = 0; i < 8; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, i < 5 ? churn : watch, (void *)i), 0);
	usleep(400000);
	stop = true;
	for (int i = 0; i < 8; i++)
		CHECK_EQ(pthread_join(t[i], NULL), 0);
}

/* A blocked call keeps its open file when another thread closes the descriptor. */
static int closing[2];
static void *closer(void *arg)
{
	(void)arg;
	usleep(20000);
	close(closing[0]);
	CHECK_EQ(write(closing[1], "late", 4), 4);
	return NULL;
}

TEST(close_under_a_blocked_reader)
{
	pthread_t t;
	char buf[8];

	CHECK_EQ(pipe(closing), 0);
	CHECK_EQ(pthread_create(&t, NULL, closer, NULL), 0);
	CHECK_EQ(read(closing[0], buf, sizeof(buf)), 4);
	CHECK_EQ(pthread_join(t, NULL), 0);
}

/* One event, many instances: all ordinary ones hear of it, of the exclusive ones at least one. */
TEST(exclusive_wakes_few)
{
	enum { N = 6 };
	struct epoll_event ev = { .events = EPOLLIN | EPOLLEXCLUSIVE };
	int fd = eventfd(0, EFD_NONBLOCK), done[2], woken = 0;
	pid_t pid[N];
	char c;

	CHECK_EQ(pipe2(done, O_NONBLOCK), 0);
	for (int i = 0; i < N; i++) {
		pid[i] = fork();
		if (pid[i])
			continue;
		int ep = epoll_create1(0);
		CHECK_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev), 0);
		CHECK_EQ(epoll_wait(ep, &ev, 1, -1), 1);
		CHECK_EQ(write(done[1], "w", 1), 1);
		pause();
	}
	usleep(100000);
	uint64_t v = 1;
	CHECK_EQ(write(fd, &v, sizeof(v)), sizeof(v));
	struct pollfd first = { done[0], POLLIN, 0 };
	CHECK_EQ(poll(&first, 1, -1), 1);
	usleep(100000);
	while (read(done[0], &c, 1) == 1)
		woken++;
	CHECK(woken >= 1);
	for (int i = 0; i < N; i++)
		kill(pid[i], SIGKILL);
	while (wait(NULL) > 0)
		;
}

CHECK_MAIN()
