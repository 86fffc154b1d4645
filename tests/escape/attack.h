/*
 * What the attacks share. An attack runs only inside a sandbox, beside a victim on the host
 * (tests/harness/victim.py) which must not notice; the runner looks at it afterwards. Here each test
 * asserts how the attack fails, and that the sandbox still works.
 */
#pragma once

#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#define STUB_AREA 0x7a0000000000ul /* where the stub lives in every guest process */

/* What the victim told us, or the test is run by hand and has nothing to aim at. */
__attribute__((unused)) static const char *hint(const char *name)
{
	const char *value = getenv(name);
	if (!value)
		SKIP("there is no victim; run through tests/run");
	return value;
}

__attribute__((unused)) static int hint_number(const char *name)
{
	return atoi(hint(name));
}

/* The exit status of `argv`, or 256 + signal. */
__attribute__((unused)) static int run_program(const char *path, char *const argv[])
{
	int status;
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		execv(path, argv);
		_exit(errno == ENOENT ? 127 : 126);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

/* The sandbox still serves: processes, programs, pipes, files (in a place of their own, for an attack
 * may have closed the current directory). */
__attribute__((unused)) static void check_alive(void)
{
	int ends[2];
	char text[8] = "";
	char place[] = "/dev/shm/alive-XXXXXX", script[128];
	char *argv[] = { (char *)"sh", (char *)"-c", script, NULL };
	CHECK(mkdtemp(place) != NULL);
	snprintf(script, sizeof(script), "cd %s && echo x > f && cat f | grep -q x && rm -r %s", place, place);
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(write(ends[1], "alive", 6), 6);
	CHECK_EQ(read(ends[0], text, sizeof(text)), 6);
	CHECK_STR(text, "alive");
	close(ends[0]);
	close(ends[1]);
	CHECK_EQ(run_program("/bin/sh", argv), 0);
}

/* Runs `attack` in a child which may die of it; returns its exit status, or 256 + signal. The child
 * gets `seconds` of time, after which SIGKILL is its end. */
__attribute__((unused)) static int run_attack(void (*attack)(void *), void *argument, int seconds)
{
	int status;
	fflush(stdout);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		attack(argument);
		_exit(0);
	}
	for (int waited = 0; waited < seconds * 100; waited++) {
		pid_t got = waitpid(pid, &status, WNOHANG);
		CHECK(got >= 0);
		if (got == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
		usleep(10000);
	}
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return 256 + SIGKILL;
}

/* Whether a file holds the victim's secret. */
__attribute__((unused)) static bool is_secret(int fd)
{
	char text[64] = "";
	ssize_t n = read(fd, text, sizeof(text) - 1);
	return n > 0 && strstr(text, "secret") != NULL;
}
