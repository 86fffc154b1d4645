/*
 * Names: lookup through the private layer into the lower directory, the merged readdir, and the
 * operations that make, move and remove names. Memory is taken before anything changes, so that a
 * failure leaves both directories as they were.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/fs.h>
#include <string.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/core/clock.h"
#include "kernel/core/limits.h"
#include "kernel/fs/tree/tree_internal.h"
#include "kernel/host/host_file.h"

static struct qstr name_of(const struct dentry *d)
{
	return (struct qstr){ d->name, d->name_length };
}

static void touch(struct inode *dir)
{
	dir->mtime = dir->ctime = clock_real();
}

/* ---- lookup ---- */

static int lookup_graft(struct inode *dir, const struct tree_entry *e, struct inode **ret)
{
	struct host_ref ref;
	struct stat st;
	int err = host_stat(e->graft_root, e->graft_path, &st);

	if (err < 0)
		return err == -EACCES ? -ENOENT : err;
	err = host_ref_path(&ref, e->graft_root, e->graft_path);
	return err < 0 ? err : tree_lower_new(dir->sb, dir, &ref, &st, ret);
}

static int lookup_lower(struct inode *dir, struct qstr name, struct inode **ret)
{
	struct tree_node *node = tree_node(dir);
	char copy[NAME_MAX_BYTES + 1];
	struct host_ref ref;
	struct stat st;

	if (name.length > NAME_MAX_BYTES)
		return -ENAMETOOLONG;
	memcpy(copy, name.name, name.length);
	copy[name.length] = '\0';
	int err = host_stat_at(&node->ref, copy, &st);
	if (err < 0)
		return err;
	err = host_ref_child(&ref, &node->ref, copy);
	return err < 0 ? err : tree_lower_new(dir->sb, dir, &ref, &st, ret);
}

int tree_lookup(struct task *task, struct inode *dir, struct dentry *parent, struct qstr name,
		struct inode **ret)
{
	struct tree_entry *e = tree_entry_find(dir, name);

	if (e && e->kind == TREE_ENTRY_INODE) {
		*ret = inode_get(e->inode);
		return 0;
	}
	if (e && e->kind == TREE_ENTRY_WHITEOUT)
		return -ENOENT;
	if (e)
		return lookup_graft(dir, e, ret);
	return tree_has_lower(dir) ? lookup_lower(dir, name, ret) : -ENOENT;
}

/* Does the lower directory have this name (and so a removal must leave a whiteout)? */
static bool lower_exists(struct inode *dir, struct qstr name)
{
	char copy[NAME_MAX_BYTES + 1];
	struct stat st;

	if (!tree_has_lower(dir))
		return false;
	memcpy(copy, name.name, name.length);
	copy[name.length] = '\0';
	return host_stat_at(&tree_node(dir)->ref, copy, &st) == 0;
}

/* ---- reading ---- */

struct merge {
	struct inode *dir;
	void *ctx;
	dir_emit_fn emit;
	bool stopped;
	bool found; /* tree_empty: something is visible */
};

static bool emit_lower(void *ctx, const char *name, size_t length, uint64_t ino, uint8_t type)
{
	struct merge *m = ctx;

	if (length > NAME_MAX_BYTES ||
	    tree_entry_find(m->dir, (struct qstr){ name, (uint16_t)length }))
		return true;
	m->found = true;
	return m->emit ? m->emit(m->ctx, name, length, ino, type) : false;
}

static bool emit_entry(struct merge *m, const struct tree_entry *e)
{
	struct stat st;

	switch (e->kind) {
	case TREE_ENTRY_INODE:
		m->found = true;
		return !m->emit || m->emit(m->ctx, e->name, e->length, e->inode->ino,
					   (uint8_t)IFTODT(e->inode->mode));
	case TREE_ENTRY_GRAFT:
		if (host_stat(e->graft_root, e->graft_path, &st) < 0)
			return true;
		m->found = true;
		return !m->emit || m->emit(m->ctx, e->name, e->length, st.st_ino,
					   (uint8_t)IFTODT(st.st_mode));
	default:
		return true;
	}
}

static int merge_entries(struct merge *m)
{
	struct tree_node *node = tree_node(m->dir);
	struct tree_entry *e;

	if (node->dir) {
		list_for_each(e, &node->dir->order, order)
			if (!emit_entry(m, e))
				return 0;
	}
	if (!tree_has_lower(m->dir))
		return 0;
	return host_readdir(&node->ref, emit_lower, m);
}

