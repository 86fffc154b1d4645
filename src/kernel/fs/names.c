/*
 * Making and removing names: mkdir, rmdir, mknod, unlink, link, symlink, readlink and their *at
 * forms. Renaming is in rename.c, the shared rules are in namei.c.
 */
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "kernel/abi/syscalls.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/namei.h"
#include "kernel/fs/notify.h"
#include "kernel/task/task.h"

/*
 * The place for a new name: -EEXIST when it is taken. Only directories may be named with a trailing
 * slash.
 */
static int find_new(struct task *t, int dirfd, struct uaddr name, bool directory, struct namei *n)
{
	int r = namei_find_user(t, dirfd, name, n);
	if (r < 0)
		return r;
	if (n->last.dot || n->child->inode)
		r = -EEXIST;
	else if (n->last.trailing_slash && !directory)
		r = -ENOENT;
	if (r < 0)
		namei_end(n);
	return r;
}

static long do_mknod(struct call *c, int dirfd, struct uaddr name, uint32_t mode, uint32_t rdev)
{
	struct task *t = c->task;
	struct namei n;
	bool directory = S_ISDIR(mode);
	int r = find_new(t, dirfd, name, directory, &n);
	if (r < 0)
		return r;
	mode &= ~t->fs->umask;
	if ((S_ISCHR(mode) || S_ISBLK(mode)) && !cred_capable(t->cred, CAP_MKNOD)) {
		r = namei_may_create(t, n.dir);
		r = r < 0 ? r : -EPERM;
	} else {
		r = namei_make(t, n.dir, n.child, mode, rdev);
	}
	namei_end(&n);
	return r;
}

long sys_mkdir(struct call *c)
{
	return do_mknod(c, AT_FDCWD, CALL_ARG_PTR(c, 0), S_IFDIR | ((uint32_t)c->args[1] & 01777),
			0);
}

long sys_mkdirat(struct call *c)
{
	return do_mknod(c, (int)c->args[0], CALL_ARG_PTR(c, 1),
			S_IFDIR | ((uint32_t)c->args[2] & 01777), 0);
}

static long mknod_call(struct call *c, int dirfd, struct uaddr name, uint32_t mode, uint32_t rdev)
{
	switch (mode & S_IFMT) {
	case 0:
		mode |= S_IFREG;
		break;
	case S_IFREG:
	case S_IFCHR:
	case S_IFBLK:
	case S_IFIFO:
	case S_IFSOCK:
		break;
	case S_IFDIR:
		return -EPERM;
	default:
		return -EINVAL;
	}
	bool device = S_ISCHR(mode) || S_ISBLK(mode);
	return do_mknod(c, dirfd, name, mode & (S_IFMT | 07777), device ? rdev : 0);
}

long sys_mknod(struct call *c)
{
	return mknod_call(c, AT_FDCWD, CALL_ARG_PTR(c, 0), (uint32_t)c->args[1],
			  (uint32_t)c->args[2]);
}

long sys_mknodat(struct call *c)
{
	return mknod_call(c, (int)c->args[0], CALL_ARG_PTR(c, 1), (uint32_t)c->args[2],
			  (uint32_t)c->args[3]);
}

/* ---- removing ---- */

int namei_remove(struct namei *n)
{
	struct inode *dir = n->dir.dentry->inode, *inode = n->child->inode;
	uint32_t isdir = S_ISDIR(inode->mode) ? IN_ISDIR : 0;
	const struct inode_ops *ops = inode_ops(dir);
	if (n->child->mount_count > 0)
		return -EBUSY;
	if (isdir && ops->empty) {
		int r = ops->empty(inode, n->child);
		if (r < 0)
			return r;
	}
	if (!ops->unlink)
		return -EPERM;
	int r = ops->unlink(dir, n->child);
	if (r < 0)
		return r;
	if (!isdir)
		notify_inode(inode, IN_ATTRIB);
	dentry_remove(n->child);
	notify_removed(n->child);
	notify_child(dir, n->last.name, IN_DELETE | isdir, 0);
	return 0;
}

