/*
 * eventfd(2): a 64-bit counter as a file. A write adds, a read takes all of it, or 1 in semaphore
 * mode. The counter's maximum is 2^64 - 2; a write that would pass it waits (or is -EAGAIN).
 *
 * A read leaves the counter alone until read_done() and a write keeps its value in `staged` until
 * write_done(): the answer may get lost in between (core/call.h).
 */
#include "kernel/fs/eventfd/eventfd.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "base/util.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/core/call.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"

struct eventfd {
	uint64_t count;
	uint64_t staged;
	bool semaphore;
	struct waitq wq;
};

static long eventfd_call(struct call *c, uint32_t count, uint32_t flags)
{
	struct eventfd *e;
	struct file *f;

	if (flags & ~(uint32_t)(EFD_SEMAPHORE | EFD_CLOEXEC | EFD_NONBLOCK))
		return -EINVAL;
	e = knew(struct eventfd);
	if (!e)
		return -ENOMEM;
	e->count = count;
	e->semaphore = flags & EFD_SEMAPHORE;
	f = file_new_anon(FOPS_EVENTFD, "[eventfd]", O_RDWR | (flags & EFD_NONBLOCK), e);
	if (!f)
		kfree(e);
	else
		f->stream = true;
	return fd_return(c, f, flags & EFD_CLOEXEC);
}

long sys_eventfd(struct call *c)
{
	return eventfd_call(c, (uint32_t)c->args[0], 0);
}

long sys_eventfd2(struct call *c)
{
	return eventfd_call(c, (uint32_t)c->args[0], (uint32_t)c->args[1]);
}

static uint64_t next_value(const struct eventfd *e)
{
	return e->semaphore && e->count ? 1 : e->count;
}

static ssize_t counter_read(struct file *f, struct uio *u, uint64_t *pos)
{
	struct eventfd *e = f->priv;
	uint64_t value = next_value(e);
	ssize_t n;

	(void)pos;
	if (u->resid < sizeof(value))
		return -EINVAL;
	if (!value)
		return -EAGAIN;
	n = uio_put(u, &value, sizeof(value));
	return n == sizeof(value) ? n : -EFAULT;
}

static void counter_read_done(struct file *f, size_t count)
{
	struct eventfd *e = f->priv;

	if (!count)
		return;
	e->count -= next_value(e);
	waitq_wake(&e->wq, EPOLLOUT | EPOLLWRNORM);
}

static ssize_t counter_write(struct file *f, struct uio *u, uint64_t *pos)
{
	struct eventfd *e = f->priv;
	uint64_t value;

	(void)pos;
	if (u->resid < sizeof(value))
		return -EINVAL;
	if (uio_get(u, &value, sizeof(value)) != sizeof(value))
		return -EFAULT;
	if (value == UINT64_MAX)
		return -EINVAL;
	if (UINT64_MAX - e->count <= value)
		return -EAGAIN;
	e->staged = value;
	return sizeof(value);
}

static void counter_write_done(struct file *f, size_t count)
{
	struct eventfd *e = f->priv;

	if (!count)
		return;
	e->count += e->staged;
	e->staged = 0;
	waitq_wake(&e->wq, EPOLLIN | EPOLLRDNORM);
}

static uint32_t eventfd_poll(struct file *f)
{
	struct eventfd *e = f->priv;
	uint32_t events = 0;

	if (e->count)
		events |= EPOLLIN;
	if (e->count < UINT64_MAX - 1)
		events |= EPOLLOUT;
	return events;
}

static struct waitq *eventfd_waitq(struct file *f, bool for_write)
{
	struct eventfd *e = f->priv;

	(void)for_write;
	return &e->wq;
}

static void eventfd_release(struct file *f)
{
	struct eventfd *e = f->priv;

	f->priv = NULL;
	if (!e)
		return;
	waitq_drain(&e->wq);
	kfree(e);
}

static ssize_t eventfd_fdinfo(struct file *f, char *dst, size_t capacity)
{
	struct eventfd *e = f->priv;
	int n = snprintf(dst, capacity, "eventfd-count: %16llx\neventfd-semaphore: %d\n",
			 (unsigned long long)e->count, e->semaphore);

	return MIN((ssize_t)n, (ssize_t)capacity);
}

const struct file_ops eventfd_file_ops = {
	.name = "eventfd",
	.read = counter_read,
	.read_done = counter_read_done,
	.write = counter_write,
	.write_done = counter_write_done,
	.poll = eventfd_poll,
	.waitq = eventfd_waitq,
	.release = eventfd_release,
	.fdinfo = eventfd_fdinfo,
};
