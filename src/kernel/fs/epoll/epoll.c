/*
 * epoll(7): the calls. Items and wakes are in item.c, nesting in nest.c.
 *
 * epoll_wait() reads the ready list from its head: each item's file is polled again, and what is
 * no longer true leaves the list. What was reported goes, after the answer was accepted ("commit
 * after send", core/call.h): edge-triggered and one-shot items off the list, level-triggered ones
 * to its end, so that with a small maxevents every descriptor gets its turn.
 *
 * References: epoll(7), epoll_ctl(2), epoll_wait(2).
 */
#include "kernel/fs/epoll/epoll.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/util.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/core/call.h"
#include "kernel/core/user.h"
#include "kernel/fs/epoll/epoll_internal.h"
#include "kernel/fs/signalfd/signalfd.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/task.h"

/* Events of one answer are copied out in pieces of the scratch buffer. */
#define PIECE_EVENTS ((uint32_t)(SCRATCH_SIZE / sizeof(struct epoll_event)))
#define EXCLUSIVE_OK_BITS                                                                          \
	(EPOLLIN | EPOLLOUT | EPOLLRDNORM | EPOLLWRNORM | EPOLLERR | EPOLLHUP | EPOLLWAKEUP |      \
	 EPOLLET | EPOLLEXCLUSIVE)

_Static_assert(sizeof(struct epoll_event) == 12, "packed on x86-64, as the guest's");

/* ---- epoll_create ---- */

static long epoll_create_call(struct call *c, uint64_t flags)
{
	struct epoll *ep;
	struct file *f;

	if (flags & ~(uint64_t)EPOLL_CLOEXEC)
		return -EINVAL;
	ep = knew(struct epoll);
	if (!ep)
		return -ENOMEM;
	list_init(&ep->items);
	list_init(&ep->ready);
	list_init(&ep->nested);
	f = file_new_anon(FOPS_EPOLL, "[eventpoll]", O_RDWR, ep);
	if (!f) {
		kfree(ep);
	} else {
		f->stream = true;
		ep->file = f;
	}
	return fd_return(c, f, flags & EPOLL_CLOEXEC);
}

long sys_epoll_create(struct call *c)
{
	return (int)c->args[0] <= 0 ? -EINVAL : epoll_create_call(c, 0);
}

long sys_epoll_create1(struct call *c)
{
	return epoll_create_call(c, (uint32_t)c->args[0]);
}

/* ---- epoll_ctl ---- */

static bool can_poll(const struct file *f)
{
	if (!file_ops(f)->poll)
		return false;
	/* A passed descriptor has poll operations even when it is a plain file. */
	return f->ops != FOPS_PASSED || !f->inode ||
	       !(S_ISREG(f->inode->mode) || S_ISDIR(f->inode->mode));
}

static int check_exclusive(int op, uint32_t events, const struct file *target)
{
	if (op == EPOLL_CTL_DEL || !(events & EPOLLEXCLUSIVE))
		return 0;
	if (op == EPOLL_CTL_MOD || epoll_of(target) || (events & ~(uint32_t)EXCLUSIVE_OK_BITS))
		return -EINVAL;
	return 0;
}

static long ctl_apply(struct epoll *ep, int op, struct file *f, int fd,
		      const struct epoll_event *ev)
{
	struct epoll_item *item = epoll_item_find(ep, f, fd);
	uint32_t events = ev->events & ~(uint32_t)EPOLLWAKEUP;

	switch (op) {
	case EPOLL_CTL_ADD:
		if (item)
			return -EEXIST;
		return epoll_item_add(ep, f, fd, events | EPOLL_ALWAYS, ev->data.u64);
	case EPOLL_CTL_MOD:
		if (!item)
			return -ENOENT;
		if (item->events & EPOLLEXCLUSIVE)
			return -EINVAL;
		epoll_item_modify(item, events | EPOLL_ALWAYS, ev->data.u64);
		return 0;
	case EPOLL_CTL_DEL:
		if (!item)
			return -ENOENT;
		epoll_item_free(item);
		return 0;
	default:
		return -EINVAL;
	}
}

long sys_epoll_ctl(struct call *c)
{
	int op = (int)c->args[1], fd = (int)c->args[2], err;
	struct epoll_event ev = { 0 };
	struct file *file, *target;
	struct epoll *ep;

	if (op != EPOLL_CTL_DEL && user_read(c->task, &ev, CALL_ARG_PTR(c, 3), sizeof(ev)) < 0)
		return -EFAULT;
	file = fd_file(c->task, (int)c->args[0]);
	target = fd_file(c->task, fd);
	if (!file || !target || (target->flags & O_PATH) || (file->flags & O_PATH))
		return -EBADF;
	if (!can_poll(target))
		return -EPERM;
	ep = epoll_of(file);
	if (!ep || file == target)
		return -EINVAL;
	signalfd_set_poller(c->task);
	err = check_exclusive(op, ev.events, target);
	if (!err && op == EPOLL_CTL_ADD && epoll_of(target))
		err = epoll_nest_check(ep, epoll_of(target));
	return err ? err : ctl_apply(ep, op, target, fd, &ev);
}

/* ---- epoll_wait ---- */

/* Writes `count` events to the guest's array from `start` on; how many went. */
static uint32_t put_events(struct call *c, const struct epoll_event *events, uint32_t start,
			   uint32_t count)
{
	struct uaddr at = uaddr_add(CALL_ARG_PTR(c, 1), (uint64_t)start * sizeof(*events));
	ssize_t n = count ? user_write_some(c->task, at, events, count * sizeof(*events)) : 0;

	return n > 0 ? (uint32_t)((size_t)n / sizeof(*events)) : 0;
}

