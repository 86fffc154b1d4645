/*
 * Theory of operation
 *
 * stdin, stdout and stderr of `hotcell run` are host descriptors. Each becomes an inode (IOPS_PASSED)
 * that holds the descriptor, and open files on it: the one the first process starts with, and more
 * when a guest opens /dev/stdout or /proc/self/fd/1.
 *
 *   file (FOPS_PASSED) --inode--> inode --priv--> passed { host_ref, waitq, stash }
 *
 * The open file description may be shared with the caller's other processes, so its O_NONBLOCK is
 * never changed (host/host_stream.h), no more is read than the guest asked for, and regular files
 * use the shared offset.
 *
 * Commit after send: bytes taken from a pipe whose answer got lost stay in the stash and are given
 * to the next reader. Writes have their effect at once; a lost answer is kept (task/sigreturn.c).
 *
 * A guest sees a pipe, socket, file or character device owned by the sandbox user, mode 0600. It is
 * never a terminal (ENOTTY): a terminal of the sandbox is a pty of its own.
 */
#include "kernel/fs/passed/passed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/core/clock.h"
#include "kernel/fs/file.h"
#include "kernel/fs/ops.h"
#include "kernel/host/host_file.h"
#include "kernel/host/host_stream.h"
#include "kernel/host/watch.h"

struct passed {
	struct host_ref ref;
	struct host_stream stream;
	struct waitq waitq;
	bool watched;
	char *stash; /* read from the host, not yet delivered */
	size_t stash_size, stash_used;
};

static struct passed *passed_of(const struct file *f)
{
	return f->inode->priv;
}

static bool is_regular(const struct passed *p)
{
	return S_ISREG(p->stream.mode);
}

/*
 * The descriptor's own file uses the shared position. A file opened again (/dev/stdout) has a
 * position of its own, as has a call that names one (pread).
 */
static bool is_positioned(const struct file *f, const uint64_t *pos)
{
	return is_regular(passed_of(f)) && pos && (pos != &f->pos || f->priv);
}

/* ---- reading ---- */

static ssize_t read_positioned(struct passed *p, struct uio *u, uint64_t *pos)
{
	ssize_t n = host_pread(&p->ref, scratch_buffer(), MIN(u->resid, (size_t)SCRATCH_SIZE), *pos);

	if (n > 0)
		n = uio_put(u, scratch_buffer(), (size_t)n);
	if (n > 0)
		*pos += (uint64_t)n;
	return n;
}

static int fill_stash(struct passed *p, size_t want)
{
	size_t size = MIN(want, (size_t)KIB(64));
	ssize_t n = host_stream_read(&p->ref, &p->stream, scratch_buffer(), size);

	if (n <= 0)
		return (int)n;
	p->stash = kmemdup0(scratch_buffer(), (size_t)n);
	if (!p->stash)
		return -ENOMEM; /* cannot be put back; the arena is full and the sandbox is dying */
	p->stash_size = (size_t)n;
	p->stash_used = 0;
	return 0;
}

static ssize_t file_read(struct file *f, struct uio *u, uint64_t *pos)
{
	struct passed *p = passed_of(f);

	if (is_positioned(f, pos))
		return read_positioned(p, u, pos);
	if (u->resid == 0)
		return 0;
	if (!p->stash) {
		int err = fill_stash(p, u->resid);
		if (err < 0 || !p->stash)
			return err;
	}
	return uio_put(u, p->stash + p->stash_used, MIN(u->resid, p->stash_size - p->stash_used));
}

static void file_read_done(struct file *f, size_t count)
{
	struct passed *p = passed_of(f);

	if (!p->stash)
		return;
	p->stash_used += count;
	if (p->stash_used < p->stash_size)
		return;
	kfree(p->stash);
	p->stash = NULL;
}

/* ---- writing ---- */

