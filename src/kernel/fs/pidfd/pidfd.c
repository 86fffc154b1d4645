/*
 * pidfd_open(2), pidfd_send_signal(2), and waitid(2) with P_PIDFD.
 *
 * A pidfd holds a reference on the struct process. It becomes readable when the process is a
 * zombie. Everything that acts is done by the host kernel in the calling thread, after the
 * translation of the descriptor to the number: the thread is then the real sender, and waiting has
 * the host's semantics. A number cannot have been given to another process as long as
 * process_is_there(): alive, or a zombie that nobody has waited for.
 */
#include "kernel/fs/pidfd/pidfd.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/util.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/call.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/proc/procfs.h"
#include "kernel/task/family.h"
#include "kernel/task/task.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif
#define PIDFD_NONBLOCK_FLAG ((uint32_t)O_NONBLOCK)

static int pidfd_process(struct task *t, int fd, struct file **ret_file, struct process **ret)
{
	struct file *f = fd_file(t, fd);

	if (!f || (f->flags & O_PATH))
		return -EBADF;
	*ret_file = f;
	*ret = f->ops == FOPS_PIDFD ? f->priv : NULL;
	return *ret ? 0 : -EBADF;
}

/* Signals may also be sent through an open directory /proc/PID. */
static int signal_target(struct task *t, int fd, struct process **ret)
{
	struct file *f;
	int err = pidfd_process(t, fd, &f, ret);

	if (!err)
		return 0;
	f = fd_file(t, fd);
	*ret = f && !(f->flags & O_PATH) ? procfs_process(f->inode) : NULL;
	if (!*ret)
		return f && procfs_is_process(f->inode) ? -ESRCH : -EBADF;
	return 0;
}

long sys_pidfd_open(struct call *c)
{
	int pid = (int)c->args[0];
	uint32_t flags = (uint32_t)c->args[1];
	struct process *p;
	struct file *f;

	if ((flags & ~PIDFD_NONBLOCK_FLAG) || pid <= 0)
		return -EINVAL;
	p = process_find_any(pid);
	if (!p) /* a thread that is no leader is EINVAL, anything else unknown */
		return task_find(pid) ? -EINVAL : -ESRCH;
	f = file_new_anon(FOPS_PIDFD, "[pidfd]", O_RDWR | (flags & O_NONBLOCK), process_get(p));
	if (f)
		f->stream = true;
	else
		process_put(p);
	return fd_return(c, f, true);
}

/* The guest's siginfo must be for this signal, and must not pretend to come from the kernel. */
static int check_siginfo(struct call *c, const struct process *p, int sig)
{
	siginfo_t info;

	if (user_read(c->task, &info, CALL_ARG_PTR(c, 2), sizeof(info)) < 0)
		return -EFAULT;
	if (info.si_signo != sig)
		return -EINVAL;
	if ((info.si_code >= 0 || info.si_code == SI_TKILL) && p != c->task->proc)
		return -EPERM;
	return 0;
}

long sys_pidfd_send_signal(struct call *c)
{
	int sig = (int)c->args[1], err;
	struct process *p;

	if ((uint32_t)c->args[3])
		return -EINVAL;
	err = signal_target(c->task, (int)c->args[0], &p);
	if (err)
		return err;
	if (sig < 0 || sig > SIGRTMAX)
		return -EINVAL;
	if (c->args[2])
		err = check_siginfo(c, p, sig);
	if (err)
		return err;
	if (!process_is_there(p))
		return -ESRCH;
	if (p != c->task->proc && !process_may_signal(c->task->cred, p))
		return -EPERM;
	if (c->args[2]) {
		uint64_t args[6] = { (uint64_t)p->pid, (uint64_t)sig, c->args[2] };

		return call_become(c, SYS_rt_sigqueueinfo, args);
	}
	return call_become(c, SYS_kill, (uint64_t[6]){ (uint64_t)p->pid, (uint64_t)sig });
}

/*
 * A pidfd opened with PIDFD_NONBLOCK: waitid() answers EAGAIN instead of waiting. The host's
 * WNOHANG says "nothing yet" by a zero si_pid.
 */
static long waitid_nonblock(struct call *c, uint64_t args[6])
{
	uint64_t options = args[3];
	siginfo_t info = { 0 };
	long ret;

	if (options & WNOHANG)
		return call_become(c, SYS_waitid, args);
	args[3] = options | WNOHANG;
	ret = call_native(c, SYS_waitid, args);
	if (ret == -ESRCH)
		return CALL_DONE;
	if (ret || !args[2])
		return ret;
	if (user_read(c->task, &info, uaddr(args[2]), sizeof(info)) < 0)
		return -EFAULT;
	return info.si_pid ? 0 : -EAGAIN;
}

long sys_waitid(struct call *c)
{
	uint64_t args[6] = { P_PID, 0, c->args[2], c->args[3], c->args[4], 0 };
	struct process *p;
	struct file *f;
	int err;

	if ((int)c->args[0] != P_PIDFD || (int)c->args[1] < 0)
		return -EINVAL;
	err = pidfd_process(c->task, (int)c->args[1], &f, &p);
	if (err)
		return err;
	if (!process_is_there(p))
		return -ECHILD;
	args[1] = (uint64_t)p->pid;
	if (f->flags & O_NONBLOCK)
		return waitid_nonblock(c, args);
	return call_become(c, SYS_waitid, args);
}

static uint32_t pidfd_poll(struct file *f)
{
	struct process *p = f->priv;

	return p->state == PROCESS_ALIVE ? 0 : EPOLLIN | EPOLLRDNORM;
}

static struct waitq *pidfd_waitq(struct file *f, bool for_write)
{
	struct process *p = f->priv;

	(void)for_write;
	return &p->exit_waitq;
}

static void pidfd_release(struct file *f)
{
	struct process *p = f->priv;

	f->priv = NULL;
	if (p)
		process_put(p);
}

static ssize_t pidfd_fdinfo(struct file *f, char *dst, size_t capacity)
{
	struct process *p = f->priv;
	int pid = process_is_there(p) ? p->pid : -1;
	int n = snprintf(dst, capacity, "Pid:\t%d\nNSpid:\t%d\n", pid, pid);

	return MIN((ssize_t)n, (ssize_t)capacity);
}

const struct file_ops pidfd_file_ops = {
	.name = "pidfd",
	.poll = pidfd_poll,
	.waitq = pidfd_waitq,
	.release = pidfd_release,
	.fdinfo = pidfd_fdinfo,
};
