/*
 * The virtual file system: superblocks, mounts, dentries, inodes and the operations that a file
 * system provides. Names and roles are Linux's.
 *
 *   struct mount --root--> struct dentry --inode--> struct inode --ops--> inode_ops_table[]
 *                              |parent                   |sb
 *                              v                         v
 *                          struct dentry            struct superblock
 *
 * All objects live in the arena; `ops` fields are small integers that index the const tables in
 * fs/ops.c. References: inode.refs counts dentries and open files; dentry.refs counts paths, open
 * files, mounts and child dentries.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/list.h"
#include "kernel/fs/path.h"

struct file;
struct call;
struct cred;
struct inode_locks;
struct statfs;

enum fs_type { FS_TREE, FS_HOST, FS_PROC, FS_SYS, FS_DEV, FS_DEVPTS, FS_PIPE, FS_SOCK, FS_ANON, FS_TYPE_MAX };

enum inode_ops_id {
	IOPS_NONE, /* no operation: pipes, sockets, anonymous inodes */
	IOPS_TREE,
	IOPS_HOST,
	IOPS_PROC,
	IOPS_SYS,
	IOPS_DEVPTS,
	IOPS_PASSED, /* descriptors passed by the caller */
	IOPS_MAX,
};

struct superblock {
	uint8_t fs_type; /* enum fs_type */
	bool no_dcache;	 /* dentries are looked up afresh each time (proc, host) */
	bool keep_directories; /* with no_dcache: those of directories stay for what hangs on them */
	bool read_only;
	uint32_t dev;	    /* st_dev: a made-up minor under major 0 */
	uint64_t magic;	    /* statfs f_type */
	uint64_t next_ino;
	void *priv;	    /* the file system's own */
	struct dentry *root;
};

/* Lives as long as the sandbox. Flags: MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC of sys/mount.h. */
struct mount {
	struct list link; /* all mounts, in mount order */
	int id;
	unsigned long flags;
	struct superblock *sb;
	struct dentry *root;
	struct path mountpoint; /* where; empty for the root mount and internal mounts */
	char *source;		/* as /proc/mounts shows it */
};

struct dentry {
	struct list hash_link;	/* dentry cache by (parent, name) */
	struct list sibling;	/* parent.children */
	struct list children;
	struct list lru_link;	/* evictable */
	struct dentry *parent;	/* itself for a root */
	struct inode *inode;	/* NULL = negative */
	uint32_t refs;
	uint16_t mount_count;	/* something is mounted here */
	bool unlinked;		/* removed from its directory but still referenced */
	bool referenced;	/* used since the evictor last looked */
	uint8_t name_length;
	uint32_t hash;
	char *name;
};

struct inode {
	struct list list_link;
	uint32_t refs;
	uint8_t ops;	      /* enum inode_ops_id */
	bool linkable;	      /* O_TMPFILE: linkat() may give it a first name */
	uint32_t mode;	      /* type and permission bits */
	uint32_t uid, gid;
	uint32_t nlink;
	uint32_t rdev;
	uint64_t ino;
	uint64_t size;
	uint64_t blocks; /* 512-byte units */
	int64_t atime, mtime, ctime, btime; /* clock_real ns */
	struct superblock *sb;
	struct list watches;	   /* inotify */
	struct inode_locks *locks; /* fcntl and flock state, made on demand */
	int32_t write_count;	   /* open for writing: execve answers ETXTBSY; < 0: being executed */
	void *priv;		   /* the file system's own */
	void *object;		   /* pipe behind a FIFO, bound unix socket, tty, ... by mode */
};

struct iattr { /* setattr request: only fields named in `valid` */
	unsigned valid;
	uint32_t mode, uid, gid;
	uint64_t size;
	int64_t atime, mtime;
};
enum { ATTR_MODE = 1, ATTR_UID = 2, ATTR_GID = 4, ATTR_SIZE = 8, ATTR_ATIME = 16, ATTR_MTIME = 32 };

