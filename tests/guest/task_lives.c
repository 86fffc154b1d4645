/* Births and ends that race with something: signals, silent threads, many children, other users. */
/* also as root */
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

static void handler(int number)
{
	(void)number;
	getuid();
}

static void install(int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	sigaction(SIGUSR1, &action, NULL);
}

static void spin(unsigned int n)
{
	for (volatile unsigned int i = 0; i < n; i++)
		;
}

/* Starts a child that runs `body` and hits it with signals until it has ended; its wait status. */
static int under_fire(void (*body)(void), int flags, unsigned int round)
{
	int ends[2], status;
	char byte;
	CHECK_EQ(pipe(ends), 0);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		install(flags);
		CHECK_EQ(write(ends[1], "x", 1), 1);
		body();
	}
	CHECK_EQ(read(ends[0], &byte, 1), 1);
	for (unsigned int i = 0; i < round % 20; i++) {
		kill(pid, SIGUSR1);
		spin(round * 37 % 2000);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	close(ends[0]);
	close(ends[1]);
	return status;
}

static void run_true(void)
{
	char *argv[] = { (char *)"true", NULL };
	execv("/bin/true", argv);
	_exit(errno);
}

static void leave(void)
{
	_exit(42);
}

TEST(signals_do_not_disturb_exec)
{
	for (unsigned int i = 0; i < 120; i++) {
		int status = under_fire(run_true, i & 1 ? SA_RESTART : 0, i);
		/* The new program has no handler any more. */
		CHECK(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1));
	}
}

TEST(signals_do_not_disturb_exit)
{
	for (unsigned int i = 0; i < 200; i++) {
		int status = under_fire(leave, i & 1 ? SA_RESTART : 0, i);
		CHECK(WIFEXITED(status));
		CHECK_EQ(WEXITSTATUS(status), 42);
	}
}

static int out;

static void *write_later(void *unused)
{
	spin(30000000);
	CHECK_EQ(write(out, "late", 4), 4);
	_exit(7);
	return unused;
}

