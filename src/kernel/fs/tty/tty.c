/*
 * Theory of operation
 *
 *   master file  --write--> input (queue) --> ldisc.input --read--> slave files
 *   or control              |                   | echo, signals
 *   channel      <--read--- ldisc.out <---------+---------- write-- slave files
 *
 * A struct tty is a pair. The line discipline (ldisc.c) is the only thing between the two sides;
 * `input` holds what the master wrote while the line discipline takes no more, so that a master may
 * write well ahead of a slow reader, as on Linux. tty_settle() is called after everything that can
 * move bytes: it feeds the line discipline and turns its events into signals, packet mode status
 * and wake-ups.
 *
 * Life: made by opening /dev/ptmx (or by the control channel). The slave's name is in devpts from
 * then until the master closes. The master's close hangs the slave up: its open files become dead
 * (read 0, everything else EIO) by comparing generations. The close of the last slave file is told
 * to the master as HUP; the slave can be opened again. The struct goes with the last of: the
 * master, slave files, controlled processes; only then its number is free again.
 *
 * Sessions and job control are in tty_job.c. The mirrored pgid/sid of processes are the authority
 * here, signals are sent with signal_pgrp().
 *
 * Limits: TTY_MAX terminals; both queues are charged to LIMIT_BUFFER_BYTES.
 */
#include <errno.h>
#include <string.h>

#include "kernel/core/limits.h"
#include "kernel/fs/tty/tty_internal.h"

#define TTY_CHARGE (2ull * TTY_QUEUE_BYTES + sizeof(struct tty))

struct tty_root *tty_root(void)
{
	static struct tty_root *root; /* a cache: the arena does not move */

	if (!root)
		root = arena_root(ROOT_TTY, sizeof(*root));
	return root;
}

int tty_init(void)
{
	return tty_root() ? 0 : -ENOMEM;
}

static int free_index(struct tty_root *root)
{
	for (unsigned i = 0; i < TTY_MAX; i++) {
		if (!root->table[i])
			return (int)i;
	}
	return -ENOSPC;
}

static struct tty *allocate(void)
{
	struct tty *t;
	void *out, *in;

	if (!limit_charge(LIMIT_BUFFER_BYTES, TTY_CHARGE))
		return NULL;
	t = knew(struct tty);
	out = kmalloc(TTY_QUEUE_BYTES);
	in = kmalloc(TTY_QUEUE_BYTES);
	if (!t || !out || !in) {
		kfree(t);
		kfree(out);
		kfree(in);
		limit_release(LIMIT_BUFFER_BYTES, TTY_CHARGE);
		return NULL;
	}
	ldisc_init(&t->ld, out, TTY_QUEUE_BYTES);
	byte_queue_init(&t->input, in, TTY_QUEUE_BYTES);
	return t;
}

static void release(struct tty *t)
{
	timer_cancel(&t->vtime);
	kfree(t->ld.out.data);
	kfree(t->input.data);
	kfree(t);
	limit_release(LIMIT_BUFFER_BYTES, TTY_CHARGE);
}

int tty_new(uint32_t uid, struct tty **ret)
{
	struct tty_root *root = tty_root();
	struct tty *t;
	int index, err;

	if (!root)
		return -ENOMEM;
	index = free_index(root);
	if (index < 0)
		return index;
	t = allocate();
	if (!t)
		return -ENOMEM;
	t->refs = 1;
	t->index = (uint32_t)index;
	t->master_open = true;
	t->locked = true;
	waitq_init(&t->master_waitq);
	waitq_init(&t->slave_waitq);
	err = devpts_add(t, uid);
	if (err < 0) {
		release(t);
		return err;
	}
	root->table[index] = t;
	root->count++;
	*ret = t;
	return 0;
}

struct tty *tty_get(struct tty *t)
{
	t->refs++;
	return t;
}

void tty_put(struct tty *t)
{
	if (--t->refs)
		return;
	devpts_remove(t);
	tty_root()->table[t->index] = NULL;
	tty_root()->count--;
	release(t);
}

struct tty *tty_find(uint32_t index)
{
	return index < TTY_MAX ? tty_root()->table[index] : NULL;
}

void tty_signal_foreground(struct tty *t, int sig)
{
	if (t->pgrp > 0)
		signal_pgrp(t->pgrp, sig);
}

void tty_packet_event(struct tty *t, uint8_t clear, uint8_t set)
{
	if (!t->packet)
		return;
	t->packet_status = (uint8_t)((t->packet_status & ~clear) | set);
	waitq_wake(&t->master_waitq, EPOLLIN | EPOLLRDNORM | EPOLLPRI);
}

