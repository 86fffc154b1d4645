/* Inside of the tree file system. */
#pragma once

#include <sys/stat.h>

#include "base/list.h"
#include "kernel/core/user.h"
#include "kernel/fs/tree/tree.h"
#include "kernel/fs/vfs.h"
#include "kernel/host/host_ref.h"

#define TREE_INLINE_MAX 2048u
#define TREE_FIRST_INO (1ull << 40)

enum tree_storage {
	TREE_INLINE, /* bytes in the arena (also: no data at all) */
	TREE_LOWER,  /* a host file, read-only */
	TREE_STORE,  /* a file of our own in the store, or a memfd */
};

/* A lower file of another place that a tree shows: (root, path), and what is below it. */
struct tree_graft {
	struct tree_graft *next;
	uint16_t root;
	char path[];
};

struct tree_sb {
	uint32_t uid, gid;
	struct tree_graft *grafts; /* all that there were at the start: what an image may refer to */
	bool loaded;		   /* an image has said what is in it */
};

struct tree_xattr {
	struct tree_xattr *next;
	char *name;
	void *value;
	size_t size;
};

struct tree_node {
	uint8_t storage; /* enum tree_storage */
	bool charged;	 /* one LIMIT_DISK_INODES is taken */
	bool sparse;	 /* allocation is not simply [0, dense_end): ask the host */
	bool mapped;	 /* was mapped shared and writable: the host knows more than we do */
	struct host_ref ref; /* TREE_LOWER file, lower of a directory or link, or TREE_STORE */
	uint32_t charged_links; /* names besides the first: each takes a LIMIT_DISK_INODES */
	uint64_t charged_bytes;
	uint64_t dense_end; /* [0, dense_end) is allocated */
	char *inline_data;
	uint32_t inline_capacity;
	char *target;	       /* symlink, read from the host when first used */
	struct tree_dir *dir;  /* directory content of the private layer, made on demand */
	struct inode *home;    /* clean lower inode: the directory it is in; holds a reference */
	int64_t host_mtime;    /* of the store file when we last set our own mtime */
	struct tree_xattr *xattrs;
	size_t xattr_bytes;
	uint64_t link; /* number of its links in the image that was last taken, see tree_save.c */
};

static inline struct tree_node *tree_node(const struct inode *inode)
{
	return inode->priv;
}

/* ---- tree_dir.c: the names of the private layer ---- */

enum tree_entry_kind {
	TREE_ENTRY_INODE,    /* holds a reference */
	TREE_ENTRY_WHITEOUT, /* hides a lower name */
	TREE_ENTRY_GRAFT,    /* a lower file of another place, not looked up yet */
};

struct tree_entry {
	struct list order;
	struct tree_entry *next; /* hash chain */
	struct inode *inode;
	char *graft_path;
	uint32_t hash;
	uint16_t graft_root;
	uint8_t kind;
	uint8_t length;
	bool loaded; /* an image has said what it is */
	char name[];
};

struct tree_dir {
	struct list order;
	struct tree_entry **buckets;
	uint32_t bucket_count; /* power of two */
	uint32_t count;
};

struct tree_entry *tree_entry_find(struct inode *dir, struct qstr name);
/* A new whiteout entry for `name`, which must not exist; NULL = -ENOMEM. */
struct tree_entry *tree_entry_add(struct inode *dir, struct qstr name);
/* Makes the entry an inode or a whiteout; takes over the reference. */
void tree_entry_set(struct tree_entry *e, struct inode *inode);
/* Makes the entry a graft; takes over `path`, which is kmalloc'ed. */
void tree_entry_graft(struct tree_entry *e, unsigned root, char *path);
/* Unlinks and frees; puts the inode. */
void tree_entry_remove(struct inode *dir, struct tree_entry *e);
void tree_dir_free(struct inode *dir);

/* ---- tree_inode.c ---- */

/* One reference. `charge`: count it against LIMIT_DISK_INODES (-ENOSPC). */
int tree_inode_new(struct superblock *sb, uint32_t mode, uint32_t uid, uint32_t gid, bool charge,
		   struct inode **ret);
