/* getcwd(2), chdir(2), fchdir(2), chroot(2), umask(2). */
#include <errno.h>
#include <linux/capability.h>
#include <unistd.h>

#include "kernel/abi/syscalls.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/task.h"

long sys_getcwd(struct call *c)
{
	struct fs_context *fs = c->task->fs;
	char *buffer = scratch_buffer();
	if (fs->cwd.dentry->unlinked)
		return -ENOENT;
	ssize_t n = path_format(fs->cwd, fs->root, buffer, PATH_MAX_BYTES);
	if (n < 0)
		return n;
	if ((uint64_t)n + 1 > c->args[1])
		return -ERANGE;
	if (user_write(c->task, CALL_ARG_PTR(c, 0), buffer, (size_t)n + 1) < 0)
		return -EFAULT;
	return n + 1;
}

/* Takes over the references of `to`. */
static void replace(struct path *slot, struct path to)
{
	struct path old = *slot;
	*slot = to;
	path_put(&old);
}

static long change_dir(struct call *c, struct path *slot, struct path p)
{
	if (!S_ISDIR(p.dentry->inode->mode))
		return -ENOTDIR;
	int r = path_permission(c->task, p, X_OK);
	if (r == 0)
		replace(slot, path_get(p));
	return r;
}

long sys_chdir(struct call *c)
{
	struct path p;
	long r = path_lookup_user(c->task, AT_FDCWD, CALL_ARG_PTR(c, 0),
				  LOOKUP_FOLLOW | LOOKUP_DIRECTORY, &p);
	if (r < 0)
		return r;
	r = change_dir(c, &c->task->fs->cwd, p);
	path_put(&p);
	return r;
}

long sys_fchdir(struct call *c)
{
	struct file *f = fd_file(c->task, (int)c->args[0]);
	return f ? change_dir(c, &c->task->fs->cwd, f->path) : -EBADF;
}

long sys_chroot(struct call *c)
{
	struct path p;
	long r = path_lookup_user(c->task, AT_FDCWD, CALL_ARG_PTR(c, 0),
				  LOOKUP_FOLLOW | LOOKUP_DIRECTORY, &p);
	if (r < 0)
		return r;
	r = path_permission(c->task, p, X_OK);
	if (r == 0 && !cred_capable(c->task->cred, CAP_SYS_CHROOT))
		r = -EPERM;
	if (r == 0)
		r = change_dir(c, &c->task->fs->root, p);
	path_put(&p);
	return r;
}

long sys_umask(struct call *c)
{
	uint32_t old = c->task->fs->umask;
	c->task->fs->umask = (uint32_t)c->args[0] & 0777;
	return (long)old;
}
