/* also as root */
/* A sandbox makes no namespaces, joins none, and mounts nothing. */
#include "attack.h"

#include <sched.h>

static const unsigned long new_flags[] = { CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC,
					   CLONE_NEWUTS, CLONE_NEWCGROUP, 0x80 /* CLONE_NEWTIME */ };
#define FLAGS (sizeof(new_flags) / sizeof(new_flags[0]))

TEST(unshare_is_refused)
{
	for (size_t i = 0; i < FLAGS; i++) {
		CHECK_ERRNO(syscall(SYS_unshare, new_flags[i]), EPERM);
		CHECK_ERRNO(syscall(SYS_unshare, new_flags[i] | CLONE_NEWUSER), EPERM);
	}
}

TEST(clone_with_namespace_flags_is_refused)
{
	for (size_t i = 0; i < FLAGS - 1; i++) {
		long pid = syscall(SYS_clone, new_flags[i] | SIGCHLD, 0, 0, 0, 0);
		if (pid == 0)
			_exit(0);
		CHECK(pid < 0);
		pid = syscall(SYS_clone, new_flags[i] | 0xdead000000000000ul | SIGCHLD, 0, 0, 0, 0);
		if (pid == 0)
			_exit(0);
		CHECK(pid < 0);
	}
	check_alive();
}

TEST(clone_with_odd_flags)
{
	/* CLONE_PTRACE, CLONE_PARENT, CLONE_IO, CLONE_FILES without VM, FS without VM, undefined bits. */
	static const unsigned long flags[] = { 0x2000, 0x8000, 0x80000000, 0x400, 0x200, 0x800, 0x10000, 0x1000, 0x100000000ul,
					       0x200000000ul, 0xffffffffffffff00ul, 0x00800000 };
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		long pid = syscall(SYS_clone, flags[i] | SIGCHLD, 0, 0, 0, 0);
		if (pid == 0)
			_exit(0);
		if (pid > 0 && waitpid((pid_t)pid, NULL, __WALL) < 0)
			CHECK_EQ(errno, ECHILD); /* CLONE_PARENT: the runner reaps it */
	}
	check_alive();
}

TEST(clone3_does_not_exist)
{
	unsigned long args[16] = { CLONE_NEWUSER };
	CHECK_ERRNO(syscall(SYS_clone3, args, sizeof(args)), ENOSYS);
	CHECK_ERRNO(syscall(SYS_clone3, NULL, 64), ENOSYS);
	CHECK_ERRNO(syscall(SYS_clone3, (void *)-1, -1), ENOSYS);
}

TEST(setns_is_refused)
{
	static const char *const names[] = { "mnt", "pid", "net", "user", "uts", "ipc", "cgroup" };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[64];
		snprintf(path, sizeof(path), "/proc/1/ns/%s", names[i]);
		int fd = open(path, O_RDONLY);
		CHECK(syscall(SYS_setns, fd, 0) < 0);
	}
	CHECK(syscall(SYS_setns, 0, CLONE_NEWNS) < 0);
}

TEST(the_host_keeps_its_name_and_clock)
{
	/* Whether root inside may name its own sandbox is the sandbox's matter. */
	sethostname("evil", 4);
	struct timespec ts = { 0, 0 };
	CHECK(syscall(SYS_clock_settime, CLOCK_REALTIME, &ts) < 0);
	CHECK(syscall(SYS_settimeofday, &ts, NULL) < 0);
	CHECK(syscall(SYS_adjtimex, &ts) < 0);
	CHECK(syscall(SYS_reboot, 0xfee1dead, 672274793, 0x1234567, 0) < 0);
	CHECK(syscall(SYS_swapon, "/work", 0) < 0);
	CHECK(syscall(SYS_acct, "/work") < 0);
	CHECK(syscall(SYS_quotactl, 0, "/dev/vda", 0, 0) < 0);
	CHECK(syscall(SYS_syslog, 2, &ts, sizeof(ts)) < 0);
	CHECK(syscall(SYS_vhangup) < 0);
}

CHECK_MAIN()
