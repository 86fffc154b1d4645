/*
 * Theory of operation
 *
 * One file system type serves as tmpfs and as the copy-on-write layer over a host directory.
 *
 *   inode "dir" --priv--> tree_node { ref: lower host directory (or none)
 *                                     dir: names of the private layer }
 *                                              |
 *         name -> inode (made here, or a lower one that was changed, renamed, linked)
 *         name -> whiteout (hides the lower name)
 *         name -> graft (a lower file from elsewhere, used for pieces of /etc)
 *
 * Lookup asks the private names first, then the lower directory (one fstatat). The inode of a
 * lower file that nobody changed is *clean*: it is reachable only through the dentry cache, may be
 * evicted at any time, and knows its directory (`home`, a reference). The first change of anything
 * *keeps* it: the name goes into home's private names, and the same happens to the directories
 * above, so that the change is found again. A kept inode is held by its name, as on any disk.
 * The content of directories is therefore here and not in the dentry cache: every dentry of this
 * file system is evictable, and what a hundred thousand files cost is one small entry each.
 *
 * Data (tree_data.c): TREE_LOWER until the first write, then a copy: TREE_INLINE up to 2 KiB,
 * TREE_STORE above or when mapped. Renaming a lower directory moves only its name; the inode keeps
 * its lower path, so that its children are found without touching the host.
 *
 * Charges: LIMIT_DISK_INODES for every inode made or kept; LIMIT_DISK_BYTES for allocated pages.
 * Lower files show the owner of the mount (0:0 for templates, the user for a user's directory) and
 * the host's mode. Inode numbers: the host's for lower files, from 2^40 for our own.
 *
 * A lower directory is taken to stay as it is: names and attributes that were looked up, and names
 * found missing, are not asked for again while they are cached. True for templates; what the host
 * does meanwhile to a user's directory (--cow) may or may not be seen, as with overlayfs.
 * The first write of a big lower file copies it, during which the sandbox stands still.
 *
 * Differences from overlayfs: hard links among lower files are shown in nlink but are separate
 * inodes; access times of lower files never change.
 */
#include <errno.h>
#include <string.h>
#include <sys/statfs.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/core/clock.h"
#include "kernel/core/limits.h"
#include "kernel/fs/ops.h"
#include "kernel/fs/tree/orphan.h"
#include "kernel/fs/tree/tree_internal.h"
#include "kernel/host/host_file.h"

int tree_inode_new(struct superblock *sb, uint32_t mode, uint32_t uid, uint32_t gid, bool charge,
		   struct inode **ret)
{
	if (charge && !limit_charge(LIMIT_DISK_INODES, 1))
		return -ENOSPC;
	struct tree_node *node = knew(struct tree_node);
	struct inode *inode = node ? inode_new(sb, IOPS_TREE, mode) : NULL;
	if (!inode) {
		kfree(node);
		if (charge)
			limit_release(LIMIT_DISK_INODES, 1);
		return -ENOMEM;
	}
	node->charged = charge;
	inode->priv = node;
	inode->uid = uid;
	inode->gid = gid;
	if (S_ISDIR(mode)) {
		inode->nlink = 2;
		inode->size = PAGE_SIZE;
		inode->blocks = PAGE_SIZE / 512;
	}
	*ret = inode;
	return 0;
}

int tree_lower_new(struct superblock *sb, struct inode *home, struct host_ref *ref,
		   const struct stat *st, struct inode **ret)
{
	const struct tree_sb *tsb = sb->priv;
	struct inode *inode;
	int err = tree_inode_new(sb, st->st_mode, tsb->uid, tsb->gid, false, &inode);

	if (err < 0) {
		host_ref_drop(ref);
		return err;
	}
	struct tree_node *node = tree_node(inode);
	node->storage = TREE_LOWER;
	node->ref = *ref;
	node->ref.directory = S_ISDIR(st->st_mode);
	node->home = home ? inode_get(home) : NULL;
	inode->ino = st->st_ino;
	inode_set_stat(inode, st);
	if (S_ISDIR(st->st_mode) && inode->nlink < 2)
		inode->nlink = 2;
	inode->btime = inode->ctime;
	*ret = inode;
	return 0;
}

/* Puts a home directory. Evicting it may put its own home: a loop, not a recursion. */
static void put_home(struct inode *home)
{
	static struct inode *next;
	static bool busy;

	if (busy) {
		next = home;
		return;
	}
	busy = true;
	while (home) {
		next = NULL;
		inode_put(home);
		home = next;
	}
	busy = false;
}

void tree_forget_home(struct inode *inode)
{
	struct tree_node *node = tree_node(inode);
	struct inode *home = node->home;

	node->home = NULL;
	if (home)
		put_home(home);
}

static struct qstr lower_name(const struct tree_node *node)
{
	const char *slash = strrchr(node->ref.path, '/');
	const char *name = slash ? slash + 1 : node->ref.path;

	return (struct qstr){ name, (uint16_t)strlen(name) };
}

