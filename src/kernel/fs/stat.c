/*
 * stat(2) in all its forms, access(2), statfs(2).
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/stat.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "kernel/abi/syscalls.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/task.h"

int vfs_stat(struct task *t, struct path p, struct kstat *st)
{
	struct inode *inode = p.dentry->inode;
	const struct inode_ops *ops = inode_ops(inode);
	int r = 0;
	if (ops->getattr)
		r = ops->getattr(t, inode, st);
	else
		inode_stat(inode, st);
	if (r == 0 && !st->mnt_id)
		st->mnt_id = (uint64_t)p.mnt->id;
	return r;
}

static int64_t seconds(int64_t ns)
{
	const int64_t second = (int64_t)NSEC_PER_SEC;
	return ns >= 0 ? ns / second : -((-ns + second - 1) / second);
}

static struct timespec split_ns(int64_t ns)
{
	int64_t s = seconds(ns);
	return (struct timespec){ .tv_sec = s, .tv_nsec = (long)(ns - s * (int64_t)NSEC_PER_SEC) };
}

static long put_stat(struct task *t, const struct kstat *k, struct uaddr dst)
{
	struct stat st;
	memset(&st, 0, sizeof(st));
	st.st_dev = k->dev;
	st.st_ino = k->ino;
	st.st_nlink = k->nlink;
	st.st_mode = k->mode;
	st.st_uid = k->uid;
	st.st_gid = k->gid;
	st.st_rdev = k->rdev;
	st.st_size = (off_t)k->size;
	st.st_blksize = k->blksize;
	st.st_blocks = (blkcnt_t)k->blocks;
	st.st_atim = split_ns(k->atime);
	st.st_mtim = split_ns(k->mtime);
	st.st_ctim = split_ns(k->ctime);
	return user_write(t, dst, &st, sizeof(st));
}

static long stat_path(struct call *c, int dirfd, struct uaddr name, unsigned flags,
		      struct uaddr dst)
{
	struct path p;
	struct kstat k;
	int r = path_lookup_user(c->task, dirfd, name, flags, &p);
	if (r < 0)
		return r;
	r = vfs_stat(c->task, p, &k);
	path_put(&p);
	return r < 0 ? r : put_stat(c->task, &k, dst);
}

long sys_stat(struct call *c)
{
	return stat_path(c, AT_FDCWD, CALL_ARG_PTR(c, 0), LOOKUP_FOLLOW, CALL_ARG_PTR(c, 1));
}

long sys_lstat(struct call *c)
{
	return stat_path(c, AT_FDCWD, CALL_ARG_PTR(c, 0), 0, CALL_ARG_PTR(c, 1));
}

long sys_fstat(struct call *c)
{
	struct file *f = fd_file(c->task, (int)c->args[0]);
	struct kstat k;
	if (!f)
		return -EBADF;
	int r = vfs_stat(c->task, f->path, &k);
	return r < 0 ? r : put_stat(c->task, &k, CALL_ARG_PTR(c, 1));
}

/* Since 6.11 a NULL name with AT_EMPTY_PATH means "". */
static int lookup_at(struct call *c, unsigned flags, struct path *ret)
{
	unsigned lookup = (flags & AT_SYMLINK_NOFOLLOW) ? 0 : LOOKUP_FOLLOW;
	int dirfd = (int)c->args[0];
	if (flags & AT_EMPTY_PATH) {
		lookup |= LOOKUP_EMPTY;
		if (c->args[1] == 0)
			return path_lookup(c->task, dirfd, "", lookup, ret);
	}
	return path_lookup_user(c->task, dirfd, CALL_ARG_PTR(c, 1), lookup, ret);
}

long sys_newfstatat(struct call *c)
{
	unsigned flags = (unsigned)c->args[3];
	struct path p;
	struct kstat k;
	if (flags & ~(unsigned)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_NO_AUTOMOUNT))
		return -EINVAL;
	int r = lookup_at(c, flags, &p);
	if (r < 0)
		return r;
	r = vfs_stat(c->task, p, &k);
	path_put(&p);
	return r < 0 ? r : put_stat(c->task, &k, CALL_ARG_PTR(c, 2));
}

static struct statx_timestamp statx_time(int64_t ns)
{
	struct timespec ts = split_ns(ns);
	return (struct statx_timestamp){ .tv_sec = ts.tv_sec, .tv_nsec = (uint32_t)ts.tv_nsec };
}

