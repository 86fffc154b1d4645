/*
 * Rules for changing directories: who may create and delete what, shared by open(2), the directory
 * calls and bind(2).
 */
#pragma once

#include "kernel/fs/vfs.h"

/* May `t` make an entry in `dir`? 0, -ENOENT (removed), -EROFS, -EACCES. */
int namei_may_create(struct task *t, struct path dir);
/* May `t` take `victim` out of `dir`? Adds the sticky bit's -EPERM. */
int namei_may_delete(struct task *t, struct path dir, const struct dentry *victim);

/*
 * Makes a node behind the negative `child` of `dir`: permission, owner, setgid directories, IN_CREATE.
 * The umask is the caller's business. Type in mode; not for symlinks. -EEXIST when positive.
 */
int namei_make(struct task *t, struct path dir, struct dentry *child, uint32_t mode, uint32_t rdev);

/* Owner of a new object in `dir`; *ret_gid and *mode follow the setgid rules. Returns the uid. */
uint32_t namei_owner(struct task *t, const struct inode *dir, uint32_t *mode, uint32_t *ret_gid);

/*
 * The final component of a call that creates or removes: parent directory and its (maybe negative)
 * dentry. Reads the name from the guest. Drop with path_put() and dentry_put().
 */
struct namei {
	struct path dir;
	struct dentry *child;
	struct last_name last;
};
int namei_find_user(struct task *t, int dirfd, struct uaddr name, struct namei *ret);
/* The same with a name of the kernel's own. */
int namei_find(struct task *t, int dirfd, const char *name, struct namei *ret);
void namei_end(struct namei *n);

/* Takes the positive `child` out of `dir`; permission has been checked. -EBUSY, -ENOTEMPTY, ... */
int namei_remove(struct namei *n);
/* rename(2) behind the look-up of both names; flags: RENAME_*. */
int namei_rename(struct task *t, struct namei *from, struct namei *to, unsigned flags);

/* Truncation with all its rules behind the permission check: RLIMIT_FSIZE is the caller's. */
int namei_truncate(struct task *t, struct dentry *d, uint64_t size);
/* Clears setuid and setgid bits after a write by somebody who may not keep them. */
void namei_drop_suid(struct task *t, struct inode *inode);