static ssize_t write_some(struct file *f, struct uio *u, uint64_t *pos)
{
	struct passed *p = passed_of(f);
	char *scratch = scratch_buffer();
	struct stat st;
	bool positioned = is_positioned(f, pos);
	ssize_t got = uio_get(u, scratch, MIN(u->resid, (size_t)SCRATCH_SIZE));

	if (got <= 0)
		return got;
	if (positioned && (f->flags & O_APPEND) && host_fstat(&p->ref, &st) == 0)
		*pos = (uint64_t)st.st_size;
	ssize_t n = positioned ? host_pwrite(&p->ref, scratch, (size_t)got, *pos) :
				 host_stream_write(&p->ref, &p->stream, scratch, (size_t)got);
	if (n < got)
		uio_rewind(u, (size_t)(got - MAX(n, 0)));
	if (n > 0 && positioned)
		*pos += (uint64_t)n;
	return n;
}

static ssize_t file_write(struct file *f, struct uio *u, uint64_t *pos)
{
	ssize_t total = 0;

	while (u->resid > 0) {
		ssize_t n = write_some(f, u, pos);
		if (n <= 0)
			return total ? total : n;
		total += n;
	}
	return total;
}

/* ---- readiness ---- */

static uint32_t file_poll_bits(struct file *f)
{
	struct passed *p = passed_of(f);
	uint32_t stash = p->stash ? EPOLLIN | EPOLLRDNORM : 0;

	if (is_regular(p))
		return EPOLLIN | EPOLLOUT | EPOLLRDNORM | EPOLLWRNORM;
	return host_stream_poll(&p->ref) | stash;
}

static struct waitq *file_waitq(struct file *f, bool for_write)
{
	struct passed *p = passed_of(f);

	/* A descriptor that cannot be watched is always ready: nobody waits for it. */
	if (!p->watched && !is_regular(p))
		p->watched = host_watch(&p->ref, &p->waitq) == 0;
	return &p->waitq;
}

/* ---- the rest ---- */

static long file_ioctl(struct call *c, struct file *f, uint32_t cmd, uint64_t arg)
{
	struct passed *p = passed_of(f);

	if (cmd != FIONREAD)
		return -ENOTTY;
	int n = host_stream_available(&p->ref);
	if (n < 0)
		return n == -ENOTTY ? -ENOTTY : n;
	size_t total = (size_t)n + (p->stash ? p->stash_size - p->stash_used : 0);
	return user_write_u32(c->task, uaddr(arg), (uint32_t)MIN(total, (size_t)INT32_MAX));
}

/* A position of its own: everything but the current one is the host's to tell. */
static int64_t seek_own(struct file *f, int64_t offset, int whence)
{
	struct passed *p = passed_of(f);
	struct stat st;
	int64_t base = 0;

	if (whence == SEEK_DATA || whence == SEEK_HOLE)
		return -EINVAL; /* would move the shared position */
	if (whence == SEEK_CUR)
		base = (int64_t)f->pos;
	if (whence == SEEK_END) {
		int err = host_fstat(&p->ref, &st);
		if (err < 0)
			return err;
		base = st.st_size;
	}
	if (__builtin_add_overflow(base, offset, &base))
		return -EOVERFLOW;
	if (base < 0)
		return -EINVAL;
	f->pos = (uint64_t)base;
	return base;
}

static int64_t file_lseek(struct file *f, int64_t offset, int whence)
{
	struct passed *p = passed_of(f);

	if (!is_regular(p))
		return -ESPIPE;
	if (f->priv)
		return seek_own(f, offset, whence);
	/* Undelivered bytes were read past the position that the guest knows. */
	if (p->stash && whence == SEEK_CUR)
		offset -= (int64_t)(p->stash_size - p->stash_used);
	int64_t at = host_seek(&p->ref, offset, whence);
	if (at >= 0 && p->stash) {
		kfree(p->stash);
		p->stash = NULL;
	}
	if (at >= 0)
		f->pos = (uint64_t)at;
	return at;
}

static int file_truncate(struct file *f, uint64_t size)
{
	struct passed *p = passed_of(f);
	return is_regular(p) ? host_truncate(&p->ref, size) : -EINVAL;
}

static int file_fsync(struct file *f, bool data_only)
{
	struct passed *p = passed_of(f);
	return is_regular(p) ? host_sync(&p->ref, data_only) : -EINVAL;
}

static int file_mmap(struct file *f, bool shared, int *ret_host_fd)
{
	struct passed *p = passed_of(f);

	if (!is_regular(p))
		return -ENODEV;
	int fd = host_ref_fd_mode(&p->ref, shared && file_writable(f));
	if (fd < 0)
		return fd;
	*ret_host_fd = fd;
	return 0;
}

