/*
 * Pipes and FIFOs as files: pipe(2), pipe(7), fifo(7).
 *
 *   struct file (read end)  --priv-->  struct pipe  <--priv--  struct file (write end)
 *                                          ^
 *   struct inode (FIFO, or anonymous) -----+ object
 *
 * The pipe of an inode is made by its first open and freed with its last file. Both ends count;
 * end of file is "empty and no writer", EPIPE is "no reader".
 *
 * Blocking opens of a FIFO keep no count: an opener that waits is just a waiter on open_read_wq or
 * open_write_wq, so nothing has to be taken back when it is interrupted. The other side, when it
 * comes, finds it there, goes ahead and wakes it; the woken opener sees that the number of opens of
 * the other side has changed, even if that one has closed already. Until it ran again, its
 * waiting record counts as an open end, else the other side could read EOF too early.
 *
 * Every write wakes the readers with an event, also when data was there before: edge-triggered
 * epoll depends on it. Reads wake writers only when a full pipe got room, as on Linux.
 *
 * file->pos is unused by streams; a FIFO's read end keeps there the number of writers' opens it has
 * seen, because poll must not report a hang-up before the first writer came.
 */
#include "kernel/fs/pipe/pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "base/util.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/core/call.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/pipe/pipe_internal.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/cred.h"
#include "kernel/task/task.h"

#define EVENTS_READER (EPOLLIN | EPOLLRDNORM)
#define EVENTS_WRITER (EPOLLOUT | EPOLLWRNORM)

struct pipe *pipe_of(const struct file *file)
{
	return file->ops == FOPS_PIPE ? file->priv : NULL;
}

bool pipe_no_writers(const struct pipe *p)
{
	return !p->writers && !waitq_active(&p->open_write_wq);
}

bool pipe_no_readers(const struct pipe *p)
{
	return !p->readers && !waitq_active(&p->open_read_wq);
}

/* ---- lifetime ---- */

static struct pipe *pipe_new(struct inode *inode)
{
	struct pipe *p = knew(struct pipe);

	if (!p)
		return NULL;
	pipe_ring_init(p);
	p->inode = inode;
	inode->object = p;
	return p;
}

static void pipe_free(struct pipe *p)
{
	waitq_drain(&p->read_wq);
	waitq_drain(&p->write_wq);
	waitq_drain(&p->open_read_wq);
	waitq_drain(&p->open_write_wq);
	pipe_ring_fini(p);
	if (p->inode)
		p->inode->object = NULL;
	kfree(p);
}

static void pipe_attach(struct pipe *p, struct file *f)
{
	if (file_readable(f)) {
		p->readers++;
		p->reader_opens++;
	}
	if (file_writable(f)) {
		p->writers++;
		p->writer_opens++;
	}
	p->files++;
	f->ops = FOPS_PIPE;
	f->stream = true;
	f->priv = p;
}

static void pipe_release(struct file *f)
{
	struct pipe *p = f->priv;

	f->priv = NULL;
	if (!p)
		return;
	if (file_readable(f))
		p->readers--;
	if (file_writable(f))
		p->writers--;
	if (--p->files) {
		waitq_wake(&p->read_wq, EVENTS_READER | EPOLLHUP);
		waitq_wake(&p->write_wq, EVENTS_WRITER | EPOLLERR);
	} else if (waitq_active(&p->open_read_wq) || waitq_active(&p->open_write_wq)) {
		/* Openers wait on it: only the data goes. */
		waitq_drain(&p->read_wq);
		waitq_drain(&p->write_wq);
		pipe_ring_clear(p);
	} else {
		pipe_free(p);
	}
}

void fifo_inode_evict(struct inode *inode)
{
	struct pipe *p = inode->object;

	if (!p)
		return;
	p->inode = NULL;
	inode->object = NULL;
	if (!p->files)
		pipe_free(p);
}

/* ---- opening ---- */

/* True: this opener has to wait for the other side. `opens` counts that side's opens. */
static bool open_must_wait(struct call *c, uint32_t ends, uint32_t opens,
			   const struct waitq *partners)
{
	if (ends || waitq_active(partners))
		return false;
	if (c->progress)
		return opens == (uint32_t)(c->progress - 1);
	return true;
}

