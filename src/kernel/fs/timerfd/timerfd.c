/*
 * timerfd_create(2): a timer as a file.
 *
 * Every timer becomes a deadline on the sandbox's monotonic clock (core/timer.h). For absolute
 * CLOCK_REALTIME timers the wall time is kept too, together with the distance of the two clocks at
 * that moment: if it has changed, somebody set the clock.
 *
 *   disarmed --settime--> armed --deadline--> expired --read, interval--> armed
 *                           ^--------------------------------------------/
 *
 * A periodic timer is not re-armed when it expires but when it is looked at, and then counts the
 * periods that went by: a timer that nobody reads costs nothing. That is what Linux does, and
 * edge-triggered users can tell.
 *
 * CLOCK_*_ALARM would have to wake a suspended machine: -EPERM, as without CAP_WAKE_ALARM.
 */
#include "kernel/fs/timerfd/timerfd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "base/util.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/core/call.h"
#include "kernel/core/clock.h"
#include "kernel/core/timer.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"

#define TIME_MAX_NS ((uint64_t)INT64_MAX)
/* A smaller change of the distance between the clocks is steering, not a step. */
#define CLOCK_STEP_NS ((int64_t)NSEC_PER_SEC)

struct timerfd {
	struct timer timer;
	struct waitq wq;
	int clock;
	int settime_flags;
	uint64_t deadline; /* clock_mono; 0 = disarmed */
	uint64_t interval;
	uint64_t ticks;	     /* expirations not read */
	bool expired;	     /* the deadline passed and was counted */
	bool canceled;	     /* TFD_TIMER_CANCEL_ON_SET took effect, not reported yet */
	uint64_t real_ns;    /* absolute CLOCK_REALTIME value, else 0 */
	int64_t real_offset; /* clock_real - clock_mono when it was set */
};

static uint64_t mono_fresh(void)
{
	clock_tick();
	return clock_mono();
}

static int64_t real_offset_now(void)
{
	return clock_real() - (int64_t)mono_fresh();
}

/* ---- state changes ---- */

static void set_expired(struct timerfd *t)
{
	timer_cancel(&t->timer);
	t->expired = true;
	t->ticks++;
	waitq_wake(&t->wq, EPOLLIN);
}

void timerfd_timer_fired(struct timer *timer)
{
	set_expired(container_of(timer, struct timerfd, timer));
}

static int arm(struct timerfd *t)
{
	if (t->deadline <= mono_fresh()) {
		set_expired(t);
		return 0;
	}
	return timer_arm(&t->timer, TIMER_TIMERFD, t->deadline);
}

/* Follows a wall clock that was set. */
static void check_clock(struct timerfd *t)
{
	int64_t offset, step;

	if (!t->real_ns || t->canceled)
		return;
	offset = real_offset_now();
	step = offset - t->real_offset;
	if (llabs(step) < CLOCK_STEP_NS)
		return;
	t->real_offset = offset;
	if (t->settime_flags & TFD_TIMER_CANCEL_ON_SET) {
		t->canceled = true;
		t->ticks++;
		waitq_wake(&t->wq, EPOLLIN);
		return;
	}
	if (!t->deadline || t->expired)
		return;
	t->deadline = (uint64_t)MAX((int64_t)t->deadline - step, (int64_t)1);
	arm(t); /* it is armed: cannot fail */
}

/* Brings the state up to now: a deadline the event loop has not seen yet counts already. */
static void update(struct timerfd *t)
{
	check_clock(t);
	if (t->deadline && !t->expired && t->deadline <= mono_fresh())
		set_expired(t);
}

/* Counts the periods since a periodic timer expired, and arms the next. */
static void forward(struct timerfd *t)
{
	uint64_t now = mono_fresh(), periods;

	if (!t->expired || !t->interval)
		return;
	periods = now > t->deadline ? (now - t->deadline) / t->interval : 0;
	if (timer_arm(&t->timer, TIMER_TIMERFD, t->deadline + (periods + 1) * t->interval))
		return; /* no memory: it stays expired and readable, tried again at the next look */
	t->ticks += periods;
	t->deadline += (periods + 1) * t->interval;
	t->expired = false;
}

/* ---- calls ---- */

long sys_timerfd_create(struct call *c)
{
	int clock = (int)c->args[0], flags = (int)c->args[1];
	struct timerfd *t;
	struct file *f;

	if (flags & ~(TFD_CLOEXEC | TFD_NONBLOCK))
		return -EINVAL;
	if (clock == CLOCK_REALTIME_ALARM || clock == CLOCK_BOOTTIME_ALARM)
		return -EPERM;
	if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME)
		return -EINVAL;
	t = knew(struct timerfd);
	if (!t)
		return -ENOMEM;
	t->clock = clock;
	f = file_new_anon(FOPS_TIMERFD, "[timerfd]", O_RDWR | ((uint32_t)flags & O_NONBLOCK), t);
	if (f)
		f->stream = true;
	else
		kfree(t);
	return fd_return(c, f, flags & TFD_CLOEXEC);
}

static int timerfd_find(struct call *c, struct timerfd **ret)
{
	struct file *f = fd_file(c->task, (int)c->args[0]);

	if (!f || (f->flags & O_PATH))
		return -EBADF;
	if (f->ops != FOPS_TIMERFD)
		return -EINVAL;
	*ret = f->priv;
	return 0;
}

static int parse_time(const struct timespec *ts, uint64_t *ret_ns)
{
	if (ts->tv_sec < 0 || ts->tv_nsec < 0 || ts->tv_nsec >= (long)NSEC_PER_SEC)
		return -EINVAL;
	*ret_ns = (uint64_t)ts->tv_sec >= TIME_MAX_NS / NSEC_PER_SEC ? TIME_MAX_NS
								     : ns_from_timespec(ts);
	return 0;
}

