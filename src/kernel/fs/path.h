/*
 * Paths: a dentry seen through a mount, and the walk from a guest string to one (path_resolution(7)).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mount;
struct dentry;
struct inode;
struct task;
struct uaddr;

struct path {
	struct mount *mnt;
	struct dentry *dentry;
};

struct path path_get(struct path p);
void path_put(struct path *p); /* clears *p; fine when empty */
static inline bool path_equal(struct path a, struct path b)
{
	return a.mnt == b.mnt && a.dentry == b.dentry;
}

struct fs_context {
	uint32_t refs;
	uint32_t umask;
	struct path root, cwd;
};
struct fs_context *fs_context_copy(struct fs_context *from); /* NULL on -ENOMEM */
struct fs_context *fs_context_get(struct fs_context *fs);
void fs_context_put(struct fs_context *fs);

enum lookup_flags {
	LOOKUP_FOLLOW = 1 << 0,	   /* follow a final symlink */
	LOOKUP_DIRECTORY = 1 << 1, /* the result must be a directory */
	LOOKUP_EMPTY = 1 << 2,	   /* "" means dirfd itself (AT_EMPTY_PATH) */
	LOOKUP_NO_SYMLINKS = 1 << 3,
	LOOKUP_BENEATH = 1 << 4,
	LOOKUP_IN_ROOT = 1 << 5,
	LOOKUP_NO_XDEV = 1 << 6,
	LOOKUP_NO_MAGICLINKS = 1 << 7,
};

#define PATH_MAX_BYTES 4096
#define NAME_MAX_BYTES 255

/*
 * Resolves a path of the guest. `dirfd` is a guest descriptor or AT_FDCWD. On success *ret holds
 * references to an existing (positive) dentry.
 */
int path_lookup(struct task *t, int dirfd, const char *name, unsigned flags, struct path *ret);
/* The same, reading the string from guest memory (-EFAULT, -ENAMETOOLONG, -ENOENT for ""). */
int path_lookup_user(struct task *t, int dirfd, struct uaddr name, unsigned flags, struct path *ret);

/*
 * Resolves all but the last component. *ret is the parent directory; `last` receives the final
 * component without trailing slashes ("." and ".." are returned as such; "/" gives ".").
 */
struct last_name {
	char name[NAME_MAX_BYTES + 1];
	uint16_t length;
	bool trailing_slash;
	bool dot; /* last component is "." , ".." or "/" */
};
int path_lookup_parent(struct task *t, int dirfd, const char *name, unsigned flags,
		       struct path *ret, struct last_name *last);
int path_lookup_parent_user(struct task *t, int dirfd, struct uaddr name, unsigned flags,
			    struct path *ret, struct last_name *last);

/*
 * Absolute name of `p` as seen from `root`, NUL-terminated into dst; returns its length or
 * -ENAMETOOLONG. Unlinked: " (deleted)" is appended. Not below root: prefixed "(unreachable)".
 */
ssize_t path_format(struct path p, struct path root, char *dst, size_t capacity);

/* Permission check on an inode with the task's fs credentials: mask of R_OK W_OK X_OK. 0/-EACCES/-EROFS. */
int path_permission(struct task *t, struct path p, int mask);

/*
 * The walk step by step, for open(2), which may have to create what a chain of final symlinks
 * points to. walk_start(), then walk_parent(), which leaves the directory in `cur` (searchable) and
 * the final component in `last`; walk_last() enters it: 0 = `cur` is the object, 1 = a symlink was
 * expanded, call walk_parent() again. walk_end() drops the references.
 */
struct qstr {
	const char *name; /* not necessarily NUL-terminated */
	uint16_t length;
};
struct walk {
	struct task *task; /* NULL: the kernel itself */
	struct path root;  /* borrowed */
	struct path cur;
	unsigned flags;
	int links;
	const char *rest;
	struct qstr last;
	bool trailing_slash;
	bool dot; /* last is "." or ".." */
};
int walk_start(struct walk *w, struct task *t, int dirfd, const char *name, unsigned flags);
int walk_parent(struct walk *w);
int walk_last(struct walk *w, bool follow);
/* Moves `cur` to the child dentry `d` of its directory (reference taken over), following mounts
 * and, if `follow`, a symlink: result as walk_last(). */
int walk_enter(struct walk *w, struct dentry *d, bool follow);
void walk_end(struct walk *w);

/* Reads a path of the guest into one of two static buffers (0 or 1): length or -errno; "" is 0. */
int path_read_user(struct task *t, struct uaddr name, int which, const char **ret);

/* Permission bits and capabilities only: no read-only check. task NULL: always 0. */
int inode_permission(struct task *t, struct inode *inode, int mask);
