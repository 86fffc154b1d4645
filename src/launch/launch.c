#include "launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "launch/beside.h"

/* The child makes the others itself, while we are busy: a network namespace takes 0.4 ms. */
#define NAMESPACES_OF_CLONE (CLONE_NEWUSER | CLONE_NEWPID)
#define NAMESPACES_OF_CHILD (CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)

/* Which step of the child failed; 0 is none. */
enum step { STEP_NAMESPACES = 1, STEP_CGROUP, STEP_GROUPS, STEP_USER, STEP_DESCRIPTORS, STEP_EXEC };

struct child_plan {
	int kernel_fd, stub_fd, control_fd, go_fd;
	int near_go, near_control; /* the parent's ends */
	int parent;		   /* its pidfd */
	bool root;
};

/* ---- the child: system calls only ---- */

static _Noreturn void child_fail(int go_fd, enum step step)
{
	uint8_t code[2] = { (uint8_t)step, (uint8_t)errno };
	(void)!write(go_fd, code, sizeof(code));
	_exit(125);
}

/* Waits for launch_release(): the `tasks` files of the groups to enter, or -1 if there is no more to
 * wait for. */
static int read_go(int go_fd, int entries[CGROUP_CONTROLLERS])
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(CGROUP_CONTROLLERS * sizeof(int))];
	} control;
	char go;
	struct iovec data = { &go, 1 };
	struct msghdr m = { .msg_iov = &data,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };

	if (recvmsg(go_fd, &m, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	if (!c)
		return 0;
	size_t size = c->cmsg_len - CMSG_LEN(0);
	memcpy(entries, CMSG_DATA(c), size);
	return (int)(size / sizeof(int));
}

/* A thread that moves itself needs no global lock of the host; moving it from outside would. */
static void enter_groups(int go_fd, const int *entries, int count)
{
	for (int i = 0; i < count; i++) {
		if (write(entries[i], "0", 1) != 1)
			child_fail(go_fd, STEP_CGROUP);
	}
	/* Now, so that the group is the root of what can be seen. */
	if (unshare(CLONE_NEWCGROUP) < 0)
		child_fail(go_fd, STEP_NAMESPACES);
}

/* A caller with a real-time priority keeps it for itself: guests would have the processors for as long
 * as they like, and most hosts let no such process into a group. (musl's function only fails.) */
static void leave_realtime(void)
{
	const struct sched_param usual = { .sched_priority = 0 };
	long policy = syscall(SYS_sched_getscheduler, 0) & ~SCHED_RESET_ON_FORK;

	if (policy == SCHED_FIFO || policy == SCHED_RR)
		syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &usual);
}

/* What the launcher ignores or blocks (a shell's background job ignores SIGINT) is not the guests'. */
static void reset_signals(void)
{
	sigset_t none;

	for (int number = 1; number < SIGRTMAX; number++)
		(void)signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* What limits the caller's shell must not limit the kernel process: it reserves much address space
 * and writes files for its guests, who have limits of their own. */
static void lift_limits(void)
{
	static const int which[] = { RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_NOFILE };

	for (size_t i = 0; i < sizeof(which) / sizeof(which[0]); i++) {
		struct rlimit l;
		if (getrlimit(which[i], &l) == 0 && l.rlim_cur != l.rlim_max) {
			l.rlim_cur = l.rlim_max;
			setrlimit(which[i], &l);
		}
	}
}

/* The order is forgotten when the user changes, so it is given after that; and the parent may have been
 * killed before. No pid tells: it is outside of our namespace. */
static void die_with(int parent)
{
	struct pollfd dead = { .fd = parent, .events = POLLIN };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (poll(&dead, 1, 0) != 0)
		_exit(125);
}

static _Noreturn void run_child(const struct child_plan *p)
{
	static char name[] = "hotcell-kernel";
	char *const argv[] = { name, NULL };
	char *const envp[] = { NULL };
	int entries[CGROUP_CONTROLLERS];

	/* A parent that is killed while we wait for it must be an end of file here. */
	close(p->near_go);
	close(p->near_control);
	if (unshare(NAMESPACES_OF_CHILD) < 0)
		child_fail(p->go_fd, STEP_NAMESPACES);
	int count = read_go(p->go_fd, entries);
	if (count < 0)
		_exit(125);
	leave_realtime();
	enter_groups(p->go_fd, entries, count);
	if (p->root && setgroups(0, NULL) < 0)
		child_fail(p->go_fd, STEP_GROUPS);
	if (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
		child_fail(p->go_fd, STEP_USER);
	die_with(p->parent);
	setsid();
	reset_signals();
	lift_limits();
	/* Descriptors 0 to 2 stay what they are only for a fault message of last resort; everything
	 * else but channel and stub closes at execve. */
	int control = fcntl(p->control_fd, F_DUPFD_CLOEXEC, 10);
	int stub = fcntl(p->stub_fd, F_DUPFD_CLOEXEC, 10);
	int kernel = fcntl(p->kernel_fd, F_DUPFD_CLOEXEC, 10);
	int go_fd = fcntl(p->go_fd, F_DUPFD_CLOEXEC, 10);
	if (control < 0 || stub < 0 || kernel < 0 || go_fd < 0 || dup2(control, 3) < 0 ||
	    dup2(stub, 4) < 0)
		child_fail(p->go_fd, STEP_DESCRIPTORS);
	syscall(SYS_close_range, 5, ~0u, CLOSE_RANGE_CLOEXEC);
	int null = open("/dev/null", O_RDWR);
	if (null >= 0) {
		dup2(null, 0);
		dup2(null, 1);
	}
	syscall(SYS_execveat, kernel, "", argv, envp, AT_EMPTY_PATH);
	child_fail(go_fd, STEP_EXEC);
}

/* ---- the parent ---- */

static int open_program(const char *path, const char *beside, int *ret_fd, struct error *err)
{
	if (path) {
		*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
		return *ret_fd < 0 ? error_set(err, errno, "open %s", path) : 0;
	}
	int r = beside_open(beside, O_RDONLY, ret_fd, err);
	return r < 0 ? error_wrap(err, "%s must lie beside hotcell (was the build complete?)", beside) : 0;
}

static int write_map(pid_t pid, const char *file, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static int write_maps(pid_t pid, const struct launch_options *o, bool root, struct error *err)
{
	uint32_t uid = root ? o->uid : (uint32_t)geteuid();
	uint32_t gid = root ? o->gid : (uint32_t)getegid();
	char line[64];
	int r = 0;

	if (!root)
		r = write_map(pid, "setgroups", "deny");
	snprintf(line, sizeof(line), "0 %u 1", uid);
	if (r == 0)
		r = write_map(pid, "uid_map", line);
	snprintf(line, sizeof(line), "0 %u 1", gid);
	if (r == 0)
		r = write_map(pid, "gid_map", line);
	if (r < 0)
		return error_set(err, -r, "map the sandbox's user (see `hotcell doctor`)");
	return 0;
}

static int explain_namespaces(int error, struct error *err)
{
	if (error == EPERM || error == ENOSPC || error == EINVAL || error == ENOSYS)
		return error_set(err, error,
				 "create namespaces: this host or container does not allow "
				 "unprivileged user namespaces; `hotcell doctor` tells what to change");
	return error_set(err, error, "create namespaces");
}

static int send_go(int go_fd, const int *entries, unsigned int count, struct error *err)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(CGROUP_CONTROLLERS * sizeof(int))];
	} control = { .bytes = { 0 } };
	struct iovec data = { (char[]){ 'g' }, 1 };
	struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1 };

	if (count) {
		m.msg_control = &control;
		m.msg_controllen = (socklen_t)CMSG_SPACE(count * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = (socklen_t)CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(c), entries, count * sizeof(int));
	}
	/* A child that has failed already is not there to read: launch_check() tells why. */
	if (sendmsg(go_fd, &m, MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET)
		return error_set(err, errno, "start hotcell-kernel");
	return 0;
}

