/*
 * read(2), write(2) and their relatives.
 *
 * file_read_call() and file_write_call() are the bodies for every kind of file, also used by the
 * socket calls. Regular files answer at once. Streams answer -EAGAIN when nothing can move; the call
 * then waits on the file's queue and runs again. For streams the move and its effect are separate
 * (commit after send, core/call.h): the answer goes out with call_reply(), and only if the thread
 * has it are bytes taken from the pipe (read_done) or made visible in it (write_done).
 *
 * A blocking write of more than fits proceeds in parts: each part but the last is made visible as it
 * is staged, because the reader has to make room; c->progress counts the bytes done, and a woken
 * call skips them in its rebuilt uio. An interruption after that is answered by the dispatcher with
 * c->progress as the count, as Linux does.
 *
 * Files that are always ready (regular ones, /dev/zero) move big requests in slices: after each the
 * call goes to the end of the run queue, and like a stream's write remembers how far it is. A signal
 * between slices does not cut it short: its handler runs, then the call goes on (task/sigreturn.c).
 */
#include "kernel/fs/rw.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/mount.h>

#include "kernel/abi/syscalls.h"
#include "kernel/core/clock.h"
#include "kernel/fs/namei.h"
#include "kernel/fs/notify.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/task.h"

#define RW_MAX 0x7ffff000ull /* what one call moves at most */
#define RW_SLICE (16u << 20) /* before others have a turn: some milliseconds, mostly */

/* relatime: at most one update per change and day. Only where the inode's fields are the truth. */
static void touch_atime(struct file *f)
{
	struct inode *inode = f->inode;
	const int64_t day = 24 * 3600 * (int64_t)NSEC_PER_SEC;
	if (inode->ops != IOPS_TREE || (f->flags & O_NOATIME) || inode->sb->read_only ||
	    (f->path.mnt->flags & (MS_NOATIME | MS_RDONLY)))
		return;
	if (inode->atime > inode->mtime && inode->atime > inode->ctime &&
	    (uint64_t)inode->atime / (uint64_t)day == (uint64_t)clock_real() / (uint64_t)day)
		return;
	inode->atime = clock_real();
}

void file_accessed(struct file *f)
{
	if (f->inode->ops == IOPS_NONE)
		return;
	if (S_ISREG(f->inode->mode))
		touch_atime(f);
	notify_dentry(f->path.dentry, IN_ACCESS);
}

void file_modified(struct task *t, struct file *f)
{
	if (f->inode->ops == IOPS_NONE)
		return;
	if (f->inode->mode & (S_ISUID | S_ISGID))
		namei_drop_suid(t, f->inode);
	notify_dentry(f->path.dentry, IN_MODIFY);
}

int64_t write_limit(struct task *t, const struct file *f, uint64_t pos, uint64_t size)
{
	if (!S_ISREG(f->inode->mode))
		return (int64_t)size;
	uint64_t limit = task_rlimit(t, RLIMIT_FSIZE);
	if (size > 0 && pos >= limit)
		return -EFBIG;
	return (int64_t)MIN(size, limit - pos);
}

/* ---- the shared bodies ---- */

/* Waits for the file to become ready, for sockets no longer than their SO_RCVTIMEO or SO_SNDTIMEO. */
static long wait_ready(struct call *c, struct file *f, bool for_write)
{
	const struct file_ops *ops = file_ops(f);
	uint64_t timeout_ns = ops->io_timeout ? ops->io_timeout(f, for_write) : 0;

	if (c->timed_out)
		return c->progress ? (long)c->progress : -EAGAIN;
	c->partial = (long)c->progress;
	if (timeout_ns) {
		int err = call_set_timeout(c, timeout_ns);
		if (err)
			return err;
		c->no_restart = true; /* signal(7): with a timeout set, EINTR and no restart */
	}
	return call_block_file(c, f, ops->waitq(f, for_write));
}

static bool sliced(const struct file *f, const uint64_t *pos)
{
	const struct file_ops *ops = file_ops(f);

	return !f->stream && pos && !ops->waitq && !ops->read_done && !ops->write_done;
}

/* What a call has to do in this run. `pos` is its own (pread), or the file's. How much is left then. */
static size_t begin_slice(struct call *c, struct file *f, struct uio *u, uint64_t *pos)
{
	if (!sliced(f, pos))
		return 0;
	if (pos != &f->pos)
		*pos += c->progress;
	uio_skip(u, MIN(c->progress, u->resid));
	size_t all = u->resid;
	u->resid = MIN(u->resid, RW_SLICE);
	return all - u->resid;
}

