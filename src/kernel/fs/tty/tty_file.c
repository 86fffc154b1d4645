/* Terminals as open files: reading, writing and polling either side. See tty.c. */
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>

#include "kernel/core/clock.h"
#include "kernel/fs/ops.h"
#include "kernel/fs/tty/tty_internal.h"

#define TTY_POLL_IN (EPOLLIN | EPOLLRDNORM)
#define TTY_POLL_OUT (EPOLLOUT | EPOLLWRNORM)
#define VTIME_UNIT_NS (100 * NSEC_PER_MSEC)

struct tty_file *tty_file_new(struct tty *t, bool master)
{
	struct tty_file *tf = knew(struct tty_file);

	if (!tf)
		return NULL;
	tf->tty = tty_get(t);
	tf->generation = t->generation;
	tf->master = master;
	return tf;
}

/* The checks and effects of opening a slave, however it was named. */
int tty_file_open_slave(struct tty *t, struct task *task, struct file *file)
{
	struct tty_file *tf;

	if (!t->master_open || t->locked)
		return -EIO;
	if (t->exclusive && task && !cred_capable(task->cred, CAP_SYS_ADMIN))
		return -EBUSY;
	tf = tty_file_new(t, false);
	if (!tf)
		return -ENOMEM;
	file->ops = FOPS_TTY;
	file->stream = true;
	file->priv = tf;
	t->slave_count++;
	t->slave_closed = false;
	if (task)
		tty_open_acquire(t, task->proc, file);
	return 0;
}

/* Moves `count` bytes of a queue out, piece by piece. */
typedef const uint8_t *(*peek_fn)(const void *from, uint32_t offset, uint32_t *ret_count);

static ssize_t copy_out(struct uio *u, peek_fn peek, const void *from, uint32_t count)
{
	uint32_t done = 0;

	while (done < count) {
		uint32_t part;
		const uint8_t *bytes = peek(from, done, &part);
		ssize_t n;

		part = MIN(part, count - done);
		if (!part)
			break;
		n = uio_put(u, bytes, part);
		if (n < 0)
			return done ? (ssize_t)done : n;
		done += (uint32_t)n;
		if ((size_t)n < part)
			break;
	}
	return done;
}

static const uint8_t *peek_queue(const void *from, uint32_t offset, uint32_t *ret_count)
{
	return byte_queue_peek(from, offset, ret_count);
}

static const uint8_t *peek_input(const void *from, uint32_t offset, uint32_t *ret_count)
{
	return ldisc_peek(from, offset, ret_count);
}

/* ---- the slave ---- */

/* The call under way has waited here before. */
static bool is_retry(const struct task *task)
{
	return task && task->slot && task->slot->retry;
}

/* Starts VTIME anew for this reader. */
static int start_vtime(struct tty *t, int tid)
{
	uint64_t time_ns = t->ld.termios.cc[VTIME] * VTIME_UNIT_NS;

	t->vtime_tid = tid;
	t->vtime_over = false;
	t->vtime_seen = ldisc_pending(&t->ld);
	return timer_arm(&t->vtime, TIMER_TTY, clock_mono() + time_ns) < 0 ? -ENOMEM : -EAGAIN;
}

/*
 * Raw mode, nothing (or too little) there: what VMIN and VTIME say. Returns 0 when the read ends
 * now with what there is, -EAGAIN when it waits.
 */
static int wait_raw(struct tty *t, struct task *task, bool nonblock)
{
	uint32_t min = t->ld.termios.cc[VMIN], time = t->ld.termios.cc[VTIME];
	uint32_t pending = ldisc_pending(&t->ld);
	int tid = task ? task->tid : -1;

	if (t->vtime_tid == tid && !is_retry(task))
		tty_vtime_cancel(t); /* of a read that was interrupted */
	if (t->vtime_over && t->vtime_tid == tid) {
		tty_vtime_cancel(t);
		return 0;
	}
	if (!min && !time)
		return 0;
	if (nonblock)
		return pending ? 0 : -EAGAIN;
	if (!time || (min && !pending))
		return -EAGAIN;
	/* With VMIN the clock starts at the first byte and again at each one. */
	if (t->vtime_tid != tid || !timer_armed(&t->vtime) || t->vtime_seen != pending)
		return start_vtime(t, tid);
	return -EAGAIN;
}