int tree_readdir(struct task *task, struct inode *dir, struct dentry *dentry, void *ctx,
		 dir_emit_fn emit)
{
	struct merge m = { .dir = dir, .ctx = ctx, .emit = emit };
	return merge_entries(&m);
}

int tree_empty(struct inode *dir, struct dentry *dentry)
{
	struct merge m = { .dir = dir };
	int err = merge_entries(&m);

	if (err < 0)
		return err;
	return m.found ? -ENOTEMPTY : 0;
}

ssize_t tree_readlink(struct task *task, struct inode *inode, char *dst, size_t capacity)
{
	struct tree_node *node = tree_node(inode);
	char target[PATH_MAX];

	if (!node->target) {
		ssize_t n = host_readlink(&node->ref, target, sizeof(target));
		if (n < 0)
			return n;
		node->target = kmemdup0(target, (size_t)n);
		if (!node->target)
			return -ENOMEM;
	}
	size_t length = strlen(node->target);
	size_t count = MIN(length, capacity);
	memcpy(dst, node->target, count);
	return (ssize_t)count;
}

/* ---- making ---- */

/* Gives `inode` a name; the directory takes its own reference. */
int tree_insert(struct inode *dir, struct qstr name, struct inode *inode)
{
	int err = tree_keep(dir);

	if (err < 0)
		return err;
	if (dir->nlink == 0)
		return -ENOENT;
	struct tree_entry *e = tree_entry_find(dir, name);
	if (!e)
		e = tree_entry_add(dir, name);
	if (!e)
		return -ENOMEM;
	tree_entry_set(e, inode_get(inode));
	if (S_ISDIR(inode->mode))
		dir->nlink++;
	touch(dir);
	return 0;
}

/* Puts the caller's reference in any case. */
static int insert_new(struct inode *dir, struct dentry *child, struct inode *inode)
{
	int err = tree_insert(dir, name_of(child), inode);

	if (err == 0)
		dentry_instantiate(child, inode);
	inode_put(inode);
	return err;
}

int tree_mknod(struct inode *dir, struct dentry *child, uint32_t mode, uint32_t uid, uint32_t gid,
	       uint32_t rdev)
{
	struct inode *inode;
	int err = tree_inode_new(dir->sb, mode, uid, gid, true, &inode);

	if (err < 0)
		return err;
	inode->rdev = rdev;
	return insert_new(dir, child, inode);
}

int tree_symlink(struct inode *dir, struct dentry *child, const char *target, uint32_t uid,
		 uint32_t gid)
{
	struct inode *inode;
	int err = tree_inode_new(dir->sb, S_IFLNK | 0777, uid, gid, true, &inode);

	if (err < 0)
		return err;
	tree_node(inode)->target = kstrdup(target);
	inode->size = strlen(target);
	if (!tree_node(inode)->target) {
		inode_put(inode);
		return -ENOMEM;
	}
	return insert_new(dir, child, inode);
}

int tree_link(struct inode *dir, struct dentry *child, struct inode *target)
{
	int err = tree_keep(target);

	if (err < 0)
		return err;
	if (target->nlink == UINT32_MAX)
		return -EMLINK;
	/* As on Linux's tmpfs: or names would be for nothing. */
	if (!limit_charge(LIMIT_DISK_INODES, 1))
		return -ENOSPC;
	err = tree_insert(dir, name_of(child), target);
	if (err < 0) {
		limit_release(LIMIT_DISK_INODES, 1);
		return err;
	}
	tree_node(target)->charged_links++;
	target->nlink++;
	target->ctime = clock_real();
	dentry_instantiate(child, target);
	return 0;
}

int tree_tmpfile(struct inode *dir, uint32_t mode, uint32_t uid, uint32_t gid, struct inode **ret)
{
	int err = tree_inode_new(dir->sb, S_IFREG | (mode & 07777), uid, gid, true, ret);

	if (err == 0)
		(*ret)->nlink = 0;
	return err;
}

/* ---- removing ---- */

/* What remains of a name: a whiteout or nothing. The entry's memory exists, so this cannot fail. */
static void clear_name(struct inode *dir, struct tree_entry *e, bool whiteout)
{
	if (whiteout)
		tree_entry_set(e, NULL);
	else
		tree_entry_remove(dir, e);
}

/* The entry of an existing name; made for a clean lower name. */
static int entry_for_removal(struct inode *dir, struct qstr name, bool *ret_whiteout,
			     struct tree_entry **ret)
{
	struct tree_entry *e = tree_entry_find(dir, name);

