/*
 * ioctl(2) of terminals, both sides. As on Linux, settings, window size and sessions asked of a
 * master are those of its slave; queues and packet mode are the master's own.
 *
 * Deviations: TIOCSTI and TIOCCONS are refused (they are ways out of a terminal, not into one);
 * terminal settings cannot be locked (TIOCSLCKTRMIOS).
 */
#include <errno.h>
#include <linux/capability.h>
#include <string.h>

#include "kernel/fs/tty/tty_internal.h"

#define PTMX_MAJOR 128u /* what TIOCGDEV says of a master */
#define CMD_GEXCL 0x80045440u
#define CMD_GPKT 0x80045438u
#define CMD_GPTLCK 0x80045439u
#define CMD_GPTPEER 0x5441u
#define CMD_GDEV 0x80045432u

static long put_u32(struct call *c, uint64_t arg, uint32_t v)
{
	return user_write_u32(c->task, uaddr(arg), v);
}

/* Waits for SIGTTOU in the background; 0 = go on. */
static long check_change(struct call *c, struct file *f)
{
	struct tty *t = ((struct tty_file *)f->priv)->tty;
	int err = tty_check_background(t, c->task, SIGTTOU);

	return err == FILE_WAIT_SIGNAL ? call_block_file(c, f, &t->slave_waitq) : err;
}

static long winsize(struct call *c, struct tty *t, uint32_t cmd, uint64_t arg)
{
	struct tty_winsize ws;

	if (cmd == TIOCGWINSZ)
		return user_write(c->task, uaddr(arg), &t->winsize, sizeof(t->winsize));
	if (user_read(c->task, &ws, uaddr(arg), sizeof(ws)) < 0)
		return -EFAULT;
	tty_set_winsize(t, &ws);
	return 0;
}

/* TCFLSH. From the master the two directions change places. */
static long flush(struct tty *t, bool master, uint64_t arg)
{
	bool in = arg == TCIFLUSH || arg == TCIOFLUSH;
	bool out = arg == TCOFLUSH || arg == TCIOFLUSH;

	if (!in && !out)
		return -EINVAL;
	if (master ? out : in) {
		byte_queue_clear(&t->input);
		ldisc_flush_input(&t->ld);
	}
	if (master ? in : out)
		ldisc_flush_output(&t->ld);
	waitq_wake(&t->master_waitq, EPOLLOUT | EPOLLWRNORM);
	tty_settle(t);
	return 0;
}

static long flow(struct tty *t, bool master, uint64_t arg)
{
	uint8_t c = 0;

	if (arg > TCION)
		return -EINVAL;
	if (master)
		return 0; /* nothing flows but what the slave's line discipline lets through */
	switch (arg) {
	case TCOOFF:
		ldisc_stop(&t->ld);
		t->ld.stopped_by_ioctl = true;
		break;
	case TCOON:
		t->ld.stopped_by_ioctl = false;
		ldisc_start(&t->ld);
		break;
	default:
		c = t->ld.termios.cc[arg == TCIOFF ? VSTOP : VSTART];
		byte_queue_stage_reset(&t->ld.out);
		if (c && byte_queue_put(&t->ld.out, c))
			t->ld.events |= LDISC_EVENT_OUTPUT;
	}
	tty_settle(t);
	return 0;
}

static long queues(struct call *c, struct file *f, uint32_t cmd, uint64_t arg)
{
	struct tty_file *tf = f->priv;
	struct tty *t = tf->tty;
	long err;

	switch (cmd) {
	case FIONREAD:
		return put_u32(c, arg, tf->master ? t->ld.out.count : ldisc_pending(&t->ld));
	case TIOCOUTQ:
		return put_u32(c, arg, 0); /* what was written is at the other side already */
	case TCFLSH:
		err = check_change(c, f);
		return err ? err : flush(t, tf->master, arg);
	case TCXONC:
		err = check_change(c, f);
		return err ? err : flow(t, tf->master, arg);
	case TCSBRK:
	case TCSBRKP:
	case TIOCSBRK:
	case TIOCCBRK:
		return check_change(c, f); /* no line to break, nothing to drain */
	default:
		return TTY_NOT_MINE;
	}
}

