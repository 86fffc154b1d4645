/*
 * fsync(2) and advice about caching. Data of the guest lives in host files whose durability is not
 * promised beyond the sandbox: what matters is the error behaviour, and that fsync of a host
 * directory's file reaches the host.
 */
#include <errno.h>
#include <fcntl.h>

#include "kernel/abi/syscalls.h"
#include "kernel/fs/file.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/task.h"

/* The file of a call that takes any descriptor but an O_PATH one. */
static struct file *plain_file(struct call *c)
{
	struct file *f = fd_file(c->task, (int)c->args[0]);
	return f && !(f->flags & O_PATH) ? f : NULL;
}

static long do_fsync(struct call *c, bool data_only)
{
	struct file *f = plain_file(c);
	if (!f)
		return -EBADF;
	if (file_ops(f)->fsync)
		return file_ops(f)->fsync(f, data_only);
	return S_ISREG(f->inode->mode) ? 0 : -EINVAL;
}

long sys_fsync(struct call *c)
{
	return do_fsync(c, false);
}

long sys_fdatasync(struct call *c)
{
	return do_fsync(c, true);
}

long sys_sync(struct call *c)
{
	return 0;
}

long sys_syncfs(struct call *c)
{
	return plain_file(c) ? 0 : -EBADF;
}

long sys_sync_file_range(struct call *c)
{
	const unsigned known = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
			       SYNC_FILE_RANGE_WAIT_AFTER;
	struct file *f = plain_file(c);
	int64_t offset = (int64_t)c->args[1], size = (int64_t)c->args[2], end;
	if (!f)
		return -EBADF;
	if (((unsigned)c->args[3] & ~known) || offset < 0 || size < 0 ||
	    __builtin_add_overflow(offset, size, &end))
		return -EINVAL;
	if (!S_ISREG(f->inode->mode) && !S_ISDIR(f->inode->mode))
		return -ESPIPE;
	return 0;
}

long sys_readahead(struct call *c)
{
	struct file *f = plain_file(c);
	if (!f || !file_readable(f))
		return -EBADF;
	return S_ISREG(f->inode->mode) ? 0 : -EINVAL;
}

long sys_fadvise64(struct call *c)
{
	struct file *f = plain_file(c);
	if (!f)
		return -EBADF;
	if (S_ISFIFO(f->inode->mode))
		return -ESPIPE;
	return (int64_t)c->args[2] < 0 || (unsigned)c->args[3] > POSIX_FADV_NOREUSE ? -EINVAL : 0;
}
