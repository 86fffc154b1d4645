/*
 * Rules for changing directories; see namei.h. The permissions are those of path_resolution(7),
 * open(2), mkdir(2) and unlink(2): write and search permission on the directory, the sticky bit,
 * setgid directories handing down their group.
 */
#include "kernel/fs/namei.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <unistd.h>

#include "kernel/core/clock.h"
#include "kernel/fs/notify.h"
#include "kernel/task/task.h"

int namei_may_create(struct task *t, struct path dir)
{
	if (dir.dentry->unlinked)
		return -ENOENT;
	return path_permission(t, dir, W_OK | X_OK);
}

int namei_may_delete(struct task *t, struct path dir, const struct dentry *victim)
{
	int r = path_permission(t, dir, W_OK | X_OK);
	if (r < 0 || !t || !(dir.dentry->inode->mode & S_ISVTX))
		return r;
	const struct cred *c = t->cred;
	if (c->fsuid == victim->inode->uid || c->fsuid == dir.dentry->inode->uid ||
	    cred_capable(c, CAP_FOWNER))
		return 0;
	return -EPERM;
}

uint32_t namei_owner(struct task *t, const struct inode *dir, uint32_t *mode, uint32_t *ret_gid)
{
	*ret_gid = t ? t->cred->fsgid : 0;
	if (dir->mode & S_ISGID) {
		*ret_gid = dir->gid;
		if (S_ISDIR(*mode))
			*mode |= S_ISGID;
		else if (t && (*mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
			 !cred_in_group(t->cred, dir->gid) && !cred_capable(t->cred, CAP_FSETID))
			*mode &= ~(uint32_t)S_ISGID;
	}
	return t ? t->cred->fsuid : 0;
}

int namei_make(struct task *t, struct path dir, struct dentry *child, uint32_t mode, uint32_t rdev)
{
	struct inode *inode = dir.dentry->inode;
	const struct inode_ops *ops = inode_ops(inode);
	uint32_t gid;
	if (child->inode)
		return -EEXIST;
	int r = namei_may_create(t, dir);
	if (r < 0)
		return r;
	if (!ops->mknod)
		return -EPERM;
	uint32_t uid = namei_owner(t, inode, &mode, &gid);
	r = ops->mknod(inode, child, mode, uid, gid, rdev);
	if (r == 0)
		notify_child(inode, child->name, IN_CREATE | (S_ISDIR(mode) ? IN_ISDIR : 0), 0);
	return r;
}

int vfs_create(struct task *t, struct path dir, struct qstr name, uint32_t mode, struct path *ret)
{
	struct dentry *child;
	int r = dentry_lookup(t, dir.dentry, name, &child);
	if (r < 0)
		return r;
	r = namei_make(t, dir, child, mode, 0);
	if (r == 0 && ret)
		*ret = path_get((struct path){ dir.mnt, child });
	dentry_put(child);
	return r;
}

/* With `dir` and `last` known: the child. */
static int find_child(struct task *t, struct namei *n)
{
	n->child = NULL;
	if (n->last.dot)
		return 0;
	int r = dentry_lookup(t, n->dir.dentry, (struct qstr){ n->last.name, n->last.length },
			      &n->child);
	if (r < 0)
		path_put(&n->dir);
	return r;
}

int namei_find_user(struct task *t, int dirfd, struct uaddr name, struct namei *ret)
{
	int r = path_lookup_parent_user(t, dirfd, name, 0, &ret->dir, &ret->last);
	return r < 0 ? r : find_child(t, ret);
}

int namei_find(struct task *t, int dirfd, const char *name, struct namei *ret)
{
	int r = path_lookup_parent(t, dirfd, name, 0, &ret->dir, &ret->last);
	return r < 0 ? r : find_child(t, ret);
}

void namei_end(struct namei *n)
{
	dentry_put(n->child);
	path_put(&n->dir);
}

int namei_truncate(struct task *t, struct dentry *d, uint64_t size)
{
	struct inode *inode = d->inode;
	const struct inode_ops *ops = inode_ops(inode);
	if (!ops->setattr)
		return -EINVAL;
	int64_t now = clock_real();
	struct iattr attr = { .valid = ATTR_SIZE | ATTR_MTIME, .size = size, .mtime = now };
	int r = ops->setattr(inode, &attr);
	if (r < 0)
		return r;
	namei_drop_suid(t, inode);
	notify_dentry(d, IN_MODIFY);
	return 0;
}

void namei_drop_suid(struct task *t, struct inode *inode)
{
	uint32_t drop = inode->mode & S_ISUID;
	if ((inode->mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP))
		drop |= S_ISGID;
	if (!drop || !S_ISREG(inode->mode) || !t || cred_capable(t->cred, CAP_FSETID))
		return;
	struct iattr attr = { .valid = ATTR_MODE, .mode = inode->mode & ~drop };
	if (inode_ops(inode)->setattr)
		inode_ops(inode)->setattr(inode, &attr);
}