/* What stat reports when it is not simply the inode's fields. */
struct kstat {
	uint32_t mode, uid, gid, nlink, dev, rdev, blksize;
	uint64_t ino, size, blocks;
	int64_t atime, mtime, ctime, btime;
	uint64_t attributes, mnt_id;
};

typedef bool (*dir_emit_fn)(void *ctx, const char *name, size_t length, uint64_t ino, uint8_t d_type);

/*
 * Permissions, read-only mounts and "exists already" are checked by the callers in fs/; operations
 * do the work. NULL = not supported (the caller answers EPERM/EOPNOTSUPP as Linux does).
 * `task` is NULL for the kernel's own accesses.
 */
struct inode_ops {
	/* Finds `name` in directory `dir`: *ret gets a new reference; -ENOENT. */
	int (*lookup)(struct task *task, struct inode *dir, struct dentry *parent, struct qstr name,
		      struct inode **ret);
	/* Makes a node of any type (mode has S_IFMT), owned uid/gid. `child` becomes positive. */
	int (*mknod)(struct inode *dir, struct dentry *child, uint32_t mode, uint32_t uid,
		     uint32_t gid, uint32_t rdev);
	int (*symlink)(struct inode *dir, struct dentry *child, const char *target, uint32_t uid,
		       uint32_t gid);
	int (*link)(struct inode *dir, struct dentry *child, struct inode *target);
	int (*unlink)(struct inode *dir, struct dentry *child); /* also rmdir: type from the inode */
	/* flags: RENAME_NOREPLACE/EXCHANGE/WHITEOUT; new_child may be positive (replaced). */
	int (*rename)(struct inode *old_dir, struct dentry *old_child, struct inode *new_dir,
		      struct dentry *new_child, unsigned flags);
	/* -ENOTEMPTY when a directory has entries. */
	int (*empty)(struct inode *dir, struct dentry *dentry);
	/* An unnamed regular file (O_TMPFILE). */
	int (*tmpfile)(struct inode *dir, uint32_t mode, uint32_t uid, uint32_t gid,
		       struct inode **ret);
	ssize_t (*readlink)(struct task *task, struct inode *inode, char *dst, size_t capacity);
	/* Magic links of /proc (exe, cwd, fd/N): jumps to a path. *ret with references.
	 * -EOPNOTSUPP: an ordinary link after all, readlink is used. */
	int (*follow)(struct task *task, struct inode *inode, struct path *ret);
	int (*getattr)(struct task *task, struct inode *inode, struct kstat *st);
	int (*setattr)(struct inode *inode, const struct iattr *attr);
	int (*permission)(struct task *task, struct inode *inode, int mask); /* extra, e.g. proc */
	/* All entries but "." and "..", from the emit cookie's start. Stops when emit says false. */
	int (*readdir)(struct task *task, struct inode *dir, struct dentry *dentry, void *ctx,
		       dir_emit_fn emit);
	/* Prepares an open file: sets file->ops and file->priv. */
	int (*open)(struct call *c, struct inode *inode, struct file *file);
	/* Last reference gone. */
	void (*evict)(struct inode *inode);
	ssize_t (*getxattr)(struct inode *inode, const char *name, void *dst, size_t capacity);
	int (*setxattr)(struct inode *inode, const char *name, const void *value, size_t size,
			int flags);
	ssize_t (*listxattr)(struct inode *inode, char *dst, size_t capacity);
	int (*removexattr)(struct inode *inode, const char *name);
	int (*statfs)(struct superblock *sb, struct statfs *ret);
};
extern const struct inode_ops *const inode_ops_table[IOPS_MAX];

static inline const struct inode_ops *inode_ops(const struct inode *inode)
{
	return inode_ops_table[inode->ops];
}

/* ---- objects ---- */

/* Makes or, after a restore, finds the state of the VFS. 0 or -ENOMEM. */
int vfs_init(void);

