/*
 * A terminal whose master is the control channel: `hotcell run -t` and the terminals of the API.
 * The other side of the channel plays the terminal emulator; see tty.h for the contract.
 */
#include <string.h>

#include "kernel/fs/tty/tty_internal.h"

struct tty *tty_new_controlled(uint16_t rows, uint16_t cols)
{
	struct tty *t;

	if (tty_new(0, &t) < 0)
		return NULL;
	t->locked = false;
	t->winsize = (struct tty_winsize){ .rows = rows, .cols = cols };
	t->ld.termios.iflag |= IUTF8;
	return t;
}

struct file *tty_slave_file(struct tty *t)
{
	struct path path = devpts_path(t);
	struct file *f;

	if (!path.dentry)
		return NULL;
	f = file_new(FOPS_TTY, path, t->inode, O_RDWR);
	path_put(&path);
	if (f && tty_file_open_slave(t, NULL, f) < 0) {
		file_put(f);
		return NULL;
	}
	return f;
}

size_t tty_control_input(struct tty *t, const void *bytes, size_t size)
{
	uint32_t taken;

	byte_queue_stage_reset(&t->input);
	taken = byte_queue_stage_bytes(&t->input, bytes, size);
	byte_queue_commit(&t->input, taken);
	tty_settle(t);
	return taken;
}

size_t tty_control_output(struct tty *t, void *dst, size_t capacity)
{
	size_t done = 0;

	while (done < capacity) {
		uint32_t count;
		const uint8_t *bytes = byte_queue_peek(&t->ld.out, 0, &count);

		count = (uint32_t)MIN((size_t)count, capacity - done);
		if (!count)
			break;
		memcpy((uint8_t *)dst + done, bytes, count);
		byte_queue_drop(&t->ld.out, count);
		done += count;
	}
	if (done) {
		ldisc_flush_echo(&t->ld);
		t->ld.events &= ~(uint32_t)LDISC_EVENT_OUTPUT;
		if (!t->ld.stopped)
			waitq_wake(&t->slave_waitq, EPOLLOUT | EPOLLWRNORM);
	}
	return done;
}

void tty_control_resize(struct tty *t, uint16_t rows, uint16_t cols)
{
	struct tty_winsize ws = t->winsize;

	ws.rows = rows;
	ws.cols = cols;
	tty_set_winsize(t, &ws);
}

void tty_control_hangup(struct tty *t)
{
	tty_close_master(t);
}

struct waitq *tty_control_waitq(struct tty *t)
{
	return &t->master_waitq;
}
