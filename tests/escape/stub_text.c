/* also as root */
/*
 * Calls from the stub's text. The filter lets close(2) and mmap(2) of a descriptor pass natively when
 * the instruction lies there, and any guest code can jump there with registers of its own. So both
 * must be worthless: a guest process holds no host descriptor but those of files it mapped, and these
 * allow what its own descriptors do.
 *
 * The jump is made with the trap flag: SIGTRAP comes behind the syscall instruction, with the result.
 */
#include "attack.h"

#include <sched.h>
#include <setjmp.h>
#include <sys/shm.h>
#include <ucontext.h>

#define TEXT_SIZE 0x2000

static __thread sigjmp_buf back;
static __thread unsigned long site, result;
static unsigned long good_site;

static void trapped(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	unsigned long rip = (unsigned long)uc->uc_mcontext.gregs[REG_RIP];
	if (rip < STUB_AREA || rip >= STUB_AREA + TEXT_SIZE || rip == site)
		return; /* on the way there */
	result = (unsigned long)uc->uc_mcontext.gregs[REG_RAX];
	siglongjmp(back, 1);
}

static void jump(const long *r)
{
	__asm__ volatile("mov 8(%0), %%rdi\n\tmov 16(%0), %%rsi\n\tmov 24(%0), %%rdx\n\tmov 32(%0), %%r10\n\t"
			 "mov 40(%0), %%r8\n\tmov 48(%0), %%r9\n\tmov 56(%0), %%rcx\n\tmov (%0), %%rax\n\t"
			 "sub $128, %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tjmp *%%rcx"
			 :
			 : "b"(r)
			 : "rdi", "rsi", "rdx", "r10", "r8", "r9", "rcx", "rax", "memory", "cc");
}

/* The result of a call that is made at `at`, or of none. */
static long call_at(unsigned long at, long nr, long a, long b, long c, long d, long e, long f)
{
	const long registers[8] = { nr, a, b, c, d, e, f, (long)at };
	struct sigaction action = { .sa_sigaction = trapped, .sa_flags = SA_SIGINFO };
	sigaction(SIGTRAP, &action, NULL);
	site = at;
	if (sigsetjmp(back, 1) == 0)
		jump(registers);
	return (long)result;
}

/* An instruction behind which the result is still in its register. */
static unsigned long find_site(void)
{
	const unsigned char *text = (const unsigned char *)STUB_AREA;
	for (int i = 0; !good_site && i + 4 < TEXT_SIZE; i++)
		if (text[i] == 0x0f && text[i + 1] == 0x05 && call_at(STUB_AREA + i, SYS_getpid, 0, 0, 0, 0, 0, 0) == getpid())
			good_site = STUB_AREA + (unsigned)i;
	CHECK(good_site != 0);
	return good_site;
}

static long stub_call(long nr, long a, long b, long c, long d, long e, long f)
{
	return call_at(find_site(), nr, a, b, c, d, e, f);
}

static long stub_mmap(int protection, int flags, int fd)
{
	return stub_call(SYS_mmap, 0, 4096, protection, flags, fd, 0);
}

static long stub_close(int fd)
{
	return stub_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

TEST(no_host_descriptor_is_open)
{
	for (int fd = 0; fd < 4200; fd++) {
		CHECK_EQ(stub_mmap(PROT_READ, MAP_PRIVATE, fd), -EBADF);
		CHECK_EQ(stub_close(fd), -EBADF);
	}
	check_alive();
}

TEST(no_host_descriptor_is_open_after_an_exec)
{
	/* This very program once more, with files mapped before. */
	static char mark[] = "FRESH=1";
	char *argv[] = { (char *)"stub_text", (char *)"no_host_descriptor_is_open", NULL }, *envp[] = { mark, NULL };
	if (getenv("FRESH"))
		SKIP("this is the second one");
	for (int fd = 100; fd < 110; fd++) {
		CHECK_EQ(dup2(open("/usr/bin/env", O_RDONLY), fd), fd);
		CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED);
	}
	pid_t pid = fork();
	int status;
	if (pid == 0) {
		dup2(open("/dev/null", O_WRONLY), 1);
		execve("/proc/self/exe", argv, envp);
		_exit(99);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

TEST(all_other_calls_are_what_they_are_elsewhere)
{
	char text[8] = "";
	int fd = open("/usr/bin/env", O_RDONLY);
	CHECK_EQ(stub_call(SYS_read, fd, (long)text, 4, 0, 0, 0), 4);
	CHECK_EQ(memcmp(text, "\177ELF", 4), 0);
	CHECK_EQ(stub_call(SYS_open, (long)"/x", 0, 0, 0, 0, 0), -ENOENT);
	CHECK_EQ(stub_call(SYS_getuid, 0, 0, 0, 0, 0, 0), getuid());
	static const struct {
		const char *name;
		int number, class, error;
	} rows[] = {
#define NATIVE 0
#define CHECKED 1
#define EMULATED 2
#define REFUSED 3
#define SYSCALL(name, number, class, handler, check, error, trace, note) { #name, number, class, error },
#include "../../src/kernel/abi/syscalls.def"
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].class != REFUSED)
			continue;
		if (stub_call(rows[i].number, fd, fd, fd, fd, fd, fd) != -rows[i].error)
			printf("# %s\n", rows[i].name);
		CHECK_EQ(stub_call(rows[i].number, fd, fd, fd, fd, fd, fd), -rows[i].error);
	}
}

