/*
 * Sessions, controlling terminals and job control (credentials(7), setsid(2), ioctl_tty(2)).
 *
 * A terminal belongs to at most one session (`session`), and one process group of it is in the
 * foreground (`pgrp`). A process knows its controlling terminal (process.ctty, a reference). The
 * link is made by a session leader that opens a terminal or asks with TIOCSCTTY, and ends when the
 * leader exits or gives it up (TIOCNOTTY), at a hang-up, or when nobody has the slave open any more.
 */
#include <errno.h>
#include <linux/capability.h>

#include "kernel/fs/tty/tty_internal.h"

static void drop_ctty(struct process *p)
{
	struct tty *t = p->ctty;

	p->ctty = NULL;
	if (t)
		tty_put(t);
}

static bool is_leader(const struct process *p)
{
	return p->session_leader && p->pid == p->sid;
}

void tty_fork(struct process *child, const struct process *parent)
{
	child->ctty = parent->ctty ? tty_get(parent->ctty) : NULL;
}

void tty_setsid(struct process *p)
{
	drop_ctty(p);
	p->tty_old_pgrp = 0;
}

void tty_clear_session(int sid)
{
	struct process *p;

	if (sid <= 0)
		return;
	list_for_each(p, process_list(), all_link) {
		if (p->sid == sid)
			drop_ctty(p);
	}
}

void tty_acquire(struct tty *t, struct process *leader)
{
	tty_get(t);
	drop_ctty(leader);
	leader->ctty = t;
	t->session = leader->sid;
	t->pgrp = leader->pgid;
}

void tty_open_acquire(struct tty *t, struct process *p, const struct file *file)
{
	if ((file->flags & O_NOCTTY) || !is_leader(p) || p->ctty || t->session)
		return;
	if (file_readable(file))
		tty_acquire(t, p);
}

/* To the group, but not to `except`: it is about to exit and must not die of the signal. */
static void signal_others(int pgid, int sig, const struct process *except)
{
	struct process *p;

	list_for_each(p, process_list(), all_link) {
		if (p->pgid == pgid && p != except && p->state == PROCESS_ALIVE)
			signal_process(p, sig);
	}
}

/* The leader lets go: the foreground group is told, nobody of the session keeps the terminal. */
static void leader_lets_go(struct process *p, bool exiting)
{
	struct tty *t = p->ctty;

	if (t) {
		if (exiting) {
			signal_others(t->pgrp, SIGHUP, p);
		} else {
			tty_signal_foreground(t, SIGHUP);
			tty_signal_foreground(t, SIGCONT);
		}
		t->session = t->pgrp = 0;
		waitq_wake(&t->slave_waitq, 0);
	} else if (exiting && p->tty_old_pgrp > 0) {
		signal_others(p->tty_old_pgrp, SIGHUP, p);
		signal_others(p->tty_old_pgrp, SIGCONT, p);
	}
	p->tty_old_pgrp = 0;
	tty_clear_session(p->sid);
}

void tty_session_exit(struct process *p)
{
	if (is_leader(p))
		leader_lets_go(p, true);
	drop_ctty(p);
}

void tty_proc_stat(const struct process *p, int *ret_tty_nr, int *ret_tpgid)
{
	const struct tty *t = p->ctty;

	*ret_tty_nr = t ? (int)tty_device_number(TTY_SLAVE_MAJOR, t->index) : 0;
	*ret_tpgid = t ? (t->pgrp ? t->pgrp : -1) : -1;
}

int tty_check_background(struct tty *t, struct task *task, int sig)
{
	struct process *p = task ? task->proc : NULL;

	if (!p || p->ctty != t || t->pgrp <= 0 || p->pgid == t->pgrp)
		return 0;
	if (task_signal_blocked_or_ignored(task, sig))
		return sig == SIGTTIN ? -EIO : 0;
	if (pgrp_is_orphaned(p->pgid, p->sid))
		return -EIO;
	signal_pgrp(p->pgid, sig);
	return FILE_WAIT_SIGNAL;
}

static long set_ctty(struct call *c, struct file *f, struct tty *t, uint64_t arg)
{
	struct process *p = c->task->proc;
	bool admin = cred_capable(c->task->cred, CAP_SYS_ADMIN);

	if (is_leader(p) && t->session == p->sid)
		return 0;
	if (!is_leader(p) || p->ctty)
		return -EPERM;
	if (t->session) {
		if (arg != 1 || !admin)
			return -EPERM;
		tty_clear_session(t->session); /* stolen */
	}
	if (!file_readable(f) && !admin)
		return -EPERM;
	tty_acquire(t, p);
	return 0;
}

static long give_up_ctty(struct process *p, const struct tty *t)
{
	if (p->ctty != t)
		return -ENOTTY;
	if (is_leader(p))
		leader_lets_go(p, false);
	drop_ctty(p);
	return 0;
}

/* 0, -ESRCH, or -EPERM for a group of another session. */
static int check_group(int pgid, int sid)
{
	int err = -ESRCH;
	struct process *p;

	list_for_each(p, process_list(), all_link) {
		if (p->pgid != pgid)
			continue;
		if (p->sid == sid)
			return 0;
		err = -EPERM;
	}
	return err;
}

static long set_foreground(struct call *c, struct file *f, uint64_t arg)
{
	struct tty *t = ((struct tty_file *)f->priv)->tty;
	struct process *p = c->task->proc;
	uint32_t pgid;
	int err = tty_check_background(t, c->task, SIGTTOU);

	if (err == FILE_WAIT_SIGNAL)
		return call_block_file(c, f, &t->slave_waitq);
	if (err == -EIO)
		return -ENOTTY;
	if (err < 0)
		return err;
	if (p->ctty != t || t->session != p->sid)
		return -ENOTTY;
	if (user_read_u32(c->task, &pgid, uaddr(arg)) < 0)
		return -EFAULT;
	if ((int)pgid < 0)
		return -EINVAL;
	err = check_group((int)pgid, p->sid);
	if (err < 0)
		return err;
	t->pgrp = (int)pgid;
	/* Readers of the new foreground group that waited for their signal go on. */
	waitq_wake(&t->slave_waitq, EPOLLIN | EPOLLRDNORM);
	return 0;
}

long tty_ioctl_job(struct call *c, struct file *f, uint32_t cmd, uint64_t arg)
{
	struct tty_file *tf = f->priv;
	struct tty *t = tf->tty;
	struct process *p = c->task->proc;

	switch (cmd) {
	case TIOCSCTTY:
		return set_ctty(c, f, t, arg);
	case TIOCNOTTY:
		return give_up_ctty(p, t);
	case TIOCGPGRP:
		if (!tf->master && p->ctty != t)
			return -ENOTTY;
		return user_write_u32(c->task, uaddr(arg), (uint32_t)t->pgrp);
	case TIOCSPGRP:
		return set_foreground(c, f, arg);
	case TIOCGSID:
		if ((!tf->master && p->ctty != t) || !t->session)
			return -ENOTTY;
		return user_write_u32(c->task, uaddr(arg), (uint32_t)t->session);
	default:
		return TTY_NOT_MINE;
	}
}
