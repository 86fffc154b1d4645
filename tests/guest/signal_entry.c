/*
 * Signals in the first moment of a call that waits. Whoever has entered the call is interrupted, however
 * short ago that was: a program that has set a flag in its handler and sees no EINTR waits forever.
 *
 * The handler tells by the registers whether the thread was in the call already. Then that call must
 * return before a second signal comes. A neighbour's big transfers keep the other side of the call busy.
 */
#include "check.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define ROUNDS	   1500
#define MISSED_S   5
#define EARLIEST_US 1
#define LATEST_US  300

static volatile sig_atomic_t hits;
static volatile sig_atomic_t hit_inside; /* the first signal found the thread in the call */
static uintptr_t behind;		 /* where the call returns to */

static void set_timer(long microseconds)
{
	struct itimerval t = { { 0, 0 }, { microseconds / 1000000, microseconds % 1000000 } };

	setitimer(ITIMER_REAL, &t, NULL);
}

static void note(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *u = context;
	uintptr_t ip = (uintptr_t)u->uc_mcontext.gregs[REG_RIP];

	(void)sig;
	(void)info;
	hits++;
	if (hits == 1)
		hit_inside = (ip == behind || ip == behind - 2) &&
			     (uintptr_t)u->uc_mcontext.gregs[REG_RCX] == behind;
	/* It came before the call, which waits now: once more, soon. Else only to end a failure. */
	set_timer(hit_inside ? MISSED_S * 1000000 : 1000);
}

/* As a compiler writes it; `behind` is the address of what follows. */
#define CALL(nr, a, b, c)                                                                          \
	({                                                                                         \
		long r_;                                                                           \
		__asm__ volatile("lea 1f(%%rip), %%rax\n\tmov %%rax, %1\n\txor %%ecx, %%ecx\n\t"  \
				 "mov %2, %%eax\n\tsyscall\n1:"                                   \
				 : "=&a"(r_), "=m"(behind)                                         \
				 : "i"(nr), "D"(a), "S"(b), "d"(c)                                 \
				 : "rcx", "r11", "memory");                                        \
		r_;                                                                                \
	})

static int pipe_ends[2];

static long wait_in_read(void)
{
	char b;

	return CALL(SYS_read, (long)pipe_ends[0], &b, 1L);
}

static long wait_in_poll(void)
{
	struct pollfd p = { pipe_ends[0], POLLIN, 0 };

	return CALL(SYS_poll, &p, 1L, -1L);
}

static long wait_in_wait4(void)
{
	return CALL(SYS_wait4, -1L, NULL, 0L);
}

static pid_t start_neighbour(void)
{
	static char much[1 << 20];
	pid_t parent = getpid(), pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		int p[2];
		if (getppid() != parent || pipe(p) < 0)
			_exit(1);
		for (;;) {
			ssize_t n = write(p[1], much, 65536);
			if (n <= 0 || read(p[0], much, (size_t)n) != n)
				_exit(1);
		}
	}
	CHECK(pid > 0);
	return pid;
}

static void interrupted_in_the_first_moment(long (*wait_in)(void), int flags)
{
	struct sigaction a = { .sa_sigaction = note, .sa_flags = flags | SA_SIGINFO };
	unsigned seed = 1;
	int inside = 0;

	CHECK(pipe(pipe_ends) == 0);
	CHECK(sigaction(SIGALRM, &a, NULL) == 0);
	pid_t neighbour = start_neighbour();
	for (int i = 0; i < ROUNDS; i++) {
		hits = hit_inside = 0;
		seed = seed * 1103515245 + 12345;
		set_timer(EARLIEST_US + (seed >> 16) % LATEST_US);
		CHECK_EQ(wait_in(), -EINTR);
		set_timer(0);
		CHECK(hits > 0);
		if (hit_inside)
			CHECK_EQ(hits, 1);
		inside += hit_inside;
	}
	CHECK(inside > 0);
	kill(neighbour, SIGKILL);
	waitpid(neighbour, NULL, 0);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
}

TEST(read_is_interrupted)
{
	interrupted_in_the_first_moment(wait_in_read, 0);
}

TEST(wait4_is_interrupted)
{
	interrupted_in_the_first_moment(wait_in_wait4, 0);
}

TEST(poll_is_interrupted)
{
	interrupted_in_the_first_moment(wait_in_poll, 0);
}

TEST(poll_is_never_restarted)
{
	interrupted_in_the_first_moment(wait_in_poll, SA_RESTART);
}

CHECK_MAIN()
