/* lseek(2) by the size of the file, for all whose position has no other meaning. */
#include <errno.h>
#include <unistd.h>

#include "kernel/abi/syscalls.h"
#include "kernel/fs/file.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/task.h"

static int64_t seek_extent(struct file *f, int64_t offset, int whence, int64_t size)
{
	if (file_ops(f)->seek_extent)
		return file_ops(f)->seek_extent(f, offset, whence);
	if (offset < 0 || offset >= size)
		return -ENXIO;
	return whence == SEEK_DATA ? offset : size;
}

static int64_t generic_lseek(struct task *t, struct file *f, int64_t offset, int whence)
{
	struct kstat st = { 0 };
	int64_t to;
	if (whence != SEEK_SET && whence != SEEK_CUR) {
		int r = vfs_stat(t, f->path, &st);
		if (r < 0)
			return r;
	}
	int64_t base = whence == SEEK_CUR ? (int64_t)f->pos : (int64_t)st.size;
	if (whence == SEEK_DATA || whence == SEEK_HOLE)
		to = seek_extent(f, offset, whence, base);
	else if (whence == SEEK_SET)
		to = offset;
	else if (__builtin_add_overflow(base, offset, &to))
		return -EOVERFLOW;
	if (to < 0)
		return whence == SEEK_DATA || whence == SEEK_HOLE ? to : -EINVAL;
	f->pos = (uint64_t)to;
	return to;
}

long sys_lseek(struct call *c)
{
	struct file *f = fd_file(c->task, (int)c->args[0]);
	int64_t offset = (int64_t)c->args[1];
	int whence = (int)(unsigned)c->args[2];
	if (!f || (f->flags & O_PATH))
		return -EBADF;
	if (whence < SEEK_SET || whence > SEEK_HOLE)
		return -EINVAL;
	if (f->stream)
		return -ESPIPE;
	const struct file_ops *ops = file_ops(f);
	return ops->lseek ? ops->lseek(f, offset, whence) : generic_lseek(c->task, f, offset, whence);
}
