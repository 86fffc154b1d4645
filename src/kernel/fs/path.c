/*
 * The path walk: from a string of the guest to a dentry seen through a mount (path_resolution(7)).
 *
 * The walk goes over the string in place, one component at a time, holding a reference on where it
 * is (`cur`). Components come from the dentry cache, so a cached path costs one hash and one
 * permission test per component. Nothing recurses: a symlink's target is put in front of what is
 * left of the string, in a buffer that is filled from its end, so that 40 links (the limit) of 4095
 * bytes always fit and only touched pages are used.
 *
 * Scoped walks (openat2 RESOLVE_BENEATH, RESOLVE_IN_ROOT) use the starting directory as root.
 * Magic links of /proc jump through inode_ops.follow.
 *
 * Limits: 4095 bytes per string, 255 per component, 40 symlinks.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/vfs_internal.h"
#include "kernel/task/task.h"

#define LINKS_MAX 40
#define LOOKUP_SCOPED (LOOKUP_BENEATH | LOOKUP_IN_ROOT)

/* Scratch of one walk; walks do not nest. */
static char link_buffer[(LINKS_MAX + 2) * PATH_MAX_BYTES];
static char user_names[2][PATH_MAX_BYTES];

struct path path_get(struct path p)
{
	if (p.dentry)
		dentry_get(p.dentry); /* mounts live as long as the sandbox */
	return p;
}

void path_put(struct path *p)
{
	if (!p->dentry)
		return;
	dentry_put(p->dentry);
	*p = (struct path){ 0 };
}

/* ---- permissions ---- */

int inode_permission(struct task *t, struct inode *inode, int mask)
{
	if (!t)
		return 0;
	const struct cred *c = t->cred;
	uint32_t mode = inode->mode;
	if (c->fsuid == inode->uid)
		mode >>= 6;
	else if ((mode >> 3 & 7) != (mode & 7) && cred_in_group(c, inode->gid))
		mode >>= 3;
	if ((unsigned)mask & ~mode & 7) {
		bool ok = false;
		if (S_ISDIR(inode->mode))
			ok = (!(mask & W_OK) && cred_capable(c, CAP_DAC_READ_SEARCH)) ||
			     cred_capable(c, CAP_DAC_OVERRIDE);
		else if (mask == R_OK && cred_capable(c, CAP_DAC_READ_SEARCH))
			ok = true;
		else if (!(mask & X_OK) || (inode->mode & 0111))
			ok = cred_capable(c, CAP_DAC_OVERRIDE);
		if (!ok)
			return -EACCES;
	}
	const struct inode_ops *ops = inode_ops(inode);
	return ops->permission ? ops->permission(t, inode, mask) : 0;
}

int path_permission(struct task *t, struct path p, int mask)
{
	struct inode *inode = p.dentry->inode;
	if (mask & W_OK) {
		bool ro = (p.mnt->flags & MS_RDONLY) || inode->sb->read_only;
		if (ro && (S_ISREG(inode->mode) || S_ISDIR(inode->mode) || S_ISLNK(inode->mode)))
			return -EROFS;
	}
	return inode_permission(t, inode, mask);
}

/* ---- the walk ---- */

/* `cur` becomes `p`, whose references are taken over. */
static void walk_set(struct walk *w, struct path p)
{
	struct path old = w->cur;
	w->cur = p;
	path_put(&old);
}

int walk_start(struct walk *w, struct task *t, int dirfd, const char *name, unsigned flags)
{
	*w = (struct walk){ .task = t, .flags = flags, .rest = name };
	w->root = t ? t->fs->root : root_path();
	bool absolute = name[0] == '/';
	if (absolute && (flags & LOOKUP_BENEATH))
		return -EXDEV;
	if (absolute && !(flags & LOOKUP_IN_ROOT)) {
		w->cur = path_get(w->root);
		return 0;
	}
	struct path start;
	if (dirfd == AT_FDCWD || !t) {
		start = t ? t->fs->cwd : w->root;
	} else {
		struct file *f = fd_file(t, dirfd);
		if (!f)
			return -EBADF;
		start = f->path;
		if (*name && !S_ISDIR(f->inode->mode))
			return -ENOTDIR;
	}
	if (flags & LOOKUP_SCOPED)
		w->root = start;
	w->cur = path_get(start);
	return 0;
}

void walk_end(struct walk *w)
{
	path_put(&w->cur);
}

/* Puts `target` in front of the rest of the string. A directory "/" between them is kept. */
static int push_target(struct walk *w, const char *target, size_t size)
{
	char *end = link_buffer + sizeof(link_buffer);
	if (!(w->rest >= link_buffer && w->rest < end)) {
		size_t n = strlen(w->rest) + 1;
		memmove(end - n, w->rest, n);
		w->rest = end - n;
	}
	size_t offset = (size_t)(w->rest - link_buffer);
	if (offset < size + 1)
		return -ENAMETOOLONG;
	char *at = link_buffer + offset;
	if (*at || w->trailing_slash)
		*--at = '/';
	at -= size;
	memcpy(at, target, size);
	w->rest = at;
	return 0;
}

