/*
 * Changing attributes: chmod, chown, utimes in all their forms.
 *
 * Rules: chmod and explicit times need ownership or CAP_FOWNER; chown of the user needs CAP_CHOWN,
 * of the group ownership and membership; a change of owner clears setuid and setgid; "now" times
 * need ownership or write permission.
 */
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#include "kernel/abi/syscalls.h"
#include "kernel/core/clock.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/namei.h"
#include "kernel/fs/notify.h"
#include "kernel/task/task.h"

static bool is_owner(const struct task *t, const struct inode *inode)
{
	return t->cred->fsuid == inode->uid || cred_capable(t->cred, CAP_FOWNER);
}

static int check_writable_mount(struct path p)
{
	return (p.mnt->flags & MS_RDONLY) || p.dentry->inode->sb->read_only ? -EROFS : 0;
}

static int apply(struct path p, const struct iattr *attr)
{
	struct inode *inode = p.dentry->inode;
	if (!inode_ops(inode)->setattr)
		return -EPERM;
	int r = inode_ops(inode)->setattr(inode, attr);
	if (r == 0)
		notify_dentry(p.dentry, IN_ATTRIB);
	return r;
}

/* An object named by path or, with AT_EMPTY_PATH or no name, by descriptor. */
static int find_object(struct call *c, int dirfd, struct uaddr name, unsigned flags,
		       struct path *ret)
{
	unsigned lookup = ((flags & AT_SYMLINK_NOFOLLOW) ? 0 : LOOKUP_FOLLOW) |
			  ((flags & AT_EMPTY_PATH) ? LOOKUP_EMPTY : 0);
	return path_lookup_user(c->task, dirfd, name, lookup, ret);
}

/* ---- mode ---- */

static long do_chmod(struct task *t, struct path p, uint32_t mode)
{
	struct inode *inode = p.dentry->inode;
	int r = check_writable_mount(p);
	if (r < 0)
		return r;
	if (S_ISLNK(inode->mode))
		return -EOPNOTSUPP;
	if (!is_owner(t, inode))
		return -EPERM;
	mode = (inode->mode & S_IFMT) | (mode & 07777);
	if ((mode & S_ISGID) && !cred_in_group(t->cred, inode->gid) &&
	    !cred_capable(t->cred, CAP_FSETID))
		mode &= ~(uint32_t)S_ISGID;
	return apply(p, &(struct iattr){ .valid = ATTR_MODE, .mode = mode });
}