long sys_statx(struct call *c)
{
	unsigned flags = (unsigned)c->args[2], mask = (unsigned)c->args[3];
	struct path p;
	struct kstat k;
	if ((flags & ~(unsigned)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_NO_AUTOMOUNT |
				 AT_STATX_SYNC_TYPE)) ||
	    (flags & AT_STATX_SYNC_TYPE) == AT_STATX_SYNC_TYPE || (mask & STATX__RESERVED))
		return -EINVAL;
	int r = lookup_at(c, flags, &p);
	if (r < 0)
		return r;
	r = vfs_stat(c->task, p, &k);
	bool mount_root = p.dentry == p.mnt->root;
	path_put(&p);
	if (r < 0)
		return r;
	struct statx sx;
	memset(&sx, 0, sizeof(sx));
	sx.stx_mask = STATX_BASIC_STATS | STATX_MNT_ID | (k.btime ? STATX_BTIME : 0);
	sx.stx_blksize = k.blksize;
	sx.stx_attributes = k.attributes | (mount_root ? STATX_ATTR_MOUNT_ROOT : 0);
	sx.stx_attributes_mask = STATX_ATTR_MOUNT_ROOT;
	sx.stx_nlink = k.nlink;
	sx.stx_uid = k.uid;
	sx.stx_gid = k.gid;
	sx.stx_mode = (uint16_t)k.mode;
	sx.stx_ino = k.ino;
	sx.stx_size = k.size;
	sx.stx_blocks = k.blocks;
	sx.stx_atime = statx_time(k.atime);
	sx.stx_btime = statx_time(k.btime);
	sx.stx_ctime = statx_time(k.ctime);
	sx.stx_mtime = statx_time(k.mtime);
	sx.stx_rdev_major = major(k.rdev);
	sx.stx_rdev_minor = minor(k.rdev);
	sx.stx_dev_major = major(k.dev);
	sx.stx_dev_minor = minor(k.dev);
	sx.stx_mnt_id = k.mnt_id;
	return user_write(c->task, CALL_ARG_PTR(c, 4), &sx, sizeof(sx));
}

/* ---- access ---- */

/*
 * access() asks for the real user: the walk and the test run with credentials whose file system
 * ids are the real ones. The copy lives for this call only.
 */
static long do_access(struct call *c, int dirfd, struct uaddr name, int mode, unsigned flags)
{
	struct task *t = c->task;
	struct cred real = *t->cred, *saved = t->cred;
	struct path p;
	if (mode & ~(R_OK | W_OK | X_OK))
		return -EINVAL;
	if (flags & ~(unsigned)(AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	if (!(flags & AT_EACCESS)) {
		real.fsuid = real.uid;
		real.fsgid = real.gid;
		real.cap_effective = real.uid == 0 ? real.cap_permitted : 0;
		t->cred = &real;
	}
	unsigned lookup = ((flags & AT_SYMLINK_NOFOLLOW) ? 0 : LOOKUP_FOLLOW) |
			  ((flags & AT_EMPTY_PATH) ? LOOKUP_EMPTY : 0);
	int r = path_lookup_user(t, dirfd, name, lookup, &p);
	if (r == 0) {
		uint32_t type = p.dentry->inode->mode & S_IFMT;
		if ((mode & X_OK) && type == S_IFREG && (p.mnt->flags & MS_NOEXEC))
			r = -EACCES;
		else if (mode)
			r = path_permission(t, p, mode);
		path_put(&p);
	}
	t->cred = saved;
	return r;
}

long sys_access(struct call *c)
{
	return do_access(c, AT_FDCWD, CALL_ARG_PTR(c, 0), (int)c->args[1], 0);
}

long sys_faccessat(struct call *c)
{
	return do_access(c, (int)c->args[0], CALL_ARG_PTR(c, 1), (int)c->args[2], 0);
}

long sys_faccessat2(struct call *c)
{
	return do_access(c, (int)c->args[0], CALL_ARG_PTR(c, 1), (int)c->args[2],
			 (unsigned)c->args[3]);
}

/* ---- statfs ---- */

/* The kernel's ST_* values of f_flags. */
static long statfs_flags(unsigned long mount_flags)
{
	const long valid = 0x20, readonly = 1, nosuid = 2, nodev = 4, noexec = 8;
	return valid | ((mount_flags & MS_RDONLY) ? readonly : 0) |
	       ((mount_flags & MS_NOSUID) ? nosuid : 0) | ((mount_flags & MS_NODEV) ? nodev : 0) |
	       ((mount_flags & MS_NOEXEC) ? noexec : 0);
}

static long put_statfs(struct task *t, struct path p, struct uaddr dst)
{
	struct superblock *sb = p.dentry->inode->sb;
	const struct inode_ops *ops = inode_ops(p.dentry->inode);
	struct statfs st;
	memset(&st, 0, sizeof(st));
	st.f_type = (__typeof__(st.f_type))sb->magic;
	st.f_bsize = st.f_frsize = 4096;
	st.f_namelen = NAME_MAX_BYTES;
	st.f_fsid.__val[0] = (int)sb->dev;
	int r = ops->statfs ? ops->statfs(sb, &st) : 0;
	st.f_flags = statfs_flags(p.mnt->flags | (sb->read_only ? MS_RDONLY : 0));
	return r < 0 ? r : user_write(t, dst, &st, sizeof(st));
}

long sys_statfs(struct call *c)
{
	struct path p;
	long r = path_lookup_user(c->task, AT_FDCWD, CALL_ARG_PTR(c, 0), LOOKUP_FOLLOW, &p);
	if (r < 0)
		return r;
	r = put_statfs(c->task, p, CALL_ARG_PTR(c, 1));
	path_put(&p);
	return r;
}

long sys_fstatfs(struct call *c)
{
	struct file *f = fd_file(c->task, (int)c->args[0]);
	return f ? put_statfs(c->task, f->path, CALL_ARG_PTR(c, 1)) : -EBADF;
}
