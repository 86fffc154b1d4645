/*
 * Open regular files of a host directory (FOPS_HOST). Each open file has a descriptor of its own
 * with the access mode it asked for, pinned until the last close.
 */
#include <errno.h>
#include <unistd.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/fs/file.h"
#include "kernel/fs/host/hostfs_internal.h"
#include "kernel/fs/ops.h"
#include "kernel/host/host_file.h"

/* The directory that the file's name was found in, NULL when it has none (any more). */
static struct hostfs_node *directory_of(const struct file *f)
{
	const struct dentry *d = f->path.dentry;

	return d->unlinked || d->parent == d ? NULL : hostfs_node(d->parent->inode);
}

/* The descriptor of a file that was just made, a new one by name or, failing that, by path. */
static int open_ref(struct hostfs_node *node, struct file *f, struct host_ref *ref)
{
	struct hostfs_node *dir = directory_of(f);
	bool writable = file_writable(f);

	if (node->created.kind != HOST_REF_NONE && writable) {
		host_ref_move(ref, &node->created);
		return 0;
	}
	if (dir)
		return host_ref_open_at(&dir->ref, f->path.dentry->name, writable, ref);
	int err = host_ref_path(ref, node->ref.root, node->ref.path);
	if (err < 0)
		return err;
	ref->writable = writable;
	ref->pinned = true;
	int fd = host_ref_fd(ref);
	if (fd < 0)
		host_ref_drop(ref);
	return MIN(fd, 0);
}

int hostfs_open(struct call *c, struct inode *inode, struct file *file)
{
	struct hostfs_node *node = hostfs_node(inode);

	if (!S_ISREG(inode->mode))
		return 0;
	struct hostfs_open *o = knew(struct hostfs_open);
	if (!o)
		return -ENOMEM;
	int err = open_ref(node, file, &o->ref);
	host_ref_drop(&node->created);
	if (err < 0) {
		kfree(o);
		return err;
	}
	list_add_tail(&node->opens, &o->link);
	file->ops = FOPS_HOST;
	file->priv = o;
	return 0;
}

static struct host_ref *ref_of(const struct file *f)
{
	struct hostfs_open *o = f->priv;
	return &o->ref;
}

static void file_release(struct file *f)
{
	struct hostfs_open *o = f->priv;

	if (!o)
		return;
	list_del(&o->link);
	host_ref_drop(&o->ref);
	kfree(o);
	f->priv = NULL;
}

static ssize_t file_read(struct file *f, struct uio *u, uint64_t *pos)
{
	ssize_t n = host_read(ref_of(f), u, *pos, UINT64_MAX);

	if (n > 0)
		*pos += (uint64_t)n;
	return n;
}

static ssize_t file_write(struct file *f, struct uio *u, uint64_t *pos)
{
	struct stat st;
	ssize_t total = 0;

	if (f->flags & O_APPEND) {
		int err = host_fstat(ref_of(f), &st);
		if (err < 0)
			return err;
		*pos = (uint64_t)st.st_size;
	}
	hostfs_node(f->inode)->fresh_at = 0;
	while (u->resid > 0) {
		ssize_t n = host_write(ref_of(f), u, u->resid, *pos);
		if (n <= 0)
			return total ? total : n;
		total += n;
		*pos += (uint64_t)n;
	}
	if (*pos > f->inode->size)
		f->inode->size = *pos;
	return total;
}

static int64_t file_seek_extent(struct file *f, int64_t offset, int whence)
{
	return host_seek(ref_of(f), offset, whence);
}

static int file_truncate(struct file *f, uint64_t size)
{
	int err = host_truncate(ref_of(f), size);

	hostfs_node(f->inode)->fresh_at = 0;
	if (err == 0)
		f->inode->size = size;
	return err;
}

static int file_fallocate(struct file *f, int mode, uint64_t offset, uint64_t length)
{
	hostfs_node(f->inode)->fresh_at = 0;
	return host_fallocate(ref_of(f), mode, offset, length);
}

static int file_fsync(struct file *f, bool data_only)
{
	return host_sync(ref_of(f), data_only);
}

static int file_mmap(struct file *f, bool shared, int *ret_host_fd)
{
	int fd = host_ref_fd_mode(ref_of(f), shared && file_writable(f));

	/* The name may be gone; a private mapping of the open descriptor shows the same pages. */
	if (fd < 0 && !shared)
		fd = host_ref_fd(ref_of(f));
	if (fd < 0)
		return fd;
	hostfs_node(f->inode)->fresh_at = 0;
	*ret_host_fd = fd;
	return 0;
}

const struct file_ops host_file_ops = {
	.name = "host",
	.read = file_read,
	.write = file_write,
	.seek_extent = file_seek_extent,
	.truncate = file_truncate,
	.fallocate = file_fallocate,
	.fsync = file_fsync,
	.mmap = file_mmap,
	.release = file_release,
};
