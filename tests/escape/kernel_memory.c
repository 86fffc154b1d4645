/* also as root */
/*
 * Addresses, descriptors and numbers that the host kernel itself writes to or looks up in calls that
 * are native: clear-on-exit words, robust lists, restartable sequences, futexes, timers, clocks.
 */
#include "attack.h"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <time.h>

static const unsigned long hostile[] = {
	0, 1, 4095, 8, 0x1000, STUB_AREA, STUB_AREA + 0x2000, STUB_AREA + 0x5000, 0x7ffffffff000, 0x7fffffffeffc, 0x800000000000,
	0xffff800000000000, 0xffff888000000000, 0xffffffff81000000, 0xffffffffff600000, 0xfffffffffffffffc, -1ul, -4096ul,
};

#define HOSTILE (sizeof(hostile) / sizeof(hostile[0]))

/* A template's page, mapped for reading: nothing may ever write into it. */
static char *template_page(void)
{
	int fd = open("/usr/bin/env", O_RDONLY);
	char *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(page != MAP_FAILED);
	return page;
}

static void clear_on_exit(void *address)
{
	syscall(SYS_set_tid_address, address);
	_exit(0);
}

static int nothing(void *unused)
{
	(void)unused;
	return 0;
}

static void clone_with_address(void *address)
{
	static char stack[65536] __attribute__((aligned(16)));
	/* The host writes to it when the thread is born, and when it ends. */
	pid_t pid = clone(nothing, stack + sizeof(stack), CLONE_VM | CLONE_PARENT_SETTID | CLONE_CHILD_SETTID |
			  CLONE_CHILD_CLEARTID | SIGCHLD, NULL, address, NULL, address);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	_exit(0);
}

TEST(words_that_are_cleared_on_exit)
{
	char *page = template_page();
	for (size_t i = 0; i < HOSTILE; i++) {
		CHECK(run_attack(clear_on_exit, (void *)hostile[i], 5) != 256 + SIGKILL);
		CHECK(run_attack(clone_with_address, (void *)hostile[i], 5) != 256 + SIGKILL);
	}
	run_attack(clear_on_exit, page, 5);
	run_attack(clone_with_address, page, 5);
	CHECK_EQ(memcmp(page, "\177ELF", 4), 0);
	check_alive();
}

struct robust {
	unsigned long next, offset, pending;
};

static void robust_list(void *argument)
{
	static struct robust head, loop;
	loop.next = (unsigned long)&loop;
	head.next = argument ? (unsigned long)argument : (unsigned long)&loop;
	head.offset = argument ? 0 : -1ul;
	head.pending = (unsigned long)argument;
	CHECK_EQ(syscall(SYS_set_robust_list, &head, sizeof(head)), 0);
	_exit(0);
}

TEST(robust_lists_that_lead_astray)
{
	char *page = template_page();
	CHECK_EQ(run_attack(robust_list, NULL, 5), 0);
	for (size_t i = 1; i < HOSTILE; i++)
		CHECK_EQ(run_attack(robust_list, (void *)hostile[i], 5), 0);
	CHECK_EQ(run_attack(robust_list, page, 5), 0);
	CHECK_EQ(memcmp(page, "\177ELF", 4), 0);
	long head, size;
	CHECK_ERRNO(syscall(SYS_get_robust_list, 1, &head, &size), EPERM);
	CHECK_ERRNO(syscall(SYS_set_robust_list, hostile[5], 23), EINVAL);
	check_alive();
}

static void restartable(void *address)
{
	/* glibc has registered one: take it away first. */
	extern const ptrdiff_t __rseq_offset __attribute__((weak));
	extern const unsigned __rseq_size __attribute__((weak));
	if (&__rseq_offset && &__rseq_size) {
		char *own = (char *)__builtin_thread_pointer() + __rseq_offset;
		syscall(SYS_rseq, own, 32, 1, 0x53053053);
	}
	static struct {
		unsigned cpu_start, cpu;
		unsigned long section;
		unsigned flags, rest[3];
	} __attribute__((aligned(32))) area;
	if (syscall(SYS_rseq, &area, 32, 0, 0x53053053) < 0)
		_exit(0);
	area.section = (unsigned long)address;
	for (int i = 0; i < 1000; i++)
		sched_yield();
	_exit(0);
}

