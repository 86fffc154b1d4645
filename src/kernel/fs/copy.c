/*
 * Copying inside the kernel: sendfile(2), splice(2), tee(2), vmsplice(2), copy_file_range(2).
 *
 * Everything is built of one step: read a chunk from a source into a buffer of this file, write it
 * to a sink, advance the source by what the sink took. Pipes are read and filled through pipe/
 * without staging, other streams through their ops with *_done called at once: no answer is under
 * way when bytes move between two objects of ours.
 *
 * Blocking: only before anything moved, except that sendfile and splice into a blocking socket go
 * on until all is written (a pipe takes what fits); c->progress then counts what is done, and the
 * guest's offset is written before the call waits, so that it is right if a signal ends it there. A
 * blocked call holds the file it waits for; if another thread closes the other descriptor
 * meanwhile, the call ends with what it has.
 *
 * Limit: a copy between two regular files moves COPY_MAX bytes per call, so that one guest call
 * does not keep the kernel from serving others; the callers of these calls have to loop anyway.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "kernel/abi/syscalls.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/pipe/pipe.h"
#include "kernel/fs/rw.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/task.h"

#define COPY_CHUNK (64u << 10)
#define COPY_MAX (8u << 20)
#define RW_MAX 0x7ffff000ull

static char buffer[COPY_CHUNK];

static const unsigned splice_flags_known =
	SPLICE_F_MOVE | SPLICE_F_NONBLOCK | SPLICE_F_MORE | SPLICE_F_GIFT;

/* The end of a transfer at a file; `at` is where regular files are read or written. */
struct end {
	struct file *file;
	uint64_t at;
	bool own_offset; /* the guest gave an offset: the file position stays */
	struct uaddr offset;
};

/* ---- ends ---- */

static int end_init(struct call *c, struct end *e, struct file *f, uint64_t offset_ptr)
{
	*e = (struct end){ .file = f, .offset = uaddr(offset_ptr), .own_offset = offset_ptr != 0 };
	if (f->stream) {
		if (e->own_offset)
			return pipe_of(f) ? -ESPIPE : -EINVAL;
		return 0;
	}
	/* The position of a passed file is the host's: other processes move it. */
	if (f->ops == FOPS_PASSED)
		file_ops(f)->lseek(f, 0, SEEK_CUR);
	e->at = f->pos;
	if (e->own_offset && user_read_u64(c->task, &e->at, e->offset) < 0)
		return -EFAULT;
	return (int64_t)e->at < 0 ? -EINVAL : 0;
}

static uint64_t *end_pos(struct end *e)
{
	return e->file->stream ? NULL : &e->at;
}

/* Writes the new offset back to where it came from. */
static int end_finish(struct call *c, struct end *e)
{
	if (e->file->stream)
		return 0;
	if (e->own_offset)
		return user_write_u64(c->task, e->offset, e->at);
	e->file->pos = e->at;
	if (e->file->ops == FOPS_PASSED)
		file_ops(e->file)->lseek(e->file, (int64_t)e->at, SEEK_SET);
	return 0;
}

/* Fills `buffer`: the count, 0 at the end, -EAGAIN. Nothing is taken yet. */
static ssize_t source_peek(struct end *e, size_t size)
{
	struct uio u;
	uint64_t at = e->at;
	uio_kernel(&u, buffer, MIN(size, COPY_CHUNK));
	return file_ops(e->file)->read(e->file, &u, e->file->stream ? NULL : &at);
}

static void source_take(struct end *e, size_t size)
{
	if (!e->file->stream)
		e->at += size;
	else if (file_ops(e->file)->read_done)
		file_ops(e->file)->read_done(e->file, size);
	file_accessed(e->file);
}

/* Writes bytes: the count, -EAGAIN, other errors. */
static ssize_t sink_write(struct call *c, struct end *e, void *bytes, size_t size)
{
	const struct file_ops *ops = file_ops(e->file);
	struct uio u;
	int64_t allowed = write_limit(c->task, e->file, e->at, size);
	if (allowed < 0)
		return (ssize_t)allowed;
	uio_kernel(&u, bytes, (size_t)allowed);
	ssize_t n = ops->write(e->file, &u, end_pos(e));
	if (n > 0) {
		if (ops->write_done)
			ops->write_done(e->file, (size_t)n);
		file_modified(c->task, e->file);
	}
	return n;
}

