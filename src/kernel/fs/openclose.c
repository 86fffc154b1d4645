/*
 * open(2), openat2(2), close(2), close_range(2).
 *
 * Opening is: find or make the dentry (open_walk; a final symlink is followed by walking on, so that
 * O_CREAT makes what a dangling link names), check type and permission (open_check), make the struct
 * file and let the file system prepare it (open_file), truncate, install.
 *
 * A FIFO blocks in fifo_open(): the call then runs again from the top, which is harmless because
 * O_CREAT finds the FIFO there and O_EXCL never gets that far.
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <unistd.h>

#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/fs/dev/dev.h"
#include "kernel/fs/file.h"
#include "kernel/fs/namei.h"
#include "kernel/fs/notify.h"
#include "kernel/fs/pipe/pipe.h"
#include "kernel/task/task.h"

#define GUEST_O_LARGEFILE 0100000u
#define GUEST_O_TMPFILE 020000000u /* without the O_DIRECTORY bit */

#define OPEN_FLAGS_KNOWN                                                                           \
	(O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND | O_NONBLOCK | O_SYNC |      \
	 O_ASYNC | O_DIRECT | GUEST_O_LARGEFILE | O_DIRECTORY | O_NOFOLLOW | O_NOATIME |           \
	 O_CLOEXEC | O_PATH | GUEST_O_TMPFILE)

struct opening {
	struct call *call;
	struct task *task;
	uint32_t flags;
	uint32_t mode;
	unsigned lookup;
	bool created;
	bool must_be_dir; /* a trailing slash */
};

static int access_mask(uint32_t flags)
{
	static const uint8_t masks[4] = { R_OK, W_OK, R_OK | W_OK, R_OK | W_OK };
	return masks[flags & O_ACCMODE] | ((flags & O_TRUNC) ? W_OK : 0);
}

/* ---- finding or making the object ---- */

static uint32_t open_umask(const struct opening *o)
{
	return o->task ? o->task->fs->umask : 0;
}

static int open_last(struct opening *o, struct walk *w)
{
	struct dentry *d;
	bool create = o->flags & O_CREAT, excl = create && (o->flags & O_EXCL);
	if (w->dot) {
		if (create)
			return excl ? -EEXIST : -EISDIR;
		return walk_last(w, false);
	}
	if (create && w->trailing_slash)
		return -EISDIR;
	int r = dentry_lookup(o->task, w->cur.dentry, w->last, &d);
	if (r < 0)
		return r;
	if (!d->inode && create) {
		r = namei_make(o->task, w->cur, d, S_IFREG | (o->mode & ~open_umask(o)), 0);
		if (r < 0) {
			dentry_put(d);
			return r;
		}
		o->created = true;
	} else if (d->inode && excl) {
		dentry_put(d);
		return -EEXIST;
	}
	o->must_be_dir = w->trailing_slash;
	return walk_enter(w, d, !(o->flags & O_NOFOLLOW) || w->trailing_slash);
}

static int open_walk(struct opening *o, int dirfd, const char *name, struct path *ret)
{
	struct walk w;
	if (!*name)
		return -ENOENT;
	int r = walk_start(&w, o->task, dirfd, name, o->lookup);
	if (r < 0)
		return r;
	do {
		r = walk_parent(&w);
		if (r == 0)
			r = open_last(o, &w);
	} while (r > 0);
	if (r == 0)
		*ret = path_get(w.cur);
	walk_end(&w);
	return r;
}

/* ---- checks ---- */

static int open_check_type(const struct opening *o, struct path p)
{
	uint32_t mode = p.dentry->inode->mode;
	if (S_ISDIR(mode)) {
		if ((o->flags & O_CREAT) || (access_mask(o->flags) & W_OK))
			return -EISDIR;
	} else if ((o->flags & O_DIRECTORY) || o->must_be_dir) {
		return -ENOTDIR;
	}
	if (S_ISLNK(mode))
		return -ELOOP;
	if ((S_ISCHR(mode) || S_ISBLK(mode)) && (p.mnt->flags & MS_NODEV))
		return -EACCES;
	return 0;
}

