/*
 * The tree file system: tmpfs and the copy-on-write layer in one. See tree_inode.c for the theory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TMPFS_MAGIC_NUMBER 0x01021994ull
#define OVERLAY_MAGIC_NUMBER 0x794c7630ull

struct inode;
struct superblock;
struct host_ref;

struct tree_options {
	uint64_t magic;
	uint32_t uid, gid;  /* owner of the root and of every lower file */
	uint32_t root_mode; /* permission bits of the root when there is no lower */
	bool has_lower;
	unsigned lower_root; /* host root number; the whole root is the lower directory (or file) */
};

/* A new file system with its root dentry. -errno of the lower's stat, -ENOMEM. */
int tree_sb_new(const struct tree_options *options, struct superblock **ret);

/*
 * Content made by the kernel itself at start; not charged to the guest's limits. Later additions
 * go through the VFS. *ret (may be NULL) is borrowed: the directory holds it. 0, -ENOMEM, -EEXIST.
 */
int tree_add_dir(struct inode *dir, const char *name, uint32_t mode, uint32_t uid, uint32_t gid,
		 struct inode **ret);
/* The directory at a relative path, made with its parents (0755 root) as far as it is missing. */
int tree_add_path(struct inode *root, const char *path, uint32_t mode, uint32_t uid, uint32_t gid,
		  struct inode **ret);
int tree_add_file(struct inode *dir, const char *name, uint32_t mode, uint32_t uid, uint32_t gid,
		  const void *data, size_t size);
int tree_add_symlink(struct inode *dir, const char *name, const char *target);
/* `name` shows the host file (root, path) read-only below the private layer; looked up when first
 * used, absent if the host has none. The last component of `path` must be `name`. */
int tree_add_lower(struct inode *dir, const char *name, unsigned root, const char *path);

/* An unnamed regular file backed by a host memfd with sealing; one reference. `sb` is any tree. */
int tree_memfd_new(struct superblock *sb, unsigned host_flags, uint32_t uid, uint32_t gid,
		   uint32_t mode, struct inode **ret);
/* An unnamed regular file (System V shared memory and the like); one reference. */
int tree_file_new(struct superblock *sb, uint32_t mode, uint32_t uid, uint32_t gid,
		  struct inode **ret);
int tree_truncate(struct inode *inode, uint64_t size);
/* The host file behind a memfd inode, NULL when it is none. */
struct host_ref *tree_memfd_ref(struct inode *inode);
/* A regular file's host descriptor for mapping; see file_ops.mmap. */
int tree_map_fd(struct inode *inode, bool shared_writable, int *ret_host_fd);