/* The answer for an error of a sink after `total` bytes. */
static long sink_error(struct call *c, ssize_t err, uint64_t total)
{
	long result = total ? (long)total : (long)err;
	if (err == -EPIPE)
		return call_signal(c, SIGPIPE, result);
	if (err == -EFBIG && !total)
		return call_signal(c, SIGXFSZ, result);
	return result;
}

static bool may_wait(const struct file *f, unsigned flags)
{
	return !(f->flags & O_NONBLOCK) && !(flags & SPLICE_F_NONBLOCK) && file_ops(f)->waitq;
}

/* ---- sendfile ---- */

static long sendfile_loop(struct call *c, struct end *in, struct end *out, uint64_t count)
{
	uint64_t moved = 0;
	long result = -1;
	while (c->progress < count && moved < COPY_MAX) {
		ssize_t n = source_peek(in, count - c->progress), m;
		if (n <= 0) {
			result = c->progress ? (long)c->progress : n;
			break;
		}
		m = sink_write(c, out, buffer, (size_t)n);
		bool enough = c->progress && pipe_of(out->file);
		if (m == -EAGAIN && !enough && may_wait(out->file, 0)) {
			result = CALL_BLOCK;
			break;
		}
		if (m <= 0) {
			result = sink_error(c, m, c->progress);
			break;
		}
		source_take(in, (size_t)m);
		c->progress += (uint64_t)m;
		moved += (uint64_t)m;
	}
	return result == -1 ? (long)c->progress : result;
}

long sys_sendfile(struct call *c)
{
	struct file *out_file = fd_file(c->task, (int)c->args[0]);
	struct file *in_file = fd_file(c->task, (int)c->args[1]);
	struct end in, out;
	if (!in_file || !file_readable(in_file) || !out_file || !file_writable(out_file))
		return c->progress ? (long)c->progress : -EBADF;
	if (in_file->stream)
		return c->args[2] ? -ESPIPE : -EINVAL;
	if (!file_ops(in_file)->read || !file_ops(out_file)->write ||
	    (out_file->flags & O_APPEND))
		return -EINVAL;
	int r = end_init(c, &in, in_file, c->args[2]);
	if (r == 0)
		r = end_init(c, &out, out_file, 0);
	if (r < 0)
		return r;
	long n = sendfile_loop(c, &in, &out, MIN(c->args[3], RW_MAX));
	end_finish(c, &out);
	if (end_finish(c, &in) < 0)
		return -EFAULT;
	if (n != CALL_BLOCK)
		return n;
	c->partial = (int64_t)c->progress;
	return call_block_file(c, out_file, file_ops(out_file)->waitq(out_file, true));
}

/* ---- splice ---- */

/* Waits for data in, or room in, a pipe. */
static long wait_pipe(struct call *c, struct file *f, bool for_write, unsigned flags)
{
	struct pipe *p = pipe_of(f);
	if (!may_wait(f, flags))
		return -EAGAIN;
	return call_block_file(c, f, for_write ? pipe_write_waitq(p) : pipe_read_waitq(p));
}

/* Is there something to read, and somewhere to put it? 1 = go on, else the answer. */
static long pipe_readable(struct call *c, struct file *in, unsigned flags)
{
	struct pipe *p = pipe_of(in);
	if (!pipe_empty(p))
		return 1;
	return pipe_no_writers(p) ? 0 : wait_pipe(c, in, false, flags);
}

static long pipe_writable(struct call *c, struct file *out, unsigned flags)
{
	struct pipe *p = pipe_of(out);
	if (pipe_no_readers(p))
		return call_signal(c, SIGPIPE, -EPIPE);
	return pipe_space(p) ? 1 : wait_pipe(c, out, true, flags);
}

static long pipe_to_pipe(struct call *c, struct file *in, struct file *out, size_t size,
			 unsigned flags, bool duplicate)
{
	struct pipe *from = pipe_of(in), *to = pipe_of(out);
	if (from == to)
		return -EINVAL;
	long r = pipe_readable(c, in, flags);
	if (r == 1)
		r = pipe_writable(c, out, flags);
	if (r != 1)
		return r;
	return duplicate ? pipe_tee(from, to, size) : pipe_splice(from, to, size);
}