static int open_check(struct opening *o, struct path p)
{
	struct inode *inode = p.dentry->inode;
	struct task *t = o->task;
	int r = open_check_type(o, p);
	if (r < 0)
		return r;
	if (!S_ISREG(inode->mode))
		o->flags &= ~(uint32_t)O_TRUNC;
	int mask = access_mask(o->flags);
	/* Who made the file may use it whatever its mode says. */
	r = o->created ? 0 : path_permission(t, p, mask);
	if (r < 0)
		return r;
	if ((o->flags & O_NOATIME) && t && t->cred->fsuid != inode->uid &&
	    !cred_capable(t->cred, CAP_FOWNER))
		return -EPERM;
	if ((mask & W_OK) && S_ISREG(inode->mode) && inode->write_count < 0)
		return -ETXTBSY;
	return 0;
}

/* ---- the open file ---- */

static int open_prepare(struct call *c, struct inode *inode, struct file *f)
{
	const struct inode_ops *ops = inode_ops(inode);
	/* A passed pipe is the host's, not a FIFO of ours. */
	if (inode->ops == IOPS_PASSED)
		return ops->open(c, inode, f);
	switch (inode->mode & S_IFMT) {
	case S_IFDIR:
		f->ops = FOPS_DIR;
		return 0;
	case S_IFIFO:
		return c ? fifo_open(c, inode, f) : -ENXIO;
	case S_IFSOCK:
	case S_IFLNK:
		return -ENXIO;
	case S_IFCHR:
	case S_IFBLK:
		/* A device node means the device wherever it lies. */
		if (inode->ops != IOPS_PROC && inode->ops != IOPS_DEVPTS)
			return dev_open(c, inode, f);
		break;
	default:
		break;
	}
	return ops->open ? ops->open(c, inode, f) : -ENXIO;
}

static int open_file(struct opening *o, struct path p, struct file **ret)
{
	struct inode *inode = p.dentry->inode;
	uint32_t keep = ~(uint32_t)(O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_CLOEXEC);
	struct file *f = file_new(FOPS_NONE, p, inode, (o->flags & keep) | GUEST_O_LARGEFILE);
	if (!f)
		return -ENFILE;
	f->opener_uid = o->task ? o->task->cred->fsuid : 0;
	/* O_NOCTTY is for the terminal's open alone. */
	f->flags |= o->flags & O_NOCTTY;
	int r = open_prepare(o->call, inode, f);
	f->flags &= ~(uint32_t)O_NOCTTY;
	if (r == 0 && S_ISREG(inode->mode) && file_writable(f)) {
		inode->write_count++;
		f->counted = true;
	}
	if (r == 0 && (o->flags & O_TRUNC) && !o->created)
		r = namei_truncate(o->task, p.dentry, 0);
	if (r != 0) {
		file_put(f);
		return r;
	}
	notify_dentry(p.dentry, IN_OPEN);
	*ret = f;
	return 0;
}

static int open_opath(struct opening *o, struct path p, struct file **ret)
{
	if (((o->flags & O_DIRECTORY) || o->must_be_dir) && !S_ISDIR(p.dentry->inode->mode))
		return -ENOTDIR;
	*ret = file_new(FOPS_PATH, p, p.dentry->inode,
			o->flags & (O_PATH | O_DIRECTORY | O_NOFOLLOW));
	if (!*ret)
		return -ENFILE;
	(*ret)->opener_uid = o->task ? o->task->cred->fsuid : 0;
	return 0;
}

static int open_tmpfile(struct opening *o, int dirfd, const char *name, struct file **ret)
{
	struct path dir;
	struct inode *inode = NULL;
	uint32_t mode = S_IFREG | (o->mode & ~o->task->fs->umask), gid;
	int r = path_lookup(o->task, dirfd, name, o->lookup | LOOKUP_FOLLOW | LOOKUP_DIRECTORY,
			    &dir);
	if (r < 0)
		return r;
	struct inode *parent = dir.dentry->inode;
	r = namei_may_create(o->task, dir);
	if (r == 0)
		r = inode_ops(parent)->tmpfile ? 0 : -EOPNOTSUPP;
	if (r == 0) {
		uint32_t uid = namei_owner(o->task, parent, &mode, &gid);
		r = inode_ops(parent)->tmpfile(parent, mode, uid, gid, &inode);
	}
	if (r == 0) {
		inode->linkable = !(o->flags & O_EXCL);
		struct dentry *d = dentry_new(dir.dentry, (struct qstr){ "#tmp", 4 }, inode);
		r = d ? 0 : -ENOMEM;
		if (d) {
			dentry_remove(d); /* it has no name: "/tmp/#tmp (deleted)" */
			o->created = true;
			r = open_file(o, (struct path){ dir.mnt, d }, ret);
			dentry_put(d);
		}
		inode_put(inode);
	}
	path_put(&dir);
	return r;
}