/* 0: the read goes on, if only to find nothing (VMIN 0). -EAGAIN: it waits. */
static int wait_input(struct tty *t, struct file *f, struct uio *u)
{
	uint32_t enough;

	if (ldisc_canonical(&t->ld))
		return ldisc_has_input(&t->ld, 1) ? 0 : -EAGAIN;
	enough = (uint32_t)MIN((size_t)MAX(t->ld.termios.cc[VMIN], 1), u->resid);
	if (ldisc_has_input(&t->ld, enough))
		return 0;
	return wait_raw(t, u->task, (f->flags & O_NONBLOCK) != 0);
}

static ssize_t slave_read(struct file *f, struct uio *u, uint64_t *pos)
{
	struct tty_file *tf = f->priv;
	struct tty *t = tf->tty;
	struct ldisc_span span = { 0 };
	ssize_t n;
	int err;

	(void)pos;
	tf->read_count = 0;
	tf->read_eof = false;
	/* Who waits when the master goes gets EIO, who comes later finds the end of the file. */
	if (tty_file_dead(tf))
		return is_retry(u->task) ? -EIO : 0;
	if (!u->resid)
		return 0;
	err = tty_check_background(t, u->task, SIGTTIN);
	if (!err)
		err = wait_input(t, f, u);
	if (err)
		return err;
	if (!ldisc_next(&t->ld, u->resid, &span))
		return 0;
	n = copy_out(u, peek_input, &t->ld, span.count);
	if (n < 0)
		return n;
	tf->read_count = (uint32_t)n;
	tf->read_eof = span.eof && (uint32_t)n == span.count;
	return n;
}

/* Times of a terminal are kept to eight seconds, as on Linux: they must not tell of single keys. */
static void touch(int64_t *time_ns)
{
	int64_t now = clock_real();

	if (now / (8 * (int64_t)NSEC_PER_SEC) != *time_ns / (8 * (int64_t)NSEC_PER_SEC))
		*time_ns = now;
}

static void slave_read_done(struct file *f, size_t count)
{
	struct tty_file *tf = f->priv;
	struct tty *t = tf->tty;

	if (tty_file_dead(tf))
		return;
	ldisc_consume(&t->ld, (uint32_t)count, tf->read_eof && count == tf->read_count);
	tf->read_eof = false;
	if (t->inode)
		touch(&t->inode->atime);
	tty_vtime_cancel(t);
	tty_settle(t);
}

static ssize_t slave_write(struct file *f, struct uio *u, uint64_t *pos)
{
	struct tty_file *tf = f->priv;
	struct tty_root *root = tty_root();
	struct tty *t = tf->tty;
	size_t done = 0;

	(void)pos;
	if (tty_file_dead(tf) || !t->master_open)
		return -EIO;
	if (t->ld.termios.lflag & TOSTOP) {
		int err = tty_check_background(t, u->task, SIGTTOU);

		if (err)
			return err;
	}
	tf->columns = ldisc_output_begin(&t->ld);
	while (u->resid) {
		ssize_t n = uio_get(u, root->bounce, MIN(u->resid, sizeof(root->bounce)));
		size_t taken;

		if (n <= 0) {
			if (n < 0 && !done)
				return n;
			break;
		}
		taken = ldisc_output(&t->ld, &tf->columns, root->bounce, (size_t)n);
		done += taken;
		if (taken < (size_t)n) {
			uio_rewind(u, (size_t)n - taken);
			break;
		}
	}
	return done ? (ssize_t)done : -EAGAIN;
}

static void slave_write_done(struct file *f, size_t count)
{
	struct tty_file *tf = f->priv;

	if (!count || tty_file_dead(tf))
		return;
	ldisc_output_commit(&tf->tty->ld, tf->columns);
	if (tf->tty->inode)
		touch(&tf->tty->inode->mtime);
	tty_settle(tf->tty);
}

static uint32_t slave_poll(struct file *f)
{
	struct tty_file *tf = f->priv;
	struct tty *t = tf->tty;
	uint32_t min = t->ld.termios.cc[VTIME] ? 1 : t->ld.termios.cc[VMIN];
	uint32_t events = 0;

	if (tty_file_dead(tf))
		return TTY_POLL_IN | TTY_POLL_OUT | EPOLLERR | EPOLLHUP;
	if (ldisc_has_input(&t->ld, min))
		events |= TTY_POLL_IN;
	if (!t->ld.stopped && byte_queue_room(&t->ld.out) >= TTY_QUEUE_BYTES / 4)
		events |= TTY_POLL_OUT;
	return events;
}

static struct waitq *slave_waitq(struct file *f, bool for_write)
{
	(void)for_write;
	return &((struct tty_file *)f->priv)->tty->slave_waitq;
}

static void slave_release(struct file *f)
{
	struct tty_file *tf = f->priv;

	if (!tf)
		return;
	if (!tty_file_dead(tf))
		tty_close_slave(tf->tty);
	tty_put(tf->tty);
	kfree(tf);
}

