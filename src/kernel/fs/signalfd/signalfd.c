/*
 * signalfd(2).
 *
 * Signals are the host kernel's: they are pending in the guest process, and nobody tells us. So
 * readiness is looked up in /proc/<tid>/status, when asked and, while somebody waits, by a timer.
 * The timer is quick after a kick (the kernel sees every kill and every death of a child, the
 * signal itself follows within microseconds) and then slows down to CHECK_MAX_NS, which is
 * what a signal of the guest's own interval timers may be late by.
 *
 * Reading dequeues in the reading thread: it is made to execute rt_sigtimedwait(2) with no timeout,
 * once per signal, with its own buffer for the arguments (mask at 0, timeout at 8) and for the
 * result; the record is then written over it. A buffer whose first piece is shorter than one
 * record cannot serve and is -EINVAL.
 *
 * While nobody runs a call, the timer looks at the thread that used the file last: the creator, the
 * reader, or the poller (poll and its relatives say who they are). Two processes that wait on one
 * inherited signalfd at the same time are not both served; on Linux, too, that depends on who
 * registered it.
 */
#include "kernel/fs/signalfd/signalfd.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

#include "base/util.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/core/call.h"
#include "kernel/core/clock.h"
#include "kernel/core/timer.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/host/proc.h"
#include "kernel/task/cred.h"
#include "kernel/task/task.h"

#define CHECK_FIRST_NS (100 * NSEC_PER_USEC)
#define CHECK_MAX_NS (10 * NSEC_PER_MSEC)
#define STATUS_SIZE 2048
#define RECORD ((size_t)sizeof(struct signalfd_siginfo))
_Static_assert(sizeof(struct signalfd_siginfo) == 128, "signalfd_siginfo");
_Static_assert(sizeof(siginfo_t) == 128, "siginfo_t");

struct signalfd {
	struct list link; /* signalfd_root.all */
	struct timer timer;
	struct waitq wq;
	uint64_t mask;
	uint64_t told; /* pending signals that were reported since the last read */
	uint64_t delay;
	int tid; /* guest thread whose signals it looks at */
};

struct signalfd_root {
	struct list all;
};

static struct signalfd_root *signalfd_root(void)
{
	static struct signalfd_root *root;

	if (!root) {
		root = arena_root(ROOT_SIGNALFD, sizeof(*root));
		if (root && !root->all.next)
			list_init(&root->all);
	}
	return root;
}

/* ---- what is pending ---- */

static uint64_t parse_mask(const char *status, const char *field)
{
	const char *at = strstr(status, field);

	return at ? strtoull(at + strlen(field), NULL, 16) : 0;
}

static uint64_t pending_of(struct task *t)
{
	char status[STATUS_SIZE];
	ssize_t n = host_proc_read(t->host_tid, "status", status, sizeof(status) - 1);

	if (n <= 0)
		return 0;
	status[n] = '\0';
	return parse_mask(status, "\nSigPnd:") | parse_mask(status, "\nShdPnd:");
}

static uint64_t ready_signals(const struct signalfd *s)
{
	struct task *t = task_find(s->tid);

	return t ? pending_of(t) & s->mask : 0;
}

/* ---- looking while somebody waits ---- */

static void watch_soon(struct signalfd *s)
{
	s->delay = CHECK_FIRST_NS;
	/* No memory for the timer: the next look at the file tries again. */
	(void)timer_arm(&s->timer, TIMER_SIGNALFD, clock_mono() + s->delay);
}

void signalfd_timer_fired(struct timer *timer)
{
	struct signalfd *s = container_of(timer, struct signalfd, timer);
	uint64_t ready;

	if (!waitq_active(&s->wq))
		return;
	ready = ready_signals(s);
	if (ready & ~s->told)
		waitq_wake(&s->wq, EPOLLIN);
	s->told = ready;
	s->delay = MIN(s->delay * 2, CHECK_MAX_NS);
	(void)timer_arm(&s->timer, TIMER_SIGNALFD, clock_mono() + s->delay);
}