TEST(restartable_sequences_that_lead_astray)
{
	for (size_t i = 1; i < HOSTILE; i++) {
		int r = run_attack(restartable, (void *)hostile[i], 5);
		CHECK(r == 0 || r == 256 + SIGSEGV);
		errno = 0;
		CHECK(syscall(SYS_rseq, hostile[i], 32, 0, 0) < 0);
	}
	check_alive();
}

TEST(futexes_on_anything)
{
	static const int operations[] = { FUTEX_WAKE, FUTEX_WAIT, FUTEX_REQUEUE, FUTEX_CMP_REQUEUE, FUTEX_WAKE_OP, FUTEX_WAIT_BITSET,
					  FUTEX_WAKE_BITSET };
	const struct timespec soon = { 0, 1000000 };
	char *page = template_page();
	int word = 0;
	for (size_t o = 0; o < sizeof(operations) / sizeof(int); o++) {
		for (size_t i = 0; i < HOSTILE; i++) {
			for (int private = 0; private <= FUTEX_PRIVATE_FLAG; private += FUTEX_PRIVATE_FLAG) {
				int op = operations[o] | private;
				/* An absolute time long ago for the bitset kind, 1 ms for the other. */
				syscall(SYS_futex, hostile[i], op, 0, &soon, hostile[i], 0x0fffffff);
				syscall(SYS_futex, &word, op, 1, &soon, hostile[i], 0x0fffffff);
			}
		}
	}
	/* FUTEX_OP_SET of 0xfff in a page that we may only read. */
	CHECK_ERRNO(syscall(SYS_futex, &word, FUTEX_WAKE_OP, 1, 1, page, 0x00fff000), EFAULT);
	CHECK_EQ(memcmp(page, "\177ELF", 4), 0);
	/* Priority inheritance and what came later never reach the host. */
	static const int refused[] = { FUTEX_LOCK_PI, FUTEX_UNLOCK_PI, FUTEX_TRYLOCK_PI, FUTEX_WAIT_REQUEUE_PI, FUTEX_CMP_REQUEUE_PI,
				       13 /* FUTEX_LOCK_PI2 */, 2 /* FUTEX_FD */, 14, 127, 0x200, 0x400 };
	for (size_t i = 0; i < sizeof(refused) / sizeof(int); i++)
		CHECK_ERRNO(syscall(SYS_futex, &word, refused[i], 1, &soon, &word, 0), EPERM);
}

static void timer_for(pid_t tid, int want)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGKILL };
	timer_t timer;
	event._sigev_un._tid = tid;
	for (int clock = 0; clock < 12; clock++) {
		int r = (int)syscall(SYS_timer_create, clock, &event, &timer);
		CHECK(r < 0);
		if (clock == CLOCK_MONOTONIC)
			CHECK_EQ(errno, want);
	}
}

TEST(timers_signal_nobody_else)
{
	timer_for(1, EINVAL);
	timer_for(getppid(), EINVAL);
	timer_for(hint_number("VICTIM_PID"), EINVAL);
	timer_for(-1, EINVAL);
	timer_for(0x7fffffff, EINVAL);
	struct sigevent odd = { .sigev_notify = 77, .sigev_signo = 9999 };
	long id;
	CHECK_ERRNO(syscall(SYS_timer_create, CLOCK_MONOTONIC, &odd, &id), EINVAL);
	for (size_t i = 1; i < HOSTILE; i++) {
		CHECK(syscall(SYS_timer_create, CLOCK_MONOTONIC, hostile[i], &id) < 0);
		CHECK(syscall(SYS_timer_settime, (int)hostile[i], 0, hostile[i], hostile[i]) < 0);
		CHECK(syscall(SYS_setitimer, 0, hostile[i], hostile[i]) < 0);
	}
	/* Alarm clocks wake a sleeping machine. */
	struct sigevent none = { .sigev_notify = SIGEV_NONE };
	CHECK(syscall(SYS_timer_create, CLOCK_REALTIME_ALARM, &none, &id) < 0);
	CHECK(syscall(SYS_timer_create, CLOCK_BOOTTIME_ALARM, &none, &id) < 0);
}