static void current_setting(struct timerfd *t, struct itimerspec *ret)
{
	uint64_t now, left = 0;

	update(t);
	forward(t);
	now = clock_mono();
	if (t->deadline && !t->expired)
		left = t->deadline > now ? t->deadline - now : 1;
	ret->it_value = timespec_from_ns(left);
	ret->it_interval = timespec_from_ns(t->interval);
}

/* The present time on the guest's view of `clock`. The vdso answers: no system call. */
static uint64_t guest_now(int clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ns_from_timespec(&ts);
}

static uint64_t saturated_add(uint64_t a, uint64_t b)
{
	return a > TIME_MAX_NS - MIN(b, TIME_MAX_NS) ? TIME_MAX_NS : a + b;
}

static uint64_t deadline_for(const struct timerfd *t, int flags, uint64_t value)
{
	uint64_t now = mono_fresh(), clock_now;

	if (!(flags & TFD_TIMER_ABSTIME))
		return saturated_add(now, value);
	if (t->clock == CLOCK_MONOTONIC)
		return MAX(clock_mono_from_guest(value), (uint64_t)1);
	clock_now = t->clock == CLOCK_REALTIME ? (uint64_t)clock_real() : guest_now(t->clock);
	return value > clock_now ? saturated_add(now, value - clock_now) : now;
}

static int set(struct timerfd *t, int flags, uint64_t value, uint64_t interval)
{
	timer_cancel(&t->timer);
	t->settime_flags = flags;
	t->expired = t->canceled = false;
	t->ticks = 0;
	t->interval = interval;
	t->deadline = t->real_ns = 0;
	if (!value)
		return 0;
	t->deadline = deadline_for(t, flags, value);
	if (t->clock == CLOCK_REALTIME && (flags & TFD_TIMER_ABSTIME)) {
		t->real_ns = value;
		t->real_offset = real_offset_now();
	}
	return arm(t);
}

long sys_timerfd_settime(struct call *c)
{
	int flags = (int)c->args[1], err;
	struct itimerspec new, old;
	uint64_t value, interval;
	struct timerfd *t;
	bool canceled;

	if (user_read(c->task, &new, CALL_ARG_PTR(c, 2), sizeof(new)) < 0)
		return -EFAULT;
	if ((flags & ~(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET)) ||
	    parse_time(&new.it_value, &value) || parse_time(&new.it_interval, &interval))
		return -EINVAL;
	err = timerfd_find(c, &t);
	if (err)
		return err;
	current_setting(t, &old);
	canceled = t->canceled;
	err = set(t, flags, value, interval);
	if (err)
		return err;
	if (c->args[3] && user_write(c->task, CALL_ARG_PTR(c, 3), &old, sizeof(old)) < 0)
		return -EFAULT;
	return canceled ? -ECANCELED : 0;
}

long sys_timerfd_gettime(struct call *c)
{
	struct itimerspec now;
	struct timerfd *t;
	int err = timerfd_find(c, &t);

	if (err)
		return err;
	current_setting(t, &now);
	return user_write(c->task, CALL_ARG_PTR(c, 1), &now, sizeof(now));
}

/* ---- file operations ---- */

static ssize_t timerfd_read(struct file *f, struct uio *u, uint64_t *pos)
{
	struct timerfd *t = f->priv;
	ssize_t n;

	(void)pos;
	if (u->resid < sizeof(t->ticks))
		return -EINVAL;
	update(t);
	if (t->canceled) {
		t->canceled = t->expired = false;
		t->ticks = 0;
		return -ECANCELED;
	}
	forward(t);
	if (!t->ticks)
		return -EAGAIN;
	n = uio_put(u, &t->ticks, sizeof(t->ticks));
	return n == sizeof(t->ticks) ? n : -EFAULT;
}

static void timerfd_read_done(struct file *f, size_t count)
{
	struct timerfd *t = f->priv;

	if (count)
		t->ticks = 0;
}

static uint32_t timerfd_poll(struct file *f)
{
	struct timerfd *t = f->priv;

	/* Not update(): a poll must not wake. The event loop counts the expiry in its next turn. */
	if (t->ticks)
		return EPOLLIN;
	return t->deadline && !t->expired && t->deadline <= clock_mono() ? EPOLLIN : 0;
}

static struct waitq *timerfd_waitq(struct file *f, bool for_write)
{
	struct timerfd *t = f->priv;

	(void)for_write;
	return &t->wq;
}

static void timerfd_release(struct file *f)
{
	struct timerfd *t = f->priv;

	f->priv = NULL;
	if (!t)
		return;
	timer_cancel(&t->timer);
	waitq_drain(&t->wq);
	kfree(t);
}

static ssize_t timerfd_fdinfo(struct file *f, char *dst, size_t capacity)
{
	struct timerfd *t = f->priv;
	struct itimerspec s;
	int n;

	current_setting(t, &s);
	n = snprintf(dst, capacity,
		     "clockid: %d\nticks: %llu\nsettime flags: 0%o\n"
		     "it_value: (%lld, %lld)\nit_interval: (%lld, %lld)\n",
		     t->clock, (unsigned long long)t->ticks, (unsigned)t->settime_flags,
		     (long long)s.it_value.tv_sec, (long long)s.it_value.tv_nsec,
		     (long long)s.it_interval.tv_sec, (long long)s.it_interval.tv_nsec);
	return MIN((ssize_t)n, (ssize_t)capacity);
}

const struct file_ops timerfd_file_ops = {
	.name = "timerfd",
	.read = timerfd_read,
	.read_done = timerfd_read_done,
	.poll = timerfd_poll,
	.waitq = timerfd_waitq,
	.release = timerfd_release,
	.fdinfo = timerfd_fdinfo,
};
