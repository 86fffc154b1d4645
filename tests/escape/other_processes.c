/* also as root */
/* Processes outside the sandbox, its first process, and the kernel process. */
#include "attack.h"

#include <dirent.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>

static void check_unknown(pid_t pid)
{
	char path[64];
	struct rlimit limit;
	siginfo_t info = { .si_code = SI_QUEUE };
	CHECK_ERRNO(kill(pid, 0), ESRCH);
	CHECK_ERRNO(kill(pid, SIGKILL), ESRCH);
	CHECK_ERRNO(kill(-pid, SIGKILL), ESRCH);
	CHECK_ERRNO(syscall(SYS_tkill, pid, SIGKILL), ESRCH);
	CHECK_ERRNO(syscall(SYS_tgkill, pid, pid, SIGSTOP), ESRCH);
	CHECK(syscall(SYS_rt_sigqueueinfo, pid, SIGKILL, &info) < 0);
	CHECK(syscall(SYS_pidfd_open, pid, 0) < 0);
	CHECK(syscall(SYS_prlimit64, pid, RLIMIT_NOFILE, NULL, &limit) < 0);
	CHECK(syscall(SYS_sched_setaffinity, pid, 8, &limit) < 0);
	CHECK(setpriority(PRIO_PROCESS, (id_t)pid, 19) < 0);
	CHECK(getpgid(pid) < 0);
	CHECK(getsid(pid) < 0);
	snprintf(path, sizeof(path), "/proc/%d", pid);
	CHECK_ERRNO(access(path, F_OK), ENOENT);
}

TEST(the_victim_does_not_exist)
{
	check_unknown(hint_number("VICTIM_PID"));
}

TEST(only_our_own_processes_answer)
{
	int seen = 0;
	for (pid_t pid = 1; pid < 70000; pid += pid < 2000 ? 1 : 13) {
		char path[64];
		if (kill(pid, 0) < 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%d", pid);
		/* Threads answer to kill(2) too, but are not listed. */
		CHECK_EQ(access(path, F_OK), 0);
		seen++;
	}
	CHECK(seen >= 2 && seen < 20);
}

TEST(looking_into_others_is_refused)
{
	char byte = 1;
	struct iovec here = { &byte, 1 }, there = { &byte, 1 };
	pid_t targets[] = { 1, getppid(), hint_number("VICTIM_PID"), getpid() };
	for (int i = 0; i < 4; i++) {
		pid_t pid = targets[i];
		CHECK(ptrace(PTRACE_ATTACH, pid, 0, 0) < 0);
		CHECK(ptrace(PTRACE_SEIZE, pid, 0, 0) < 0);
		CHECK(process_vm_readv(pid, &here, 1, &there, 1, 0) < 0);
		CHECK(process_vm_writev(pid, &here, 1, &there, 1, 0) < 0);
		CHECK(syscall(SYS_kcmp, pid, getpid(), 0, 0, 0) < 0);
		CHECK(syscall(SYS_move_pages, pid, 0, NULL, NULL, NULL, 0) < 0);
		CHECK(syscall(SYS_migrate_pages, pid, 0, NULL, NULL) < 0);
		CHECK(syscall(SYS_perf_event_open, &byte, pid, 0, -1, 0) < 0);
		CHECK(syscall(SYS_process_madvise, pid, &here, 1, 4, 0) < 0);
	}
	long pidfd = syscall(SYS_pidfd_open, getppid(), 0);
	CHECK(syscall(SYS_pidfd_getfd, pidfd, 0, 0) < 0);
	CHECK(ptrace(PTRACE_TRACEME, 0, 0, 0) < 0);
}

TEST(the_first_process_cannot_be_ended_or_stopped)
{
	kill(1, SIGKILL);
	kill(1, SIGSTOP);
	kill(1, SIGTERM);
	kill(1, SIGSEGV);
	syscall(SYS_tkill, 1, SIGKILL);
	syscall(SYS_tgkill, 1, 1, SIGSTOP);
	usleep(20000);
	check_alive();
}

TEST(signals_to_everybody_stay_inside)
{
	signal(SIGTERM, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	/* Our parent runs the tests: it must outlive this. */
	pid_t pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		pause();
		_exit(0);
	}
	usleep(10000);
	kill(-pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	kill(0, 0);
	kill(-1, 0);
	check_alive();
}

/* Other processes' pseudo-files show nothing of the host. */
TEST(proc_of_the_first_process_is_closed)
{
	char text[4096];
	static const char *const names[] = { "mem", "exe", "root", "cwd", "environ", "maps", "auxv", "fd", "fdinfo", "map_files", "pagemap", "syscall", "stack", "ns/pid" };
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[64];
		snprintf(path, sizeof(path), "/proc/1/%s", names[i]);
		int fd = open(path, O_RDONLY);
		ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
		if (n > 0) {
			text[n] = '\0';
			CHECK(!memmem(text, (size_t)n, "hotcell-victim", 14));
		}
		n = readlink(path, text, sizeof(text) - 1);
		if (n > 0) {
			text[n] = '\0';
			CHECK(strstr(text, "/tmp/") == NULL && strstr(text, "/build/") == NULL);
		}
		if (fd >= 0)
			close(fd);
	}
	for (int fd = 0; fd < 64; fd++) {
		char path[64];
		snprintf(path, sizeof(path), "/proc/1/fd/%d", fd);
		CHECK(open(path, O_RDWR) < 0 || fd < 3);
	}
}

TEST(reused_pids_are_new_processes)
{
	/* A signal to a process that is gone must not reach its successor. */
	for (int i = 0; i < 200; i++) {
		pid_t pid = fork();
		CHECK(pid >= 0);
		if (pid == 0)
			_exit(0);
		CHECK_EQ(waitpid(pid, NULL, 0), pid);
		CHECK_ERRNO(kill(pid, SIGKILL), ESRCH);
	}
	check_alive();
}

TEST(prctl_cannot_loosen_anything)
{
	prctl(PR_SET_DUMPABLE, 1);
	prctl(PR_SET_PTRACER, -1);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) < 0);
	CHECK(prctl(PR_SET_MM, 0, 0, 0, 0) < 0);
	CHECK(prctl(PR_SET_SECCOMP, 0, 0, 0, 0) < 0);
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 21, 0, 0);
	CHECK(prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0x7fffffff, 0) < 0);
	check_alive();
}

CHECK_MAIN()
