/* The stub's pages lie in every guest process, which may do with them what it likes: it hurts only
 * itself. */
#include "attack.h"

#include <sys/prctl.h>
#include <sys/shm.h>

#define SPAN (1ul << 24)

/* Whatever is mapped in the stub's area, from our own maps. */
static unsigned long stub_start(void)
{
	char line[512];
	unsigned long start = STUB_AREA, from, to;
	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && from >= STUB_AREA && from < STUB_AREA + (1ul << 38)) {
			start = from;
			break;
		}
	if (maps)
		fclose(maps);
	return start;
}

static void after_damage(void)
{
	/* Still a process that may call: no assertion, only no harm to others. */
	char *argv[] = { (char *)"true", NULL };
	getuid();
	getppid();
	int fd = open("/etc/passwd", O_RDONLY);
	char *map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map != MAP_FAILED)
		munmap(map, 4096);
	/* The kernel process has a thread make calls from the stub's text for this. */
	int id = shmget(IPC_PRIVATE, 4096, 0600);
	if (shmat(id, NULL, 0) != (void *)-1)
		shmat(id, NULL, SHM_RDONLY);
	shmctl(id, IPC_RMID, NULL);
	pid_t pid = fork();
	if (pid == 0) {
		execv("/bin/true", argv);
		_exit(errno == EFAULT ? 3 : 4);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
	execv("/bin/true", argv);
	_exit(5);
}

static void do_unmap(void *unused)
{
	(void)unused;
	munmap((void *)stub_start(), SPAN);
	munmap((void *)STUB_AREA, SPAN);
	after_damage();
}

static void do_protect(void *protection)
{
	mprotect((void *)stub_start(), 4096, (int)(long)protection);
	after_damage();
}

static void do_replace(void *fill)
{
	char *at = mmap((void *)stub_start(), 65536, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (at != MAP_FAILED)
		memset(at, (int)(long)fill, 65536);
	after_damage();
}

static void do_string(void *unused)
{
	/* Every "/x" of the area becomes "/y", "/bin/sh" or no string at all. */
	(void)unused;
	unsigned long at = stub_start();
	if (mprotect((void *)at, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
		_exit(0);
	char *text = (char *)at;
	for (int i = 0; i + 2 < 4096; i++)
		if (text[i] == '/' && text[i + 1] == 'x')
			text[i + 1] = 'y';
	after_damage();
}

static void do_move(void *unused)
{
	(void)unused;
	void *to = mmap(NULL, SPAN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mremap((void *)stub_start(), 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	after_damage();
}

static void do_advise(void *unused)
{
	(void)unused;
	for (int advice = 0; advice < 32; advice++)
		madvise((void *)stub_start(), 4096, advice);
	mlock((void *)stub_start(), 4096);
	msync((void *)stub_start(), 4096, MS_INVALIDATE | MS_SYNC);
	after_damage();
}

TEST(damage_to_the_stub_stays_in_the_process)
{
	static const struct {
		const char *name;
		void (*run)(void *);
		long argument;
	} ways[] = {
		{ "unmap", do_unmap, 0 },		{ "no access", do_protect, PROT_NONE },
		{ "writable", do_protect, PROT_READ | PROT_WRITE | PROT_EXEC }, { "read only", do_protect, PROT_READ },
		{ "zeros", do_replace, 0 },		{ "traps", do_replace, 0xcc },
		{ "syscalls", do_replace, 0x0f },	{ "another string", do_string, 0 },
		{ "moved away", do_move, 0 },		{ "advice", do_advise, 0 },
	};
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		int r = run_attack(ways[i].run, (void *)ways[i].argument, 5);
		printf("# %s: %d\n", ways[i].name, r);
		check_alive();
	}
}

static void jump_into(void *offset)
{
	alarm(2);
	void (*at)(void) = (void (*)(void))(stub_start() + (unsigned long)offset);
	__asm__ volatile("mov %0, %%rax\n\tmov $59, %%rdi\n\tmov %0, %%rsi\n\txor %%edx, %%edx\n\tcall *%0" : : "r"(at) : "rax", "rdi", "rsi", "rdx", "memory", "rcx", "r11");
	_exit(0);
}

TEST(jumping_into_the_stub_at_any_byte)
{
	for (unsigned long offset = 0; offset < 4096; offset += 61)
		run_attack(jump_into, (void *)offset, 3);
	check_alive();
}

static void register_areas(void *unused)
{
	(void)unused;
	unsigned long at = stub_start();
	stack_t stack = { .ss_sp = (void *)at, .ss_size = 65536 };
	sigaltstack(&stack, NULL);
	syscall(SYS_set_robust_list, at, 24);
	syscall(SYS_set_tid_address, at);
	syscall(SYS_rseq, at, 32, 0, 0x53053053);
	syscall(SYS_arch_prctl, 0x1002, at); /* ARCH_SET_FS */
	_exit(0);
}

TEST(registering_the_stubs_pages)
{
	run_attack(register_areas, NULL, 3);
	check_alive();
}

TEST(nothing_hidden_is_mapped_but_the_stub)
{
	/* write(2) is an oracle for readable memory: what it reads is in maps, or the stub's. */
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long from[4096], to[4096];
	int count = 0, ends[2];
	char line[512];
	CHECK(maps != NULL);
	while (count < 4096 && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx", &from[count], &to[count]) == 2)
			count++;
	fclose(maps);
	CHECK_EQ(pipe(ends), 0);
	CHECK(count > 5);
	for (unsigned long at = STUB_AREA - (1ul << 24); at < STUB_AREA + (1ul << 24); at += 16384) {
		bool listed = at >= STUB_AREA && at < STUB_AREA + (1ul << 22);
		char byte;
		for (int i = 0; i < count; i++)
			listed |= at >= from[i] && at < to[i];
		if (write(ends[1], (void *)at, 1) == 1) {
			CHECK_EQ(read(ends[0], &byte, 1), 1);
			if (!listed)
				printf("# %lx is readable and not in maps\n", at);
			CHECK(listed);
		}
	}
}

#define STUB_NAMES (STUB_AREA + 0x2000) /* where its names lie: "/x" and, behind it, "/y" */

/* The filter lets an execve of the stub by its own name pass, and does not see what lies there. */
static void exec_at_the_names(void *text)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)"exit 7", NULL };
	/* So that the host knows the program by a descriptor. */
	int fd = open("/bin/sh", O_RDONLY);
	mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (text) {
		if (mprotect((void *)STUB_NAMES, 4096, PROT_READ | PROT_WRITE) < 0)
			_exit(3);
		strcpy((char *)STUB_NAMES, text);
	}
	syscall(SYS_execve, STUB_NAMES, argv, NULL);
	if (text)
		strcpy((char *)STUB_NAMES + 4, text);
	syscall(SYS_execve, STUB_NAMES + 4, argv, NULL);
	_exit(42);
}

TEST(an_execve_of_the_stub_finds_nothing_else)
{
	static const char *const names[] = {
		"/bin/sh",	 "/usr/bin/sh", "/usr/bin/true", "/proc/self/exe", "/proc/1/exe", "/proc/self/fd/3",
		"/dev/fd/3",	 "/dev/stdin",	"../bin/sh",	 "x/../bin/sh",	   "/x/",	  "/x/../../bin/sh",
		"/",		 ".",		"",		 "3",
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK_EQ(run_attack(exec_at_the_names, (void *)(uintptr_t)names[i], 5), 42);
	/* The stub itself, but nobody prepared anything for it to load. */
	CHECK_EQ(run_attack(exec_at_the_names, NULL, 5), 256 + SIGKILL);
	check_alive();
}

CHECK_MAIN()