/* Jumps through a magic link. 0 = done, 1 = it is an ordinary link, -errno. */
static int follow_magic(struct walk *w, struct inode *link)
{
	const struct inode_ops *ops = inode_ops(link);
	struct path to;
	if (!ops->follow)
		return 1;
	int r = ops->follow(w->task, link, &to);
	if (r == -EOPNOTSUPP)
		return 1;
	if (r < 0)
		return r;
	if (w->flags & LOOKUP_NO_MAGICLINKS)
		r = -ELOOP;
	else if ((w->flags & LOOKUP_SCOPED) || ((w->flags & LOOKUP_NO_XDEV) && to.mnt != w->cur.mnt))
		r = -EXDEV;
	if (r < 0) {
		path_put(&to);
		return r;
	}
	walk_set(w, to);
	return 0;
}

/* Follows the symlink `link` that lies in `cur`. 0 = `cur` is the object, 1 = expanded. */
static int follow_link(struct walk *w, struct inode *link)
{
	static char target[PATH_MAX_BYTES];
	if (++w->links > LINKS_MAX || (w->flags & LOOKUP_NO_SYMLINKS))
		return -ELOOP;
	int r = follow_magic(w, link);
	if (r <= 0)
		return r;
	const struct inode_ops *ops = inode_ops(link);
	ssize_t n = ops->readlink ? ops->readlink(w->task, link, target, sizeof(target)) : -EINVAL;
	if (n < 0)
		return (int)n;
	if (n == 0)
		return -ENOENT;
	if (n >= (ssize_t)sizeof(target))
		return -ENAMETOOLONG;
	r = push_target(w, target, strnlen(target, (size_t)n));
	if (r < 0)
		return r;
	if (target[0] == '/') {
		if (w->flags & LOOKUP_BENEATH)
			return -EXDEV;
		if ((w->flags & LOOKUP_NO_XDEV) && w->root.mnt != w->cur.mnt)
			return -EXDEV;
		walk_set(w, path_get(w->root));
	}
	return 1;
}

/* Goes on top of whatever is mounted at `cur`. */
static int cross_mounts(struct walk *w)
{
	struct mount *m;
	while (w->cur.dentry->mount_count > 0 && (m = mount_find(w->cur.mnt, w->cur.dentry))) {
		if (w->flags & LOOKUP_NO_XDEV)
			return -EXDEV;
		walk_set(w, path_get((struct path){ m, m->root }));
	}
	return 0;
}

static int walk_dotdot(struct walk *w)
{
	if (path_equal(w->cur, w->root))
		return (w->flags & LOOKUP_BENEATH) ? -EXDEV : 0;
	struct path p = w->cur;
	while (p.dentry == p.mnt->root) {
		if (!p.mnt->mountpoint.dentry)
			return 0; /* the root of everything */
		if (w->flags & LOOKUP_NO_XDEV)
			return -EXDEV;
		p = p.mnt->mountpoint;
		if (path_equal(p, w->root))
			break;
	}
	if (!path_equal(p, w->root))
		p.dentry = p.dentry->parent;
	walk_set(w, path_get(p));
	return cross_mounts(w);
}

int walk_enter(struct walk *w, struct dentry *d, bool follow)
{
	struct inode *inode = d->inode;
	if (!inode) {
		dentry_put(d);
		return -ENOENT;
	}
	if (S_ISLNK(inode->mode) && follow) {
		int r = follow_link(w, inode);
		dentry_put(d);
		return r;
	}
	/* The child holds its parent: swapping the dentry alone is enough. */
	struct dentry *old = w->cur.dentry;
	w->cur.dentry = d;
	dentry_put(old);
	return d->mount_count > 0 ? cross_mounts(w) : 0;
}

/* May `cur` be searched? */
static inline int check_search(struct walk *w)
{
	struct inode *dir = w->cur.dentry->inode;
	if (!S_ISDIR(dir->mode))
		return -ENOTDIR;
	if ((dir->mode & 0111) == 0111 && !inode_ops(dir)->permission)
		return 0;
	return inode_permission(w->task, dir, X_OK);
}

static int walk_step(struct walk *w, struct qstr name, bool follow)
{
	int r = check_search(w);
	if (r < 0)
		return r;
	if (name.name[0] == '.') {
		if (name.length == 1)
			return 0;
		if (name.length == 2 && name.name[1] == '.')
			return walk_dotdot(w);
	}
	struct dentry *d;
	r = dentry_lookup(w->task, w->cur.dentry, name, &d);
	return r < 0 ? r : walk_enter(w, d, follow);
}

/* Cuts the next component off `rest`; false at the end of the string. */
static bool next_component(struct walk *w, struct qstr *ret)
{
	const char *s = w->rest;
	while (*s == '/')
		s++;
	const char *e = s;
	while (*e && *e != '/')
		e++;
	w->trailing_slash = *e == '/';
	w->rest = e;
	while (*w->rest == '/')
		w->rest++;
	*ret = (struct qstr){ s, (uint16_t)(e - s) };
	return e > s;
}