/* A read-only file whose host descriptor is in this process. */
static int mapped(const char *path)
{
	int fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED);
	return fd;
}

static void check_only_readable(int fd)
{
	static const int kinds[] = { MAP_SHARED, MAP_SHARED_VALIDATE };
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(stub_mmap(PROT_WRITE, kinds[i], fd), -EACCES);
		CHECK_EQ(stub_mmap(PROT_READ | PROT_WRITE, kinds[i], fd), -EACCES);
		long at = stub_mmap(PROT_READ, kinds[i], fd);
		CHECK(at > 0);
		CHECK_EQ(stub_call(SYS_mprotect, at, 4096, PROT_READ | PROT_WRITE, 0, 0, 0), -EACCES);
		munmap((void *)at, 4096);
	}
}

TEST(a_mapped_file_of_the_template_cannot_be_written)
{
	check_only_readable(mapped("/usr/bin/env"));
}

TEST(a_file_of_our_own_is_as_it_was_opened)
{
	int writer = open("mine", O_RDWR | O_CREAT, 0600);
	CHECK_EQ(ftruncate(writer, 4096), 0);
	check_only_readable(mapped("mine"));
	/* Also where a writable descriptor of the same file is mapped, too. */
	CHECK(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, writer, 0) != MAP_FAILED);
	check_only_readable(mapped("mine"));
	CHECK(stub_mmap(PROT_READ | PROT_WRITE, MAP_SHARED, writer) > 0);
}

TEST(a_segment_attached_for_reading_cannot_be_written)
{
	int id = shmget(IPC_PRIVATE, 4096, 0600);
	char *at = shmat(id, NULL, SHM_RDONLY);
	CHECK(at != (char *)-1);
	CHECK_ERRNO(mprotect(at, 4096, PROT_READ | PROT_WRITE), EACCES);
	/* The descriptor that the attach needed for a moment is gone. */
	for (int fd = 0; fd < 4200; fd++)
		CHECK_EQ(stub_mmap(PROT_READ, MAP_SHARED, fd), -EBADF);
	CHECK_EQ(shmctl(id, IPC_RMID, NULL), 0);
}

TEST(closing_behind_the_kernels_back)
{
	char text[4];
	int fd = mapped("/usr/bin/env"), other, status;
	CHECK_EQ(stub_close(fd), 0);
	CHECK_EQ(stub_close(fd), -EBADF);
	CHECK_EQ(pread(fd, text, 4, 0), 4);
	mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0); /* our own fault if it fails */
	other = dup(fd);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, other, 0) != MAP_FAILED);
	CHECK_EQ(stub_close(other), 0);
	pid_t pid = fork();
	if (pid == 0)
		_exit(pread(other, text, 4, 0) == 4 && close(fd) + close(other) <= 0 ? 0 : 1);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	close(fd);
	close(other);
	check_alive();
}

static void *in_a_thread(void *unused)
{
	int fd = mapped("/usr/bin/env");
	check_only_readable(fd);
	for (int other = 3000; other < 3100; other++)
		CHECK_EQ(stub_close(other), -EBADF);
	close(fd);
	return unused;
}

static int in_a_vfork_child(void *unused)
{
	(void)unused;
	in_a_thread(NULL);
	_exit(0);
}

TEST(threads_and_vfork_children_gain_nothing)
{
	static char stack[131072] __attribute__((aligned(16)));
	pthread_t threads[2];
	int status;
	find_site();
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, in_a_thread, NULL), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	pid_t pid = clone(in_a_vfork_child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	CHECK(pid > 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	check_alive();
}

static volatile bool flipping;
static int flipped;

/* The number is the template's file and ours by turns, each of them mapped. */
static void *flip(void *unused)
{
	int template = open("/usr/bin/env", O_RDONLY), own = open("own", O_RDWR);
	while (flipping) {
		dup2(template, flipped);
		mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE, flipped, 0);
		dup2(own, flipped);
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, flipped, 0);
	}
	return unused;
}

TEST(a_descriptor_that_changes_is_one_of_the_two)
{
	pthread_t thread;
	int own = open("own", O_RDWR | O_CREAT, 0600);
	CHECK_EQ(ftruncate(own, 4096), 0);
	flipped = dup(own);
	flipping = true;
	find_site();
	CHECK_EQ(pthread_create(&thread, NULL, flip, NULL), 0);
	for (int i = 0; i < 1500; i++) {
		long at = stub_mmap(PROT_READ | PROT_WRITE, MAP_SHARED, flipped);
		if (at < 0)
			continue;
		CHECK(memcmp((void *)at, "\177ELF", 4) != 0);
		munmap((void *)at, 4096);
	}
	flipping = false;
	pthread_join(thread, NULL);
	check_alive();
}

CHECK_MAIN()
