/*
 * Extended attributes: xattr(7). The name spaces and their rules are here, the file system stores.
 *
 * user.*     regular files and directories, by file permission (and ownership in sticky directories)
 * trusted.*  CAP_SYS_ADMIN
 * security.* readable by all, writable with CAP_SYS_ADMIN (security.capability: CAP_SETFCAP)
 * others (system.*: access control lists) EOPNOTSUPP
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/limits.h>
#include <linux/xattr.h>
#include <limits.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <unistd.h>

#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/notify.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/task.h"

/* How the object is named: by path, following a final link or not, or by descriptor. */
enum target { BY_PATH, BY_LINK, BY_FD };

static int find_object(struct call *c, enum target how, struct path *ret)
{
	if (how != BY_FD)
		return path_lookup_user(c->task, AT_FDCWD, CALL_ARG_PTR(c, 0),
					how == BY_PATH ? LOOKUP_FOLLOW : 0, ret);
	struct file *f = fd_file(c->task, (int)c->args[0]);
	if (!f || (f->flags & O_PATH))
		return -EBADF;
	*ret = path_get(f->path);
	return 0;
}

static bool in_space(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static int check_user_space(struct task *t, struct path p, bool write)
{
	struct inode *inode = p.dentry->inode;
	if (!S_ISREG(inode->mode) && !S_ISDIR(inode->mode))
		return write ? -EPERM : -ENODATA;
	if (write && S_ISDIR(inode->mode) && (inode->mode & S_ISVTX) &&
	    t->cred->fsuid != inode->uid && !cred_capable(t->cred, CAP_FOWNER))
		return -EPERM;
	return path_permission(t, p, write ? W_OK : R_OK);
}

static int check_space(struct task *t, struct path p, const char *name, bool write)
{
	if (write && ((p.mnt->flags & MS_RDONLY) || p.dentry->inode->sb->read_only))
		return -EROFS;
	if (in_space(name, XATTR_USER_PREFIX))
		return name[XATTR_USER_PREFIX_LEN] ? check_user_space(t, p, write) : -EINVAL;
	if (in_space(name, XATTR_TRUSTED_PREFIX)) {
		if (cred_capable(t->cred, CAP_SYS_ADMIN))
			return 0;
		return write ? -EPERM : -ENODATA;
	}
	if (in_space(name, XATTR_SECURITY_PREFIX)) {
		int cap = strcmp(name, XATTR_NAME_CAPS) == 0 ? CAP_SETFCAP : CAP_SYS_ADMIN;
		return !write || cred_capable(t->cred, cap) ? 0 : -EPERM;
	}
	return -EOPNOTSUPP;
}

static int read_name(struct task *t, struct uaddr src, char name[XATTR_NAME_MAX + 1])
{
	ssize_t n = user_string(t, name, XATTR_NAME_MAX + 1, src);
	if (n == -ENAMETOOLONG || n == 0)
		return -ERANGE;
	return n < 0 ? (int)n : 0;
}

static long do_set(struct call *c, enum target how)
{
	char name[XATTR_NAME_MAX + 1];
	uint64_t size = c->args[3];
	int flags = (int)c->args[4];
	struct path p;
	char *value = scratch_buffer();
	if (flags & ~(XATTR_CREATE | XATTR_REPLACE))
		return -EINVAL;
	int r = read_name(c->task, CALL_ARG_PTR(c, 1), name);
	if (r < 0)
		return r;
	if (size > XATTR_SIZE_MAX)
		return -E2BIG;
	r = find_object(c, how, &p);
	if (r < 0)
		return r;
	const struct inode_ops *ops = inode_ops(p.dentry->inode);
	r = check_space(c->task, p, name, true);
	if (r == 0 && !ops->setxattr)
		r = -EOPNOTSUPP;
	if (r == 0 && size > 0 && user_read(c->task, value, CALL_ARG_PTR(c, 2), size) < 0)
		r = -EFAULT;
	if (r == 0)
		r = ops->setxattr(p.dentry->inode, name, value, size, flags);
	if (r == 0)
		notify_dentry(p.dentry, IN_ATTRIB);
	path_put(&p);
	return r;
}

/* Copies a value or a list out: capacity 0 asks for the size. */
static long give(struct call *c, const void *bytes, ssize_t size, struct uaddr dst,
		 uint64_t capacity)
{
	if (size < 0 || capacity == 0)
		return size;
	if ((uint64_t)size > capacity)
		return -ERANGE;
	if (size > 0 && user_write(c->task, dst, bytes, (size_t)size) < 0)
		return -EFAULT;
	return size;
}

static long do_get(struct call *c, enum target how)
{
	char name[XATTR_NAME_MAX + 1];
	struct path p;
	char *value = scratch_buffer();
	int r = read_name(c->task, CALL_ARG_PTR(c, 1), name);
	if (r == 0)
		r = find_object(c, how, &p);
	if (r < 0)
		return r;
	const struct inode_ops *ops = inode_ops(p.dentry->inode);
	ssize_t n = check_space(c->task, p, name, false);
	if (n == 0)
		n = ops->getxattr
			    ? ops->getxattr(p.dentry->inode, name, value, XATTR_SIZE_MAX)
			    : -EOPNOTSUPP;
	path_put(&p);
	return give(c, value, n, CALL_ARG_PTR(c, 2), c->args[3]);
}

/* Without CAP_SYS_ADMIN names of trusted.* are invisible. */
static ssize_t hide_trusted(struct task *t, char *list, ssize_t size)
{
	if (cred_capable(t->cred, CAP_SYS_ADMIN))
		return size;
	ssize_t kept = 0;
	for (ssize_t at = 0; at < size;) {
		size_t n = strlen(list + at) + 1;
		if (!in_space(list + at, XATTR_TRUSTED_PREFIX)) {
			memmove(list + kept, list + at, n);
			kept += (ssize_t)n;
		}
		at += (ssize_t)n;
	}
	return kept;
}

static long do_list(struct call *c, enum target how)
{
	struct path p;
	char *list = scratch_buffer();
	int r = find_object(c, how, &p);
	if (r < 0)
		return r;
	const struct inode_ops *ops = inode_ops(p.dentry->inode);
	ssize_t n = ops->listxattr ? ops->listxattr(p.dentry->inode, list, XATTR_LIST_MAX) : 0;
	path_put(&p);
	if (n > 0)
		n = hide_trusted(c->task, list, n);
	return give(c, list, n, CALL_ARG_PTR(c, 1), c->args[2]);
}

static long do_remove(struct call *c, enum target how)
{
	char name[XATTR_NAME_MAX + 1];
	struct path p;
	int r = read_name(c->task, CALL_ARG_PTR(c, 1), name);
	if (r == 0)
		r = find_object(c, how, &p);
	if (r < 0)
		return r;
	const struct inode_ops *ops = inode_ops(p.dentry->inode);
	r = check_space(c->task, p, name, true);
	if (r == 0)
		r = ops->removexattr ? ops->removexattr(p.dentry->inode, name) : -EOPNOTSUPP;
	if (r == 0)
		notify_dentry(p.dentry, IN_ATTRIB);
	path_put(&p);
	return r;
}

long sys_setxattr(struct call *c)
{
	return do_set(c, BY_PATH);
}

long sys_lsetxattr(struct call *c)
{
	return do_set(c, BY_LINK);
}

long sys_fsetxattr(struct call *c)
{
	return do_set(c, BY_FD);
}

long sys_getxattr(struct call *c)
{
	return do_get(c, BY_PATH);
}

long sys_lgetxattr(struct call *c)
{
	return do_get(c, BY_LINK);
}

long sys_fgetxattr(struct call *c)
{
	return do_get(c, BY_FD);
}

long sys_listxattr(struct call *c)
{
	return do_list(c, BY_PATH);
}

long sys_llistxattr(struct call *c)
{
	return do_list(c, BY_LINK);
}

long sys_flistxattr(struct call *c)
{
	return do_list(c, BY_FD);
}

long sys_removexattr(struct call *c)
{
	return do_remove(c, BY_PATH);
}

long sys_lremovexattr(struct call *c)
{
	return do_remove(c, BY_LINK);
}

long sys_fremovexattr(struct call *c)
{
	return do_remove(c, BY_FD);
}
