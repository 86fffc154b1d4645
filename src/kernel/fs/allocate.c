/* truncate(2), ftruncate(2), fallocate(2). */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <signal.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "kernel/abi/syscalls.h"
#include "kernel/fs/file.h"
#include "kernel/fs/namei.h"
#include "kernel/fs/notify.h"
#include "kernel/fs/rw.h"
#include "kernel/task/task.h"

static bool over_limit(struct task *t, const struct inode *inode, uint64_t size)
{
	return size > inode->size && size > task_rlimit(t, RLIMIT_FSIZE);
}

long sys_truncate(struct call *c)
{
	int64_t size = (int64_t)c->args[1];
	struct path p;
	if (size < 0)
		return -EINVAL;
	long r = path_lookup_user(c->task, AT_FDCWD, CALL_ARG_PTR(c, 0), LOOKUP_FOLLOW, &p);
	if (r < 0)
		return r;
	struct inode *inode = p.dentry->inode;
	if (S_ISDIR(inode->mode))
		r = -EISDIR;
	else if (!S_ISREG(inode->mode))
		r = -EINVAL;
	else
		r = path_permission(c->task, p, W_OK);
	if (r == 0 && inode->write_count < 0)
		r = -ETXTBSY;
	if (r == 0 && over_limit(c->task, inode, (uint64_t)size))
		r = call_signal(c, SIGXFSZ, -EFBIG);
	if (r == 0)
		r = namei_truncate(c->task, p.dentry, (uint64_t)size);
	path_put(&p);
	return r;
}

long sys_ftruncate(struct call *c)
{
	struct file *f = fd_file(c->task, (int)c->args[0]);
	int64_t size = (int64_t)c->args[1];
	if (size < 0)
		return -EINVAL;
	if (!f || (f->flags & O_PATH))
		return -EBADF;
	if (!S_ISREG(f->inode->mode) || !file_writable(f))
		return -EINVAL;
	if (over_limit(c->task, f->inode, (uint64_t)size))
		return call_signal(c, SIGXFSZ, -EFBIG);
	if (!file_ops(f)->truncate)
		return namei_truncate(c->task, f->path.dentry, (uint64_t)size);
	int r = file_ops(f)->truncate(f, (uint64_t)size);
	if (r == 0)
		file_modified(c->task, f);
	return r;
}

static int check_mode(int mode)
{
	const int known = FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE |
			  FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE |
			  FALLOC_FL_UNSHARE_RANGE;
	if (mode & ~known)
		return -EOPNOTSUPP;
	if ((mode & FALLOC_FL_PUNCH_HOLE) && !(mode & FALLOC_FL_KEEP_SIZE))
		return -EOPNOTSUPP;
	if ((mode & FALLOC_FL_PUNCH_HOLE) && (mode & FALLOC_FL_ZERO_RANGE))
		return -EOPNOTSUPP;
	if (mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE | FALLOC_FL_UNSHARE_RANGE))
		return -EOPNOTSUPP;
	return 0;
}

long sys_fallocate(struct call *c)
{
	struct file *f = fd_file(c->task, (int)c->args[0]);
	int mode = (int)c->args[1];
	int64_t offset = (int64_t)c->args[2], size = (int64_t)c->args[3], end;
	if (!f || (f->flags & O_PATH))
		return -EBADF;
	if (offset < 0 || size <= 0)
		return -EINVAL;
	int r = check_mode(mode);
	if (r < 0)
		return r;
	if (!file_writable(f))
		return -EBADF;
	if (S_ISFIFO(f->inode->mode))
		return -ESPIPE;
	if (S_ISDIR(f->inode->mode))
		return -EISDIR;
	if (!S_ISREG(f->inode->mode))
		return -ENODEV;
	if (__builtin_add_overflow(offset, size, &end))
		return -EFBIG;
	if (!(mode & FALLOC_FL_KEEP_SIZE) && over_limit(c->task, f->inode, (uint64_t)end))
		return call_signal(c, SIGXFSZ, -EFBIG);
	if (!file_ops(f)->fallocate)
		return -EOPNOTSUPP;
	r = file_ops(f)->fallocate(f, mode, (uint64_t)offset, (uint64_t)size);
	if (r == 0)
		file_modified(c->task, f);
	return r;
}
