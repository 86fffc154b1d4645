/*
 * Open file descriptions (struct file): made by open(2) and by everything that returns a
 * descriptor, shared by dup, fork and SCM_RIGHTS, released with the last reference.
 *
 * At the end, in this order: IN_CLOSE_*, epoll items, locks, the object's own release(), then the
 * path. A blocked call holds a reference too (call_block_file), so a file never goes away under a
 * waiter that sits in the file's wait queue.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "kernel/core/arena.h"
#include "kernel/core/limits.h"
#include "kernel/fs/dir.h"
#include "kernel/fs/epoll/epoll.h"
#include "kernel/fs/file.h"
#include "kernel/fs/locks.h"
#include "kernel/fs/notify.h"
#include "kernel/fs/vfs_internal.h"

struct file *file_new(enum file_ops_id ops, struct path path, struct inode *inode, uint32_t flags)
{
	if (!limit_charge(LIMIT_FILES, 1))
		return NULL;
	struct file *f = knew(struct file);
	if (!f) {
		limit_release(LIMIT_FILES, 1);
		return NULL;
	}
	f->refs = 1;
	f->ops = (uint8_t)ops;
	f->flags = flags;
	f->path = path_get(path);
	f->inode = inode_get(inode);
	return f;
}

struct file *file_new_anon(enum file_ops_id ops, const char *name, uint32_t flags, void *priv)
{
	char full[64];
	struct mount *m = mount_anon(FS_ANON);
	struct inode *inode = m ? inode_new(m->sb, IOPS_NONE, S_IRUSR | S_IWUSR) : NULL;
	snprintf(full, sizeof(full), "anon_inode:%s", name);
	struct dentry *d = inode ? dentry_anon(inode, full) : NULL;
	struct file *f = d ? file_new(ops, (struct path){ m, d }, inode, flags) : NULL;
	dentry_put(d);
	inode_put(inode);
	if (f) {
		f->priv = priv;
		f->stream = true;
	}
	return f;
}

struct file *file_get(struct file *f)
{
	f->refs++;
	return f;
}

void file_put(struct file *f)
{
	if (!f || --f->refs > 0)
		return;
	f->refs = 1; /* what runs below may take and drop references */
	if (!(f->flags & O_PATH) && f->ops != FOPS_NONE && f->path.dentry->inode->ops != IOPS_NONE)
		notify_dentry(f->path.dentry, notify_close_mask(f->flags));
	if (f->epoll_items)
		epoll_file_release(f);
	if (f->inode->locks)
		locks_release_file(f);
	if (file_ops(f)->release)
		file_ops(f)->release(f);
	if (f->counted)
		f->inode->write_count--;
	dir_snapshot_free(f->dir);
	inode_put(f->inode);
	path_put(&f->path);
	kfree(f);
	limit_release(LIMIT_FILES, 1);
}

uint32_t file_poll(struct file *f)
{
	const struct file_ops *ops = file_ops(f);
	if (ops->poll)
		return ops->poll(f);
	return EPOLLIN | EPOLLOUT | EPOLLRDNORM | EPOLLWRNORM;
}

struct file *call_file(struct call *c, int fd)
{
	return c->file ? c->file : fd_file(c->task, fd);
}

long call_block_file(struct call *c, struct file *f, struct waitq *wq)
{
	struct file *old = c->file;
	c->file = file_get(f);
	file_put(old); /* a retried call has left the old file's queue already */
	return call_block(c, wq);
}
