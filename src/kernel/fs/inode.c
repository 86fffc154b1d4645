/*
 * Inodes and superblocks: allocation, reference counts, the end of an inode.
 *
 * An inode lives as long as a dentry or an open file refers to it. At the last reference watches
 * and locks end, then the file system's evict() frees what it keeps behind inode->priv. Whether a
 * file with nlink 0 gives its data back is the file system's decision in evict().
 * Superblocks are few and live as long as the sandbox.
 */
#include <errno.h>

#include "kernel/core/arena.h"
#include "kernel/core/clock.h"
#include "kernel/fs/locks.h"
#include "kernel/fs/notify.h"
#include "kernel/fs/pipe/pipe.h"
#include "kernel/fs/vfs_internal.h"

struct vfs_state *vfs;

int vfs_init(void)
{
	vfs = arena_root(ROOT_VFS, sizeof(*vfs));
	if (!vfs)
		return -ENOMEM;
	if (vfs->ready)
		return 0;
	list_init(&vfs->mounts);
	list_init(&vfs->lru);
	vfs->next_dev = 0x20;
	vfs->next_mount_id = 20;
	int r = dentry_cache_init(vfs);
	if (r < 0)
		return r;
	vfs->ready = true;
	return 0;
}

struct superblock *superblock_new(enum fs_type type, uint64_t magic)
{
	struct superblock *sb = knew(struct superblock);
	if (!sb)
		return NULL;
	sb->fs_type = (uint8_t)type;
	sb->dev = vfs->next_dev++;
	sb->magic = magic;
	sb->next_ino = 1;
	return sb;
}

struct inode *inode_new(struct superblock *sb, enum inode_ops_id ops, uint32_t mode)
{
	struct inode *inode = knew(struct inode);
	if (!inode)
		return NULL;
	inode->refs = 1;
	inode->ops = (uint8_t)ops;
	inode->mode = mode;
	inode->nlink = 1;
	inode->ino = sb->next_ino++;
	inode->sb = sb;
	inode->btime = clock_real();
	inode->atime = inode->mtime = inode->ctime = inode->btime;
	list_init(&inode->list_link);
	list_init(&inode->watches);
	return inode;
}

struct inode *inode_get(struct inode *inode)
{
	inode->refs++;
	return inode;
}

void inode_put(struct inode *inode)
{
	if (!inode || --inode->refs > 0)
		return;
	/* Callbacks may take and drop references of their own: keep the count above zero. */
	inode->refs = 1;
	if (!list_empty(&inode->watches))
		notify_inode_gone(inode);
	if (inode->locks)
		locks_inode_gone(inode);
	if (S_ISFIFO(inode->mode) && inode->object)
		fifo_inode_evict(inode);
	if (inode_ops(inode)->evict)
		inode_ops(inode)->evict(inode);
	list_del(&inode->list_link);
	kfree(inode);
}

void inode_stat(const struct inode *inode, struct kstat *st)
{
	*st = (struct kstat){
		.mode = inode->mode,
		.uid = inode->uid,
		.gid = inode->gid,
		.nlink = inode->nlink,
		.dev = inode->sb->dev,
		.rdev = inode->rdev,
		.blksize = 4096,
		.ino = inode->ino,
		.size = inode->size,
		.blocks = inode->blocks,
		.atime = inode->atime,
		.mtime = inode->mtime,
		.ctime = inode->ctime,
		.btime = inode->btime,
	};
}

void inode_set_attr(struct inode *inode, const struct iattr *attr)
{
	if (attr->valid & ATTR_MODE)
		inode->mode = (inode->mode & S_IFMT) | (attr->mode & 07777);
	if (attr->valid & ATTR_UID)
		inode->uid = attr->uid;
	if (attr->valid & ATTR_GID)
		inode->gid = attr->gid;
	if (attr->valid & ATTR_ATIME)
		inode->atime = attr->atime;
	if (attr->valid & ATTR_MTIME)
		inode->mtime = attr->mtime;
}

void inode_set_stat(struct inode *inode, const struct stat *st)
{
	inode->mode = st->st_mode;
	inode->nlink = (uint32_t)st->st_nlink;
	inode->rdev = (uint32_t)st->st_rdev;
	inode->size = (uint64_t)st->st_size;
	inode->blocks = (uint64_t)st->st_blocks;
	inode->atime = (int64_t)ns_from_timespec(&st->st_atim);
	inode->mtime = (int64_t)ns_from_timespec(&st->st_mtim);
	inode->ctime = (int64_t)ns_from_timespec(&st->st_ctim);
}