static long file_to_pipe(struct call *c, struct end *in, struct file *out, size_t size,
			 unsigned flags)
{
	struct pipe *to = pipe_of(out);
	size_t total = 0;
	if (!file_ops(in->file)->read)
		return -EINVAL;
	long r = pipe_writable(c, out, flags);
	if (r != 1)
		return r;
	while (total < size) {
		size_t room = MIN(pipe_space(to), size - total);
		if (!room)
			break;
		ssize_t n = source_peek(in, room);
		if (n == -EAGAIN && !total && may_wait(in->file, flags))
			return call_block_file(c, in->file,
					       file_ops(in->file)->waitq(in->file, false));
		if (n > 0)
			n = pipe_append(to, buffer, (size_t)n);
		if (n <= 0)
			return total ? (long)total : n;
		source_take(in, (size_t)n);
		total += (size_t)n;
		if (in->file->stream)
			break; /* what is there now is enough */
	}
	return (long)total;
}

static long pipe_to_file(struct call *c, struct file *in, struct end *out, size_t size,
			 unsigned flags)
{
	struct pipe *from = pipe_of(in);
	if (!file_ops(out->file)->write || (out->file->flags & O_APPEND))
		return -EINVAL;
	while (c->progress < size) {
		union {
			const void *bytes;
			void *source; /* uio_get() only reads from it */
		} at;
		size_t part = pipe_peek(from, 0, &at.bytes);
		if (!part && c->progress)
			break;
		long r = part ? 1 : pipe_readable(c, in, flags);
		if (r != 1)
			return r;
		ssize_t n = sink_write(c, out, at.source, MIN(part, size - c->progress));
		if (n == -EAGAIN && may_wait(out->file, flags)) {
			c->partial = (int64_t)c->progress;
			return call_block_file(c, out->file,
					       file_ops(out->file)->waitq(out->file, true));
		}
		if (n <= 0)
			return sink_error(c, n, c->progress);
		pipe_consume(from, (size_t)n);
		c->progress += (uint64_t)n;
	}
	return (long)c->progress;
}

long sys_splice(struct call *c)
{
	struct file *in = fd_file(c->task, (int)c->args[0]);
	struct file *out = fd_file(c->task, (int)c->args[2]);
	uint64_t in_offset = c->args[1], out_offset = c->args[3];
	size_t size = (size_t)MIN(c->args[4], RW_MAX);
	unsigned flags = (unsigned)c->args[5];
	struct end e;
	if (size == 0)
		return 0;
	if (flags & ~splice_flags_known)
		return -EINVAL;
	if (!in || !out || !file_readable(in) || !file_writable(out))
		return c->progress ? (long)c->progress : -EBADF;
	bool from_pipe = pipe_of(in), to_pipe = pipe_of(out);
	if (!from_pipe && !to_pipe)
		return -EINVAL;
	if ((from_pipe && in_offset) || (to_pipe && out_offset))
		return -ESPIPE;
	if (from_pipe && to_pipe)
		return pipe_to_pipe(c, in, out, size, flags, false);
	int r = from_pipe ? end_init(c, &e, out, out_offset) : end_init(c, &e, in, in_offset);
	if (r < 0)
		return r;
	long n = from_pipe ? pipe_to_file(c, in, &e, size, flags)
			   : file_to_pipe(c, &e, out, size, flags);
	if (n > 0 && end_finish(c, &e) < 0)
		return -EFAULT;
	return n;
}

long sys_tee(struct call *c)
{
	struct file *in = fd_file(c->task, (int)c->args[0]);
	struct file *out = fd_file(c->task, (int)c->args[1]);
	unsigned flags = (unsigned)c->args[3];
	if (flags & ~splice_flags_known)
		return -EINVAL;
	if (c->args[2] == 0)
		return 0;
	if (!in || !out || !file_readable(in) || !file_writable(out))
		return -EBADF;
	if (!pipe_of(in) || !pipe_of(out))
		return -EINVAL;
	return pipe_to_pipe(c, in, out, (size_t)MIN(c->args[2], RW_MAX), flags, true);
}