static long chmod_call(struct call *c, int dirfd, struct uaddr name, uint64_t mode, unsigned flags)
{
	struct path p;
	if (flags & ~(unsigned)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	long r = find_object(c, dirfd, name, flags, &p);
	if (r < 0)
		return r;
	r = do_chmod(c->task, p, (uint32_t)mode);
	path_put(&p);
	return r;
}

long sys_chmod(struct call *c)
{
	return chmod_call(c, AT_FDCWD, CALL_ARG_PTR(c, 0), c->args[1], 0);
}

long sys_fchmodat(struct call *c)
{
	return chmod_call(c, (int)c->args[0], CALL_ARG_PTR(c, 1), c->args[2], 0);
}

long sys_fchmodat2(struct call *c)
{
	return chmod_call(c, (int)c->args[0], CALL_ARG_PTR(c, 1), c->args[2],
			  (unsigned)c->args[3]);
}

long sys_fchmod(struct call *c)
{
	struct file *f = fd_file(c->task, (int)c->args[0]);
	if (!f || (f->flags & O_PATH))
		return -EBADF;
	return do_chmod(c->task, f->path, (uint32_t)c->args[1]);
}

/* ---- owner ---- */

static long do_chown(struct task *t, struct path p, uint32_t uid, uint32_t gid)
{
	struct inode *inode = p.dentry->inode;
	struct iattr attr = { 0 };
	bool capable = cred_capable(t->cred, CAP_CHOWN), owner = t->cred->fsuid == inode->uid;
	int r = check_writable_mount(p);
	if (r < 0)
		return r;
	if (uid != UINT32_MAX) {
		if (!capable && !(owner && uid == inode->uid))
			return -EPERM;
		attr.valid |= ATTR_UID;
		attr.uid = uid;
	}
	if (gid != UINT32_MAX) {
		if (!capable &&
		    !(owner && (gid == inode->gid || cred_in_group(t->cred, gid))))
			return -EPERM;
		attr.valid |= ATTR_GID;
		attr.gid = gid;
	}
	if (!S_ISDIR(inode->mode)) {
		uint32_t mode = inode->mode & ~(uint32_t)S_ISUID;
		if (mode & S_IXGRP)
			mode &= ~(uint32_t)S_ISGID;
		if (mode != inode->mode) {
			attr.valid |= ATTR_MODE;
			attr.mode = mode;
		}
	}
	return apply(p, &attr);
}

static long chown_call(struct call *c, int dirfd, struct uaddr name, uint64_t uid, uint64_t gid,
		       unsigned flags)
{
	struct path p;
	if (flags & ~(unsigned)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	long r = find_object(c, dirfd, name, flags, &p);
	if (r < 0)
		return r;
	r = do_chown(c->task, p, (uint32_t)uid, (uint32_t)gid);
	path_put(&p);
	return r;
}

long sys_chown(struct call *c)
{
	return chown_call(c, AT_FDCWD, CALL_ARG_PTR(c, 0), c->args[1], c->args[2], 0);
}

long sys_lchown(struct call *c)
{
	return chown_call(c, AT_FDCWD, CALL_ARG_PTR(c, 0), c->args[1], c->args[2],
			  AT_SYMLINK_NOFOLLOW);
}

long sys_fchownat(struct call *c)
{
	return chown_call(c, (int)c->args[0], CALL_ARG_PTR(c, 1), c->args[2], c->args[3],
			  (unsigned)c->args[4]);
}

long sys_fchown(struct call *c)
{
	struct file *f = fd_file(c->task, (int)c->args[0]);
	if (!f || (f->flags & O_PATH))
		return -EBADF;
	return do_chown(c->task, f->path, (uint32_t)c->args[1], (uint32_t)c->args[2]);
}

/* ---- times ---- */

/* Access and modification time; NULL: both now. tv_nsec may be UTIME_NOW or UTIME_OMIT. */
static long set_times(struct task *t, struct path p, const struct timespec *ts)
{
	static const struct timespec both_now[2] = { { .tv_nsec = UTIME_NOW },
						     { .tv_nsec = UTIME_NOW } };
	struct inode *inode = p.dentry->inode;
	struct iattr attr = { 0 };
	int64_t now = clock_real(), ns[2] = { now, now };
	if (!ts)
		ts = both_now;
	bool explicit = false;
	for (int i = 0; i < 2; i++) {
		if (ts[i].tv_nsec == UTIME_OMIT) {
			explicit |= ts[1 - i].tv_nsec != UTIME_OMIT;
			continue;
		}
		attr.valid |= i ? ATTR_MTIME : ATTR_ATIME;
		if (ts[i].tv_nsec == UTIME_NOW)
			continue;
		explicit = true;
		/* Times beyond 64-bit nanoseconds are clamped, as file systems do. */
		if (__builtin_mul_overflow((int64_t)ts[i].tv_sec, (int64_t)NSEC_PER_SEC, &ns[i]) ||
		    __builtin_add_overflow(ns[i], (int64_t)ts[i].tv_nsec, &ns[i]))
			ns[i] = ts[i].tv_sec < 0 ? INT64_MIN : INT64_MAX;
	}
	if (!attr.valid)
		return 0;
	int r = check_writable_mount(p);
	if (r < 0)
		return r;
	if (!is_owner(t, inode)) {
		if (explicit)
			return -EPERM;
		r = path_permission(t, p, W_OK);
		if (r < 0)
			return r;
	}
	attr.atime = ns[0];
	attr.mtime = ns[1];
	return apply(p, &attr);
}

static bool times_valid(const struct timespec ts[2])
{
	for (int i = 0; i < 2; i++) {
		long n = ts[i].tv_nsec;
		if (n != UTIME_NOW && n != UTIME_OMIT && (n < 0 || n >= (long)NSEC_PER_SEC))
			return false;
	}
	return true;
}

static long times_by_name(struct call *c, int dirfd, struct uaddr name, unsigned flags,
			  const struct timespec *ts)
{
	struct path p;
	long r = find_object(c, dirfd, name, flags, &p);
	if (r < 0)
		return r;
	r = set_times(c->task, p, ts);
	path_put(&p);
	return r;
}

/* Without a name the descriptor itself is meant (futimens, futimesat). */
static long times_by_fd(struct call *c, int fd, const struct timespec *ts)
{
	struct file *f = fd_file(c->task, fd);
	return f && !(f->flags & O_PATH) ? set_times(c->task, f->path, ts) : -EBADF;
}

long sys_utimensat(struct call *c)
{
	struct timespec ts[2];
	unsigned flags = (unsigned)c->args[3];
	if (c->args[2] && user_read(c->task, ts, CALL_ARG_PTR(c, 2), sizeof(ts)) < 0)
		return -EFAULT;
	if (c->args[2] && ts[0].tv_nsec == UTIME_OMIT && ts[1].tv_nsec == UTIME_OMIT)
		return 0;
	if (flags & ~(unsigned)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	if (c->args[2] && !times_valid(ts))
		return -EINVAL;
	if (!c->args[1] && (int)c->args[0] != AT_FDCWD)
		return flags ? -EINVAL : times_by_fd(c, (int)c->args[0], c->args[2] ? ts : NULL);
	return times_by_name(c, (int)c->args[0], CALL_ARG_PTR(c, 1), flags,
			     c->args[2] ? ts : NULL);
}

/* struct timeval[2] to timespecs: -EFAULT, -EINVAL. */
static int read_timevals(struct task *t, struct uaddr src, struct timespec ts[2])
{
	struct timeval tv[2];
	if (user_read(t, tv, src, sizeof(tv)) < 0)
		return -EFAULT;
	for (int i = 0; i < 2; i++) {
		if (tv[i].tv_usec < 0 || tv[i].tv_usec >= 1000000)
			return -EINVAL;
		ts[i] = (struct timespec){ tv[i].tv_sec, tv[i].tv_usec * 1000 };
	}
	return 0;
}

long sys_utimes(struct call *c)
{
	struct timespec ts[2];
	int r = c->args[1] ? read_timevals(c->task, CALL_ARG_PTR(c, 1), ts) : 0;
	return r < 0 ? r
		     : times_by_name(c, AT_FDCWD, CALL_ARG_PTR(c, 0), 0, c->args[1] ? ts : NULL);
}

long sys_futimesat(struct call *c)
{
	struct timespec ts[2];
	int r = c->args[2] ? read_timevals(c->task, CALL_ARG_PTR(c, 2), ts) : 0;
	if (r < 0)
		return r;
	if (!c->args[1] && (int)c->args[0] != AT_FDCWD)
		return times_by_fd(c, (int)c->args[0], c->args[2] ? ts : NULL);
	return times_by_name(c, (int)c->args[0], CALL_ARG_PTR(c, 1), 0, c->args[2] ? ts : NULL);
}

long sys_utime(struct call *c)
{
	struct utimbuf u;
	struct timespec ts[2];
	if (c->args[1]) {
		if (user_read(c->task, &u, CALL_ARG_PTR(c, 1), sizeof(u)) < 0)
			return -EFAULT;
		ts[0] = (struct timespec){ .tv_sec = u.actime };
		ts[1] = (struct timespec){ .tv_sec = u.modtime };
	}
	return times_by_name(c, AT_FDCWD, CALL_ARG_PTR(c, 0), 0, c->args[1] ? ts : NULL);
}