static long open_wait(struct call *c, uint32_t opens, struct waitq *wq)
{
	if (!c->progress)
		c->progress = (uint64_t)opens + 1;
	return call_block(c, wq);
}

static long fifo_open_mode(struct call *c, struct pipe *p, struct file *file)
{
	bool nonblock = file->flags & O_NONBLOCK;

	switch (file->flags & O_ACCMODE) {
	case O_RDONLY:
		if (nonblock) {
			if (!p->writers)
				file->pos = p->writer_opens;
			return 0;
		}
		if (open_must_wait(c, p->writers, p->writer_opens, &p->open_write_wq))
			return open_wait(c, p->writer_opens, &p->open_read_wq);
		return 0;
	case O_WRONLY:
		if (nonblock)
			return pipe_no_readers(p) ? -ENXIO : 0;
		if (open_must_wait(c, p->readers, p->reader_opens, &p->open_read_wq))
			return open_wait(c, p->reader_opens, &p->open_write_wq);
		return 0;
	case O_RDWR:
		return 0;
	default:
		return -EINVAL;
	}
}

int fifo_open(struct call *c, struct inode *inode, struct file *file)
{
	struct pipe *p = inode->object ? inode->object : pipe_new(inode);
	long ret;

	if (!p)
		return -ENOMEM;
	/* An anonymous pipe opened again (/dev/fd/N) never waits for a partner. */
	ret = inode->sb->fs_type == FS_PIPE ? 0 : fifo_open_mode(c, p, file);
	if (ret) {
		if (ret != CALL_BLOCK && !p->files && !waitq_active(&p->open_read_wq) &&
		    !waitq_active(&p->open_write_wq))
			pipe_free(p);
		return (int)ret;
	}
	pipe_attach(p, file);
	if (file_readable(file))
		waitq_wake(&p->open_write_wq, 0);
	if (file_writable(file)) {
		waitq_wake(&p->open_read_wq, 0);
		waitq_wake(&p->read_wq, 0);
	}
	return 0;
}

/* An anonymous pipe: the two files, each with one reference. */
static int pipe_make(struct task *t, uint32_t flags, struct file *ret[2])
{
	struct mount *mnt = mount_anon(FS_PIPE);
	struct inode *inode;
	struct path path;
	struct pipe *p;
	char name[40];

	ret[0] = ret[1] = NULL;
	inode = mnt ? inode_new(mnt->sb, IOPS_NONE, S_IFIFO | 0600) : NULL;
	if (!inode)
		return -ENOMEM;
	inode->uid = t->cred->fsuid;
	inode->gid = t->cred->fsgid;
	snprintf(name, sizeof(name), "pipe:[%llu]", (unsigned long long)inode->ino);
	p = pipe_new(inode);
	path = (struct path){ mnt, p ? dentry_anon(inode, name) : NULL };
	if (path.dentry) {
		ret[0] = file_new(FOPS_NONE, path, inode, O_RDONLY | flags);
		if (ret[0])
			ret[1] = file_new(FOPS_NONE, path, inode, O_WRONLY | flags);
		dentry_put(path.dentry);
	}
	if (!ret[1]) {
		int err = path.dentry ? -ENFILE : -ENOMEM;

		if (p)
			pipe_free(p);
		if (ret[0])
			file_put(ret[0]);
		inode_put(inode);
		return err;
	}
	inode_put(inode);
	pipe_attach(p, ret[0]);
	pipe_attach(p, ret[1]);
	return 0;
}

static long pipe_call(struct call *c, struct uaddr fds, uint64_t flags)
{
	bool cloexec = flags & O_CLOEXEC;
	struct file *file[2];
	int fd[2], err;

	if (flags & ~(uint64_t)(O_CLOEXEC | O_NONBLOCK | O_DIRECT))
		return -EINVAL;
	err = pipe_make(c->task, (uint32_t)flags & (O_NONBLOCK | O_DIRECT), file);
	if (err)
		return err;
	fd[0] = fd_install(c->task, file[0], 0, cloexec);
	if (fd[0] < 0) {
		file_put(file[0]);
		file_put(file[1]);
		return fd[0];
	}
	fd[1] = fd_install(c->task, file[1], 0, cloexec);
	if (fd[1] < 0) {
		fd_close(c->task, fd[0]);
		file_put(file[1]);
		return fd[1];
	}
	if (user_write(c->task, fds, fd, sizeof(fd)) < 0) {
		fd_close(c->task, fd[0]);
		fd_close(c->task, fd[1]);
		return -EFAULT;
	}
	return 0;
}