static long device(struct call *c, struct tty_file *tf, uint32_t cmd, uint64_t arg)
{
	struct tty *t = tf->tty;
	uint32_t value;

	switch (cmd) {
	case TIOCEXCL:
		t->exclusive = true;
		return 0;
	case TIOCNXCL:
		t->exclusive = false;
		return 0;
	case CMD_GEXCL:
		return put_u32(c, arg, t->exclusive);
	case TIOCGETD:
		return put_u32(c, arg, 0); /* N_TTY, the only one */
	case TIOCSETD:
		if (user_read_u32(c->task, &value, uaddr(arg)) < 0)
			return -EFAULT;
		return value ? -EINVAL : 0;
	case TIOCGSOFTCAR:
		return put_u32(c, arg, (t->ld.termios.cflag & CLOCAL) != 0);
	case TIOCSSOFTCAR:
		if (user_read_u32(c->task, &value, uaddr(arg)) < 0)
			return -EFAULT;
		t->ld.termios.cflag &= ~(uint32_t)CLOCAL;
		t->ld.termios.cflag |= value ? CLOCAL : 0;
		return 0;
	case CMD_GDEV:
		value = tf->master ? PTMX_MAJOR : TTY_SLAVE_MAJOR;
		return put_u32(c, arg, tty_device_number(value, t->index));
	case TIOCSTI:
		return -EIO;
	case TIOCCONS:
		return -EPERM;
	case TIOCVHANGUP:
		if (!cred_capable(c->task->cred, CAP_SYS_ADMIN))
			return -EPERM;
		tty_hangup(t);
		return 0;
	default:
		return TTY_NOT_MINE;
	}
}

/* TIOCGPTPEER: opens the slave without a name, so it works whatever is mounted where. */
static long open_peer(struct call *c, struct tty *t, uint64_t arg)
{
	uint32_t flags = (uint32_t)arg & (O_ACCMODE | O_NONBLOCK | O_NOCTTY);
	struct path path = devpts_path(t);
	struct file *f;
	int err;

	if (!path.dentry)
		return t->inode ? -ENOMEM : -EIO;
	f = file_new(FOPS_TTY, path, t->inode, flags);
	path_put(&path);
	if (!f)
		return -ENFILE;
	err = tty_file_open_slave(t, c->task, f);
	if (err < 0) {
		file_put(f);
		return err;
	}
	f->flags &= ~(uint32_t)O_NOCTTY;
	return fd_return(c, f, (arg & O_CLOEXEC) != 0);
}

static long signal_slave(struct tty *t, uint64_t sig)
{
	if (sig != SIGINT && sig != SIGQUIT && sig != SIGTSTP)
		return -EINVAL;
	tty_signal_foreground(t, (int)sig);
	return 0;
}

static long master_only(struct call *c, struct tty *t, uint32_t cmd, uint64_t arg)
{
	uint32_t value;

	switch (cmd) {
	case TIOCGPTN:
		return put_u32(c, arg, t->index);
	case TIOCSPTLCK:
		if (user_read_u32(c->task, &value, uaddr(arg)) < 0)
			return -EFAULT;
		t->locked = value != 0;
		return 0;
	case CMD_GPTLCK:
		return put_u32(c, arg, t->locked);
	case CMD_GPTPEER:
		return open_peer(c, t, arg);
	case TIOCPKT:
		if (user_read_u32(c->task, &value, uaddr(arg)) < 0)
			return -EFAULT;
		if (value && !t->packet)
			t->packet_status = 0;
		t->packet = value != 0;
		return 0;
	case CMD_GPKT:
		return put_u32(c, arg, t->packet);
	case TIOCSIG:
		return signal_slave(t, arg);
	default:
		return TTY_NOT_MINE;
	}
}

long tty_ioctl(struct call *c, struct file *f, uint32_t cmd, uint64_t arg)
{
	struct tty_file *tf = f->priv;
	struct tty *t = tf->tty;
	long r;

	if (tty_file_dead(tf))
		return cmd == TIOCSPGRP ? -ENOTTY : -EIO;
	if (cmd == TIOCGWINSZ || cmd == TIOCSWINSZ)
		return winsize(c, t, cmd, arg);
	r = tty_ioctl_termios(c, f, cmd, arg);
	if (r == TTY_NOT_MINE)
		r = tty_ioctl_job(c, f, cmd, arg);
	if (r == TTY_NOT_MINE)
		r = queues(c, f, cmd, arg);
	if (r == TTY_NOT_MINE)
		r = device(c, tf, cmd, arg);
	if (r == TTY_NOT_MINE && tf->master)
		r = master_only(c, t, cmd, arg);
	return r == TTY_NOT_MINE ? -ENOTTY : r;
}