TEST(timers_end_at_a_limit)
{
	struct sigevent none = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	int count = 0;
	pid_t pid = fork();
	if (pid == 0) {
		timer_t timer;
		while (count < 100000 && syscall(SYS_timer_create, CLOCK_MONOTONIC, &none, &timer) == 0)
			count++;
		_exit(count < 100000 && errno == EAGAIN ? 0 : 1);
	}
	int status;
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	check_alive();
}

#define CLOCK_OF_FD(fd) ((clockid_t)(~(unsigned)(fd) << 3 | 3))
#define CLOCK_OF_PID(pid) ((clockid_t)(~(unsigned)(pid) << 3 | 2))

TEST(clocks_by_descriptor_and_by_process)
{
	struct timespec ts;
	int fd = open("/usr/bin/env", O_RDONLY);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED); /* the host's descriptor is here */
	for (int other = 0; other < 4200; other += other < 32 ? 1 : 61) {
		CHECK(syscall(SYS_clock_gettime, CLOCK_OF_FD(other), &ts) < 0);
		CHECK(syscall(SYS_clock_getres, CLOCK_OF_FD(other), &ts) < 0);
		CHECK(syscall(SYS_clock_nanosleep, CLOCK_OF_FD(other), 0, &ts, NULL) < 0);
		CHECK(syscall(SYS_clock_settime, CLOCK_OF_FD(other), &ts) < 0);
	}
	CHECK(syscall(SYS_clock_gettime, CLOCK_OF_FD(fd), &ts) < 0);
	CHECK_ERRNO(syscall(SYS_clock_gettime, CLOCK_OF_PID(hint_number("VICTIM_PID")), &ts), EINVAL);
	CHECK_ERRNO(syscall(SYS_clock_gettime, CLOCK_OF_PID(0x3fffff), &ts), EINVAL);
	CHECK_EQ(syscall(SYS_clock_gettime, CLOCK_OF_PID(getpid()), &ts), 0);
}

TEST(advice_that_is_not_for_guests)
{
	char *own = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* REMOVE, HWPOISON, SOFT_OFFLINE, MERGEABLE, UNMERGEABLE, COLLAPSE, GUARD_INSTALL, and none at all. */
	static const int advice[] = { 9, 100, 101, 12, 13, 25, 102, 103, 26, 5, 999, -1 };
	for (size_t i = 0; i < sizeof(advice) / sizeof(int); i++)
		CHECK_ERRNO(madvise(own, 4096, advice[i]), EPERM);
	char *page = template_page();
	for (int i = 0; i < 32; i++)
		madvise(page, 4096, i);
	CHECK_EQ(memcmp(page, "\177ELF", 4), 0);
}

TEST(segments_and_features_of_the_processor)
{
	/* SET_CPUID, MAP_VDSO_*, shadow stacks, address masking. */
	static const int codes[] = { 0x1012, 0x2001, 0x2002, 0x2003, 0x5001, 0x5002, 0x5003, 0x5004, 0x4001, 0x4002, 0x4003, 0, -1 };
	for (size_t i = 0; i < sizeof(codes) / sizeof(int); i++)
		CHECK_ERRNO(syscall(SYS_arch_prctl, codes[i], 0), EPERM);
	CHECK_ERRNO(syscall(SYS_arch_prctl, 0x1001, 0xffff888000000000), EPERM); /* ARCH_SET_GS */
	unsigned long base;
	for (size_t i = 1; i < HOSTILE; i++)
		CHECK(syscall(SYS_arch_prctl, 0x1004, hostile[i]) < 0 || hostile[i] >= STUB_AREA);
	CHECK_EQ(syscall(SYS_arch_prctl, 0x1003, &base), 0);
	CHECK_ERRNO(syscall(SYS_modify_ldt, 1, &base, 16), ENOSYS);
	CHECK_ERRNO(syscall(SYS_set_thread_area, &base), ENOSYS);
	CHECK_ERRNO(syscall(SYS_iopl, 3), ENOSYS);
	CHECK_ERRNO(syscall(SYS_ioperm, 0, 1024, 1), ENOSYS);
}

