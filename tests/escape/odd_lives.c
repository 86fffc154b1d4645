/* also as root */
/*
 * Processes in states that the kernel process rarely meets while it serves, stops or looks at them:
 * dead leaders with living threads, parents in vfork, stopped callers; and signals by way of files.
 */
#include "attack.h"

#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

static void *after_the_leader(void *what)
{
	char *argv[] = { (char *)"true", NULL }, text[4096];
	/* Until the leader is a zombie: its task directory remains, its state is Z. */
	for (int i = 0; i < 2000; i++) {
		int fd = open("/proc/self/stat", O_RDONLY);
		ssize_t n = read(fd, text, sizeof(text) - 1);
		close(fd);
		text[n > 0 ? n : 0] = '\0';
		char *state = strrchr(text, ')');
		if (state && state[2] == 'Z')
			break;
		usleep(1000);
	}
	for (int i = 0; i < 20; i++) {
		int fd = open("/usr/bin/env", O_RDONLY), status;
		CHECK(fd >= 0);
		CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED);
		close(fd);
		pid_t pid = fork();
		if (pid == 0)
			_exit(7);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(WEXITSTATUS(status), 7);
		CHECK(getpgid(0) >= 0);
		open("/proc/self/maps", O_RDONLY);
		readlink("/proc/self/exe", text, sizeof(text));
		readlink("/proc/self/cwd", text, sizeof(text));
	}
	if ((long)what == 1)
		execv("/bin/true", argv);
	_exit((long)what == 1 ? 9 : 0);
	return NULL;
}

static void leader_dies(void *what)
{
	pthread_t thread;
	alarm(CHECK_TIMEOUT_S);
	CHECK_EQ(pthread_create(&thread, NULL, after_the_leader, what), 0);
	syscall(SYS_exit, 0);
}

TEST(threads_whose_leader_is_dead)
{
	for (long what = 0; what < 2; what++)
		for (int i = 0; i < 3; i++)
			CHECK_EQ(run_attack(leader_dies, (void *)what, 20), 0);
	check_alive();
}

static volatile pid_t vfork_parent;

/* Runs in its parent's memory while that waits. */
static int busy_child(void *unused)
{
	int ends[2];
	char byte;
	(void)unused;
	kill(vfork_parent, SIGSTOP); /* takes effect when it is back */
	kill(vfork_parent, SIGCONT);
	if (pipe(ends) < 0)
		_exit(1);
	for (int i = 0; i < 50; i++) {
		if (write(ends[1], "x", 1) != 1 || read(ends[0], &byte, 1) != 1)
			_exit(2);
		int fd = open("/usr/bin/env", O_RDONLY);
		if (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			_exit(3);
		close(fd);
		pid_t pid = fork();
		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
		char path[64], text[512];
		snprintf(path, sizeof(path), "/proc/%d/status", (int)vfork_parent);
		fd = open(path, O_RDONLY);
		if (read(fd, text, sizeof(text)) <= 0)
			_exit(4);
		close(fd);
	}
	_exit(0);
}

static void wait_in_vfork(void *killed)
{
	static char stack[65536] __attribute__((aligned(16)));
	int status;
	vfork_parent = getpid();
	pid_t killer = killed ? fork() : 1;
	if (killer == 0) {
		usleep(5000);
		kill(vfork_parent, SIGKILL);
		_exit(0);
	}
	pid_t pid = clone(busy_child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	CHECK(pid > 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

TEST(parents_in_vfork)
{
	CHECK_EQ(run_attack(wait_in_vfork, NULL, 20), 0);
	for (int i = 0; i < 5; i++) {
		int r = run_attack(wait_in_vfork, (void *)1, 20);
		CHECK(r == 0 || r == 256 + SIGKILL);
	}
	check_alive();
}

static void blocked_reader(void *end)
{
	char byte;
	alarm(CHECK_TIMEOUT_S);
	for (;;)
		if (read((int)(long)end, &byte, 1) == 1 && byte == 'q')
			_exit(0);
}

TEST(callers_that_are_stopped_and_continued)
{
	int ends[2], status;
	CHECK_EQ(pipe(ends), 0);
	pid_t pid = fork();
	if (pid == 0)
		blocked_reader((void *)(long)ends[0]);
	for (int i = 0; i < 500; i++) {
		kill(pid, SIGSTOP);
		CHECK_EQ(write(ends[1], "x", 1), 1);
		kill(pid, SIGCONT);
	}
	CHECK_EQ(write(ends[1], "q", 1), 1);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	check_alive();
}

TEST(signals_by_way_of_files)
{
	pid_t targets[] = { 1, -1, hint_number("VICTIM_PID"), -hint_number("VICTIM_PID"), 2, 0x7fffffff };
	int pair[2];
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		struct {
			int type;
			pid_t pid;
		} owner = { (int)i % 3, targets[i] };
		fcntl(pair[0], F_SETOWN, targets[i]);
		fcntl(pair[0], 15 /* F_SETOWN_EX */, &owner);
		fcntl(pair[0], 10 /* F_SETSIG */, SIGKILL);
		ioctl(pair[0], FIOASYNC, &(int){ 1 });
		ioctl(pair[0], 0x8902 /* SIOCSPGRP */, &targets[i]);
		fcntl(pair[0], F_SETFL, O_ASYNC | O_NONBLOCK);
		CHECK(write(pair[1], "x", 1) == 1);
		send(pair[1], "!", 1, MSG_OOB | MSG_DONTWAIT);
	}
	check_alive(); /* the runner looks at the victim */
}

static void dies_with_its_parent(void *unused)
{
	(void)unused;
	for (int sig = -1; sig < 130; sig++)
		prctl(PR_SET_PDEATHSIG, sig, 0, 0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGSTOP, 0, 0, 0);
		pause();
	}
}

TEST(death_signals)
{
	for (int i = 0; i < 10; i++)
		CHECK_EQ(run_attack(dies_with_its_parent, NULL, 5), 0);
	kill(1, SIGCHLD);
	check_alive();
}

/* Its children are zombies when it ends; its own parent lives. */
static void leaves_zombies(void *end)
{
	pid_t children[20];
	siginfo_t info;
	for (int i = 0; i < 20; i++) {
		children[i] = fork();
		if (children[i] == 0)
			_exit(0);
	}
	for (int i = 0; i < 20; i++)
		waitid(P_PID, (id_t)children[i], &info, WEXITED | WNOWAIT);
	CHECK_EQ(write((int)(long)end, children, sizeof(children)), sizeof(children));
}

TEST(zombies_of_the_dead_are_reaped)
{
	pid_t children[20];
	int ends[2];
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(run_attack(leaves_zombies, (void *)(long)ends[1], 10), 0);
	CHECK_EQ(read(ends[0], children, sizeof(children)), sizeof(children));
	for (int i = 0; i < 20; i++)
		while (kill(children[i], 0) == 0) /* or time is up */
			usleep(1000);
}

CHECK_MAIN()
