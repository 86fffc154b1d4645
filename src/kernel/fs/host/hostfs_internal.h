/* Inside of the host file system. */
#pragma once

#include <sys/stat.h>

#include "base/list.h"
#include "kernel/fs/host/hostfs.h"
#include "kernel/fs/vfs.h"
#include "kernel/host/host_ref.h"

#define HOSTFS_BUCKETS 256u

struct hostfs_sb {
	uint32_t uid, gid;
	bool writable;
	struct list buckets[HOSTFS_BUCKETS]; /* hostfs_node.hash_link */
};

struct hostfs_node {
	struct list hash_link;
	struct inode *inode; /* back pointer, no reference */
	uint64_t host_dev, host_ino;
	struct host_ref ref;	   /* by path; for directories the cached descriptor is used */
	struct list opens;	   /* hostfs_open.link: they survive unlink and rename */
	struct host_ref created;   /* open since the file was made: whose mode may forbid opening it */
	uint64_t fresh_at;	   /* clock_mono of the last stat; 0 = attributes may be old */
};

/* An open file's own descriptor. */
struct hostfs_open {
	struct list link;
	struct host_ref ref;
};

static inline struct hostfs_node *hostfs_node(const struct inode *inode)
{
	return inode->priv;
}
static inline struct hostfs_sb *hostfs_sb(const struct inode *inode)
{
	return inode->sb->priv;
}

/* ---- hostfs.c ---- */
/* The inode of the host file `st` at `ref` (taken over): an existing one or a new one. */
int hostfs_inode(struct superblock *sb, struct host_ref *ref, const struct stat *st,
		 struct inode **ret);

/* ---- hostfs_names.c ---- */
int hostfs_lookup(struct task *task, struct inode *dir, struct dentry *parent, struct qstr name,
		  struct inode **ret);
int hostfs_mknod(struct inode *dir, struct dentry *child, uint32_t mode, uint32_t uid, uint32_t gid,
		 uint32_t rdev);
int hostfs_symlink(struct inode *dir, struct dentry *child, const char *target, uint32_t uid,
		   uint32_t gid);
int hostfs_link(struct inode *dir, struct dentry *child, struct inode *target);
int hostfs_unlink(struct inode *dir, struct dentry *child);
int hostfs_rename(struct inode *old_dir, struct dentry *old_child, struct inode *new_dir,
		  struct dentry *new_child, unsigned flags);
int hostfs_empty(struct inode *dir, struct dentry *dentry);
int hostfs_readdir(struct task *task, struct inode *dir, struct dentry *dentry, void *ctx,
		   dir_emit_fn emit);
ssize_t hostfs_readlink(struct task *task, struct inode *inode, char *dst, size_t capacity);

/* ---- hostfs_file.c ---- */
int hostfs_open(struct call *c, struct inode *inode, struct file *file);
