/*
 * Malformed arguments for every call: first each pointer position of each call with every kind of bad
 * address, then random calls with half-valid arguments for a bounded time. Whatever they answer, the
 * sandbox goes on. FUZZ_SECONDS and FUZZ_SEED in the environment change the second part.
 */
#include "attack.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>

enum { NATIVE, CHECKED, EMULATED, REFUSED };

static const struct row {
	const char *name;
	int number, class;
} rows[] = {
#define SYSCALL(name, number, class, handler, check, error, trace, note) { #name, number, class },
#include "../../src/kernel/abi/syscalls.def"
};

#define ROWS (int)(sizeof(rows) / sizeof(rows[0]))

/* Calls that would only end or freeze the fuzzing process itself, or hit its siblings. */
static const char *const never[] = {
	"exit", "exit_group", "kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal",
	"rt_sigreturn", "pause", "rt_sigsuspend", "rt_sigtimedwait", "fork", "vfork", "clone", "clone3", "alarm", "setitimer", "munmap", "mremap",
	"prlimit64", "brk", "mprotect", "restart_syscall", "nanosleep", "clock_nanosleep", "futex", "wait4", "waitid", "rt_sigprocmask", "rt_sigaction", "mmap",
};

static bool is_never(const char *name)
{
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		if (strcmp(never[i], name) == 0)
			return true;
	return false;
}

static char *edge; /* the last byte before a page that is not there */
static char *readonly, *closed;
static int fds[24], fd_count;

static void add_fd(int fd)
{
	if (fd >= 0 && fd_count < 24)
		fds[fd_count++] = fd;
}

static void prepare(void)
{
	int pair[2], null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd); /* or gigabytes of nonsense go to the caller */
	close(null);
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(pages + 4096, 4096);
	edge = pages + 4095;
	readonly = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	closed = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	add_fd(open("file", O_RDWR | O_CREAT, 0600));
	add_fd(open("/usr/bin/env", O_RDONLY));
	add_fd(open(".", O_RDONLY | O_DIRECTORY));
	add_fd(open("/proc/self", O_RDONLY | O_DIRECTORY));
	add_fd(open("/proc/self/maps", O_RDONLY));
	add_fd(open("/dev/null", O_RDWR));
	add_fd(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK));
	add_fd(open("/etc/passwd", O_PATH));
	if (pipe2(pair, O_NONBLOCK) == 0)
		add_fd(pair[0]), add_fd(pair[1]);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0)
		add_fd(pair[0]), add_fd(pair[1]);
	add_fd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
	add_fd(socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, 0));
	add_fd(socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, 0));
	add_fd(epoll_create1(0));
	add_fd(eventfd(0, EFD_NONBLOCK));
	add_fd(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK));
	add_fd(inotify_init1(IN_NONBLOCK));
	add_fd((int)syscall(SYS_memfd_create, "m", 2));
	sigset_t set;
	sigemptyset(&set);
	add_fd(signalfd(-1, &set, SFD_NONBLOCK));
}

struct position {
	const struct row *row;
	int from;
};

/* One call, each argument in turn replaced by each bad pointer, the others being plausible. */
static void bad_pointers(void *argument)
{
	const struct row *row = argument;
	prepare();
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
		if (rows[i].class == REFUSED || rows[i].class == NATIVE || is_never(rows[i].name))
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

static uint64_t state;

static uint64_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static char arena[1 << 16];

static long random_argument(void)
{
	static const long numbers[] = { 0, 1, 2, 3, 4, 7, 8, 16, 64, 127, 128, 255, 256, 4095, 4096, 65535, 65536, 0x7fffffff, 0x80000000l,
					0xffffffffl, 0x100000000l, -1, -2, -4096, -100, 0x7fffffffffffffff, (long)0x8000000000000000 };
	static char *const strings[] = { (char *)"file", (char *)"/etc/passwd", (char *)"..", (char *)"", (char *)"/proc/self/fd/0", (char *)"new", (char *)"dir",
					 (char *)"dir/a", (char *)"/dev/null", (char *)"user.x", (char *)"/tmp/t", (char *)"/proc/self/exe", (char *)"link" };
	switch (next_random() % 8) {
	case 0: return numbers[next_random() % (sizeof(numbers) / sizeof(long))];
	case 1: return fds[next_random() % (unsigned int)fd_count];
	case 2: return (long)strings[next_random() % (sizeof(strings) / sizeof(char *))];
	case 3: return (long)(arena + next_random() % sizeof(arena));
	case 4: return (long)edge - (long)(next_random() % 64);
	case 5: return (long)(next_random() % 512);
	case 6: return next_random() % 4 ? (long)arena : (long)next_random();
	default: return 1l << (next_random() % 64);
	}
}

static void interrupted(int number)
{
	(void)number;
}

static void random_calls(void *argument)
{
	state = (uint64_t)(uintptr_t)argument * 0x9e3779b97f4a7c15ul + 1;
	prepare();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGIO, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	for (size_t i = 0; i < sizeof(arena); i += 8) {
		uint64_t word = (uint64_t)random_argument();
		memcpy(arena + i, &word, 8);
	}
	struct sigaction interrupt = { .sa_handler = interrupted };
	sigaction(SIGALRM, &interrupt, NULL);
	for (int i = 0; i < 1500; i++) {
		ualarm(10000, 10000); /* what would wait for ever is interrupted */
		const struct row *row = &rows[next_random() % ROWS];
		if (is_never(row->name) || row->class == REFUSED)
			continue;
		if (strcmp(row->name, "execve") == 0 || strcmp(row->name, "execveat") == 0)
			if (next_random() % 16)
				continue;
		syscall(row->number, random_argument(), random_argument(), random_argument(), random_argument(),
			random_argument(), random_argument());
		uint64_t word = (uint64_t)random_argument();
		memcpy(arena + (next_random() % (sizeof(arena) - 8)), &word, 8);
	}
	_exit(0);
}

TEST(random_calls_with_half_valid_arguments)
{
	const char *given = getenv("FUZZ_SEED"), *seconds = getenv("FUZZ_SECONDS");
	uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
	time_t end = time(NULL) + (seconds ? atoi(seconds) : 6);
	alarm(seconds ? (unsigned int)atoi(seconds) + 30 : 30);
	printf("# FUZZ_SEED=%llu\n", (unsigned long long)seed);
	int rounds = 0;
	while (time(NULL) < end) {
		run_attack(random_calls, (void *)(uintptr_t)seed++, 4);
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
				syscall(SYS_ioctl, fds[i], bases[b] + n, n & 1 ? (long)arena : random_argument(), 0, 0, 0);
	}
	_exit(0);
}

TEST(every_ioctl_on_every_kind_of_descriptor)
{
	alarm(30);
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