int walk_parent(struct walk *w)
{
	struct qstr name;
	for (;;) {
		if (!next_component(w, &name)) {
			/* "/", or nothing left behind a link to a directory. */
			w->last = (struct qstr){ ".", 1 };
			w->dot = true;
			return check_search(w);
		}
		if (*w->rest == 0)
			break;
		int r = walk_step(w, name, true);
		if (r < 0)
			return r;
	}
	w->last = name;
	w->dot = name.name[0] == '.' &&
		 (name.length == 1 || (name.length == 2 && name.name[1] == '.'));
	if (name.length > NAME_MAX_BYTES)
		return -ENAMETOOLONG;
	return check_search(w);
}

int walk_last(struct walk *w, bool follow)
{
	return walk_step(w, w->last, follow);
}

int path_lookup(struct task *t, int dirfd, const char *name, unsigned flags, struct path *ret)
{
	struct walk w;
	if (!*name && !(flags & LOOKUP_EMPTY))
		return -ENOENT;
	int r = walk_start(&w, t, dirfd, name, flags);
	if (r < 0)
		return r;
	if (*name) {
		bool slash = false;
		do {
			r = walk_parent(&w);
			if (r < 0)
				break;
			slash = w.trailing_slash;
			r = walk_last(&w, (flags & LOOKUP_FOLLOW) || slash);
		} while (r > 0);
		if (r == 0 && (slash || (flags & LOOKUP_DIRECTORY)) &&
		    !S_ISDIR(w.cur.dentry->inode->mode))
			r = -ENOTDIR;
	}
	if (r == 0)
		*ret = w.cur; /* the reference goes along */
	else
		walk_end(&w);
	return r;
}

int path_read_user(struct task *t, struct uaddr name, int which, const char **ret)
{
	ssize_t n = user_string(t, user_names[which], PATH_MAX_BYTES, name);
	*ret = user_names[which];
	return (int)n;
}

int path_lookup_user(struct task *t, int dirfd, struct uaddr name, unsigned flags, struct path *ret)
{
	const char *s;
	int r = path_read_user(t, name, 0, &s);
	return r < 0 ? r : path_lookup(t, dirfd, s, flags, ret);
}

int path_lookup_parent(struct task *t, int dirfd, const char *name, unsigned flags,
		       struct path *ret, struct last_name *last)
{
	struct walk w;
	if (!*name)
		return -ENOENT;
	int r = walk_start(&w, t, dirfd, name, flags);
	if (r < 0)
		return r;
	r = walk_parent(&w);
	if (r < 0) {
		walk_end(&w);
		return r;
	}
	memcpy(last->name, w.last.name, w.last.length);
	last->name[w.last.length] = 0;
	last->length = w.last.length;
	last->trailing_slash = w.trailing_slash;
	last->dot = w.dot;
	*ret = w.cur;
	return 0;
}

int path_lookup_parent_user(struct task *t, int dirfd, struct uaddr name, unsigned flags,
			    struct path *ret, struct last_name *last)
{
	const char *s;
	int r = path_read_user(t, name, 0, &s);
	return r < 0 ? r : path_lookup_parent(t, dirfd, s, flags, ret, last);
}

/* ---- names ---- */

/* Puts `bytes` in front of *at; false when the room is used up. */
static bool prepend(char **at, const char *start, const char *bytes, size_t size)
{
	if ((size_t)(*at - start) < size)
		return false;
	*at -= size;
	memcpy(*at, bytes, size);
	return true;
}

ssize_t path_format(struct path p, struct path root, char *dst, size_t capacity)
{
	if (capacity < 2)
		return -ENAMETOOLONG;
	char *end = dst + capacity - 1, *at = end;
	*end = 0;
	bool ok = true;
	if (p.dentry->unlinked)
		ok = prepend(&at, dst, " (deleted)", 10);
	if (p.dentry->parent == p.dentry && p.dentry != p.mnt->root) {
		ok = ok && prepend(&at, dst, p.dentry->name, p.dentry->name_length);
		goto out;
	}
	bool empty = true;
	while (ok && !path_equal(p, root)) {
		if (p.dentry == p.mnt->root) {
			if (!p.mnt->mountpoint.dentry) {
				ok = empty ? prepend(&at, dst, "/", 1) : true;
				ok = ok && (path_equal(root, root_path()) ||
					    prepend(&at, dst, "(unreachable)", 13));
				goto out;
			}
			p = p.mnt->mountpoint;
			continue;
		}
		ok = prepend(&at, dst, p.dentry->name, p.dentry->name_length) &&
		     prepend(&at, dst, "/", 1);
		empty = false;
		p.dentry = p.dentry->parent;
	}
	if (ok && empty)
		ok = prepend(&at, dst, "/", 1);
out:
	if (!ok)
		return -ENAMETOOLONG;
	size_t n = (size_t)(end - at);
	memmove(dst, at, n + 1);
	return (ssize_t)n;
}
