/*
 * The VFS's own state and the pieces that its files share. Only for src/kernel/fs/ itself.
 */
#pragma once

#include "kernel/fs/vfs.h"

/* Unused clean dentries kept: bounds what a guest can fill with stat() of many names. */
#define DENTRY_CACHE_MAX 16384u

struct vfs_state {
	bool ready;
	int next_mount_id;
	uint32_t next_dev;
	struct list mounts;
	struct mount *root_mount;
	struct mount *anon[FS_TYPE_MAX];

	struct list *buckets; /* dentry hash: heads of struct dentry.hash_link, lazily initialised */
	uint32_t bucket_count; /* a power of two */
	uint32_t hashed_count;
	struct list lru; /* head: oldest */
	uint32_t lru_count;
};

extern struct vfs_state *vfs; /* set by vfs_init() */

int dentry_cache_init(struct vfs_state *state);
/* The mount on top of (mnt, dentry), NULL = none. No reference taken. */
struct mount *mount_find(struct mount *mnt, struct dentry *dentry);