/* Keeps an inode whose home is kept (or a root) already. */
static int keep_one(struct inode *inode)
{
	struct tree_node *node = tree_node(inode);
	struct qstr name = lower_name(node);

	if (!limit_charge(LIMIT_DISK_INODES, 1))
		return -ENOSPC;
	struct tree_entry *e = tree_entry_find(node->home, name);
	if (!e)
		e = tree_entry_add(node->home, name);
	if (!e) {
		limit_release(LIMIT_DISK_INODES, 1);
		return -ENOMEM;
	}
	node->charged = true;
	tree_entry_set(e, inode_get(inode));
	tree_forget_home(inode);
	return 0;
}

/* Top down, so that a failure on the way leaves nothing unreachable. */
int tree_keep(struct inode *inode)
{
	while (tree_node(inode)->home) {
		struct inode *top = inode;
		while (tree_node(tree_node(top)->home)->home)
			top = tree_node(top)->home;
		int err = keep_one(top);
		if (err < 0)
			return err;
	}
	return 0;
}

static void evict(struct inode *inode)
{
	struct tree_node *node = tree_node(inode);

	if (!node)
		return;
	tree_dir_free(inode);
	tree_data_free(inode);
	tree_xattr_free(inode);
	kfree(node->target);
	limit_release(LIMIT_DISK_INODES, node->charged + node->charged_links);
	inode->priv = NULL;
	struct inode *home = node->home;
	kfree(node);
	if (home)
		put_home(home);
}

static int getattr(struct task *task, struct inode *inode, struct kstat *st)
{
	struct tree_node *node = tree_node(inode);
	struct stat host;

	if (node->mapped && host_fstat(&node->ref, &host) == 0) {
		/* Stores through a mapping are known to the host only. */
		int64_t mtime = (int64_t)ns_from_timespec(&host.st_mtim);
		if (mtime > node->host_mtime && mtime > inode->mtime) {
			inode->mtime = inode->ctime = mtime;
			node->host_mtime = mtime;
		}
		tree_reconcile(inode);
	}
	inode_stat(inode, st);
	st->blksize = PAGE_SIZE;
	return 0;
}

static int setattr(struct inode *inode, const struct iattr *attr)
{
	struct tree_node *node = tree_node(inode);
	struct stat host;
	int err = tree_keep(inode);

	if (err < 0)
		return err;
	if (attr->valid & ATTR_SIZE) {
		err = tree_truncate(inode, attr->size);
		if (err < 0)
			return err;
	}
	inode_set_attr(inode, attr);
	if ((attr->valid & ATTR_MTIME) && node->mapped && host_fstat(&node->ref, &host) == 0)
		node->host_mtime = (int64_t)ns_from_timespec(&host.st_mtim);
	inode->ctime = clock_real();
	return 0;
}

static int tree_statfs(struct superblock *sb, struct statfs *ret)
{
	orphan_reap();
	uint64_t total = MIN(limit_value(LIMIT_DISK_BYTES), 1ull << 50);
	uint64_t used = MIN(limit_used(LIMIT_DISK_BYTES), total);
	uint64_t files = MIN(limit_value(LIMIT_DISK_INODES), 1ull << 32);
	uint64_t files_used = MIN(limit_used(LIMIT_DISK_INODES), files);

	memset(ret, 0, sizeof(*ret));
	ret->f_type = (__typeof__(ret->f_type))sb->magic;
	ret->f_bsize = PAGE_SIZE;
	ret->f_frsize = PAGE_SIZE;
	ret->f_blocks = total / PAGE_SIZE;
	ret->f_bfree = ret->f_bavail = (total - used) / PAGE_SIZE;
	ret->f_files = files;
	ret->f_ffree = files - files_used;
	ret->f_namelen = NAME_MAX_BYTES;
	return 0;
}

int tree_sb_new(const struct tree_options *o, struct superblock **ret)
{
	struct superblock *sb = superblock_new(FS_TREE, o->magic);
	struct tree_sb *tsb = knew(struct tree_sb);
	struct host_ref ref;
	struct inode *root;
	struct stat st;
	int err;

	if (!sb || !tsb)
		return -ENOMEM;
	*tsb = (struct tree_sb){ .uid = o->uid, .gid = o->gid };
	sb->priv = tsb;
	sb->next_ino = TREE_FIRST_INO;
	if (!o->has_lower) {
		err = tree_inode_new(sb, S_IFDIR | o->root_mode, o->uid, o->gid, false, &root);
	} else {
		err = host_stat(o->lower_root, "", &st);
		if (err == 0)
			err = host_ref_path(&ref, o->lower_root, "");
		if (err == 0)
			err = tree_lower_new(sb, NULL, &ref, &st, &root);
	}
	if (err == 0)
		err = superblock_set_root(sb, root);
	if (err == 0)
		*ret = sb;
	return err;
}

const struct inode_ops tree_inode_ops = {
	.lookup = tree_lookup,
	.mknod = tree_mknod,
	.symlink = tree_symlink,
	.link = tree_link,
	.unlink = tree_unlink,
	.rename = tree_rename,
	.empty = tree_empty,
	.tmpfile = tree_tmpfile,
	.readlink = tree_readlink,
	.getattr = getattr,
	.setattr = setattr,
	.readdir = tree_readdir,
	.open = tree_open,
	.evict = evict,
	.getxattr = tree_getxattr,
	.setxattr = tree_setxattr,
	.listxattr = tree_listxattr,
	.removexattr = tree_removexattr,
	.statfs = tree_statfs,
};
