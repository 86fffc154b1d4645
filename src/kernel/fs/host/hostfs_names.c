/*
 * Names in a host directory. Everything is done by the host; what is kept here are the paths of the
 * inodes in use, which a rename has to rewrite.
 */
#include <errno.h>
#include <linux/fs.h>
#include <string.h>

#include "kernel/core/arena.h"
#include "kernel/fs/host/hostfs_internal.h"
#include "kernel/host/host_file.h"

static void changed(struct inode *inode)
{
	hostfs_node(inode)->fresh_at = 0;
}

static int stat_child(struct inode *dir, const char *name, struct inode **ret)
{
	struct hostfs_node *node = hostfs_node(dir);
	struct host_ref ref;
	struct stat st;
	int err = host_stat_at(&node->ref, name, &st);

	if (err == 0)
		err = host_ref_child(&ref, &node->ref, name);
	return err < 0 ? err : hostfs_inode(dir->sb, &ref, &st, ret);
}

int hostfs_lookup(struct task *task, struct inode *dir, struct dentry *parent, struct qstr name,
		  struct inode **ret)
{
	char copy[NAME_MAX_BYTES + 1];

	if (name.length > NAME_MAX_BYTES)
		return -ENAMETOOLONG;
	memcpy(copy, name.name, name.length);
	copy[name.length] = '\0';
	return stat_child(dir, copy, ret);
}

/* After the host made the name. */
static int instantiate(struct inode *dir, struct dentry *child)
{
	struct inode *inode;

	changed(dir);
	int err = stat_child(dir, child->name, &inode);
	if (err < 0)
		return err;
	dentry_instantiate(child, inode);
	inode_put(inode);
	return 0;
}

int hostfs_mknod(struct inode *dir, struct dentry *child, uint32_t mode, uint32_t uid, uint32_t gid,
		 uint32_t rdev)
{
	struct host_ref *ref = &hostfs_node(dir)->ref, created = { 0 };
	int err;

	if (S_ISREG(mode))
		err = host_ref_create(ref, child->name, mode, &created);
	else if (S_ISDIR(mode))
		err = host_mkdir_at(ref, child->name, mode);
	else
		return -EPERM;
	if (err == 0)
		err = instantiate(dir, child);
	if (err == 0 && S_ISREG(mode))
		host_ref_move(&hostfs_node(child->inode)->created, &created);
	else
		host_ref_drop(&created);
	return err;
}

int hostfs_symlink(struct inode *dir, struct dentry *child, const char *target, uint32_t uid,
		   uint32_t gid)
{
	int err = host_symlink_at(&hostfs_node(dir)->ref, child->name, target);

	return err < 0 ? err : instantiate(dir, child);
}

int hostfs_link(struct inode *dir, struct dentry *child, struct inode *target)
{
	int err = host_link(&hostfs_node(target)->ref, &hostfs_node(dir)->ref, child->name);

	if (err < 0)
		return err;
	changed(target);
	return instantiate(dir, child);
}

int hostfs_unlink(struct inode *dir, struct dentry *child)
{
	struct inode *inode = child->inode;
	int err = host_unlink_at(&hostfs_node(dir)->ref, child->name, S_ISDIR(inode->mode));

	if (err < 0)
		return err;
	changed(dir);
	changed(inode);
	if (S_ISDIR(inode->mode))
		inode->nlink = 0;
	else if (inode->nlink > 0)
		inode->nlink--;
	return 0;
}

/* ---- renaming ---- */

/* The rest of `path` below or at `prefix`, NULL when it is elsewhere. */
static const char *path_rest(const char *path, const char *prefix)
{
	size_t length = strlen(prefix);

	if (strncmp(path, prefix, length) != 0)
		return NULL;
	return path[length] == '\0' || path[length] == '/' ? path + length : NULL;
}

static char *path_join(const char *prefix, const char *rest)
{
	size_t length = strlen(prefix), more = strlen(rest);
	char *path = kmalloc(length + more + 1);

	if (path) {
		memcpy(path, prefix, length);
		memcpy(path + length, rest, more + 1);
	}
	return path;
}

/* An inode whose path cannot be rewritten is found again at the next lookup. */
static void move_paths(struct superblock *sb, const char *from, const char *to, bool exchange)
{
	struct hostfs_sb *hsb = sb->priv;
	struct hostfs_node *node;

	for (unsigned i = 0; i < HOSTFS_BUCKETS; i++) {
		list_for_each(node, &hsb->buckets[i], hash_link)
		{
			const char *target = to;
			const char *rest = path_rest(node->ref.path, from);
			if (!rest && exchange) {
				rest = path_rest(node->ref.path, to);
				target = from;
			}
			char *path = rest ? path_join(target, rest) : NULL;
			if (!path)
				continue;
			kfree(node->ref.path);
			node->ref.path = path;
			node->fresh_at = 0;
		}
	}
}

int hostfs_rename(struct inode *old_dir, struct dentry *old_child, struct inode *new_dir,
		  struct dentry *new_child, unsigned flags)
{
	struct host_ref *from_dir = &hostfs_node(old_dir)->ref;
	struct host_ref *to_dir = &hostfs_node(new_dir)->ref;
	struct host_ref from, to;

	if (flags & RENAME_WHITEOUT)
		return -EINVAL;
	int err = host_ref_child(&from, from_dir, old_child->name);
	if (err < 0)
		return err;
	err = host_ref_child(&to, to_dir, new_child->name);
	if (err == 0) {
		err = host_rename_at(from_dir, old_child->name, to_dir, new_child->name, flags);
		if (err == 0)
			move_paths(old_dir->sb, from.path, to.path, flags & RENAME_EXCHANGE);
		host_ref_drop(&to);
	}
	host_ref_drop(&from);
	changed(old_dir);
	changed(new_dir);
	if (err == 0 && new_child->inode && !(flags & RENAME_EXCHANGE)) {
		changed(new_child->inode);
		if (new_child->inode->nlink > 0)
			new_child->inode->nlink--;
	}
	return err;
}

/* ---- reading ---- */

static bool found_one(void *ctx, const char *name, size_t length, uint64_t ino, uint8_t type)
{
	*(bool *)ctx = true;
	return false;
}

int hostfs_empty(struct inode *dir, struct dentry *dentry)
{
	bool found = false;
	int err = host_readdir(&hostfs_node(dir)->ref, found_one, &found);

	/* What may not be read may still be removed: rmdir(2) on the host decides. */
	if (err < 0)
		return err == -EACCES ? 0 : err;
	return found ? -ENOTEMPTY : 0;
}

int hostfs_readdir(struct task *task, struct inode *dir, struct dentry *dentry, void *ctx,
		   dir_emit_fn emit)
{
	return host_readdir(&hostfs_node(dir)->ref, emit, ctx);
}

ssize_t hostfs_readlink(struct task *task, struct inode *inode, char *dst, size_t capacity)
{
	return host_readlink(&hostfs_node(inode)->ref, dst, capacity);
}
