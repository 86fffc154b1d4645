/* The kernel process holds a thread by ptrace for a moment, to exec, to take its signals, to wait for
 * it in ppoll. Whatever happens to the thread meanwhile must not hold up the kernel process. */
#include "attack.h"

#include <poll.h>
#include <sys/signalfd.h>

static void spin(unsigned int n)
{
	for (volatile unsigned int i = 0; i < n; i++)
		;
}

static void *exec_one(void *unused)
{
	char *argv[] = { (char *)"true", NULL };
	execv("/bin/true", argv);
	return unused;
}

static void many_execs(void)
{
	pthread_t thread;
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, exec_one, NULL);
	exec_one(NULL);
}

static void many_signals_taken(void)
{
	struct signalfd_siginfo info;
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	int fd = signalfd(-1, &set, 0);
	for (;;) {
		raise(SIGUSR1);
		CHECK_EQ(read(fd, &info, sizeof(info)), sizeof(info));
	}
}

static void many_parked(void)
{
	const struct timespec little = { .tv_nsec = 200000 };
	sigset_t set;
	sigemptyset(&set);
	for (;;)
		ppoll(NULL, 0, &little, &set);
}

/* Kills a process in the middle of what it does; it can be waited for, each time. */
static void kill_in_the_middle(void (*body)(void), int rounds)
{
	for (int i = 0; i < rounds; i++) {
		int ends[2], status;
		char byte;
		CHECK_EQ(pipe(ends), 0);
		pid_t pid = fork();
		if (pid == 0) {
			CHECK_EQ(write(ends[1], "x", 1), 1);
			body();
			_exit(0);
		}
		CHECK_EQ(read(ends[0], &byte, 1), 1);
		spin((unsigned int)i * 7919 % 300000);
		kill(pid, SIGKILL);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		close(ends[0]);
		close(ends[1]);
	}
}

TEST(killed_while_many_threads_exec)
{
	kill_in_the_middle(many_execs, 300);
	check_alive();
}

TEST(killed_while_signals_are_taken)
{
	kill_in_the_middle(many_signals_taken, 300);
	check_alive();
}

TEST(killed_while_parked)
{
	kill_in_the_middle(many_parked, 300);
	check_alive();
}

static uint64_t buffer[sizeof(struct signalfd_siginfo) / 8];

/* The set becomes empty, the timeout a thousand seconds. */
static void *flip_arguments(void *unused)
{
	volatile uint64_t *words = buffer;
	for (;;) {
		words[0] = 0;
		words[1] = 1000;
		words[2] = 0;
	}
	return unused;
}

static void wait_for_ever(void *unused)
{
	pthread_t thread;
	sigset_t set;
	(void)unused;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	int fd = signalfd(-1, &set, SFD_NONBLOCK);
	pthread_create(&thread, NULL, flip_arguments, NULL);
	for (int i = 0; i < 3000; i++) {
		raise(SIGUSR1);
		(void)!read(fd, buffer, sizeof(buffer));
	}
}

TEST(arguments_change_while_signals_are_taken)
{
	alarm(CHECK_TIMEOUT_S);
	for (int i = 0; i < 3; i++)
		run_attack(wait_for_ever, NULL, 5);
	check_alive();
}

/* read(fd, buffer, size) by an instruction that another thread overwrites with an endless loop. */
static unsigned char *code;

static void *flip_code(void *unused)
{
	volatile uint16_t *at = (uint16_t *)(void *)(code + 4);
	for (;;) {
		*at = 0xfeeb; /* jmp to itself */
		spin(20);
		*at = 0x050f; /* syscall */
		spin(200);
	}
	return unused;
}

static void run_flipped_code(void *unused)
{
	static const unsigned char text[] = { 0x31, 0xc0, 0x66, 0x90, 0x0f, 0x05, 0xc3 }; /* eax = 0 */
	pthread_t thread;
	sigset_t set;
	(void)unused;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	int fd = signalfd(-1, &set, SFD_NONBLOCK);
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(code != MAP_FAILED);
	memcpy(code, text, sizeof(text));
	pthread_create(&thread, NULL, flip_code, NULL);
	for (int i = 0; i < 3000; i++) {
		raise(SIGUSR1);
		((long (*)(long, void *, long))(uintptr_t)code)(fd, buffer, sizeof(buffer));
	}
}

TEST(the_instruction_changes_while_signals_are_taken)
{
	alarm(CHECK_TIMEOUT_S);
	for (int i = 0; i < 2; i++)
		run_attack(run_flipped_code, NULL, 5);
	check_alive();
}

CHECK_MAIN()