/* ---- the calls ---- */

static int check_flags(struct opening *o)
{
	if (o->flags & O_PATH)
		o->flags &= O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	if (o->flags & GUEST_O_TMPFILE) {
		if (!(o->flags & O_DIRECTORY) || !(access_mask(o->flags) & W_OK) ||
		    (o->flags & O_CREAT))
			return -EINVAL;
	} else if ((o->flags & (O_DIRECTORY | O_CREAT)) == (O_DIRECTORY | O_CREAT)) {
		return -EINVAL;
	}
	if (!(o->flags & (O_CREAT | GUEST_O_TMPFILE)))
		o->mode = 0;
	return 0;
}

static long do_open(struct opening *o, int dirfd, struct uaddr user_name)
{
	struct call *c = o->call;
	const char *name;
	struct file *f = NULL;
	struct path p;
	int r = check_flags(o);
	if (r < 0)
		return r;
	r = path_read_user(c->task, user_name, 0, &name);
	if (r < 0)
		return r;
	if (o->flags & GUEST_O_TMPFILE) {
		r = open_tmpfile(o, dirfd, name, &f);
	} else {
		r = open_walk(o, dirfd, name, &p);
		if (r < 0)
			return r;
		if (o->flags & O_PATH) {
			r = open_opath(o, p, &f);
		} else {
			r = open_check(o, p);
			if (r == 0)
				r = open_file(o, p, &f);
		}
		path_put(&p);
	}
	return r < 0 ? r : fd_return(c, f, o->flags & O_CLOEXEC);
}

int file_open_kernel(const char *name, uint32_t flags, uint32_t mode, struct file **ret)
{
	struct opening o = { .flags = flags, .mode = mode };
	struct path p;
	int r = open_walk(&o, AT_FDCWD, name, &p);

	if (r < 0)
		return r;
	uint32_t type = p.dentry->inode->mode & S_IFMT;
	if (type != S_IFREG)
		r = type == S_IFDIR ? -EISDIR : -EINVAL;
	uint8_t ops = p.dentry->inode->ops;
	if (r == 0 && (flags & O_ACCMODE) != O_RDONLY && ops != IOPS_TREE && ops != IOPS_HOST)
		r = -EACCES;
	if (r == 0)
		r = open_check(&o, p);
	if (r == 0)
		r = open_file(&o, p, ret);
	path_put(&p);
	return r;
}

static long open_call(struct call *c, int dirfd, struct uaddr name, uint64_t flags, uint64_t mode)
{
	struct opening o = {
		.call = c,
		.task = c->task,
		.flags = (uint32_t)flags & OPEN_FLAGS_KNOWN,
		.mode = (uint32_t)mode & 07777,
	};
	return do_open(&o, dirfd, name);
}

long sys_open(struct call *c)
{
	return open_call(c, AT_FDCWD, CALL_ARG_PTR(c, 0), c->args[1], c->args[2]);
}

long sys_openat(struct call *c)
{
	return open_call(c, (int)c->args[0], CALL_ARG_PTR(c, 1), c->args[2], c->args[3]);
}

long sys_creat(struct call *c)
{
	return open_call(c, AT_FDCWD, CALL_ARG_PTR(c, 0), O_CREAT | O_WRONLY | O_TRUNC,
			 c->args[1]);
}

