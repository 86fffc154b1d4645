/*
 * Malformed arguments for every call: first each pointer position of each call with every kind of bad
 * address, then random calls with half-valid arguments for a bounded time, by threads and forks that
 * change the memory meanwhile. Whatever they answer, the sandbox goes on.
 *
 * FUZZ_SECONDS in the environment is the length of the second part; FUZZ_SEED repeats it: each round is one
 * process whose calls follow from its seed, base + number of the round, which is printed. Only the
 * interleaving with its own threads is not repeated.
 */
/* also as root */
#include "fuzz_round.h"

/* One call, each argument in turn replaced by each bad pointer, the others being plausible. */
static void bad_pointers(void *argument)
{
	const struct row *row = argument;
	state = 4711;
	prepare();
	remove_ids();
	long bad[] = { 0, 1, -1, -4096, (long)edge, (long)closed, (long)readonly, (long)0xffff800000000000, (long)0x7ffffffff000,
		       (long)0x8000000000000000, (long)STUB_AREA, (long)0xffffffffff600000 };
	static char buffer[65536];
	long plausible[] = { fds[0], (long)buffer, 64, 0, (long)"file", AT_FDCWD };
	for (int position = 0; position < 6; position++) {
		for (size_t b = 0; b < sizeof(bad) / sizeof(long); b++) {
			for (int base = 0; base < 3; base++) {
				long a[6];
				for (int i = 0; i < 6; i++)
					a[i] = plausible[(i + base * 2) % 6];
				a[position] = bad[b];
				alarm(2);
				syscall(row->number, a[0], a[1], a[2], a[3], a[4], a[5]);
			}
		}
	}
	_exit(0);
}

TEST(bad_pointers_in_every_position)
{
	for (int i = 0; i < ROWS; i++) {
		if (is_never(&rows[i]) && strcmp(rows[i].name, "seccomp") != 0)
			continue;
		int r = run_attack(bad_pointers, (void *)(uintptr_t)&rows[i], 5);
		/* execve may succeed at nothing; a handler may be lost: only the sandbox's life matters. */
		if (r == 256 + SIGKILL)
			printf("# %s: still there after 5 s\n", rows[i].name);
		CHECK(r != 256 + SIGKILL);
		if (i % 16 == 0)
			alarm(CHECK_TIMEOUT_S);
	}
	check_alive();
}

TEST(random_calls_with_half_valid_arguments)
{
	const char *given = getenv("FUZZ_SEED"), *seconds = getenv("FUZZ_SECONDS");
	uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
	time_t end = time(NULL) + (seconds ? atoi(seconds) : 6);
	alarm((seconds ? (unsigned int)atoi(seconds) : 0) + CHECK_TIMEOUT_S);
	printf("# FUZZ_SEED=%llu\n", (unsigned long long)seed);
	fflush(stdout); /* the sandbox may not live to say it later */
	int rounds = 0;
	CHECK_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	while (time(NULL) < end) {
		run_attack(random_calls, (void *)(uintptr_t)seed++, 4);
		end_round();
		if (++rounds % 8 == 0)
			check_alive();
	}
	printf("# %d rounds\n", rounds);
	check_alive();
}

static void random_ioctls(void *argument)
{
	state = (uint64_t)(uintptr_t)argument + 77;
	prepare();
	signal(SIGHUP, SIG_IGN);
	alarm(3);
	for (int i = 0; i < fd_count; i++) {
		static const unsigned int bases[] = { 0x5400, 0x8900, 0x6600, 0x9400, 0x1200, 0x4b00, 0x5600, 0x0000, 0xae00 };
		for (size_t b = 0; b < sizeof(bases) / sizeof(bases[0]); b++)
			for (unsigned int n = 0; n < 256; n++)
				syscall(SYS_ioctl, fds[i], bases[b] + n, n & 1 ? (long)shared : (long)(uintptr_t)pointer_argument(), 0, 0, 0);
	}
	_exit(0);
}

TEST(every_ioctl_on_every_kind_of_descriptor)
{
	alarm(CHECK_TIMEOUT_S);
	run_attack(random_ioctls, (void *)1, 20);
	check_alive();
}

static void random_clone(void *argument)
{
	state = (uint64_t)(uintptr_t)argument + 99;
	for (int i = 0; i < 20; i++) {
		/* Without CLONE_VM, so that the child may simply go. */
		unsigned long flags = next_random() & ~0x100ul & ~0x4000ul;
		long pid;
		__asm__ volatile("xor %%r10d, %%r10d\n\txor %%r8d, %%r8d\n\tsyscall\n\ttest %%rax, %%rax\n\tjnz 1f\n\tmov $231, %%eax\n\txor %%edi, %%edi\n\tsyscall\n1:"
				 : "=a"(pid)
				 : "a"(SYS_clone), "D"(flags), "S"(0), "d"(0)
				 : "rcx", "r11", "r10", "r8", "memory");
		while (waitpid(-1, NULL, __WALL | WNOHANG) > 0)
			;
	}
	_exit(0);
}

TEST(random_clone_flags)
{
	for (long i = 0; i < 20; i++)
		run_attack(random_clone, (void *)i, 3);
	check_alive();
}

CHECK_MAIN()
