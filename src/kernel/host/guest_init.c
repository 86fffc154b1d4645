#include "kernel/host/guest_init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "kernel/host/filter.h"
#include "kernel/host/jail.h"

/*
 * The child shares our memory until it executes the stub: copying it would cost us a fault for each
 * page that we go on writing to. So it has a stack of its own, makes system calls that do not fail
 * (there is one errno), and keeps to what is here.
 */
static struct handshake {
	_Atomic int done;
	int listener; /* its number in the child, or -errno */
} handshake;

struct init_plan {
	uint64_t max_tasks;
	bool show_refused;
};

static void futex_wake(void)
{
	syscall(SYS_futex, &handshake.done, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void lower_limit(int resource, rlim_t max)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) < 0)
		return;
	limit.rlim_max = MIN(limit.rlim_max, max);
	limit.rlim_cur = MIN(limit.rlim_cur, limit.rlim_max);
	setrlimit(resource, &limit);
}

/* What native calls take from the host and no other limit bounds. Counted per sandbox, because the
 * user is one of its namespace. */
static void limit_resources(uint64_t max_tasks)
{
	lower_limit(RLIMIT_NOFILE, 4096); /* for injected descriptors only */
	/* Zombies, which our own count has released; ourselves and pid 1. */
	lower_limit(RLIMIT_NPROC, MIN(max_tasks, RLIM_INFINITY - 16) + 16);
	lower_limit(RLIMIT_SIGPENDING, MAX(max_tasks, (uint64_t)4096)); /* also timers */
	lower_limit(RLIMIT_MEMLOCK, MIB(64));
	lower_limit(RLIMIT_MSGQUEUE, 0);
	lower_limit(RLIMIT_NICE, 0);
	lower_limit(RLIMIT_RTPRIO, 0);
}

/* Runs in the child: nothing but system calls from here on. */
static int become_init(void *plan)
{
	const struct init_plan *p = plan;
	static struct sock_filter code[FILTER_MAX];
	struct sock_fprog program = { .len = (unsigned short)filter_build(code, p->show_refused),
				      .filter = code };
	static char name[] = "init";
	static char *const argv[] = { name, NULL };
	static char *const envp[] = { NULL };
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	limit_resources(p->max_tasks);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	jail_drop_capabilities();
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/* Every descriptor goes; the listener will be the only one, and closes at execve. */
	syscall(SYS_close_range, 0, ~0u, 0);
	int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			      &program);
	handshake.listener = fd < 0 ? -errno : fd;
	atomic_store(&handshake.done, 1);
	futex_wake();
	if (fd >= 0)
		execve("/x", argv, envp);
	_exit(111);
}

/* host-syscalls-setup: clone futex pidfd_getfd (before the lock) */
int host_guest_start(uint64_t max_tasks, bool show_refused, struct guest_init *ret)
{
	static char stack[65536] __attribute__((aligned(16)));
	static struct init_plan plan;
	int pidfd = -1;

	plan = (struct init_plan){ max_tasks, show_refused };
	pid_t pid = clone(become_init, stack + sizeof(stack),
			  CLONE_VM | CLONE_NEWPID | CLONE_PIDFD | SIGCHLD, &plan, &pidfd);
	if (pid < 0)
		return -errno;
	*ret = (struct guest_init){ .pid = pid, .pidfd = pidfd };
	return 0;
}

int host_guest_listener(struct guest_init *g)
{
	int r;

	while (!atomic_load(&handshake.done)) {
		/* A dead child would leave us here: look every now and then. */
		const struct timespec patience = { .tv_nsec = 100000000 };
		syscall(SYS_futex, &handshake.done, FUTEX_WAIT, 0, &patience, NULL, 0);
		if (!atomic_load(&handshake.done) && waitpid(g->pid, NULL, WNOHANG) == g->pid)
			break;
	}
	r = atomic_load(&handshake.done) ? handshake.listener : -ECHILD;
	if (r >= 0) {
		r = (int)syscall(SYS_pidfd_getfd, g->pidfd, r, 0);
		r = r < 0 ? -errno : r;
	}
	close(g->pidfd);
	g->pidfd = -EBADF;
	return r;
}