const struct file_ops passed_file_ops = {
	.name = "passed",
	.read = file_read,
	.read_done = file_read_done,
	.write = file_write,
	.poll = file_poll_bits,
	.waitq = file_waitq,
	.ioctl = file_ioctl,
	.lseek = file_lseek,
	.truncate = file_truncate,
	.fsync = file_fsync,
	.mmap = file_mmap,
};

/* ---- the inode ---- */

/* Another open of the same descriptor: no more than it allows. */
static int inode_open(struct call *c, struct inode *inode, struct file *file)
{
	struct passed *p = inode->priv;

	uint32_t access = p->stream.flags & O_ACCMODE;

	if (access == O_WRONLY && file_readable(file))
		return -EACCES;
	if (access == O_RDONLY && file_writable(file))
		return -EACCES;
	file->ops = FOPS_PASSED;
	file->stream = !is_regular(p);
	file->priv = p; /* opened again: see is_positioned() */
	return 0;
}

static int inode_getattr(struct task *task, struct inode *inode, struct kstat *st)
{
	struct passed *p = inode->priv;
	struct stat host;

	inode_stat(inode, st);
	if (!is_regular(p) || host_fstat(&p->ref, &host) < 0)
		return 0;
	inode->size = st->size = (uint64_t)host.st_size;
	st->blocks = (uint64_t)host.st_blocks;
	st->mtime = (int64_t)ns_from_timespec(&host.st_mtim);
	st->ctime = (int64_t)ns_from_timespec(&host.st_ctim);
	return 0;
}

static int inode_setattr(struct inode *inode, const struct iattr *attr)
{
	struct passed *p = inode->priv;

	if (attr->valid & (ATTR_MODE | ATTR_UID | ATTR_GID))
		return -EPERM;
	if (!(attr->valid & ATTR_SIZE))
		return 0;
	return is_regular(p) ? host_truncate(&p->ref, attr->size) : -EINVAL;
}

static void passed_free(struct passed *p)
{
	if (p->watched)
		host_unwatch(&p->ref);
	host_ref_drop(&p->ref);
	kfree(p->stash);
	kfree(p);
}

static void inode_evict(struct inode *inode)
{
	passed_free(inode->priv);
	inode->priv = NULL;
}

const struct inode_ops passed_inode_ops = {
	.open = inode_open,
	.getattr = inode_getattr,
	.setattr = inode_setattr,
	.evict = inode_evict,
};

static const char *kind_name(uint32_t mode)
{
	switch (mode) {
	case S_IFIFO:
		return "pipe";
	case S_IFSOCK:
		return "socket";
	case S_IFREG:
		return "file";
	default:
		return "device";
	}
}

static struct inode *make_inode(struct mount *m, struct passed *p, uint32_t uid, uint32_t gid)
{
	struct inode *inode = m ? inode_new(m->sb, IOPS_PASSED, p->stream.mode | 0600) : NULL;

	if (inode) {
		inode->priv = p;
		inode->uid = uid;
		inode->gid = gid;
	}
	return inode;
}

struct file *file_new_passed(struct host_ref *ref, uint32_t flags, uint32_t uid, uint32_t gid)
{
	struct mount *m = mount_anon(FS_ANON);
	struct passed *p = knew(struct passed);
	char name[48];

	if (p)
		waitq_init(&p->waitq);
	if (!p || host_stream_examine(ref, &p->stream) < 0 || S_ISDIR(p->stream.mode)) {
		kfree(p);
		host_ref_drop(ref);
		return NULL;
	}
	host_ref_move(&p->ref, ref);
	struct inode *inode = make_inode(m, p, uid, gid);
	if (!inode) {
		passed_free(p);
		return NULL;
	}
	snprintf(name, sizeof(name), "%s:[%llu]", kind_name(p->stream.mode),
		 (unsigned long long)inode->ino);
	struct dentry *d = dentry_anon(inode, name);
	uint32_t all = (flags & ~(uint32_t)O_ACCMODE) | p->stream.flags;
	struct file *f = d ? file_new(FOPS_PASSED, (struct path){ m, d }, inode, all) : NULL;
	if (f)
		f->stream = !is_regular(p);
	dentry_put(d);
	inode_put(inode);
	return f;
}
