/*
 * The header of the guest tests: plain C programs which must pass natively and inside a sandbox.
 * The native run tests the test. Nothing but libc, one translation unit per program:
 *
 *	#include "check.h"
 *	TEST(pipe_has_two_ends)
 *	{
 *		int p[2];
 *		CHECK_EQ(pipe(p), 0);
 *		CHECK_ERRNO(write(p[0], "x", 1), EBADF);
 *	}
 *	CHECK_MAIN()
 *
 * Each TEST runs in a forked child with an alarm of 90 seconds; its exit is the verdict. One TAP line per test,
 * exit status 1 if any failed. Usage: PROGRAM [-n] [NAME...]: only these tests; -n runs them in
 * the one process, without fork and alarm, and ends at the first failure (good under --trace).
 * A program with a main() of its own may use the CHECK macros alone and return 0.
 */
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK_TIMEOUT_S 90
#define CHECK_SKIPPED 77
#define CHECK_TESTS_MAX 256

/* Fails the running test unless `cond` holds. May be used in its threads and children too: there
 * it ends the process with status 1. */
#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond))                                                                       \
			check_fail(__FILE__, __LINE__, #cond, errno);                              \
	} while (0)

/* Compares two integers and prints both. */
#define CHECK_EQ(got, want)                                                                        \
	do {                                                                                       \
		long long check_got_ = (long long)(got);                                           \
		int check_errno_ = errno;                                                          \
		long long check_want_ = (long long)(want);                                         \
		if (check_got_ != check_want_)                                                     \
			check_fail_eq(__FILE__, __LINE__, #got " == " #want, check_got_,           \
				      check_want_, check_errno_);                                  \
	} while (0)

/* Compares two strings and prints both. */
#define CHECK_STR(got, want)                                                                       \
	do {                                                                                       \
		const char *check_got_ = (got), *check_want_ = (want);                             \
		if (strcmp(check_got_, check_want_) != 0)                                          \
			check_fail_str(__FILE__, __LINE__, #got " == " #want, check_got_,          \
				       check_want_);                                               \
	} while (0)

/* Expects -1 and this errno. */
#define CHECK_ERRNO(expr, want)                                                                    \
	do {                                                                                       \
		errno = 0;                                                                         \
		long long check_got_ = (long long)(expr);                                          \
		int check_errno_ = errno;                                                          \
		if (check_got_ != -1 || check_errno_ != (want))                                    \
			check_fail_errno(__FILE__, __LINE__, #expr, check_got_, check_errno_,      \
					 want);                                                    \
	} while (0)

/* Ends the running test as skipped. */
#define SKIP(reason)                                                                               \
	do {                                                                                       \
		printf("# skipped: %s\n", reason);                                                 \
		fflush(stdout);                                                                    \
		_exit(CHECK_SKIPPED);                                                              \
	} while (0)

#define TEST(name)                                                                                 \
	static void test_##name(void);                                                             \
	__attribute__((constructor)) static void check_add_##name(void)                            \
	{                                                                                          \
		check_add(#name, test_##name);                                                     \
	}                                                                                          \
	static void test_##name(void)

#define CHECK_MAIN()                                                                               \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		return check_main(argc, argv);                                                     \
	}

static struct {
	const char *name;
	void (*run)(void);
} check_tests[CHECK_TESTS_MAX];
static int check_count;

__attribute__((unused)) static void check_add(const char *name, void (*run)(void))
{
	if (check_count == CHECK_TESTS_MAX)
		abort();
	check_tests[check_count].name = name;
	check_tests[check_count++].run = run;
}

__attribute__((unused, noreturn)) static void check_fail(const char *file, int line,
							 const char *what, int error)
{
	printf("# %s:%d: failed: %s", file, line, what);
	printf(error ? " (errno %d, %s)\n" : "\n", error, strerror(error));
	fflush(stdout);
	_exit(1);
}

__attribute__((unused, noreturn)) static void check_fail_eq(const char *file, int line,
							    const char *what, long long got,
							    long long want, int error)
{
	printf("# %s:%d: failed: %s: got %lld (0x%llx), want %lld", file, line, what, got,
	       (unsigned long long)got, want);
	printf(error ? " (errno %d, %s)\n" : "\n", error, strerror(error));
	fflush(stdout);
	_exit(1);
}

__attribute__((unused, noreturn)) static void check_fail_str(const char *file, int line,
							     const char *what, const char *got,
							     const char *want)
{
	printf("# %s:%d: failed: %s: got \"%s\", want \"%s\"\n", file, line, what, got, want);
	fflush(stdout);
	_exit(1);
}

__attribute__((unused, noreturn)) static void check_fail_errno(const char *file, int line,
							       const char *what, long long got,
							       int error, int want)
{
	printf("# %s:%d: failed: %s: got %lld errno %d (%s), want -1 errno %d (%s)\n", file, line,
	       what, got, error, strerror(error), want, strerror(want));
	fflush(stdout);
	_exit(1);
}

/* Until a process waits in a call. It must not wait for anything else before. */
__attribute__((unused)) static void check_until_asleep(pid_t pid)
{
	char path[40], text[400], state = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	while (state != 'S') {
		usleep(1000);
		FILE *f = fopen(path, "r");
		CHECK(f);
		size_t n = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
		text[n] = '\0';
		char *end = strrchr(text, ')');
		CHECK(end && end[1] == ' ');
		state = end[2];
	}
}

/* Runs one test in a child; returns 0, CHECK_SKIPPED, or anything else for a failure. */
__attribute__((unused)) static int check_run_forked(int i)
{
	int status;
	fflush(stdout);
	pid_t pid = fork();
	if (pid < 0) {
		printf("# fork: %s\n", strerror(errno));
		return 1;
	}
	if (pid == 0) {
		alarm(CHECK_TIMEOUT_S);
		check_tests[i].run();
		fflush(stdout);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0) {
		if (errno == EINTR)
			continue;
		printf("# waitpid: %s\n", strerror(errno));
		return 1;
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	printf("# %s: ended by signal %d%s\n", check_tests[i].name, WTERMSIG(status),
	       WTERMSIG(status) == SIGALRM ? " (time is up)" : "");
	return 1;
}

__attribute__((unused)) static bool check_wanted(int i, char **names)
{
	if (!*names)
		return true;
	for (; *names; names++)
		if (strcmp(*names, check_tests[i].name) == 0)
			return true;
	return false;
}

__attribute__((unused)) static int check_main(int argc, char **argv)
{
	(void)argc;
	bool forked = true;
	int failed = 0, number = 0;
	char **names = argv[0] ? argv + 1 : argv;
	if (*names && strcmp(*names, "-n") == 0) {
		forked = false;
		names++;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 0; i < check_count; i++) {
		if (!check_wanted(i, names))
			continue;
		int verdict = 0;
		if (forked)
			verdict = check_run_forked(i);
		else
			check_tests[i].run();
		bool ok = verdict == 0 || verdict == CHECK_SKIPPED;
		failed += !ok;
		printf("%s %d %s%s\n", ok ? "ok" : "not ok", ++number, check_tests[i].name,
		       verdict == CHECK_SKIPPED ? " # SKIP" : "");
	}
	printf("1..%d\n", number);
	fflush(stdout);
	return failed || number == 0;
}