	*ret_whiteout = lower_exists(dir, name);
	if (!e) {
		int err = tree_keep(dir);
		if (err < 0)
			return err;
		e = tree_entry_add(dir, name);
	}
	*ret = e;
	return e ? 0 : -ENOMEM;
}

/* Some host file systems do not count subdirectories: never below what a directory has. */
static void dir_unlinked(struct inode *dir)
{
	if (dir->nlink > 2)
		dir->nlink--;
}

static void drop_link(struct inode *dir, struct inode *inode)
{
	if (S_ISDIR(inode->mode)) {
		inode->nlink = 0;
		dir_unlinked(dir);
	} else if (inode->nlink > 0) {
		inode->nlink--;
	}
	if (tree_node(inode)->charged_links > 0) {
		tree_node(inode)->charged_links--;
		limit_release(LIMIT_DISK_INODES, 1);
	}
	inode->ctime = clock_real();
}

int tree_unlink(struct inode *dir, struct dentry *child)
{
	struct inode *inode = child->inode;
	struct tree_entry *e;
	bool whiteout;
	int err = entry_for_removal(dir, name_of(child), &whiteout, &e);

	if (err < 0)
		return err;
	drop_link(dir, inode);
	tree_forget_home(inode);
	clear_name(dir, e, whiteout); /* the dentry still holds the inode */
	touch(dir);
	return 0;
}

/* ---- renaming ---- */

static int exchange(struct inode *old_dir, struct dentry *a, struct inode *new_dir, struct dentry *b)
{
	int err = tree_keep(a->inode);
	if (err == 0)
		err = tree_keep(b->inode);
	if (err < 0)
		return err;
	struct tree_entry *ea = tree_entry_find(old_dir, name_of(a));
	struct tree_entry *eb = tree_entry_find(new_dir, name_of(b));
	if (!ea || !eb)
		return -ESTALE;
	struct inode *moved = ea->inode;
	ea->inode = eb->inode;
	eb->inode = moved;
	if (S_ISDIR(a->inode->mode) != S_ISDIR(b->inode->mode)) {
		struct inode *loses = S_ISDIR(a->inode->mode) ? old_dir : new_dir;
		dir_unlinked(loses);
		(loses == old_dir ? new_dir : old_dir)->nlink++;
	}
	a->inode->ctime = b->inode->ctime = clock_real();
	touch(old_dir);
	touch(new_dir);
	return 0;
}

/* RENAME_WHITEOUT leaves what overlayfs calls a whiteout: a character device 0:0. */
static int whiteout_device(struct inode *dir, unsigned flags, struct inode **ret)
{
	*ret = NULL;
	if (!(flags & RENAME_WHITEOUT))
		return 0;
	int err = tree_inode_new(dir->sb, S_IFCHR, 0, 0, true, ret);
	return err;
}

int tree_rename(struct inode *old_dir, struct dentry *old_child, struct inode *new_dir,
		struct dentry *new_child, unsigned flags)
{
	struct inode *inode = old_child->inode, *replaced = new_child->inode, *device;
	struct tree_entry *from, *to;

	if (flags & RENAME_EXCHANGE)
		return exchange(old_dir, old_child, new_dir, new_child);
	int err = tree_keep(inode); /* so the old name is an entry */
	if (err == 0)
		err = tree_keep(new_dir);
	if (err < 0)
		return err;
	bool whiteout = lower_exists(old_dir, name_of(old_child));
	from = tree_entry_find(old_dir, name_of(old_child));
	if (!from)
		return -ESTALE;
	err = whiteout_device(old_dir, flags, &device);
	if (err < 0)
		return err;
	to = tree_entry_find(new_dir, name_of(new_child));
	if (!to)
		to = tree_entry_add(new_dir, name_of(new_child));
	if (!to) {
		if (device)
			inode_put(device);
		return -ENOMEM;
	}
	if (replaced) {
		drop_link(new_dir, replaced);
		tree_forget_home(replaced);
	}
	tree_entry_set(to, inode_get(inode));
	if (device)
		tree_entry_set(from, device);
	else
		clear_name(old_dir, from, whiteout);
	if (S_ISDIR(inode->mode)) {
		dir_unlinked(old_dir);
		new_dir->nlink++;
	}
	inode->ctime = clock_real();
	touch(old_dir);
	touch(new_dir);
	return 0;
}
