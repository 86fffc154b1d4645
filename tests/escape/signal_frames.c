/* Signal state is the host kernel's and native: whatever a guest does to it must leave its calls
 * supervised. */
#include "attack.h"

#include <sys/prctl.h>
#include <ucontext.h>

static volatile int caught;

static void count(int number)
{
	(void)number;
	caught++;
}

TEST(blocking_and_ignoring_everything)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (int i = 1; i < 65; i++)
		signal(i, SIG_IGN);
	CHECK_ERRNO(syscall(SYS_bpf, 0, 0, 0), EPERM);
	CHECK_ERRNO(open("/x", O_RDONLY), ENOENT);
	for (int i = 1; i < 65; i++)
		signal(i, SIG_DFL); /* an ignored SIGCHLD would take the exit status away */
	check_alive();
}

TEST(handlers_for_everything)
{
	for (int i = 1; i < 65; i++)
		signal(i, count);
	CHECK_ERRNO(syscall(SYS_bpf, 0, 0, 0), EPERM);
	raise(SIGSYS);
	raise(SIGTRAP);
	CHECK_EQ(caught, 2);
	CHECK_ERRNO(syscall(SYS_ptrace, 0, 0, 0, 0), EPERM);
}

static void forged(void *word)
{
	/* sigreturn with a stack of one repeated word */
	unsigned long frame[256];
	for (int i = 0; i < 256; i++)
		frame[i] = (unsigned long)word;
	__asm__ volatile("mov %0, %%rsp\n\tmov $15, %%eax\n\tsyscall\n\tud2" : : "r"(frame) : "memory");
	_exit(0);
}

TEST(forged_signal_frames)
{
	static const unsigned long words[] = { 0, ~0ul, 0x33, 0x10, 0xffff800000000000ul, 0x23, STUB_AREA, 0x2b00000033ul, 0x46505853, 0x8000000000000000ul };
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		CHECK(run_attack(forged, (void *)words[i], 3) > 256);
	check_alive();
}

static void change_frame(int number, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	(void)number;
	(void)info;
	uc->uc_mcontext.gregs[REG_CSGSFS] = 0x10; /* the kernel's code segment */
	uc->uc_mcontext.gregs[REG_EFL] |= 0x3000; /* I/O privilege */
}

static void return_to_kernel_segment(void *unused)
{
	(void)unused;
	struct sigaction action = { .sa_sigaction = change_frame, .sa_flags = SA_SIGINFO };
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	_exit(0);
}

TEST(a_frame_with_the_kernels_segment)
{
	run_attack(return_to_kernel_segment, NULL, 3);
	check_alive();
}

TEST(an_alternate_stack_that_is_not_there)
{
	stack_t stack = { .ss_sp = (void *)(STUB_AREA - 65536), .ss_size = 65536 };
	if (sigaltstack(&stack, NULL) == 0) {
		pid_t pid = fork();
		if (pid == 0) {
			struct sigaction action = { .sa_handler = count, .sa_flags = SA_ONSTACK };
			sigaction(SIGUSR1, &action, NULL);
			raise(SIGUSR1);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	check_alive();
}

TEST(interrupted_calls_in_a_storm)
{
	int ends[2];
	char byte;
	struct sigaction action = { .sa_handler = count, .sa_flags = SA_RESTART };
	sigaction(SIGALRM, &action, NULL);
	CHECK_EQ(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		usleep(700000);
		CHECK_EQ(write(ends[1], "x", 1), 1);
		_exit(0);
	}
	ualarm(100, 100);
	CHECK_EQ(read(ends[0], &byte, 1), 1);
	ualarm(0, 0);
	while (waitpid(pid, NULL, 0) < 0)
		CHECK_EQ(errno, EINTR);
	CHECK(caught > 100);
	check_alive();
}

static void seccomp_on_top(void *unused)
{
	/* A guest may tighten its own filter or be refused; it may not listen to it. */
	(void)unused;
	struct {
		unsigned short length;
		void *filter;
	} program = { 1, (unsigned char[]){ 6, 0, 0, 0, 0, 0, 0xff, 0x7f } };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	long fd = syscall(SYS_seccomp, 1, 8 /* NEW_LISTENER */, &program);
	if (fd >= 0)
		_exit(9);
	_exit(0);
}

TEST(no_second_listener)
{
	CHECK_EQ(run_attack(seccomp_on_top, NULL, 3), 0);
}

CHECK_MAIN()
