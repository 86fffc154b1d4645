/*
 * Open files of /proc.
 *
 * Text is generated when it is read (fs/generated.h). Writes are given to the row whole;
 * /proc/PID/mem has no text and moves memory.
 *
 * Who may look into a process is decided at open. What was opened then is about the program that ran
 * then: when the process became another one, perhaps a set-user-id program, or the number belongs to
 * another process, there is nothing more to read or write. So it is on Linux, where the file holds
 * the address space.
 */
#include <errno.h>
#include <linux/capability.h>
#include <string.h>

#include "kernel/core/arena.h"
#include "kernel/fs/generated.h"
#include "kernel/fs/ops.h"
#include "kernel/fs/proc/proc_internal.h"

#define WRITE_MAX 4096u

int proc_open(struct call *c, struct inode *inode, struct file *file)
{
	struct proc_ctx x;
	struct task *reader = c ? c->task : NULL;
	int error = proc_resolve(inode, reader, &x);

	if (error)
		return error;
	if ((x.row->flags & PROC_INSPECT) && proc_may_inspect(&x))
		return -EACCES;
	if (file_writable(file)) {
		/* The stub as pid 1 is believed what it tells about processes that ended. */
		if ((x.row->flags & PROC_MEMORY) && x.proc && x.proc->pid == 1)
			return -EACCES;
		if (!x.row->write && !(x.row->flags & PROC_MEMORY))
			return x.key.pid ? -EACCES : -EROFS;
		if ((x.row->flags & PROC_NEEDS_CAP) && reader &&
		    !cred_capable(reader->cred, CAP_SYS_ADMIN))
			return -EROFS;
	}
	file->ops = FOPS_PROC;
	file->priv = NULL;
	if (x.row->flags & PROC_INSPECT)
		file->subject = x.proc ? process_image(x.proc) : 0;
	return 0;
}

/* The program is another one than when the file was opened. */
static bool is_outdated(const struct file *f, const struct proc_ctx *x)
{
	return (x->row->flags & PROC_INSPECT) && x->proc && process_image(x->proc) != f->subject;
}

static int generate(struct file *f, struct task *reader, struct seq *s)
{
	struct proc_ctx x;

	if (proc_resolve(f->inode, reader, &x))
		return -ESRCH;
	if (is_outdated(f, &x))
		return 0;
	return x.row->show ? x.row->show(s, &x) : -EINVAL;
}

static ssize_t memory_move(struct file *f, struct uio *u, uint64_t *pos, bool write)
{
	struct proc_ctx x;
	size_t total = 0;
	char chunk[2048];

	if (proc_resolve(f->inode, u->task, &x) || !x.task || is_outdated(f, &x))
		return 0;
	while (u->resid) {
		size_t want = MIN(u->resid, sizeof(chunk));
		ssize_t n;
		if (write) {
			n = uio_get(u, chunk, want);
			if (n > 0)
				n = user_write_some(x.task, uaddr(*pos), chunk, (size_t)n);
		} else {
			n = user_read_some(x.task, chunk, uaddr(*pos), want);
			if (n > 0)
				n = uio_put(u, chunk, (size_t)n);
		}
		if (n <= 0)
			return total ? (ssize_t)total : -EIO;
		total += (size_t)n;
		*pos += (uint64_t)n;
		if ((size_t)n < want)
			break;
	}
	return (ssize_t)total;
}

static const struct proc_row *file_row(struct file *f, struct task *reader)
{
	struct proc_ctx x;
	return proc_resolve(f->inode, reader, &x) ? NULL : x.row;
}

static ssize_t proc_read(struct file *f, struct uio *u, uint64_t *pos)
{
	const struct proc_row *row = file_row(f, u->task);

	if (!row)
		return -ESRCH;
	if (row->flags & PROC_MEMORY)
		return memory_move(f, u, pos, false);
	return generated_read(f, u, pos, generate);
}

static ssize_t proc_write(struct file *f, struct uio *u, uint64_t *pos)
{
	char text[WRITE_MAX + 1];
	struct proc_ctx x;

	if (proc_resolve(f->inode, u->task, &x))
		return -ESRCH;
	if (x.row->flags & PROC_MEMORY)
		return memory_move(f, u, pos, true);
	if (!x.row->write)
		return -EINVAL;
	if (is_outdated(f, &x))
		return -ESRCH;
	size_t size = u->resid;
	ssize_t n = uio_get(u, text, MIN(size, (size_t)WRITE_MAX));
	if (n < 0)
		return n;
	text[n] = 0;
	int error = x.row->write(&x, text, (size_t)n);
	if (error)
		return error;
	*pos += (uint64_t)n;
	return n;
}

static int64_t proc_lseek(struct file *f, int64_t offset, int whence)
{
	const struct proc_row *row = file_row(f, NULL);
	bool memory = row && (row->flags & PROC_MEMORY);

	if (whence == SEEK_CUR && __builtin_add_overflow(offset, (int64_t)f->pos, &offset))
		return -EOVERFLOW;
	if (whence != SEEK_SET && whence != SEEK_CUR)
		return -EINVAL;
	if (offset < 0 && !memory)
		return -EINVAL;
	f->pos = (uint64_t)offset;
	return offset;
}

/* O_TRUNC on a writable file: `echo 1 > file`. */
static int proc_truncate(struct file *f, uint64_t size)
{
	(void)f;
	(void)size;
	return 0;
}

const struct file_ops proc_file_ops = {
	.name = "proc",
	.read = proc_read,
	.write = proc_write,
	.lseek = proc_lseek,
	.truncate = proc_truncate,
	.release = generated_release,
};