static void handle_events(struct tty *t)
{
	static const struct {
		uint32_t event;
		int sig;
		uint8_t clear, set;
	} table[] = {
		{ LDISC_EVENT_INTR, SIGINT, 0, 0 },
		{ LDISC_EVENT_QUIT, SIGQUIT, 0, 0 },
		{ LDISC_EVENT_SUSP, SIGTSTP, 0, 0 },
		{ LDISC_EVENT_FLUSHED_READ, 0, 0, TIOCPKT_FLUSHREAD },
		{ LDISC_EVENT_FLUSHED_WRITE, 0, 0, TIOCPKT_FLUSHWRITE },
		{ LDISC_EVENT_STOPPED, 0, TIOCPKT_START, TIOCPKT_STOP },
		{ LDISC_EVENT_STARTED, 0, TIOCPKT_STOP, TIOCPKT_START },
	};
	uint32_t events = t->ld.events;

	t->ld.events = 0;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		if (!(events & table[i].event))
			continue;
		if (table[i].sig)
			tty_signal_foreground(t, table[i].sig);
		else
			tty_packet_event(t, table[i].clear, table[i].set);
	}
	if (events & LDISC_EVENT_READABLE)
		waitq_wake(&t->slave_waitq, EPOLLIN | EPOLLRDNORM);
	if (events & (LDISC_EVENT_STARTED | LDISC_EVENT_FLUSHED_WRITE))
		waitq_wake(&t->slave_waitq, EPOLLOUT | EPOLLWRNORM);
	if (events & LDISC_EVENT_OUTPUT)
		waitq_wake(&t->master_waitq, EPOLLIN | EPOLLRDNORM);
	if (events & LDISC_EVENT_FLUSHED_READ)
		waitq_wake(&t->master_waitq, EPOLLOUT | EPOLLWRNORM);
}

void tty_settle(struct tty *t)
{
	bool moved = false;

	for (;;) {
		uint32_t count;
		const uint8_t *bytes = byte_queue_peek(&t->input, 0, &count);
		uint32_t taken = count ? (uint32_t)ldisc_input(&t->ld, bytes, count) : 0;

		if (!taken)
			break;
		byte_queue_drop(&t->input, taken);
		moved = true;
	}
	ldisc_flush_echo(&t->ld);
	handle_events(t);
	if (moved)
		waitq_wake(&t->master_waitq, EPOLLOUT | EPOLLWRNORM);
}

void tty_vtime_cancel(struct tty *t)
{
	timer_cancel(&t->vtime);
	t->vtime_tid = 0;
	t->vtime_over = false;
	t->vtime_seen = 0;
}

void tty_timer_fired(struct timer *timer)
{
	struct tty *t = container_of(timer, struct tty, vtime);

	t->vtime_over = true;
	waitq_wake(&t->slave_waitq, EPOLLIN | EPOLLRDNORM);
}

/* Every open file of the slave dies, and so does the session's hold on the terminal. */
void tty_hangup(struct tty *t)
{
	struct list *all = process_list();
	struct process *p;

	t->generation++;
	t->slave_count = 0;
	tty_get(t);
	list_for_each(p, all, all_link) {
		if (!t->session || p->sid != t->session)
			continue;
		if (p->ctty == t) {
			p->ctty = NULL;
			tty_put(t);
		}
		if (!p->session_leader || p->pid != t->session)
			continue;
		p->tty_old_pgrp = t->pgrp;
		if (p->state == PROCESS_ALIVE) {
			signal_process(p, SIGHUP);
			signal_process(p, SIGCONT);
		}
	}
	t->session = t->pgrp = 0;
	t->exclusive = false;
	tty_vtime_cancel(t);
	byte_queue_clear(&t->input);
	ldisc_flush_input(&t->ld);
	byte_queue_clear(&t->ld.out);
	t->ld.echo_count = 0;
	ldisc_default_termios(&t->ld.termios);
	t->ld.stopped = t->ld.stopped_by_ioctl = false;
	t->ld.events = 0;
	waitq_wake(&t->slave_waitq, 0);
	waitq_wake(&t->master_waitq, 0);
	tty_put(t);
}

void tty_close_master(struct tty *t)
{
	t->master_open = false;
	t->packet = false;
	devpts_remove(t);
	tty_hangup(t);
	tty_put(t);
}

void tty_close_slave(struct tty *t)
{
	if (--t->slave_count == 0) {
		t->slave_closed = true;
		t->exclusive = false;
		tty_clear_session(t->session);
		waitq_wake(&t->master_waitq, EPOLLIN | EPOLLHUP);
	}
}

void tty_set_winsize(struct tty *t, const struct tty_winsize *ws)
{
	if (!memcmp(&t->winsize, ws, sizeof(*ws)))
		return;
	t->winsize = *ws;
	tty_signal_foreground(t, SIGWINCH);
}