TEST(a_thread_that_never_called_outlives_the_first_one)
{
	int ends[2], status;
	char text[8];
	CHECK_EQ(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		pthread_t thread;
		out = ends[1];
		close(ends[0]);
		pthread_create(&thread, NULL, write_later, NULL);
		syscall(SYS_exit, 0);
	}
	close(ends[1]);
	CHECK_EQ(read(ends[0], text, sizeof(text)), 4);
	CHECK_EQ(read(ends[0], text, sizeof(text)), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(WEXITSTATUS(status), 7);
}

#define MANY 600

TEST(children_that_are_silent_at_first)
{
	static pid_t children[MANY];
	int ends[2], status, count = 0;
	CHECK_EQ(pipe(ends), 0);
	for (; count < MANY; count++) {
		children[count] = fork();
		if (children[count] < 0)
			break;
		if (children[count] == 0) {
			spin(1000000);
			_exit(write(ends[1], "x", 1) != 1);
		}
		getuid(); /* looks for the new child among all there are */
	}
	CHECK(count > 100);
	for (int i = 0; i < count; i++) {
		CHECK_EQ(waitpid(children[i], &status, 0), children[i]);
		CHECK_EQ(status, 0);
	}
}

/* The grandchild's first call comes when its parent is gone: it has the right descriptors still. */
TEST(orphans_that_are_silent_at_first)
{
	for (int i = 0; i < 30; i++) {
		int ends[2];
		char text[8];
		CHECK_EQ(pipe(ends), 0);
		pid_t pid = fork();
		if (pid == 0) {
			close(ends[0]);
			if (fork() == 0) {
				spin(2000000);
				_exit(write(ends[1], "here", 4) != 4);
			}
			if (i & 1)
				kill(getpid(), SIGKILL);
			_exit(0);
		}
		close(ends[1]);
		CHECK_EQ(waitpid(pid, NULL, 0), pid);
		CHECK_EQ(read(ends[0], text, sizeof(text)), 4);
		CHECK_EQ(read(ends[0], text, sizeof(text)), 0);
		close(ends[0]);
	}
}

/* Nothing of a child that was killed before its first call stays, nor of its parent. */
TEST(children_that_die_silently)
{
	for (int i = 0; i < 100; i++) {
		int ends[2];
		char byte;
		CHECK_EQ(pipe(ends), 0);
		pid_t pid = fork();
		if (pid == 0) {
			setpgid(0, 0);
			pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
			if (child == 0)
				for (;;)
					spin(1000);
			if (i & 1)
				kill(child, SIGKILL);
			kill(0, SIGKILL);
		}
		close(ends[1]);
		CHECK_EQ(waitpid(pid, NULL, 0), pid);
		CHECK_EQ(read(ends[0], &byte, 1), 0);
		close(ends[0]);
	}
}

static int sibling_body(void *unused)
{
	(void)unused;
	spin(1000000);
	_exit(getppid() == 1 ? 1 : 33);
}

static _Atomic int latest;
static _Atomic bool over;

/* Looks at zombies, in lists of several, while they are waited for. */
static void *look_at_the_dead(void *unused)
{
	char path[64], text[256];
	while (!over) {
		snprintf(path, sizeof(path), "/proc/%d/stat", latest);
		int fd = open(path, O_RDONLY);
		if (fd >= 0)
			(void)!read(fd, text, sizeof(text));
		close(fd);
	}
	return unused;
}

TEST(the_dead_are_looked_at_while_they_are_waited_for)
{
	pthread_t thread;
	CHECK_EQ(pthread_create(&thread, NULL, look_at_the_dead, NULL), 0);
	for (int round = 0; round < 40; round++) {
		pid_t pids[40];
		for (int i = 0; i < 40; i++) {
			pids[i] = fork();
			CHECK(pids[i] >= 0);
			if (pids[i] == 0)
				_exit(0);
			latest = pids[i];
		}
		for (int i = 0; i < 40; i++)
			CHECK_EQ(waitpid(pids[i], NULL, 0), pids[i]);
	}
	over = true;
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

TEST(a_sibling_is_the_parents_child)
{
	static char stack[65536];
	int ends[2], status;
	pid_t sibling;
	CHECK_EQ(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0) {
		sibling = clone(sibling_body, stack + sizeof(stack), CLONE_PARENT | SIGCHLD, NULL);
		CHECK_EQ(write(ends[1], &sibling, sizeof(sibling)), sizeof(sibling));
		_exit(sibling < 0);
	}
	CHECK_EQ(read(ends[0], &sibling, sizeof(sibling)), sizeof(sibling));
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(waitpid(sibling, &status, 0), sibling);
	CHECK_EQ(WEXITSTATUS(status), 33);
}

TEST(clone_flags_that_do_not_go_together)
{
	static const unsigned long bad[] = { CLONE_THREAD, CLONE_THREAD | CLONE_VM, CLONE_SIGHAND,
					     CLONE_THREAD | CLONE_FILES | CLONE_FS,
					     CLONE_THREAD | CLONE_VM | CLONE_FILES | CLONE_FS };
	/* Often enough to use up what a leak would take. */
	for (int round = 0; round < 500; round++)
		for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
			CHECK_ERRNO(syscall(SYS_clone, bad[i] | SIGCHLD, 0, 0, 0, 0), EINVAL);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		_exit(0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

static int exec_by_thread[2];

static void *exec_here(void *unused)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)"echo $PPID; pwd", NULL };
	/* Directory and descriptors of this thread alone. */
	CHECK_EQ(chdir("/usr"), 0);
	CHECK_EQ(dup2(exec_by_thread[1], 1), 1);
	execv("/bin/sh", argv);
	_exit(errno);
	return unused;
}

static int exec_as_clone(void *unused)
{
	exec_here(unused);
	return 0;
}

TEST(exec_of_a_thread_keeps_what_is_its_own)
{
	static char stack[262144];
	char text[64] = "", want[64];
	int status;
	CHECK_EQ(pipe(exec_by_thread), 0);
	pid_t pid = fork();
	if (pid == 0) {
		CHECK_EQ(chdir("/"), 0);
		/* A thread with its own table and its own directory. */
		clone(exec_as_clone, stack + sizeof(stack), CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, NULL);
		for (;;)
			pause();
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	snprintf(want, sizeof(want), "%d\n/usr\n", getpid());
	CHECK(read(exec_by_thread[0], text, sizeof(text) - 1) > 0);
	CHECK_STR(text, want);
}

/* ---- between users ---- */

static void *idle(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void try_to_kill(int tid)
{
	CHECK_ERRNO(kill(tid, SIGKILL), EPERM);
	CHECK_ERRNO(syscall(SYS_tkill, tid, SIGKILL), EPERM);
	CHECK_ERRNO(kill(tid, 0), EPERM);
}

/* kill(2) takes the number of any thread; also of one that has not made a call. */
TEST(threads_of_other_users_are_not_killed)
{
	int ends[2], status;
	char byte;
	if (getuid() != 0)
		SKIP("takes root");
	CHECK_EQ(pipe(ends), 0);
	pid_t victim = fork();
	if (victim == 0) {
		pthread_t threads[3];
		for (int i = 0; i < 3; i++)
			pthread_create(&threads[i], NULL, idle, NULL);
		if (fork() == 0)
			idle(NULL);
		CHECK_EQ(write(ends[1], "x", 1), 1);
		idle(NULL);
	}
	CHECK_EQ(read(ends[0], &byte, 1), 1);
	pid_t attacker = fork();
	if (attacker == 0) {
		char path[64];
		CHECK_EQ(setresuid(4711, 4711, 4711), 0);
		snprintf(path, sizeof(path), "/proc/%d/task", victim);
		for (int tid = victim; tid < victim + 5; tid++) {
			int tgid = (int)syscall(SYS_getpgid, tid);
			if (tgid > 0 && tid != getpid())
				try_to_kill(tid);
		}
		_exit(0);
	}
	CHECK_EQ(waitpid(attacker, &status, 0), attacker);
	CHECK_EQ(status, 0);
	CHECK_EQ(waitpid(victim, &status, WNOHANG), 0);
	kill(victim, SIGKILL);
	CHECK_EQ(waitpid(victim, &status, 0), victim);
}

TEST(a_group_with_another_users_process_is_spared)
{
	int status;
	if (getuid() != 0)
		SKIP("takes root");
	pid_t leader = fork();
	if (leader == 0) {
		setpgid(0, 0);
		pid_t silent = fork(); /* root's, in the group, without a call */
		if (silent == 0)
			for (;;)
				spin(1000);
		CHECK_EQ(setresuid(4711, 4711, 4711), 0);
		pid_t mine = fork();
		if (mine == 0)
			idle(NULL);
		signal(SIGTERM, SIG_IGN);
		CHECK_EQ(kill(0, SIGTERM), 0);
		CHECK_EQ(waitpid(mine, &status, 0), mine);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
		CHECK_EQ(waitpid(silent, &status, WNOHANG), 0);
		_exit(0);
	}
	CHECK_EQ(waitpid(leader, &status, 0), leader);
	CHECK_EQ(status, 0);
	kill(-leader, SIGKILL);
}

CHECK_MAIN()