/* ---- the master ---- */

static ssize_t master_read(struct file *f, struct uio *u, uint64_t *pos)
{
	struct tty_file *tf = f->priv;
	struct tty *t = tf->tty;
	ssize_t n;

	(void)pos;
	tf->read_status = tf->read_header = false;
	if (t->packet && t->packet_status) {
		tf->read_status = true;
		return uio_put(u, &t->packet_status, 1);
	}
	if (!t->ld.out.count)
		return t->slave_closed ? -EIO : -EAGAIN;
	if (t->packet) {
		n = uio_put(u, "", 1); /* TIOCPKT_DATA */
		if (n <= 0)
			return n;
		tf->read_header = true;
	}
	n = copy_out(u, peek_queue, &t->ld.out, (uint32_t)MIN((size_t)t->ld.out.count, u->resid));
	if (n < 0)
		return tf->read_header ? 1 : n;
	return n + tf->read_header;
}

static void master_read_done(struct file *f, size_t count)
{
	struct tty_file *tf = f->priv;
	struct tty *t = tf->tty;

	if (!count)
		return;
	if (tf->read_status) {
		t->packet_status = 0;
		return;
	}
	byte_queue_drop(&t->ld.out, (uint32_t)count - tf->read_header);
	ldisc_flush_echo(&t->ld);
	t->ld.events &= ~(uint32_t)LDISC_EVENT_OUTPUT; /* the reader looks again anyway */
	if (!t->ld.stopped)
		waitq_wake(&t->slave_waitq, TTY_POLL_OUT);
}

static ssize_t master_write(struct file *f, struct uio *u, uint64_t *pos)
{
	struct tty_root *root = tty_root();
	struct tty *t = ((struct tty_file *)f->priv)->tty;
	size_t done = 0;

	(void)pos;
	byte_queue_stage_reset(&t->input);
	while (u->resid && byte_queue_room(&t->input)) {
		size_t size = MIN(u->resid, (size_t)byte_queue_room(&t->input));
		ssize_t n = uio_get(u, root->bounce, MIN(size, sizeof(root->bounce)));

		if (n <= 0) {
			if (n < 0 && !done)
				return n;
			break;
		}
		done += byte_queue_stage_bytes(&t->input, root->bounce, (size_t)n);
	}
	return done ? (ssize_t)done : -EAGAIN;
}

static void master_write_done(struct file *f, size_t count)
{
	struct tty *t = ((struct tty_file *)f->priv)->tty;

	byte_queue_commit(&t->input, (uint32_t)count);
	tty_settle(t);
}

static uint32_t master_poll(struct file *f)
{
	struct tty *t = ((struct tty_file *)f->priv)->tty;
	uint32_t events = 0;

	if (t->ld.out.count)
		events |= TTY_POLL_IN;
	if (t->packet && t->packet_status)
		events |= TTY_POLL_IN | EPOLLPRI;
	if (t->slave_closed)
		events |= EPOLLHUP;
	if (byte_queue_room(&t->input) >= TTY_QUEUE_BYTES / 4)
		events |= TTY_POLL_OUT;
	return events;
}

static struct waitq *master_waitq(struct file *f, bool for_write)
{
	(void)for_write;
	return &((struct tty_file *)f->priv)->tty->master_waitq;
}

static void master_release(struct file *f)
{
	struct tty_file *tf = f->priv;

	if (!tf)
		return;
	tty_close_master(tf->tty); /* the reference of an open master */
	tty_put(tf->tty);
	kfree(tf);
}

static ssize_t master_fdinfo(struct file *f, char *dst, size_t capacity)
{
	int n = snprintf(dst, capacity, "tty-index:\t%u\n",
			 ((struct tty_file *)f->priv)->tty->index);

	return n < 0 || (size_t)n >= capacity ? -ENOSPC : n;
}

const struct file_ops tty_file_ops = {
	.name = "tty",
	.read = slave_read,
	.read_done = slave_read_done,
	.write = slave_write,
	.write_done = slave_write_done,
	.poll = slave_poll,
	.waitq = slave_waitq,
	.ioctl = tty_ioctl,
	.release = slave_release,
};

const struct file_ops ptmx_file_ops = {
	.name = "ptmx",
	.read = master_read,
	.read_done = master_read_done,
	.write = master_write,
	.write_done = master_write_done,
	.poll = master_poll,
	.waitq = master_waitq,
	.ioctl = tty_ioctl,
	.release = master_release,
	.fdinfo = master_fdinfo,
};