long sys_pipe(struct call *c)
{
	return pipe_call(c, CALL_ARG_PTR(c, 0), 0);
}

long sys_pipe2(struct call *c)
{
	return pipe_call(c, CALL_ARG_PTR(c, 0), (uint32_t)c->args[1]);
}

/* ---- file operations ---- */

static ssize_t pipe_read(struct file *f, struct uio *u, uint64_t *pos)
{
	struct pipe *p = f->priv;

	(void)pos;
	if (!u->resid)
		return 0;
	if (!p->used)
		return pipe_no_writers(p) ? 0 : -EAGAIN;
	return pipe_ring_copy(p, u);
}

static void pipe_read_done(struct file *f, size_t count)
{
	pipe_consume(f->priv, count);
}

static ssize_t pipe_write(struct file *f, struct uio *u, uint64_t *pos)
{
	struct pipe *p = f->priv;

	(void)pos;
	if (!u->resid)
		return 0;
	if (pipe_no_readers(p))
		return -EPIPE;
	return pipe_ring_stage(p, u, f->flags & O_DIRECT);
}

static void pipe_write_done(struct file *f, size_t count)
{
	struct pipe *p = f->priv;

	if (!count)
		return;
	pipe_ring_commit(p, count);
	waitq_wake(&p->read_wq, EVENTS_READER);
}

static uint32_t pipe_poll(struct file *f)
{
	struct pipe *p = f->priv;
	uint32_t events = 0;

	if (file_readable(f)) {
		if (p->used)
			events |= EVENTS_READER;
		if (pipe_no_writers(p) && (uint32_t)f->pos != p->writer_opens)
			events |= EPOLLHUP;
	}
	if (file_writable(f)) {
		if (!pipe_full(p))
			events |= EVENTS_WRITER;
		if (pipe_no_readers(p))
			events |= EPOLLERR;
	}
	return events;
}

static struct waitq *pipe_waitq(struct file *f, bool for_write)
{
	struct pipe *p = f->priv;

	if (!file_writable(f))
		return &p->read_wq;
	if (!file_readable(f))
		return &p->write_wq;
	return for_write ? &p->write_wq : &p->read_wq;
}

static long pipe_ioctl(struct call *c, struct file *f, uint32_t cmd, uint64_t arg)
{
	uint32_t size;

	if (cmd != FIONREAD)
		return -ENOTTY;
	size = (uint32_t)pipe_ring_size(f->priv);
	return user_write(c->task, uaddr(arg), &size, sizeof(size));
}

const struct file_ops pipe_file_ops = {
	.name = "pipe",
	.read = pipe_read,
	.read_done = pipe_read_done,
	.write = pipe_write,
	.write_done = pipe_write_done,
	.poll = pipe_poll,
	.waitq = pipe_waitq,
	.ioctl = pipe_ioctl,
	.release = pipe_release,
};

/* ---- fcntl ---- */

static long pipe_set_size(struct pipe *p, uint64_t arg)
{
	uint64_t size = PIPE_PAGE;
	int err;

	if ((uint32_t)arg > 1u << 31)
		return -EINVAL;
	while (size < (uint32_t)arg)
		size <<= 1;
	if (size > PIPE_SIZE_MAX && size > (uint64_t)p->slot_count * PIPE_PAGE)
		return -EPERM;
	err = pipe_ring_resize(p, (uint32_t)(size / PIPE_PAGE));
	if (err)
		return err;
	waitq_wake(&p->write_wq, EVENTS_WRITER);
	return (long)size;
}

long pipe_fcntl(struct file *file, unsigned cmd, uint64_t arg)
{
	struct pipe *p = pipe_of(file);

	if (!p)
		return -EBADF;
	switch (cmd) {
	case F_SETPIPE_SZ:
		return pipe_set_size(p, arg);
	case F_GETPIPE_SZ:
		return (long)p->slot_count * (long)PIPE_PAGE;
	default:
		return -EINVAL;
	}
}