/* Takes over `ref` (dropped on failure). `home` is the directory, NULL for a root. One reference. */
int tree_lower_new(struct superblock *sb, struct inode *home, struct host_ref *ref,
		   const struct stat *st, struct inode **ret);
/* Makes a clean lower inode part of the private layer, so that changes to it stay. */
int tree_keep(struct inode *inode);
/* A clean lower inode whose name went away: forget where it came from. */
void tree_forget_home(struct inode *inode);
static inline bool tree_has_lower(const struct inode *dir)
{
	return tree_node(dir)->ref.kind == HOST_REF_PATH;
}

/* ---- tree_names.c: lookup, readdir, create, remove, rename ---- */

int tree_lookup(struct task *task, struct inode *dir, struct dentry *parent, struct qstr name,
		struct inode **ret);
int tree_readdir(struct task *task, struct inode *dir, struct dentry *dentry, void *ctx,
		 dir_emit_fn emit);
int tree_empty(struct inode *dir, struct dentry *dentry);
ssize_t tree_readlink(struct task *task, struct inode *inode, char *dst, size_t capacity);
int tree_insert(struct inode *dir, struct qstr name, struct inode *inode);
int tree_mknod(struct inode *dir, struct dentry *child, uint32_t mode, uint32_t uid, uint32_t gid,
	       uint32_t rdev);
int tree_symlink(struct inode *dir, struct dentry *child, const char *target, uint32_t uid,
		 uint32_t gid);
int tree_link(struct inode *dir, struct dentry *child, struct inode *target);
int tree_unlink(struct inode *dir, struct dentry *child);
int tree_rename(struct inode *old_dir, struct dentry *old_child, struct inode *new_dir,
		struct dentry *new_child, unsigned flags);
int tree_tmpfile(struct inode *dir, uint32_t mode, uint32_t uid, uint32_t gid, struct inode **ret);

/* ---- tree_data.c ---- */

ssize_t tree_read(struct inode *inode, struct uio *u, uint64_t pos);
ssize_t tree_write(struct inode *inode, struct uio *u, uint64_t pos);
int tree_fallocate(struct inode *inode, int mode, uint64_t offset, uint64_t length);
void tree_data_free(struct inode *inode);
/* Sets the inode's own bytes, at most TREE_INLINE_MAX or through a store file. */
int tree_set_content(struct inode *inode, const void *data, size_t size);
/* Brings charge and st_blocks in line with what the host has allocated. */
void tree_reconcile(struct inode *inode);

/* ---- tree_file.c ---- */

struct call;
struct file;
int tree_open(struct call *c, struct inode *inode, struct file *file);

/* ---- tree_save.c ---- */

/* What an image holds: the trees of directories that a guest can write to. */
bool tree_is_saved(const struct mount *m);

/* ---- tree_load_node.c: for tree_load.c ---- */

struct image_record;
struct tree_load;

/* One component, neither "." nor "..". */
bool tree_image_name(const char *name);
/* The graft that shows the host's (root, path): exactly that, or else something above it. NULL = none. */
const struct tree_graft *tree_image_graft(const struct tree_load *l, uint32_t root, const char *path,
					  bool exact);
/*
 * The inode of a NODE, charged; one reference. -ENOENT: the template does not have it, or not as the same
 * type. A directory that it has no more is made, and keeps what the image has in it. -EPROTO.
 */
int tree_image_make(struct tree_load *l, const struct image_record *r, struct inode **ret);

/* ---- tree_xattr.c ---- */

ssize_t tree_getxattr(struct inode *inode, const char *name, void *dst, size_t capacity);
int tree_setxattr(struct inode *inode, const char *name, const void *value, size_t size, int flags);
ssize_t tree_listxattr(struct inode *inode, char *dst, size_t capacity);
int tree_removexattr(struct inode *inode, const char *name);
void tree_xattr_free(struct inode *inode);