void signalfd_kick(struct process *p)
{
	struct signalfd_root *root = signalfd_root();
	struct signalfd *s;

	if (!root)
		return;
	list_for_each(s, &root->all, link) {
		struct task *t = p ? task_find(s->tid) : NULL;

		if (waitq_active(&s->wq) && (!p || (t && t->proc == p)))
			watch_soon(s);
	}
}

/* ---- reading ---- */

/* The guest sees the sender's virtual user, not the one user all guests are outside. */
static uint32_t sender_uid(int pid)
{
	struct process *p = process_find(pid);
	struct task *t = p ? process_leader(p) : NULL;

	return t ? t->cred->uid : 0;
}

static void convert(const siginfo_t *in, struct signalfd_siginfo *out)
{
	memset(out, 0, sizeof(*out));
	out->ssi_signo = (uint32_t)in->si_signo;
	out->ssi_errno = in->si_errno;
	out->ssi_code = in->si_code;
	if (in->si_code == SI_TIMER) {
		out->ssi_tid = (uint32_t)in->si_timerid;
		out->ssi_overrun = (uint32_t)in->si_overrun;
		out->ssi_ptr = (uint64_t)(uintptr_t)in->si_ptr;
		out->ssi_int = in->si_int;
		return;
	}
	if (in->si_code > 0 && (in->si_signo == SIGSEGV || in->si_signo == SIGBUS ||
				in->si_signo == SIGILL || in->si_signo == SIGFPE ||
				in->si_signo == SIGTRAP)) {
		out->ssi_addr = (uint64_t)(uintptr_t)in->si_addr;
		return;
	}
	if (in->si_code > 0 && in->si_signo == SIGIO) {
		out->ssi_band = (uint32_t)in->si_band;
		out->ssi_fd = in->si_fd;
		return;
	}
	out->ssi_pid = (uint32_t)in->si_pid;
	out->ssi_uid = sender_uid(in->si_pid);
	if (in->si_signo == SIGCHLD && in->si_code > 0) {
		out->ssi_status = in->si_status;
		out->ssi_utime = (uint64_t)in->si_utime;
		out->ssi_stime = (uint64_t)in->si_stime;
	} else if (in->si_code < 0) {
		out->ssi_ptr = (uint64_t)(uintptr_t)in->si_ptr;
		out->ssi_int = in->si_int;
	}
}

/* Takes one pending signal in the calling thread: 1, 0 when there is none, -errno. */
static int dequeue(struct call *c, const struct signalfd *s, struct uaddr buf,
		   struct signalfd_siginfo *ret)
{
	uint64_t head[3] = { s->mask, 0, 0 }; /* the set, then a zero timespec */
	siginfo_t info;
	long n;

	if (user_write(c->task, buf, head, sizeof(head)) < 0)
		return -EFAULT;
	n = call_native(c, SYS_rt_sigtimedwait,
			(uint64_t[6]){ buf.v, buf.v, buf.v + 8, sizeof(uint64_t) });
	if (n == -ESRCH)
		return -ESRCH;
	if (n < 0)
		return 0;
	if (user_read(c->task, &info, buf, sizeof(info)) < 0)
		return -EFAULT;
	convert(&info, ret);
	return 1;
}

/* The first piece of the guest's buffer that holds anything. */
static struct iovec first_piece(const struct uio *u)
{
	uint32_t i = u->iov_index;

	while (i + 1 < u->iov_count && !uio_piece(u, i)->iov_len)
		i++;
	return *uio_piece(u, i);
}

static ssize_t signalfd_read(struct file *f, struct uio *u, uint64_t *pos)
{
	struct signalfd *s = f->priv;
	size_t max = u->resid / RECORD, count = 0;
	struct call *c = u->task ? u->task->slot : NULL;
	struct signalfd_siginfo record;
	struct uaddr buf;
	int got = 0;

	(void)pos;
	if (!max || !c || first_piece(u).iov_len < RECORD)
		return -EINVAL;
	s->tid = c->task->tid;
	s->told = 0;
	if (!(pending_of(c->task) & s->mask))
		return -EAGAIN;
	buf = uaddr((uint64_t)first_piece(u).iov_base);
	max = MIN(max, first_piece(u).iov_len / RECORD);
	while (count < max) {
		got = dequeue(c, s, uaddr_add(buf, count * RECORD), &record);
		if (got <= 0)
			break;
		if (uio_put(u, &record, RECORD) != (ssize_t)RECORD)
			break;
		count++;
	}
	if (count)
		return (ssize_t)(count * RECORD);
	/* Another thread was faster. This one left its notification: it cannot wait any more. */
	return got < 0 ? got : (f->flags & O_NONBLOCK) ? -EAGAIN : -EINTR;
}

