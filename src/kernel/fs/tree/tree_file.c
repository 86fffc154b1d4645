/*
 * Open regular files of the tree file system (FOPS_TREE). Nothing is kept per open file: data may
 * move from a lower file to a private one under any number of them.
 */
#include <errno.h>
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

static int64_t file_seek_extent(struct file *f, int64_t offset, int whence)
{
	const struct inode *inode = f->inode;
	struct tree_node *node = tree_node(inode);

	if (offset < 0 || (uint64_t)offset >= inode->size)
		return -ENXIO;
	if (node->storage == TREE_INLINE)
		return whence == SEEK_DATA ? offset : (int64_t)inode->size;
	return host_seek(&node->ref, offset, whence);
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

static int file_mmap(struct file *f, bool shared, int *ret_host_fd)
{
	/* A shared mapping of a descriptor open for writing may become writable later (mprotect). */
	return tree_map_fd(f->inode, shared && file_writable(f), ret_host_fd);
}

const struct file_ops tree_file_ops = {
	.name = "tree",
	.read = file_read,
	.write = file_write,
	.seek_extent = file_seek_extent,
	.truncate = file_truncate,
	.fallocate = file_fallocate,
	.fsync = file_fsync,
	.mmap = file_mmap,
};