/* After a slice of `want` bytes, with `left` to come, gave `n`. */
static long end_slice(struct call *c, struct file *f, ssize_t n, size_t want, size_t left)
{
	if (n > 0)
		c->progress += (uint64_t)n;
	if (n > 0 && (size_t)n == want && left)
		return call_yield(c, f, (int64_t)c->progress);
	return c->progress ? (long)c->progress : n;
}

static long read_sliced(struct call *c, struct file *f, struct uio *u, uint64_t *pos)
{
	size_t left = begin_slice(c, f, u, pos), want = u->resid;
	ssize_t n = file_ops(f)->read(f, u, pos);
	if (n > 0)
		file_accessed(f);
	return end_slice(c, f, n, want, left);
}

static long file_read_call(struct call *c, struct file *f, struct uio *u, uint64_t *pos)
{
	const struct file_ops *ops = file_ops(f);
	if (!file_readable(f))
		return -EBADF;
	if (!ops->read)
		return S_ISDIR(f->inode->mode) ? -EISDIR : -EINVAL;
	if (sliced(f, pos) && (u->resid > RW_SLICE || c->progress))
		return read_sliced(c, f, u, pos);
	ssize_t n = ops->read(f, u, pos);
	if (n == FILE_WAIT_SIGNAL || (n == -EAGAIN && !(f->flags & O_NONBLOCK) && ops->waitq))
		return wait_ready(c, f, false);
	if (n < 0)
		return n;
	if (ops->read_done) {
		if (call_reply(c, n))
			ops->read_done(f, (size_t)n);
		if (n > 0)
			file_accessed(f);
		return CALL_DONE;
	}
	if (n > 0)
		file_accessed(f);
	return n;
}

/* A stream's write: parts are committed as they go, the last with the answer. */
static long write_stream(struct call *c, struct file *f, struct uio *u)
{
	const struct file_ops *ops = file_ops(f);
	if (c->progress)
		uio_skip(u, MIN(c->progress, u->resid));
	for (;;) {
		size_t before = u->resid;
		ssize_t n = ops->write(f, u, NULL);
		if (n == FILE_WAIT_SIGNAL ||
		    (n == -EAGAIN && !(f->flags & O_NONBLOCK) && ops->waitq))
			return wait_ready(c, f, true);
		if (n == -EPIPE)
			return call_signal(c, SIGPIPE, c->progress ? (long)c->progress : -EPIPE);
		if (n < 0)
			return c->progress ? (long)c->progress : n;
		bool more = n > 0 && (size_t)n < before && !(f->flags & O_NONBLOCK) && ops->waitq;
		if (more) {
			if (ops->write_done)
				ops->write_done(f, (size_t)n);
			c->progress += (uint64_t)n;
			continue;
		}
		if (!ops->write_done) {
			file_modified(c->task, f);
			return (long)c->progress + n;
		}
		if (call_reply(c, (long)c->progress + n))
			ops->write_done(f, (size_t)n);
		file_modified(c->task, f);
		return CALL_DONE;
	}
}

static long write_file(struct call *c, struct file *f, struct uio *u, uint64_t *pos)
{
	size_t left = begin_slice(c, f, u, pos), want = u->resid;

	if ((f->flags & O_APPEND) && S_ISREG(f->inode->mode))
		*pos = f->inode->size;
	int64_t allowed = write_limit(c->task, f, *pos, u->resid);
	if (allowed < 0)
		return c->progress ? (long)c->progress : call_signal(c, SIGXFSZ, allowed);
	u->resid = (size_t)allowed;
	ssize_t n = file_ops(f)->write(f, u, pos);
	if (n > 0)
		file_modified(c->task, f);
	return end_slice(c, f, n, want, left);
}

static long file_write_call(struct call *c, struct file *f, struct uio *u, uint64_t *pos)
{
	if (!file_writable(f))
		return -EBADF;
	if (!file_ops(f)->write)
		return -EINVAL;
	if (u->resid > RW_MAX)
		u->resid = RW_MAX;
	if (f->stream || !pos)
		return write_stream(c, f, u);
	return write_file(c, f, u, pos);
}

/* ---- the calls ---- */

static uint64_t *position(struct file *f)
{
	return f->stream ? NULL : &f->pos;
}

static bool size_ok(uint64_t size)
{
	return size <= INT64_MAX;
}

long sys_read(struct call *c)
{
	struct file *f = call_file(c, (int)c->args[0]);
	struct uio u;
	if (!f)
		return -EBADF;
	if (!size_ok(c->args[2]))
		return file_readable(f) ? -EINVAL : -EBADF;
	uio_user(&u, c->task, CALL_ARG_PTR(c, 1), MIN(c->args[2], RW_MAX));
	return file_read_call(c, f, &u, position(f));
}