static long do_unlink(struct call *c, int dirfd, struct uaddr name)
{
	struct namei n;
	int r = namei_find_user(c->task, dirfd, name, &n);
	if (r < 0)
		return r;
	if (n.last.dot) {
		r = -EISDIR;
	} else if (!n.child->inode) {
		r = -ENOENT;
	} else if (n.last.trailing_slash) {
		r = S_ISDIR(n.child->inode->mode) ? -EISDIR : -ENOTDIR;
	} else {
		r = namei_may_delete(c->task, n.dir, n.child);
		if (r == 0)
			r = S_ISDIR(n.child->inode->mode) ? -EISDIR : namei_remove(&n);
	}
	namei_end(&n);
	return r;
}

static long do_rmdir(struct call *c, int dirfd, struct uaddr name)
{
	struct namei n;
	int r = namei_find_user(c->task, dirfd, name, &n);
	if (r < 0)
		return r;
	if (n.last.dot) {
		if (n.last.length == 2)
			r = -ENOTEMPTY;
		else
			r = path_equal(n.dir, c->task->fs->root) ? -EBUSY : -EINVAL;
	} else if (!n.child->inode) {
		r = -ENOENT;
	} else {
		r = namei_may_delete(c->task, n.dir, n.child);
		if (r == 0)
			r = S_ISDIR(n.child->inode->mode) ? namei_remove(&n) : -ENOTDIR;
	}
	namei_end(&n);
	return r;
}

long sys_unlink(struct call *c)
{
	return do_unlink(c, AT_FDCWD, CALL_ARG_PTR(c, 0));
}

long sys_rmdir(struct call *c)
{
	return do_rmdir(c, AT_FDCWD, CALL_ARG_PTR(c, 0));
}

long sys_unlinkat(struct call *c)
{
	unsigned flags = (unsigned)c->args[2];
	if (flags & ~(unsigned)AT_REMOVEDIR)
		return -EINVAL;
	if (flags & AT_REMOVEDIR)
		return do_rmdir(c, (int)c->args[0], CALL_ARG_PTR(c, 1));
	return do_unlink(c, (int)c->args[0], CALL_ARG_PTR(c, 1));
}

/* ---- links ---- */

/* fs.protected_hardlinks, proc(5): who does not own a file may not keep it alive, or use it after its owner
 * thought it gone, unless he could read and write it anyway and it gives nobody rights. */
static bool may_link(struct task *t, struct inode *inode)
{
	const uint32_t gives_group = S_ISGID | S_IXGRP;

	if (t->cred->fsuid == inode->uid || cred_capable(t->cred, CAP_FOWNER))
		return true;
	return S_ISREG(inode->mode) && !(inode->mode & S_ISUID) &&
	       (inode->mode & gives_group) != gives_group &&
	       inode_permission(t, inode, R_OK | W_OK) == 0;
}

static int link_to(struct task *t, struct path old, struct namei *n)
{
	struct inode *inode = old.dentry->inode, *dir = n->dir.dentry->inode;
	int r = namei_may_create(t, n->dir);
	if (r < 0)
		return r;
	if (old.mnt != n->dir.mnt)
		return -EXDEV;
	if (!may_link(t, inode))
		return -EPERM;
	if (S_ISDIR(inode->mode) || !inode_ops(dir)->link)
		return -EPERM;
	if (inode->nlink == 0 && !inode->linkable)
		return -ENOENT;
	r = inode_ops(dir)->link(dir, n->child, inode);
	if (r < 0)
		return r;
	notify_inode(inode, IN_ATTRIB);
	notify_child(dir, n->last.name, IN_CREATE, 0);
	return 0;
}

/* A descriptor that somebody else opened and passed on must not get a name. */
static bool may_link_descriptor(struct task *t, int fd)
{
	struct file *f = fd_file(t, fd);
	return cred_capable(t->cred, CAP_DAC_READ_SEARCH) ||
	       (f && f->opener_uid == t->cred->fsuid);
}

