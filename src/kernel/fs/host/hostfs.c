/*
 * Theory of operation
 *
 * A host directory shown as it is. The host may change it at any time, so nothing is cached across
 * calls: the superblock is no_dcache, every lookup asks the host, and an inode's attributes are
 * renewed at each lookup and stat. What must be stable is identity (locks, inotify, open files):
 * a table by host (device, inode number) makes a second lookup answer with the same inode while
 * anything uses it.
 *
 * Directories stay in the dentry cache when nobody uses them, but only so that their descriptors
 * stay open: they are asked for like everything else. An open descriptor keeps the host from giving
 * the inode number to another directory; one that has to be opened again must show the same number
 * (host_ref.id), so a directory that was put in its place is never taken for it.
 *
 *   inode --priv--> hostfs_node { (host dev, ino), ref: root + path, opens }
 *   open file --priv--> hostfs_open { host_ref, pinned: the descriptor survives rename and unlink }
 *
 * Confinement: directories are opened with openat2 beneath the mount's root without following
 * links; every operation on a name is fd-relative with one component. Symlinks of the host are
 * followed by the VFS inside the guest's view only.
 *
 * Rights: the files show the owner of the mount, the modes are the host's, and what the kernel
 * process itself may not do fails with the host's errno. chown succeeds only when it changes
 * nothing. Special files are shown but are the sandbox's own objects: a FIFO or socket does not
 * reach processes of the host; making one is EPERM.
 */
#include "kernel/fs/host/hostfs.h"

#include <errno.h>
#include <string.h>
#include <sys/statfs.h>

#include "kernel/core/arena.h"
#include "kernel/core/clock.h"
#include "kernel/fs/host/hostfs_internal.h"
#include "kernel/fs/ops.h"
#include "kernel/host/host_file.h"

static struct list *bucket(struct hostfs_sb *hsb, uint64_t ino)
{
	return &hsb->buckets[(ino ^ (ino >> 8)) % HOSTFS_BUCKETS];
}

static void refresh(struct inode *inode, const struct stat *st)
{
	inode_set_stat(inode, st);
	hostfs_node(inode)->fresh_at = clock_mono();
}

/* Asks the host for the attributes, unless that was just done. */
static int update(struct inode *inode)
{
	struct hostfs_node *node = hostfs_node(inode);
	struct stat st;
	int err;

	if (node->fresh_at && node->fresh_at == clock_mono())
		return 0;
	if (!list_empty(&node->opens))
		err = host_fstat(&list_first(&node->opens, struct hostfs_open, link)->ref, &st);
	else if (node->ref.directory)
		err = host_fstat(&node->ref, &st);
	else
		err = host_stat(node->ref.root, node->ref.path, &st);
	if (err < 0)
		return err;
	if (st.st_ino == node->host_ino && st.st_dev == node->host_dev)
		refresh(inode, &st);
	else
		inode->nlink = 0; /* another file has this name now */
	return 0;
}

static struct inode *find(struct hostfs_sb *hsb, const struct stat *st)
{
	struct hostfs_node *node;

	list_for_each(node, bucket(hsb, st->st_ino), hash_link)
		if (node->host_ino == st->st_ino && node->host_dev == st->st_dev &&
		    (node->inode->mode & S_IFMT) == (st->st_mode & S_IFMT))
			return node->inode;
	return NULL;
}

/* The same file under another name: the latest one is the one that works. */
static void set_path(struct hostfs_node *node, struct host_ref *ref)
{
	if (!strcmp(node->ref.path, ref->path)) {
		host_ref_drop(ref);
		return;
	}
	kfree(node->ref.path);
	node->ref.path = ref->path;
	ref->path = NULL;
	host_ref_drop(ref);
}

int hostfs_inode(struct superblock *sb, struct host_ref *ref, const struct stat *st,
		 struct inode **ret)
{
	struct hostfs_sb *hsb = sb->priv;
	struct inode *inode = find(hsb, st);

	if (inode) {
		set_path(hostfs_node(inode), ref);
		refresh(inode, st);
		*ret = inode_get(inode);
		return 0;
	}
	struct hostfs_node *node = knew(struct hostfs_node);
	inode = node ? inode_new(sb, IOPS_HOST, st->st_mode) : NULL;
	if (!inode) {
		kfree(node);
		host_ref_drop(ref);
		return -ENOMEM;
	}
	node->inode = inode;
	list_init(&node->opens);
	node->host_dev = st->st_dev;
	node->host_ino = st->st_ino;
	host_ref_move(&node->ref, ref);
	node->ref.directory = S_ISDIR(st->st_mode);
	node->ref.id = st->st_ino;
	list_add_tail(bucket(hsb, st->st_ino), &node->hash_link);
	inode->priv = node;
	inode->ino = st->st_ino;
	inode->uid = hsb->uid;
	inode->gid = hsb->gid;
	refresh(inode, st);
	inode->btime = inode->ctime;
	*ret = inode;
	return 0;
}

static void evict(struct inode *inode)
{
	struct hostfs_node *node = hostfs_node(inode);

	if (!node)
		return;
	list_del(&node->hash_link);
	host_ref_drop(&node->ref);
	host_ref_drop(&node->created);
	kfree(node);
	inode->priv = NULL;
}

static int getattr(struct task *task, struct inode *inode, struct kstat *st)
{
	int err = update(inode);

	/* A file that went away keeps its last attributes for those who have it open. */
	if (err < 0 && err != -ENOENT)
		return err;
	inode_stat(inode, st);
	st->blksize = PAGE_SIZE;
	return 0;
}