long sys_write(struct call *c)
{
	struct file *f = call_file(c, (int)c->args[0]);
	struct uio u;
	if (!f)
		return -EBADF;
	if (!size_ok(c->args[2]))
		return file_writable(f) ? -EINVAL : -EBADF;
	uio_user(&u, c->task, CALL_ARG_PTR(c, 1), MIN(c->args[2], RW_MAX));
	return file_write_call(c, f, &u, position(f));
}

/* Builds the uio for a vector call; the file's mode is checked first, as Linux does. */
static int vector(struct call *c, struct file *f, bool for_write, struct uio *u)
{
	if (!(for_write ? file_writable(f) : file_readable(f)))
		return -EBADF;
	int r = uio_user_vec(u, c->task, CALL_ARG_PTR(c, 1), c->args[2]);
	if (r == 0 && u->resid > RW_MAX)
		u->resid = RW_MAX;
	return r;
}

long sys_readv(struct call *c)
{
	struct file *f = call_file(c, (int)c->args[0]);
	struct uio u;
	if (!f)
		return -EBADF;
	int r = vector(c, f, false, &u);
	return r < 0 ? r : file_read_call(c, f, &u, position(f));
}

long sys_writev(struct call *c)
{
	struct file *f = call_file(c, (int)c->args[0]);
	struct uio u;
	if (!f)
		return -EBADF;
	int r = vector(c, f, true, &u);
	return r < 0 ? r : file_write_call(c, f, &u, position(f));
}

/* The file for a call with its own offset: -EINVAL, -EBADF, -ESPIPE. */
static int positioned(struct call *c, int64_t offset, struct file **ret)
{
	if (offset < 0)
		return -EINVAL;
	*ret = call_file(c, (int)c->args[0]);
	if (!*ret || ((*ret)->flags & O_PATH))
		return -EBADF;
	return (*ret)->stream ? -ESPIPE : 0;
}

static long pread_pwrite(struct call *c, bool for_write)
{
	struct file *f;
	struct uio u;
	uint64_t pos = c->args[3];
	int r = positioned(c, (int64_t)pos, &f);
	if (r < 0)
		return r;
	if (!size_ok(c->args[2]))
		return -EINVAL;
	uio_user(&u, c->task, CALL_ARG_PTR(c, 1), MIN(c->args[2], RW_MAX));
	return for_write ? file_write_call(c, f, &u, &pos) : file_read_call(c, f, &u, &pos);
}

long sys_pread64(struct call *c)
{
	return pread_pwrite(c, false);
}

long sys_pwrite64(struct call *c)
{
	return pread_pwrite(c, true);
}

static long preadv_pwritev(struct call *c, bool for_write)
{
	struct file *f;
	struct uio u;
	uint64_t pos = c->args[3];
	int r = positioned(c, (int64_t)pos, &f);
	if (r == 0)
		r = vector(c, f, for_write, &u);
	if (r < 0)
		return r;
	return for_write ? file_write_call(c, f, &u, &pos) : file_read_call(c, f, &u, &pos);
}

long sys_preadv(struct call *c)
{
	return preadv_pwritev(c, false);
}

long sys_pwritev(struct call *c)
{
	return preadv_pwritev(c, true);
}

/*
 * The v2 calls: offset -1 uses the file position; flags apply to this call only. RWF_HIPRI, SYNC and
 * DSYNC ask for nothing that we do not do anyway; NOWAIT is O_NONBLOCK; APPEND is O_APPEND.
 */
static long v2_call(struct call *c, bool for_write)
{
	const uint64_t known = RWF_HIPRI | RWF_DSYNC | RWF_SYNC | RWF_NOWAIT | RWF_APPEND;
	uint64_t flags = (uint32_t)c->args[5], pos = c->args[3];
	struct file *f = call_file(c, (int)c->args[0]);
	struct uio u;
	if ((int64_t)pos < -1)
		return -EINVAL;
	if (!f)
		return -EBADF;
	if ((int64_t)pos != -1 && f->stream)
		return -ESPIPE;
	int r = vector(c, f, for_write, &u);
	if (r < 0)
		return r;
	if ((flags & ~known) || ((flags & RWF_APPEND) && !for_write))
		return -EOPNOTSUPP;
	uint32_t saved = f->flags;
	if (flags & RWF_NOWAIT)
		f->flags |= O_NONBLOCK;
	if (flags & RWF_APPEND)
		f->flags |= O_APPEND;
	uint64_t *at = (int64_t)pos == -1 ? position(f) : &pos;
	file_get(f);
	long n = for_write ? file_write_call(c, f, &u, at) : file_read_call(c, f, &u, at);
	f->flags = saved;
	file_put(f);
	return n;
}

long sys_preadv2(struct call *c)
{
	return v2_call(c, false);
}

long sys_pwritev2(struct call *c)
{
	return v2_call(c, true);
}