/*
 * Copies out up to `max` events that are true now. Items that are not leave the list, so afterwards
 * its first `count` items are the reported ones. Returns the count, or -EFAULT.
 */
static long collect(struct call *c, struct epoll *ep, uint32_t max)
{
	struct epoll_event *events = scratch_buffer();
	uint32_t done = 0, piece = 0, put;
	struct epoll_item *item, *next;

	list_for_each_safe(item, next, &ep->ready, ready_link) {
		uint32_t now;

		if (done + piece == max)
			break;
		now = epoll_item_events(item);
		if (!now) {
			list_del(&item->ready_link);
			continue;
		}
		events[piece].events = now;
		events[piece++].data.u64 = item->data;
		if (piece < PIECE_EVENTS)
			continue;
		put = put_events(c, events, done, piece);
		done += put;
		if (put < piece)
			return done ? (long)done : -EFAULT;
		piece = 0;
	}
	put = put_events(c, events, done, piece);
	done += put;
	return piece && !done ? -EFAULT : (long)done;
}

/* The guest has the events: edges are used up, levels go to the end of the queue. */
static void commit(struct epoll *ep, uint32_t count)
{
	while (count--) {
		struct epoll_item *item = list_first(&ep->ready, struct epoll_item, ready_link);

		list_del(&item->ready_link);
		if (item->events & EPOLLONESHOT)
			item->events &= EPOLL_PRIVATE_BITS;
		else if (!(item->events & EPOLLET))
			list_add_tail(&ep->ready, &item->ready_link);
	}
}

/* `timeout_ns`: UINT64_MAX = forever. */
static long epoll_wait_call(struct call *c, uint64_t timeout_ns)
{
	int max = (int)c->args[2];
	struct file *f;
	struct epoll *ep;
	long count;

	c->no_restart = true;
	if (max <= 0 || max > (int)(INT_MAX / sizeof(struct epoll_event)))
		return -EINVAL;
	f = call_file(c, (int)c->args[0]);
	if (!f || (f->flags & O_PATH))
		return -EBADF;
	ep = epoll_of(f);
	if (!ep)
		return -EINVAL;
	signalfd_set_poller(c->task);
	count = collect(c, ep, (uint32_t)max);
	if (count < 0)
		return count;
	if (count) {
		if (call_reply(c, count))
			commit(ep, (uint32_t)count);
		return CALL_DONE;
	}
	if (!timeout_ns || c->timed_out)
		return 0;
	if (timeout_ns != UINT64_MAX) {
		int err = call_set_timeout(c, timeout_ns);

		if (err)
			return err;
	}
	return call_block_file(c, f, &ep->wq);
}

static uint64_t timeout_from_ms(uint64_t arg)
{
	int ms = (int)arg;

	return ms < 0 ? UINT64_MAX : (uint64_t)ms * NSEC_PER_MSEC;
}

long sys_epoll_wait(struct call *c)
{
	return epoll_wait_call(c, timeout_from_ms(c->args[3]));
}

long sys_epoll_pwait(struct call *c)
{
	int err = call_set_sigmask(c, CALL_ARG_PTR(c, 4), c->args[5]);

	return err ? err : epoll_wait_call(c, timeout_from_ms(c->args[3]));
}

long sys_epoll_pwait2(struct call *c)
{
	uint64_t timeout_ns;
	int err = user_read_timeout(c->task, &timeout_ns, CALL_ARG_PTR(c, 3));

	if (!err)
		err = call_set_sigmask(c, CALL_ARG_PTR(c, 4), c->args[5]);
	return err ? err : epoll_wait_call(c, timeout_ns);
}

/* ---- the instance as a file ---- */

static uint32_t epoll_poll(struct file *f)
{
	struct epoll *ep = f->priv;
	struct epoll_item *item, *next;

	list_for_each_safe(item, next, &ep->ready, ready_link) {
		if (epoll_item_events(item))
			return EPOLLIN | EPOLLRDNORM;
		list_del(&item->ready_link);
	}
	return 0;
}

static struct waitq *epoll_waitq(struct file *f, bool for_write)
{
	struct epoll *ep = f->priv;

	(void)for_write;
	return &ep->wq;
}

static void epoll_release(struct file *f)
{
	struct epoll *ep = f->priv;

	f->priv = NULL;
	if (!ep)
		return;
	while (!list_empty(&ep->items))
		epoll_item_free(list_first(&ep->items, struct epoll_item, ep_link));
	waitq_drain(&ep->wq);
	kfree(ep);
}

static ssize_t epoll_fdinfo(struct file *f, char *dst, size_t capacity)
{
	struct epoll *ep = f->priv;
	struct epoll_item *item;
	size_t used = 0;

	list_for_each(item, &ep->items, ep_link) {
		char line[128];
		int n = snprintf(line, sizeof(line),
				 "tfd: %8d events: %8x data: %16llx  pos:%lld ino:%llx sdev:%x\n",
				 item->fd, item->events, (unsigned long long)item->data,
				 item->file->stream ? 0LL : (long long)item->file->pos,
				 (unsigned long long)(item->file->inode ? item->file->inode->ino : 0),
				 item->file->inode ? item->file->inode->sb->dev : 0);

		if (used + (size_t)n > capacity)
			break;
		memcpy(dst + used, line, (size_t)n);
		used += (size_t)n;
	}
	return (ssize_t)used;
}

const struct file_ops epoll_file_ops = {
	.name = "eventpoll",
	.poll = epoll_poll,
	.waitq = epoll_waitq,
	.release = epoll_release,
	.fdinfo = epoll_fdinfo,
};
