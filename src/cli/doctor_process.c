/* What the kernel process does to its guests: stop them, read their memory, find their children,
 * notice their end. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "cli/doctor_internal.h"

static pid_t start_sleeper(void)
{
	pid_t parent = getpid(), pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* the probe may be killed: nothing stays */
		while (getppid() == parent)
			pause();
		_exit(0);
	}
	return pid;
}

static void end_sleeper(pid_t pid)
{
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static int stop_and_look(pid_t pid)
{
	struct user_regs_struct regs;
	struct iovec iov = { &regs, sizeof(regs) };
	int status;
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0 ||
	    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0)
		return -errno;
	if (waitpid(pid, &status, __WALL) < 0)
		return -errno;
	if (!WIFSTOPPED(status))
		return -EIO;
	/* 1 = NT_PRSTATUS */
	if (ptrace(PTRACE_GETREGSET, pid, (void *)1, &iov) < 0 ||
	    ptrace(PTRACE_SETREGSET, pid, (void *)1, &iov) < 0)
		return -errno;
	return ptrace(PTRACE_DETACH, pid, NULL, NULL) < 0 ? -errno : 0;
}

static int try_ptrace(char *text)
{
	pid_t pid = start_sleeper();
	if (pid < 0)
		return -errno;
	int r = stop_and_look(pid);
	end_sleeper(pid);
	return r;
}

static int try_process_vm(char *text)
{
	static volatile char there = 'x';
	char here[2] = { 0, 'y' };
	pid_t pid = start_sleeper();
	if (pid < 0)
		return -errno;
	struct iovec local = { here, 1 };
	struct iovec remote = { (void *)(uintptr_t)&there, 1 };
	ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);
	int r = n == 1 ? 0 : -errno;
	if (r == 0 && here[0] != 'x')
		r = -EIO;
	if (r == 0) {
		local.iov_base = here + 1;
		r = process_vm_writev(pid, &local, 1, &remote, 1, 0) == 1 ? 0 : -errno;
	}
	end_sleeper(pid);
	return r;
}

static int try_children(char *text)
{
	char path[64], list[256];
	pid_t pid = start_sleeper();
	if (pid < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	ssize_t n = io_read_file(AT_FDCWD, path, list, sizeof(list));
	end_sleeper(pid);
	if (n < 0)
		return (int)n;
	return strtol(list, NULL, 10) == pid ? 0 : -EIO;
}

static int try_pidfd(char *text)
{
	pid_t pid = start_sleeper();
	if (pid < 0)
		return -errno;
	AUTO_CLOSE int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	int r = fd < 0 ? -errno : 0;
	if (r == 0 && syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) < 0)
		r = -errno;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	if (r == 0 && poll(&p, 1, 2000) != 1)
		r = -ETIMEDOUT;
	end_sleeper(pid);
	return r;
}

/* The value of Yama's setting; -1 when there is no Yama. */
static int yama_scope(void)
{
	char text[16];
	if (io_read_file(AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope", text, sizeof(text)) <= 0)
		return -1;
	return (int)strtol(text, NULL, 10);
}

static void report_access(struct probe_result *r, int e)
{
	int scope = yama_scope();
	char yama[48];
	if (scope < 0)
		snprintf(yama, sizeof(yama), "no Yama");
	else
		snprintf(yama, sizeof(yama), "ptrace_scope %d", scope);
	if (e == 0)
		probe_found(r, FINDING_OK, "works (%s)", yama);
	else
		probe_found(r, FINDING_MISSING, "%s (%s)", strerror(-e), yama);
}

void probe_ptrace(struct probe_result *r)
{
	report_access(r, probe_in_child(try_ptrace, true, NULL));
}

void probe_process_vm(struct probe_result *r)
{
	report_access(r, probe_in_child(try_process_vm, true, NULL));
}

void probe_children_file(struct probe_result *r)
{
	int e = probe_in_child(try_children, true, NULL);
	probe_found(r, e ? FINDING_MISSING : FINDING_OK, "%s", e ? strerror(-e) : "works");
}

void probe_pidfd(struct probe_result *r)
{
	int e = probe_in_child(try_pidfd, true, NULL);
	probe_found(r, e ? FINDING_MISSING : FINDING_OK, "%s", e ? strerror(-e) : "works");
}