/* Guest memory to pipe. The bytes are copied: nobody can change them afterwards, which is allowed. */
static long vmsplice_out(struct call *c, struct file *out, struct uio *u, unsigned flags)
{
	struct pipe *p = pipe_of(out);
	size_t total = 0;
	long r = pipe_writable(c, out, flags);
	if (r != 1)
		return r;
	while (u->resid > 0) {
		size_t room = MIN(pipe_space(p), MIN(u->resid, (size_t)COPY_CHUNK));
		ssize_t n = room ? uio_get(u, buffer, room) : 0;
		if (n > 0)
			n = pipe_append(p, buffer, (size_t)n);
		if (n <= 0)
			return total ? (long)total : n;
		total += (size_t)n;
	}
	return (long)total;
}

static long vmsplice_in(struct call *c, struct file *in, struct uio *u, unsigned flags)
{
	struct pipe *p = pipe_of(in);
	size_t total = 0;
	long r = pipe_readable(c, in, flags);
	if (r != 1)
		return r;
	while (u->resid > 0) {
		const void *bytes;
		size_t part = pipe_peek(p, 0, &bytes);
		ssize_t n = part ? uio_put(u, bytes, MIN(part, u->resid)) : 0;
		if (n <= 0)
			return total ? (long)total : n;
		pipe_consume(p, (size_t)n);
		total += (size_t)n;
	}
	return (long)total;
}

long sys_vmsplice(struct call *c)
{
	struct file *f = fd_file(c->task, (int)c->args[0]);
	unsigned flags = (unsigned)c->args[3];
	struct uio u;
	if (flags & ~splice_flags_known)
		return -EINVAL;
	if (!f || (f->flags & O_PATH) || !pipe_of(f))
		return -EBADF;
	int r = uio_user_vec(&u, c->task, CALL_ARG_PTR(c, 1), c->args[2]);
	if (r < 0 || u.resid == 0)
		return r;
	return file_writable(f) ? vmsplice_out(c, f, &u, flags) : vmsplice_in(c, f, &u, flags);
}

/* ---- copy_file_range ---- */

static int check_range(struct end *in, struct end *out, uint64_t size)
{
	uint64_t in_end, out_end;
	if (__builtin_add_overflow(in->at, size, &in_end) ||
	    __builtin_add_overflow(out->at, size, &out_end) || (int64_t)in_end < 0 ||
	    (int64_t)out_end < 0)
		return -EOVERFLOW;
	if (in->file->inode == out->file->inode && in->at < out_end && out->at < in_end)
		return -EINVAL;
	return 0;
}

long sys_copy_file_range(struct call *c)
{
	struct file *in_file = fd_file(c->task, (int)c->args[0]);
	struct file *out_file = fd_file(c->task, (int)c->args[2]);
	uint64_t size = MIN(c->args[4], RW_MAX), total = 0;
	struct end in, out;
	if ((unsigned)c->args[5])
		return -EINVAL;
	if (!in_file || !out_file)
		return -EBADF;
	if (S_ISDIR(in_file->inode->mode) || S_ISDIR(out_file->inode->mode))
		return -EISDIR;
	if (!S_ISREG(in_file->inode->mode) || !S_ISREG(out_file->inode->mode))
		return -EINVAL;
	if (!file_readable(in_file) || !file_writable(out_file) || (out_file->flags & O_APPEND))
		return -EBADF;
	if (in_file->stream || out_file->stream || !file_ops(in_file)->read ||
	    !file_ops(out_file)->write)
		return -EINVAL;
	int r = end_init(c, &in, in_file, c->args[1]);
	if (r == 0)
		r = end_init(c, &out, out_file, c->args[3]);
	if (r == 0)
		r = check_range(&in, &out, size);
	if (r < 0)
		return r;
	size = MIN(size, (uint64_t)COPY_MAX);
	while (total < size) {
		ssize_t n = source_peek(&in, size - total);
		ssize_t m = n > 0 ? sink_write(c, &out, buffer, (size_t)n) : n;
		if (m <= 0) {
			if (!total)
				return m < 0 && n > 0 ? sink_error(c, m, 0) : m;
			break;
		}
		source_take(&in, (size_t)m);
		total += (uint64_t)m;
	}
	if (end_finish(c, &in) < 0 || end_finish(c, &out) < 0)
		return -EFAULT;
	return (long)total;
}
