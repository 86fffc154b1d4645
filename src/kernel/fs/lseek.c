/* lseek(2), with SEEK_DATA and SEEK_HOLE for files whose own lseek does not know better. */
#include <errno.h>
#include <unistd.h>

#include "kernel/abi/syscalls.h"
#include "kernel/fs/file.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/task.h"

static int64_t generic_lseek(struct task *t, struct file *f, int64_t offset, int whence)
{
	struct kstat st = { 0 };
	int64_t to;
	if (whence != SEEK_SET && whence != SEEK_CUR) {
		int r = vfs_stat(t, f->path, &st);
		if (r < 0)
			return r;
	}
	int64_t size = (int64_t)st.size;
	switch (whence) {
	case SEEK_SET:
		to = offset;
		break;
	case SEEK_CUR:
		if (__builtin_add_overflow((int64_t)f->pos, offset, &to))
			return -EOVERFLOW;
		break;
	case SEEK_END:
		if (__builtin_add_overflow(size, offset, &to))
			return -EOVERFLOW;
		break;
	case SEEK_DATA:
	case SEEK_HOLE:
		if (offset < 0 || offset >= size)
			return -ENXIO;
		to = whence == SEEK_DATA ? offset : size;
		break;
	default:
		return -EINVAL;
	}
	if (to < 0)
		return -EINVAL;
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
