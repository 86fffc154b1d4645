/* The three generations of terminal settings: TCGETA, TCGETS, TCGETS2 and their setters. */
#include <errno.h>
#include <string.h>

#include "kernel/fs/tty/tty_internal.h"

#define TERMIOS_BYTES 36u /* the kernel's struct termios: no speeds */
#define TERMIOS2_BYTES 44u
_Static_assert(sizeof(struct tty_termios) == TERMIOS2_BYTES, "layout of struct termios2");

/* System V's struct termio. */
struct tty_termio {
	uint16_t iflag, oflag, cflag, lflag;
	uint8_t line;
	uint8_t cc[8];
	uint8_t pad;
};

enum set_how { SET_NOW, SET_AFTER_OUTPUT, SET_FLUSH_INPUT };

static const uint32_t speeds[] = {
	0,   50,   75,	 110,  134,  150,  200,	  300,
	600, 1200, 1800, 2400, 4800, 9600, 19200, 38400,
};
static const uint32_t high_speeds[] = {
	0,	 57600,	  115200,  230400,  460800,  500000,  576000,  921600,
	1000000, 1152000, 1500000, 2000000, 2500000, 3000000, 3500000, 4000000,
};

static uint32_t decode_speed(uint32_t bits, uint32_t other)
{
	bits &= CBAUD;
	if (bits == BOTHER)
		return other;
	return bits & CBAUDEX ? high_speeds[bits & 15] : speeds[bits & 15];
}

static void fix_speeds(struct tty_termios *t)
{
	uint32_t in = (t->cflag >> IBSHIFT) & CBAUD;

	t->ospeed = decode_speed(t->cflag, t->ospeed);
	t->ispeed = in ? decode_speed(in, t->ispeed) : t->ospeed;
}

static bool usual_flow_control(const struct tty_termios *t)
{
	return (t->iflag & IXON) && t->cc[VSTOP] == ('S' & 0x1f) && t->cc[VSTART] == ('Q' & 0x1f);
}

/* Packet mode tells the master when it may stop output itself. */
static void tell_master(struct tty *t, const struct tty_termios *old)
{
	const struct tty_termios *now = &t->ld.termios;
	bool flow = usual_flow_control(now);
	uint8_t clear = 0, set = 0;

	if (flow != usual_flow_control(old)) {
		clear = TIOCPKT_DOSTOP | TIOCPKT_NOSTOP;
		set = flow ? TIOCPKT_DOSTOP : TIOCPKT_NOSTOP;
	}
	if ((old->lflag | now->lflag) & EXTPROC)
		set |= TIOCPKT_IOCTL;
	if (set)
		tty_packet_event(t, clear, set);
}

static void apply(struct tty *t, struct tty_termios *new, enum set_how how)
{
	struct tty_termios old = t->ld.termios;

	fix_speeds(new);
	/* A pseudo-terminal has no line that could be set up differently. */
	new->cflag = (new->cflag & ~(uint32_t)(CSIZE | PARENB)) | CS8 | CREAD;
	if (how == SET_FLUSH_INPUT) {
		byte_queue_clear(&t->input);
		ldisc_flush_input(&t->ld);
	}
	ldisc_set_termios(&t->ld, new);
	tell_master(t, &old);
	tty_settle(t);
	/* Readers decide afresh under the new mode. */
	waitq_wake(&t->slave_waitq, 0);
}

static long get_termio(struct call *c, const struct tty_termios *t, uint64_t arg)
{
	struct tty_termio old = {
		.iflag = (uint16_t)t->iflag,
		.oflag = (uint16_t)t->oflag,
		.cflag = (uint16_t)t->cflag,
		.lflag = (uint16_t)t->lflag,
		.line = t->line,
	};

	memcpy(old.cc, t->cc, sizeof(old.cc));
	return user_write(c->task, uaddr(arg), &old, sizeof(old));
}

static int read_termio(struct call *c, struct tty_termios *t, uint64_t arg)
{
	struct tty_termio old;

	if (user_read(c->task, &old, uaddr(arg), sizeof(old)) < 0)
		return -EFAULT;
	t->iflag = (t->iflag & 0xffff0000u) | old.iflag;
	t->oflag = (t->oflag & 0xffff0000u) | old.oflag;
	t->cflag = (t->cflag & 0xffff0000u) | old.cflag;
	t->lflag = (t->lflag & 0xffff0000u) | old.lflag;
	t->line = old.line;
	memcpy(t->cc, old.cc, sizeof(old.cc));
	return 0;
}

static long set(struct call *c, struct file *f, uint32_t bytes, uint64_t arg, enum set_how how)
{
	struct tty *t = ((struct tty_file *)f->priv)->tty;
	struct tty_termios new;
	int err = tty_check_background(t, c->task, SIGTTOU);

	if (err == FILE_WAIT_SIGNAL)
		return call_block_file(c, f, &t->slave_waitq);
	if (err < 0)
		return err;
	new = t->ld.termios;
	if (!bytes)
		err = read_termio(c, &new, arg);
	else
		err = user_read(c->task, &new, uaddr(arg), bytes);
	if (err < 0)
		return -EFAULT;
	apply(t, &new, how);
	return 0;
}

long tty_ioctl_termios(struct call *c, struct file *f, uint32_t cmd, uint64_t arg)
{
	const struct tty_termios *now = &((struct tty_file *)f->priv)->tty->ld.termios;

	switch (cmd) {
	case TCGETS:
		return user_write(c->task, uaddr(arg), now, TERMIOS_BYTES);
	case TCGETS2:
		return user_write(c->task, uaddr(arg), now, TERMIOS2_BYTES);
	case TCGETA:
		return get_termio(c, now, arg);
	case TCSETS:
	case TCSETSW:
	case TCSETSF:
		return set(c, f, TERMIOS_BYTES, arg, (enum set_how)(cmd - TCSETS));
	case TCSETA:
	case TCSETAW:
	case TCSETAF:
		return set(c, f, 0, arg, (enum set_how)(cmd - TCSETA));
	case TCSETS2:
	case TCSETSW2:
	case TCSETSF2:
		return set(c, f, TERMIOS2_BYTES, arg, (enum set_how)(cmd - TCSETS2));
	default:
		return TTY_NOT_MINE;
	}
}
