/* dup(2), dup2(2), dup3(2). */
#include <errno.h>

#include "kernel/abi/syscalls.h"
#include "kernel/fs/file.h"
#include "kernel/task/task.h"

long sys_dup(struct call *c)
{
	struct file *f = fd_file(c->task, (int)c->args[0]);
	return f ? fd_return(c, file_get(f), false) : -EBADF;
}

static long dup_to(struct call *c, bool cloexec)
{
	int to = (int)c->args[1];
	struct file *f = fd_file(c->task, (int)c->args[0]);
	if (!f)
		return -EBADF;
	file_get(f);
	int r = fd_install_at(c->task, f, to, cloexec);
	if (r < 0)
		file_put(f);
	return r;
}

long sys_dup2(struct call *c)
{
	if ((int)c->args[0] == (int)c->args[1])
		return fd_file(c->task, (int)c->args[0]) ? (long)(int)c->args[0] : -EBADF;
	return dup_to(c, false);
}

long sys_dup3(struct call *c)
{
	unsigned flags = (unsigned)c->args[2];
	if ((flags & ~(unsigned)O_CLOEXEC) || (int)c->args[0] == (int)c->args[1])
		return -EINVAL;
	return dup_to(c, flags & O_CLOEXEC);
}