struct superblock *superblock_new(enum fs_type type, uint64_t magic); /* NULL on ENOMEM */
/* One reference; ino is the next of the superblock, times are now, nlink is 1. NULL on ENOMEM. */
struct inode *inode_new(struct superblock *sb, enum inode_ops_id ops, uint32_t mode);
struct inode *inode_get(struct inode *inode);
void inode_put(struct inode *inode); /* NULL is fine */
void inode_stat(const struct inode *inode, struct kstat *st); /* plain copy of the fields */
/* What setattr does to the inode's own fields; the size is not among them. */
void inode_set_attr(struct inode *inode, const struct iattr *attr);
/* Type, mode, links, size and times as the host has them; owner and number stay. */
void inode_set_stat(struct inode *inode, const struct stat *st);

/*
 * Dentries and who changes them. A hashed dentry is found by dentry_lookup(); it stays in the cache
 * at zero references until it is evicted. It is never a file system's content: that is asked again.
 *
 * Operations that make an entry (mknod, symlink, link) get a hashed negative `child` and call
 * dentry_instantiate(child, inode), which takes its own reference on the inode.
 * After a successful unlink the VFS calls dentry_remove(child); after a successful rename it calls
 * dentry_remove(new_child) for a replaced or negative target and dentry_move() or
 * dentry_exchange().
 */
struct dentry *dentry_get(struct dentry *d);
void dentry_put(struct dentry *d); /* NULL is fine */
/* A new unhashed dentry with one reference. Gets its own references on parent and inode (may be
 * NULL). It is linked on parent->children, last. NULL on ENOMEM. */
struct dentry *dentry_new(struct dentry *parent, struct qstr name, struct inode *inode);
/* Gives the superblock its root dentry: parent is itself, name "/". Takes over the reference on the
 * inode. 0 or -ENOMEM. */
int superblock_set_root(struct superblock *sb, struct inode *root);
/* The hashed dentry of that name without asking the file system; no reference taken, NULL = absent. */
struct dentry *dentry_find(struct dentry *parent, struct qstr name);
void dentry_instantiate(struct dentry *d, struct inode *inode);
/* Takes it out of its directory: unhashed, `unlinked`; freed with its last reference. */
void dentry_remove(struct dentry *d);
/* Gives `d` a new parent and name. -ENOMEM: nothing changed. */
int dentry_move(struct dentry *d, struct dentry *new_parent, struct qstr name);
void dentry_exchange(struct dentry *a, struct dentry *b);
bool dentry_is_below(const struct dentry *d, const struct dentry *ancestor); /* or the same */
/* Evicts up to `count` unused clean dentries; returns how many went. */
uint32_t dentry_shrink(uint32_t count);

/* Looks `name` up in `parent` through the cache or the file system. Negative results are returned
 * as negative dentries. */
int dentry_lookup(struct task *task, struct dentry *parent, struct qstr name, struct dentry **ret);

/* Mounts `sb` at `where` (absolute guest path, made if missing; NULL = the root). */
int mount_add(struct superblock *sb, const char *where, unsigned long flags, const char *source);
struct list *mount_list(void);
struct path root_path(void); /* of the sandbox, no reference taken */

/* Makes an internal, unhashed dentry for an anonymous object: names like "pipe:[12]". */
struct dentry *dentry_anon(struct inode *inode, const char *name);
struct mount *mount_anon(enum fs_type type); /* internal mount for pipefs, sockfs, anon_inodefs */
/* A mount of `sb` that is on no list (memfd, shm). NULL on ENOMEM. */
struct mount *mount_internal(struct superblock *sb, unsigned long flags);

/* ---- bodies of the calls, for setup code and tests; task NULL = the kernel itself ---- */
/* Makes a node of any type but a symlink; mode has S_IFMT. *ret (may be NULL) with references. */
int vfs_create(struct task *t, struct path dir, struct qstr name, uint32_t mode, struct path *ret);
int vfs_stat(struct task *t, struct path p, struct kstat *st);