/* A struct of the caller's size: shorter ones are zero-extended, the tail of longer must be zero. */
static int read_how(struct task *t, struct uaddr src, uint64_t size, struct open_how *how)
{
	char bytes[256];
	if (size < 24)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	memset(how, 0, sizeof(*how));
	if (user_read(t, how, src, MIN(size, sizeof(*how))) < 0)
		return -EFAULT;
	for (uint64_t at = sizeof(*how); at < size; at += sizeof(bytes)) {
		size_t n = MIN(size - at, sizeof(bytes));
		if (user_read(t, bytes, uaddr_add(src, at), n) < 0)
			return -EFAULT;
		for (size_t i = 0; i < n; i++) {
			if (bytes[i])
				return -E2BIG;
		}
	}
	return 0;
}

static int lookup_from_resolve(uint64_t resolve, unsigned *ret)
{
	static const struct {
		uint64_t resolve;
		unsigned lookup;
	} map[] = {
		{ RESOLVE_NO_XDEV, LOOKUP_NO_XDEV },
		{ RESOLVE_NO_MAGICLINKS, LOOKUP_NO_MAGICLINKS },
		{ RESOLVE_NO_SYMLINKS, LOOKUP_NO_SYMLINKS | LOOKUP_NO_MAGICLINKS },
		{ RESOLVE_BENEATH, LOOKUP_BENEATH },
		{ RESOLVE_IN_ROOT, LOOKUP_IN_ROOT },
		{ RESOLVE_CACHED, 0 },
	};
	*ret = 0;
	for (size_t i = 0; i < ARRAY_SIZE(map); i++) {
		if (resolve & map[i].resolve)
			*ret |= map[i].lookup;
		resolve &= ~map[i].resolve;
	}
	if (resolve || (*ret & (LOOKUP_BENEATH | LOOKUP_IN_ROOT)) ==
			       (LOOKUP_BENEATH | LOOKUP_IN_ROOT))
		return -EINVAL;
	return 0;
}

long sys_openat2(struct call *c)
{
	struct open_how how;
	struct opening o = { .call = c, .task = c->task };
	int r = read_how(c->task, CALL_ARG_PTR(c, 2), c->args[3], &how);
	if (r == 0)
		r = lookup_from_resolve(how.resolve, &o.lookup);
	if (r < 0)
		return r;
	const uint64_t with_path = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	if ((how.flags & ~(uint64_t)OPEN_FLAGS_KNOWN) || (how.mode & ~07777ull))
		return -EINVAL;
	if ((how.flags & O_PATH) && (how.flags & ~with_path))
		return -EINVAL;
	if (how.mode && !(how.flags & (O_CREAT | GUEST_O_TMPFILE)))
		return -EINVAL;
	if ((how.resolve & RESOLVE_CACHED) && (how.flags & (O_TRUNC | O_CREAT | GUEST_O_TMPFILE)))
		return -EAGAIN;
	o.flags = (uint32_t)how.flags;
	o.mode = (uint32_t)how.mode;
	return do_open(&o, (int)c->args[0], CALL_ARG_PTR(c, 1));
}

long sys_close(struct call *c)
{
	int fd = (int)c->args[0];
	struct fd_entry *e = fd_entry(c->task, fd);
	if (!e)
		return -EBADF;
	bool injected = e->injected;
	fd_close(c->task, fd);
	/* The host closes its own descriptor of that number, installed for mmap. */
	return injected ? CALL_CONTINUE : 0;
}

long sys_close_range(struct call *c)
{
	uint32_t first = (uint32_t)c->args[0], last = (uint32_t)c->args[1];
	uint32_t flags = (uint32_t)c->args[2];
	struct task *t = c->task;
	if ((flags & ~(uint32_t)(CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC)) || first > last)
		return -EINVAL;
	if ((flags & CLOSE_RANGE_UNSHARE) && t->files->refs > 1) {
		struct fdtable *own = fdtable_copy(t->files);
		if (!own)
			return -ENOMEM;
		struct fdtable *shared = t->files;
		t->files = own;
		fdtable_put(shared, t);
	}
	for (uint64_t fd = first; fd <= last && fd < t->files->capacity; fd++) {
		struct fd_entry *e = fd_entry(t, (int)fd);
		if (!e)
			continue;
		if (flags & CLOSE_RANGE_CLOEXEC)
			e->cloexec = true;
		else
			fd_close(t, (int)fd);
	}
	return 0;
}