/* ---- calls ---- */

static int read_mask(struct call *c, uint64_t *ret)
{
	const uint64_t never = 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1);

	if (c->args[2] != sizeof(*ret))
		return -EINVAL;
	if (user_read_u64(c->task, ret, CALL_ARG_PTR(c, 1)) < 0)
		return -EFAULT;
	*ret &= ~never;
	return 0;
}

static long change_mask(struct call *c, int fd, uint64_t mask)
{
	struct file *f = fd_file(c->task, fd);
	struct signalfd *s;

	if (!f || (f->flags & O_PATH))
		return -EBADF;
	if (f->ops != FOPS_SIGNALFD)
		return -EINVAL;
	s = f->priv;
	s->mask = mask;
	s->told = 0;
	waitq_wake(&s->wq, 0);
	return fd;
}

static long signalfd_call(struct call *c, uint32_t flags)
{
	struct signalfd_root *root = signalfd_root();
	struct signalfd *s;
	struct file *f;
	uint64_t mask;
	int err;

	if (flags & ~(uint32_t)(SFD_CLOEXEC | SFD_NONBLOCK))
		return -EINVAL;
	err = read_mask(c, &mask);
	if (err)
		return err;
	if ((int)c->args[0] != -1)
		return change_mask(c, (int)c->args[0], mask);
	s = root ? knew(struct signalfd) : NULL;
	if (!s)
		return -ENOMEM;
	s->mask = mask;
	s->tid = c->task->tid;
	list_add_tail(&root->all, &s->link);
	f = file_new_anon(FOPS_SIGNALFD, "[signalfd]", O_RDWR | (flags & SFD_NONBLOCK), s);
	if (f) {
		f->stream = true;
	} else {
		list_del(&s->link);
		kfree(s);
	}
	return fd_return(c, f, flags & SFD_CLOEXEC);
}

long sys_signalfd(struct call *c)
{
	return signalfd_call(c, 0);
}

long sys_signalfd4(struct call *c)
{
	return signalfd_call(c, (uint32_t)c->args[3]);
}

/* ---- the other file operations ---- */

/* Within one handler run only: file_poll() has no caller. */
static int poller_tid;

void signalfd_set_poller(const struct task *t)
{
	poller_tid = t->tid;
}

static uint32_t signalfd_poll(struct file *f)
{
	struct signalfd *s = f->priv;

	if (poller_tid)
		s->tid = poller_tid;
	return ready_signals(f->priv) ? EPOLLIN : 0;
}

/* Asked for by everyone who is going to wait. */
static struct waitq *signalfd_waitq(struct file *f, bool for_write)
{
	struct signalfd *s = f->priv;

	(void)for_write;
	s->told = 0;
	if (!timer_armed(&s->timer))
		watch_soon(s);
	return &s->wq;
}

static void signalfd_release(struct file *f)
{
	struct signalfd *s = f->priv;

	f->priv = NULL;
	if (!s)
		return;
	timer_cancel(&s->timer);
	list_del(&s->link);
	waitq_drain(&s->wq);
	kfree(s);
}

static ssize_t signalfd_fdinfo(struct file *f, char *dst, size_t capacity)
{
	struct signalfd *s = f->priv;
	int n = snprintf(dst, capacity, "sigmask:\t%016llx\n", (unsigned long long)s->mask);

	return MIN((ssize_t)n, (ssize_t)capacity);
}

const struct file_ops signalfd_file_ops = {
	.name = "signalfd",
	.read = signalfd_read,
	.poll = signalfd_poll,
	.waitq = signalfd_waitq,
	.release = signalfd_release,
	.fdinfo = signalfd_fdinfo,
};