static long do_link(struct call *c, int old_fd, struct uaddr old_name, int new_fd,
		    struct uaddr new_name, unsigned flags)
{
	struct task *t = c->task;
	struct path old;
	struct namei n;
	if (flags & ~(unsigned)(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	unsigned lookup = (flags & AT_SYMLINK_FOLLOW) ? LOOKUP_FOLLOW : 0;
	if ((flags & AT_EMPTY_PATH) && may_link_descriptor(t, old_fd))
		lookup |= LOOKUP_EMPTY;
	int r = path_lookup_user(t, old_fd, old_name, lookup, &old);
	if (r < 0)
		return r;
	r = find_new(t, new_fd, new_name, false, &n);
	if (r == 0) {
		r = link_to(t, old, &n);
		namei_end(&n);
	}
	path_put(&old);
	return r;
}

long sys_link(struct call *c)
{
	return do_link(c, AT_FDCWD, CALL_ARG_PTR(c, 0), AT_FDCWD, CALL_ARG_PTR(c, 1), 0);
}

long sys_linkat(struct call *c)
{
	return do_link(c, (int)c->args[0], CALL_ARG_PTR(c, 1), (int)c->args[2], CALL_ARG_PTR(c, 3),
		       (unsigned)c->args[4]);
}

static long do_symlink(struct call *c, struct uaddr user_target, int dirfd, struct uaddr name)
{
	struct task *t = c->task;
	const char *target;
	struct namei n;
	uint32_t gid, mode = S_IFLNK | 0777;
	int r = path_read_user(t, user_target, 1, &target);
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	r = find_new(t, dirfd, name, false, &n);
	if (r < 0)
		return r;
	struct inode *dir = n.dir.dentry->inode;
	r = namei_may_create(t, n.dir);
	if (r == 0 && !inode_ops(dir)->symlink)
		r = -EPERM;
	if (r == 0) {
		uint32_t uid = namei_owner(t, dir, &mode, &gid);
		r = inode_ops(dir)->symlink(dir, n.child, target, uid, gid);
	}
	if (r == 0)
		notify_child(dir, n.last.name, IN_CREATE, 0);
	namei_end(&n);
	return r;
}

long sys_symlink(struct call *c)
{
	return do_symlink(c, CALL_ARG_PTR(c, 0), AT_FDCWD, CALL_ARG_PTR(c, 1));
}

long sys_symlinkat(struct call *c)
{
	return do_symlink(c, CALL_ARG_PTR(c, 0), (int)c->args[1], CALL_ARG_PTR(c, 2));
}

static long do_readlink(struct call *c, int dirfd, struct uaddr name, struct uaddr dst,
			uint64_t capacity)
{
	static char target[PATH_MAX_BYTES];
	const char *s;
	struct path p;
	if ((int)capacity <= 0)
		return -EINVAL;
	long r = path_read_user(c->task, name, 0, &s);
	if (r < 0)
		return r;
	bool empty = r == 0;
	r = path_lookup(c->task, dirfd, s, LOOKUP_EMPTY, &p);
	if (r < 0)
		return empty && dirfd == AT_FDCWD ? -ENOENT : r;
	struct inode *inode = p.dentry->inode;
	if (!S_ISLNK(inode->mode))
		r = empty ? -ENOENT : -EINVAL;
	else if (!inode_ops(inode)->readlink)
		r = -EINVAL;
	else
		r = inode_ops(inode)->readlink(c->task, inode, target, sizeof(target));
	path_put(&p);
	if (r <= 0)
		return r;
	size_t n = MIN((size_t)r, (size_t)(uint32_t)capacity);
	return user_write(c->task, dst, target, n) < 0 ? -EFAULT : (long)n;
}

long sys_readlink(struct call *c)
{
	return do_readlink(c, AT_FDCWD, CALL_ARG_PTR(c, 0), CALL_ARG_PTR(c, 1), c->args[2]);
}

long sys_readlinkat(struct call *c)
{
	return do_readlink(c, (int)c->args[0], CALL_ARG_PTR(c, 1), CALL_ARG_PTR(c, 2), c->args[3]);
}