/* A reference of its own for one operation, so that the access mode is what is needed. */
static struct host_ref borrow(struct hostfs_node *node, bool writable)
{
	struct host_ref ref = { .kind = HOST_REF_PATH,
				.root = node->ref.root,
				.writable = writable,
				.directory = node->ref.directory,
				.path = node->ref.path };
	return ref;
}

static int setattr(struct inode *inode, const struct iattr *attr)
{
	struct hostfs_node *node = hostfs_node(inode);
	struct host_ref ref = borrow(node, attr->valid & ATTR_SIZE);
	int err = 0;

	if ((attr->valid & ATTR_UID) && attr->uid != inode->uid)
		return -EPERM;
	if ((attr->valid & ATTR_GID) && attr->gid != inode->gid)
		return -EPERM;
	node->fresh_at = 0;
	if (attr->valid & ATTR_SIZE)
		err = host_truncate(&ref, attr->size);
	if (err == 0 && (attr->valid & ATTR_MODE) && S_ISLNK(inode->mode))
		err = -EOPNOTSUPP;
	if (err == 0 && (attr->valid & ATTR_MODE))
		err = host_chmod(&ref, attr->mode);
	if (err == 0 && (attr->valid & (ATTR_ATIME | ATTR_MTIME)))
		err = host_utimes(&ref, attr->valid & ATTR_ATIME ? attr->atime : INT64_MIN,
				  attr->valid & ATTR_MTIME ? attr->mtime : INT64_MIN);
	/* Whoever may write a file may cut it, also if the times are not his to set. */
	if (err == -EPERM && (attr->valid & ATTR_SIZE))
		err = 0;
	host_ref_close(&ref);
	update(inode);
	return err;
}

static bool user_attribute(const struct inode *inode, const char *name)
{
	return (S_ISREG(inode->mode) || S_ISDIR(inode->mode)) && !strncmp(name, "user.", 5);
}

static ssize_t getxattr(struct inode *inode, const char *name, void *dst, size_t capacity)
{
	struct host_ref ref = borrow(hostfs_node(inode), false);

	if (!user_attribute(inode, name))
		return -EOPNOTSUPP;
	ssize_t n = host_getxattr(&ref, name, dst, capacity);
	host_ref_close(&ref);
	return n;
}

static int setxattr(struct inode *inode, const char *name, const void *value, size_t size, int flags)
{
	struct host_ref ref = borrow(hostfs_node(inode), false);

	if (!user_attribute(inode, name))
		return -EOPNOTSUPP;
	int err = host_setxattr(&ref, name, value, size, flags);
	host_ref_close(&ref);
	return err;
}

/* Keeps the user.* names of a list. */
static ssize_t filter_names(char *names, size_t size)
{
	size_t kept = 0;

	for (size_t at = 0; at < size;) {
		size_t length = strnlen(names + at, size - at) + 1;
		if (!strncmp(names + at, "user.", 5)) {
			memmove(names + kept, names + at, length);
			kept += length;
		}
		at += length;
	}
	return (ssize_t)kept;
}

static ssize_t listxattr(struct inode *inode, char *dst, size_t capacity)
{
	struct host_ref ref = borrow(hostfs_node(inode), false);

	if (!S_ISREG(inode->mode) && !S_ISDIR(inode->mode))
		return 0;
	ssize_t n = host_listxattr(&ref, dst, capacity);
	host_ref_close(&ref);
	return n > 0 && capacity > 0 ? filter_names(dst, (size_t)n) : n;
}

static int removexattr(struct inode *inode, const char *name)
{
	struct host_ref ref = borrow(hostfs_node(inode), false);

	if (!user_attribute(inode, name))
		return -EOPNOTSUPP;
	int err = host_removexattr(&ref, name);
	host_ref_close(&ref);
	return err;
}

static int hostfs_statfs(struct superblock *sb, struct statfs *ret)
{
	struct hostfs_node *node = hostfs_node(sb->root->inode);
	struct host_ref ref = borrow(node, false);
	int err = host_statfs(&ref, ret);

	host_ref_close(&ref);
	return err;
}

int hostfs_sb_new(unsigned host_root, uint32_t uid, uint32_t gid, bool writable,
		  struct superblock **ret)
{
	struct superblock *sb = superblock_new(FS_HOST, 0x686f7374);
	struct hostfs_sb *hsb = knew(struct hostfs_sb);
	struct inode *root;
	struct host_ref ref;
	struct stat st;

	if (!sb || !hsb)
		return -ENOMEM;
	*hsb = (struct hostfs_sb){ .uid = uid, .gid = gid, .writable = writable };
	for (unsigned i = 0; i < HOSTFS_BUCKETS; i++)
		list_init(&hsb->buckets[i]);
	sb->priv = hsb;
	sb->no_dcache = true;
	sb->keep_directories = true;
	sb->read_only = !writable;
	int err = host_stat(host_root, "", &st);
	if (err == 0)
		err = host_ref_path(&ref, host_root, "");
	if (err == 0)
		err = hostfs_inode(sb, &ref, &st, &root);
	if (err == 0)
		err = superblock_set_root(sb, root);
	if (err == 0)
		*ret = sb;
	return err;
}

const struct inode_ops host_inode_ops = {
	.lookup = hostfs_lookup,
	.mknod = hostfs_mknod,
	.symlink = hostfs_symlink,
	.link = hostfs_link,
	.unlink = hostfs_unlink,
	.rename = hostfs_rename,
	.empty = hostfs_empty,
	.readlink = hostfs_readlink,
	.getattr = getattr,
	.setattr = setattr,
	.readdir = hostfs_readdir,
	.open = hostfs_open,
	.evict = evict,
	.getxattr = getxattr,
	.setxattr = setxattr,
	.listxattr = listxattr,
	.removexattr = removexattr,
	.statfs = hostfs_statfs,
};
