/* also as root */
/* The stub's private call is one that any guest code can make, from any place. */
#include "attack.h"

#include <sys/resource.h>

#define STUB_CALL 20000
enum { PLAN = 1, WAIT_ORDER, FETCH, REAPED, EXEC_FAILED };

static char buffer[65536];
static long volatile nowhere = 8; /* a bad pointer that the compiler does not see */

/* A program that root owns and that is set-user-id. */
static const char *set_user_id_program(void)
{
	static const char *const names[] = { "/usr/bin/su", "/bin/su", "/usr/bin/passwd", "/usr/bin/mount", "/usr/bin/sudo",
					     "/usr/bin/newgrp" };
	struct stat st;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (stat(names[i], &st) == 0 && (st.st_mode & S_ISUID) && st.st_uid == 0)
			return names[i];
	SKIP("there is no set-user-id program");
}

/* An exec that the host refuses leaves an exec prepared: its credentials are not for the old image. */
static void plan_of_a_failed_exec(void *arguments)
{
	uid_t before = geteuid();
	if (before == 0) {
		before = 4711;
		CHECK_EQ(setresuid(4711, 4711, 4711), 0);
	}
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(syscall(SYS_execve, set_user_id_program(), arguments, NULL), -1);
		syscall(STUB_CALL, PLAN, buffer, 0, 0, 0, 0);
		CHECK_EQ(geteuid(), before);
		CHECK_EQ(getuid(), before);
	}
}

TEST(a_failed_exec_gives_nobody_its_credentials)
{
	CHECK_EQ(run_attack(plan_of_a_failed_exec, (void *)nowhere, 5), 0);
	char **many = calloc(200001, sizeof(char *));
	char *word = malloc(100000);
	memset(word, 'x', 99999);
	for (int i = 0; i < 200000; i++)
		many[i] = word;
	CHECK_EQ(run_attack(plan_of_a_failed_exec, many, 8), 0);
	check_alive();
}

static uid_t own;

/* Asks for the plan all the time while another thread's exec is under way. */
static void *hammer(void *unused)
{
	for (;;) {
		syscall(STUB_CALL, PLAN, buffer, 0, 0, 0, 0);
		if (geteuid() != own)
			_exit(66);
	}
	return unused;
}

static void hammer_during_exec(void *unused)
{
	pthread_t threads[3];
	char *argv[] = { (char *)"su", (char *)"--help", NULL };
	(void)unused;
	if (geteuid() == 0)
		CHECK_EQ(setresuid(4711, 4711, 4711), 0);
	own = geteuid();
	close(1);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, hammer, NULL);
	/* Refused by the host, so that the others get their chance; then for real. */
	for (int i = 0; i < 200; i++)
		syscall(SYS_execve, set_user_id_program(), nowhere, NULL);
	execv(set_user_id_program(), argv);
	_exit(0);
}

TEST(no_thread_gets_the_plan_of_another_ones_exec)
{
	set_user_id_program();
	for (int i = 0; i < 5; i++)
		CHECK(run_attack(hammer_during_exec, NULL, 5) != 66);
	check_alive();
}

static void all_operations(void *unused)
{
	(void)unused;
	CHECK_ERRNO(syscall(STUB_CALL, WAIT_ORDER, buffer, 0, 0, 0, 0), EPERM);
	CHECK_ERRNO(syscall(STUB_CALL, REAPED, getppid(), 0, 0, 0, 0), EPERM);
	for (long id = 0; id < 8; id++) {
		CHECK_ERRNO(syscall(STUB_CALL, FETCH, buffer, sizeof(buffer), id, 0, 0), EPERM);
		CHECK_ERRNO(syscall(STUB_CALL, EXEC_FAILED, id, ENOENT, 0, 0, 0), EPERM);
	}
	for (long op = 6; op < 100; op++)
		CHECK_ERRNO(syscall(STUB_CALL, op, buffer, buffer, buffer, 0, 0), ENOSYS);
}

static void as_orphan(void *unused)
{
	/* A child of pid 1 now, as those are that may fetch. */
	pid_t pid = fork();
	if (pid == 0) {
		for (int i = 0; i < 1000 && getppid() != 1; i++)
			usleep(1000);
		all_operations(unused);
		_exit(0);
	}
}

TEST(operations_of_pid_1_are_refused)
{
	CHECK_EQ(run_attack(all_operations, NULL, 5), 0);
	CHECK_EQ(run_attack(as_orphan, NULL, 5), 0);
	usleep(100000);
	check_alive();
}

TEST(a_plan_without_an_exec_ends_the_process)
{
	pid_t pid = fork();
	int status;
	if (pid == 0) {
		syscall(STUB_CALL, PLAN, buffer, 0, 0, 0, 0);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	check_alive();
}

TEST(limits_of_pid_1_are_not_changed)
{
	for (int resource = 0; resource < RLIM_NLIMITS; resource++) {
		struct rlimit none = { 0, 0 };
		CHECK_ERRNO(prlimit(1, (__rlimit_resource_t)resource, &none, NULL), EPERM);
	}
	check_alive();
}

#define HUGE_2M (MAP_HUGETLB | 21 << MAP_HUGE_SHIFT)

TEST(huge_pages_of_the_host_are_not_taken)
{
	const int protection = PROT_READ | PROT_WRITE;
	CHECK(mmap(NULL, 1 << 21, protection, MAP_PRIVATE | MAP_ANONYMOUS | HUGE_2M, -1, 0) == MAP_FAILED);
	CHECK_EQ(errno, ENOMEM);
	int zero = open("/dev/zero", O_RDWR);
	CHECK(mmap(NULL, 1 << 21, protection, MAP_PRIVATE | HUGE_2M, zero, 0) == MAP_FAILED);
	CHECK_ERRNO(syscall(SYS_memfd_create, "huge", 4u /* MFD_HUGETLB */), EINVAL);
}

CHECK_MAIN()
