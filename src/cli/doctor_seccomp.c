/* Seccomp user notification, as the application kernel uses it: a supervisor that answers the
 * system calls of its child. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "cli/doctor_internal.h"

/* Newer than the headers of Debian 12. */
#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS	   SECCOMP_IOW(4, __u64)
#endif

#define ANSWER 4711

/* Filters this process (and its children): getppid() asks the supervisor. */
static int open_listener(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_SIZE(code), code };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			      SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	return fd < 0 ? -errno : fd;
}

static int serve_one(int listener, int addfd)
{
	struct seccomp_notif request;
	memset(&request, 0, sizeof(request));
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
		return -errno;
	if (addfd >= 0) {
		struct seccomp_notif_addfd add = { .id = request.id,
						   .flags = SECCOMP_ADDFD_FLAG_SETFD |
							    SECCOMP_ADDFD_FLAG_SEND,
						   .srcfd = (__u32)addfd,
						   .newfd = 9 };
		return ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0 ? -errno : 0;
	}
	struct seccomp_notif_resp answer = { .id = request.id, .val = ANSWER };
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) < 0 ? -errno : 0;
}

/* A grandchild calls getppid(); what it got must be our answer. */
static int served(int addfd)
{
	AUTO_CLOSE int listener = open_listener();
	if (listener < 0)
		return listener;
	pid_t pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		long got = syscall(SYS_getppid);
		bool good = addfd >= 0 ? got == 9 && fcntl(9, F_GETFD) >= 0 : got == ANSWER;
		_exit(good ? 0 : 1);
	}
	int r = serve_one(listener, addfd), status;
	if (r < 0)
		return r;
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return status == 0 ? 0 : -EIO;
}

static int try_notify(char *text)
{
	return served(-1);
}

static int try_addfd(char *text)
{
	return served(STDOUT_FILENO);
}

static int try_wakeup(char *text)
{
	AUTO_CLOSE int listener = open_listener();
	if (listener < 0)
		return listener;
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP) <
			       0
		       ? -errno
		       : 0;
}

void probe_seccomp_notify(struct probe_result *r)
{
	int e = probe_in_child(try_notify, true, NULL);
	if (e == 0) {
		probe_found(r, FINDING_OK, "works");
	} else if (e == -EBUSY) {
		probe_found(r, FINDING_MISSING, "a seccomp supervisor is there already");
		r->fix = "run Hotcell outside of the sandbox or container that has the supervisor";
	} else {
		probe_found(r, FINDING_MISSING, "%s", strerror(-e));
	}
}

void probe_seccomp_addfd(struct probe_result *r)
{
	int e = probe_in_child(try_addfd, true, NULL);
	probe_found(r, e ? FINDING_MISSING : FINDING_OK, "%s", e ? strerror(-e) : "works");
}

void probe_seccomp_wakeup(struct probe_result *r)
{
	int e = probe_in_child(try_wakeup, true, NULL);
	probe_found(r, e ? FINDING_WEAKER : FINDING_OK, "%s",
		    e == 0	   ? "works"
		    : e == -EINVAL ? "not in this kernel"
				   : strerror(-e));
}