int launch_release(const struct launched *l, const struct cgroup *cg, struct error *err)
{
	int entries[CGROUP_CONTROLLERS];
	unsigned int count;
	int r = cgroup_open_entries(cg, l->born, entries, &count, err);

	if (r < 0)
		return r;
	r = send_go(l->go_fd, entries, count, err);
	while (count)
		close(entries[--count]);
	return r;
}

/* The child's report, if it failed: 0 if not. */
static int child_error(int go_fd, int flags, struct error *err)
{
	static const char *const steps[] = {
		[STEP_CGROUP] = "enter the control group",
		[STEP_GROUPS] = "drop groups",
		[STEP_USER] = "become the sandbox's user",
		[STEP_DESCRIPTORS] = "arrange descriptors",
		[STEP_EXEC] = "execute hotcell-kernel",
	};
	uint8_t code[2];
	ssize_t n;

	do
		n = recv(go_fd, code, sizeof(code), flags);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(code))
		return 0; /* closed by execve */
	if (code[0] == STEP_NAMESPACES)
		return explain_namespaces(code[1], err);
	return error_set(err, code[1], "%s", steps[code[0] % ARRAY_SIZE(steps)]);
}

int launch_check(const struct launched *l, struct error *err)
{
	return child_error(l->go_fd, 0, err);
}

int launch(const struct launch_options *options, struct launched *ret, struct error *err)
{
	AUTO_CLOSE int kernel_fd = -EBADF;
	AUTO_CLOSE int stub_fd = -EBADF;
	int channel[2], go[2], pidfd = -1, r;
	/* Root of a user namespace that has no other uid to offer is as good as any user. */
	bool root = geteuid() == 0 && options->uid != 0;

	r = open_program(options->kernel_path, "hotcell-kernel", &kernel_fd, err);
	if (r == 0)
		r = open_program(options->stub_path, "hotcell-stub", &stub_fd, err);
	if (r < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) < 0)
		return error_set(err, errno, "make the control channel");
	AUTO_CLOSE int control = channel[0];
	AUTO_CLOSE int far_control = channel[1];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) < 0)
		return error_set(err, errno, "make a socket pair");
	AUTO_CLOSE int near_go = go[0];
	AUTO_CLOSE int far_go = go[1];

	AUTO_CLOSE int parent = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (parent < 0)
		return error_set(err, errno, "the host forbids pidfd_open, which tells ends of processes");

	struct clone_args args = { .flags = NAMESPACES_OF_CLONE | CLONE_PIDFD,
				   .pidfd = (uint64_t)(uintptr_t)&pidfd,
				   .exit_signal = SIGCHLD };
	if (options->cgroup_fd > 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)options->cgroup_fd;
	}
	const struct child_plan plan = { kernel_fd, stub_fd, far_control, far_go,
					near_go,   control, parent, root };
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		run_child(&plan);
	if (pid < 0)
		return explain_namespaces(errno, err);
	AUTO_CLOSE int own_pidfd = pidfd;
	close(take_fd(&far_go));

	r = write_maps(pid, options, root, err);
	if (r < 0) {
		(void)child_error(near_go, MSG_DONTWAIT, err); /* the better reason */
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return r;
	}
	ret->pid = pid;
	ret->pidfd = take_fd(&own_pidfd);
	ret->control_fd = take_fd(&control);
	ret->go_fd = take_fd(&near_go);
	ret->born = args.flags & CLONE_INTO_CGROUP;
	return 0;
}