TEST(every_prctl)
{
	/* Hostile options of all numbers. What there is may answer; nobody may come to harm. */
	pid_t pid = fork();
	if (pid == 0) {
		for (int option = 0; option < 80; option++)
			for (size_t i = 0; i < HOSTILE; i++)
				syscall(SYS_prctl, option, hostile[i], hostile[(i + 1) % HOSTILE], hostile[i], 0);
		for (size_t i = 0; i < HOSTILE; i++)
			for (int option = 0; option < 16; option++)
				CHECK(syscall(SYS_prctl, PR_SET_MM, option, hostile[i], 0, 0) < 0);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	static const int closed[] = { PR_SET_SECCOMP, PR_SET_MM, 59 /* syscall user dispatch */, 62 /* core scheduling */ };
	for (size_t i = 0; i < sizeof(closed) / sizeof(int); i++)
		CHECK(syscall(SYS_prctl, closed[i], 2, 0, 0, 0) < 0);
	CHECK_EQ(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) >= 0, 1);
	for (int flags = 0; flags < 64; flags++)
		CHECK_ERRNO(syscall(SYS_userfaultfd, flags), EPERM);
	check_alive();
}

static int layout_is_fixed(unsigned long persona)
{
	/* READ_IMPLIES_EXEC, MMAP_PAGE_ZERO, ADDR_COMPAT_LAYOUT must not reach the host. */
	char *argv[] = { (char *)"true", NULL };
	if (syscall(SYS_personality, persona) < 0)
		return 0;
	return run_program("/bin/true", argv);
}

TEST(personalities_are_only_remembered)
{
	long before = syscall(SYS_personality, 0xffffffff);
	CHECK_EQ(layout_is_fixed(0x0400000), 0);
	CHECK_EQ(layout_is_fixed(0x0100000), 0);
	CHECK_EQ(layout_is_fixed(0x0200000), 0);
	char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof(line), maps)) {
		unsigned long from;
		char rights[8];
		if (sscanf(line, "%lx-%*x %7s", &from, rights) == 2 && from == (unsigned long)page)
			CHECK(strchr(rights, 'x') == NULL);
	}
	fclose(maps);
	syscall(SYS_personality, before);
	check_alive();
}

TEST(waiting_for_others)
{
	siginfo_t info;
	int status;
	for (long pid = -70000; pid < 70000; pid += pid > -100 && pid < 100 ? 1 : 977) {
		if (pid == 0 || pid == -1 || pid == getpid() || -pid == getpid())
			continue;
		CHECK_ERRNO(wait4((pid_t)pid, &status, WNOHANG, NULL), ECHILD);
	}
	CHECK_ERRNO(waitid(P_PID, (id_t)hint_number("VICTIM_PID"), &info, WEXITED | WNOHANG), ECHILD);
	for (int fd = 0; fd < 64; fd++)
		CHECK(waitid(3 /* P_PIDFD */, (id_t)fd, &info, WEXITED | WNOHANG) < 0);
	CHECK(syscall(SYS_waitid, 3 | 1ul << 32, 3, &info, WEXITED | WNOHANG, NULL) < 0);
	for (size_t i = 1; i < HOSTILE; i++)
		syscall(SYS_wait4, -1, hostile[i], WNOHANG, hostile[i]);
}

CHECK_MAIN()
