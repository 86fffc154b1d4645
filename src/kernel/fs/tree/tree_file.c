/*
 * Open regular files of the tree file system (FOPS_TREE). Nothing is kept per open file: data may
 * move from a lower file to a private one under any number of them.
 */
#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/util.h"
#include "kernel/fs/file.h"
#include "kernel/fs/ops.h"
#include "kernel/fs/tree/tree_internal.h"
#include "kernel/host/host_file.h"

int tree_open(struct call *c, struct inode *inode, struct file *file)
{
	struct tree_node *node = tree_node(inode);

	if (!S_ISREG(inode->mode))
		return 0;
	/* A lower file that the kernel process may not read is known to be so at open. */
	if (node->storage == TREE_LOWER) {
		int fd = host_ref_fd(&node->ref);
		if (fd < 0)
			return fd;
	}
	file->ops = FOPS_TREE;
	return 0;
}

static ssize_t file_read(struct file *f, struct uio *u, uint64_t *pos)
{
	ssize_t n = tree_read(f->inode, u, *pos);

	if (n > 0)
		*pos += (uint64_t)n;
	return n;
}

static ssize_t file_write(struct file *f, struct uio *u, uint64_t *pos)
{
	if (f->flags & O_APPEND)
		*pos = f->inode->size;
	ssize_t n = tree_write(f->inode, u, *pos);
	if (n > 0)
		*pos += (uint64_t)n;
	return n;
}

/* The next data or hole at or after `offset`. */
static int64_t seek_extent(struct inode *inode, int64_t offset, int whence)
{
	struct tree_node *node = tree_node(inode);

	if (offset < 0 || (uint64_t)offset >= inode->size)
		return -ENXIO;
	if (node->storage == TREE_INLINE)
		return whence == SEEK_DATA ? offset : (int64_t)inode->size;
	return host_seek(&node->ref, offset, whence);
}

static int64_t file_lseek(struct file *f, int64_t offset, int whence)
{
	int64_t base = 0, at;

	switch (whence) {
	case SEEK_SET:
		break;
	case SEEK_CUR:
		base = (int64_t)f->pos;
		break;
	case SEEK_END:
		base = (int64_t)f->inode->size;
		break;
	case SEEK_DATA:
	case SEEK_HOLE:
		at = seek_extent(f->inode, offset, whence);
		if (at >= 0)
			f->pos = (uint64_t)at;
		return at;
	default:
		return -EINVAL;
	}
	if (__builtin_add_overflow(base, offset, &at))
		return -EOVERFLOW;
	if (at < 0)
		return -EINVAL;
	f->pos = (uint64_t)at;
	return at;
}

static int file_truncate(struct file *f, uint64_t size)
{
	return tree_truncate(f->inode, size);
}

static int file_fallocate(struct file *f, int mode, uint64_t offset, uint64_t length)
{
	return tree_fallocate(f->inode, mode, offset, length);
}

/* The private layer ends with the sandbox: there is nothing to make durable. */
static int file_fsync(struct file *f, bool data_only)
{
	return 0;
}

static int file_mmap(struct file *f, bool shared, bool writable, int *ret_host_fd)
{
	/* A shared mapping of a descriptor open for writing may become writable later (mprotect). */
	return tree_map_fd(f->inode, shared && file_writable(f), ret_host_fd);
}

static long file_ioctl(struct call *c, struct file *f, uint32_t cmd, uint64_t arg)
{
	if (cmd != FIONREAD)
		return -ENOTTY;
	uint64_t left = f->inode->size > f->pos ? f->inode->size - f->pos : 0;
	return user_write_u32(c->task, uaddr(arg), (uint32_t)MIN(left, (uint64_t)INT32_MAX));
}

const struct file_ops tree_file_ops = {
	.name = "tree",
	.read = file_read,
	.write = file_write,
	.lseek = file_lseek,
	.truncate = file_truncate,
	.fallocate = file_fallocate,
	.fsync = file_fsync,
	.mmap = file_mmap,
	.ioctl = file_ioctl,
};
