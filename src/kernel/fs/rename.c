/*
 * rename(2), renameat2(2).
 *
 * Order of the checks as on Linux: names, mounts, existence, loops, permission, types, emptiness;
 * then the file system does its part, then the dentry cache follows: a replaced or negative target
 * goes, the moved dentry takes its place, so that open files and working directories keep their
 * paths.
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "kernel/abi/syscalls.h"
#include "kernel/fs/file.h"
#include "kernel/fs/namei.h"
#include "kernel/fs/notify.h"
#include "kernel/task/task.h"

static bool is_dir(const struct dentry *d)
{
	return d->inode && S_ISDIR(d->inode->mode);
}

static int check_names(const struct namei *from, const struct namei *to, unsigned flags)
{
	if (from->dir.mnt != to->dir.mnt)
		return -EXDEV;
	if (from->last.dot)
		return -EBUSY;
	if (to->last.dot)
		return (flags & RENAME_NOREPLACE) ? -EEXIST : -EBUSY;
	if (!from->child->inode)
		return -ENOENT;
	if ((flags & RENAME_NOREPLACE) && to->child->inode)
		return -EEXIST;
	if (flags & RENAME_EXCHANGE) {
		if (!to->child->inode)
			return -ENOENT;
		if (to->last.trailing_slash && !is_dir(to->child))
			return -ENOTDIR;
	}
	if (!is_dir(from->child)) {
		if (from->last.trailing_slash)
			return -ENOTDIR;
		if (!(flags & RENAME_EXCHANGE) && to->last.trailing_slash)
			return -ENOTDIR;
	}
	/* Into its own subtree, and over one of its own ancestors. */
	if (dentry_is_below(to->dir.dentry, from->child))
		return -EINVAL;
	if (to->child->inode && dentry_is_below(from->dir.dentry, to->child))
		return (flags & RENAME_EXCHANGE) ? -EINVAL : -ENOTEMPTY;
	return 0;
}

static int check_rights(struct task *t, const struct namei *from, const struct namei *to,
			unsigned flags)
{
	bool exchange = flags & RENAME_EXCHANGE;
	int r = namei_may_delete(t, from->dir, from->child);
	if (r < 0)
		return r;
	r = to->child->inode ? namei_may_delete(t, to->dir, to->child)
			     : namei_may_create(t, to->dir);
	if (r < 0)
		return r;
	if (to->child->inode && !exchange) {
		if (is_dir(from->child) && !is_dir(to->child))
			return -ENOTDIR;
		if (!is_dir(from->child) && is_dir(to->child))
			return -EISDIR;
	}
	/* A directory that gets a new parent is itself changed: its "..". */
	if (from->dir.dentry != to->dir.dentry) {
		if (is_dir(from->child))
			r = inode_permission(t, from->child->inode, W_OK);
		if (r == 0 && exchange && is_dir(to->child))
			r = inode_permission(t, to->child->inode, W_OK);
		if (r < 0)
			return r;
	}
	if (from->child->mount_count > 0 || to->child->mount_count > 0)
		return -EBUSY;
	if (is_dir(to->child) && !exchange && inode_ops(to->child->inode)->empty)
		return inode_ops(to->child->inode)->empty(to->child->inode, to->child);
	return 0;
}

static void move_dentries(struct namei *from, struct namei *to, unsigned flags)
{
	struct qstr name = { to->last.name, to->last.length };
	if (flags & RENAME_EXCHANGE) {
		dentry_exchange(from->child, to->child);
		return;
	}
	if (to->child->inode && !is_dir(to->child))
		notify_inode(to->child->inode, IN_ATTRIB);
	dentry_remove(to->child);
	if (to->child->inode)
		notify_removed(to->child);
	/* Without memory for the new name the cache only forgets; the file system is right. */
	if (dentry_move(from->child, to->dir.dentry, name) < 0)
		dentry_remove(from->child);
}

int namei_rename(struct task *t, struct namei *from, struct namei *to, unsigned flags)
{
	int r = check_names(from, to, flags);
	if (r < 0)
		return r;
	struct inode *old_dir = from->dir.dentry->inode, *new_dir = to->dir.dentry->inode;
	struct inode *moved = from->child->inode, *other = to->child->inode;
	/* Two names of one file: nothing happens, both stay. */
	if (moved == other)
		return 0;
	r = check_rights(t, from, to, flags);
	if (r < 0)
		return r;
	if (!inode_ops(old_dir)->rename)
		return -EPERM;
	r = inode_ops(old_dir)->rename(old_dir, from->child, new_dir, to->child, flags);
	if (r < 0)
		return r;
	inode_get(moved);
	if (other)
		inode_get(other);
	move_dentries(from, to, flags);
	notify_rename(old_dir, from->last.name, new_dir, to->last.name, moved);
	if (flags & RENAME_EXCHANGE)
		notify_rename(new_dir, to->last.name, old_dir, from->last.name, other);
	inode_put(other);
	inode_put(moved);
	return 0;
}

static long rename_call(struct call *c, int old_fd, struct uaddr old_name, int new_fd,
			struct uaddr new_name, unsigned flags)
{
	struct namei from, to;
	if ((flags & ~(unsigned)(RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT)) ||
	    ((flags & (RENAME_NOREPLACE | RENAME_WHITEOUT)) && (flags & RENAME_EXCHANGE)))
		return -EINVAL;
	if ((flags & RENAME_WHITEOUT) && !cred_capable(c->task->cred, CAP_MKNOD))
		return -EPERM;
	int r = namei_find_user(c->task, old_fd, old_name, &from);
	if (r < 0)
		return r;
	r = namei_find_user(c->task, new_fd, new_name, &to);
	if (r == 0) {
		r = namei_rename(c->task, &from, &to, flags);
		namei_end(&to);
	}
	namei_end(&from);
	return r;
}

long sys_rename(struct call *c)
{
	return rename_call(c, AT_FDCWD, CALL_ARG_PTR(c, 0), AT_FDCWD, CALL_ARG_PTR(c, 1), 0);
}

long sys_renameat(struct call *c)
{
	return rename_call(c, (int)c->args[0], CALL_ARG_PTR(c, 1), (int)c->args[2],
			   CALL_ARG_PTR(c, 3), 0);
}

long sys_renameat2(struct call *c)
{
	return rename_call(c, (int)c->args[0], CALL_ARG_PTR(c, 1), (int)c->args[2],
			   CALL_ARG_PTR(c, 3), (unsigned)c->args[4]);
}
