/*
 * fcntl(2). Locks are in locks.c, pipe sizes in pipe/, seals in memfd/.
 *
 * Deviations: O_ASYNC and the owner are stored but no SIGIO is sent; leases and directory
 * notification are EINVAL, as on file systems without them.
 */
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>

#include "kernel/abi/syscalls.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/flags.h"
#include "kernel/fs/locks.h"
#include "kernel/fs/memfd.h"
#include "kernel/fs/pipe/pipe.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/task.h"

#define FLAGS_SETTABLE (O_APPEND | O_NONBLOCK | O_DIRECT | O_NOATIME | O_ASYNC)

struct owner_ex {
	int type, pid;
};
enum { OWNER_TID, OWNER_PID, OWNER_PGRP };

int file_set_flags(struct file *f, uint32_t flags)
{
	const struct file_ops *ops = file_ops(f);
	if (ops->set_flags) {
		int r = ops->set_flags(f, flags);
		if (r < 0)
			return r;
	}
	f->flags = flags;
	return 0;
}

static long set_status(struct task *t, struct file *f, uint64_t arg)
{
	uint32_t flags = (f->flags & ~(uint32_t)FLAGS_SETTABLE) | ((uint32_t)arg & FLAGS_SETTABLE);
	if ((flags & ~f->flags & O_NOATIME) && t->cred->fsuid != f->inode->uid &&
	    !cred_capable(t->cred, CAP_FOWNER))
		return -EPERM;
	return file_set_flags(f, flags);
}

static long dup_above(struct call *c, struct file *f, bool cloexec)
{
	uint64_t min = (uint32_t)c->args[2];
	if (min > INT32_MAX || min >= task_rlimit(c->task, RLIMIT_NOFILE))
		return -EINVAL;
	int fd = fd_install(c->task, file_get(f), (int)min, cloexec);
	if (fd < 0)
		file_put(f);
	return fd;
}

static long owner_ex(struct call *c, struct file *f, bool set)
{
	struct owner_ex o = { .type = OWNER_PID, .pid = f->owner_pid };
	if (set) {
		if (user_read(c->task, &o, CALL_ARG_PTR(c, 2), sizeof(o)) < 0)
			return -EFAULT;
		if (o.type < OWNER_TID || o.type > OWNER_PGRP)
			return -EINVAL;
		f->owner_pid = o.type == OWNER_PGRP ? -o.pid : o.pid;
		return 0;
	}
	if (o.pid < 0) {
		o.type = OWNER_PGRP;
		o.pid = -o.pid;
	}
	return user_write(c->task, CALL_ARG_PTR(c, 2), &o, sizeof(o));
}

static long set_signal(struct file *f, uint64_t sig)
{
	if (sig > 64)
		return -EINVAL;
	f->owner_signal = (int)sig;
	return 0;
}

/* Commands that also work on O_PATH files. False: not one of them. */
static bool descriptor_command(struct call *c, struct file *f, unsigned cmd, long *ret)
{
	struct fd_entry *e = fd_entry(c->task, (int)c->args[0]);
	*ret = 0;
	switch (cmd) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		*ret = dup_above(c, f, cmd == F_DUPFD_CLOEXEC);
		return true;
	case F_GETFD:
		*ret = e && e->cloexec ? FD_CLOEXEC : 0;
		return true;
	case F_SETFD:
		if (e)
			e->cloexec = c->args[2] & FD_CLOEXEC;
		return true;
	case F_GETFL:
		*ret = (long)f->flags;
		return true;
	default:
		return false;
	}
}

static long file_command(struct call *c, struct file *f, unsigned cmd)
{
	uint64_t arg = c->args[2];
	switch (cmd) {
	case F_SETFL:
		return set_status(c->task, f, arg);
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		return locks_fcntl(c, f, cmd, arg);
	case F_SETOWN:
		f->owner_pid = (int)arg;
		return 0;
	case F_GETOWN:
		return f->owner_pid;
	case F_SETOWN_EX:
		return owner_ex(c, f, true);
	case F_GETOWN_EX:
		return owner_ex(c, f, false);
	case F_SETSIG:
		return set_signal(f, arg);
	case F_GETSIG:
		return f->owner_signal;
	case F_GETLEASE:
		return F_UNLCK;
	case F_NOTIFY: /* without events: ends notification, of which there is none */
		if (!S_ISDIR(f->inode->mode))
			return -ENOTDIR;
		return arg & ~(uint64_t)DN_MULTISHOT ? -EINVAL : 0;
	case F_SETPIPE_SZ:
	case F_GETPIPE_SZ:
		return pipe_fcntl(f, cmd, arg);
	case F_ADD_SEALS:
	case F_GET_SEALS:
		return memfd_fcntl(f, cmd, arg);
	default:
		return -EINVAL;
	}
}

long sys_fcntl(struct call *c)
{
	struct file *f = call_file(c, (int)c->args[0]);
	unsigned cmd = (unsigned)c->args[1];
	if (!f)
		return -EBADF;
	long r;
	if (descriptor_command(c, f, cmd, &r))
		return r;
	return (f->flags & O_PATH) ? -EBADF : file_command(c, f, cmd);
}
