/*
 * inotify(7): instances and calls. Watches and the queue are in notify.c.
 *
 * Reading gives whole events only; they leave the queue when the answer was accepted. There is no
 * IN_UNMOUNT because nothing is ever unmounted.
 */
#include "kernel/fs/inotify/inotify.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "base/util.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/core/call.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/inotify/inotify_internal.h"
#include "kernel/fs/vfs.h"

#define VALID_BITS                                                                                 \
	(IN_ALL_EVENTS | IN_UNMOUNT | IN_Q_OVERFLOW | IN_IGNORED | IN_ONLYDIR | IN_DONT_FOLLOW |   \
	 IN_EXCL_UNLINK | IN_MASK_ADD | IN_MASK_CREATE | IN_ISDIR | IN_ONESHOT)

static long inotify_call(struct call *c, uint32_t flags)
{
	struct inotify_root *root = inotify_root();
	struct inotify *in;
	struct file *f;

	if (flags & ~(uint32_t)(IN_CLOEXEC | IN_NONBLOCK))
		return -EINVAL;
	if (root && root->instances >= INOTIFY_MAX_INSTANCES)
		return -EMFILE;
	in = inotify_new();
	if (!in)
		return -ENOMEM;
	f = file_new_anon(FOPS_INOTIFY, "inotify", O_RDONLY | (flags & IN_NONBLOCK), in);
	if (f) {
		f->stream = true;
		root->instances++;
	} else {
		kfree(in);
	}
	return fd_return(c, f, flags & IN_CLOEXEC);
}

long sys_inotify_init(struct call *c)
{
	return inotify_call(c, 0);
}

long sys_inotify_init1(struct call *c)
{
	return inotify_call(c, (uint32_t)c->args[0]);
}

static int instance_of(struct call *c, struct inotify **ret)
{
	struct file *f = fd_file(c->task, (int)c->args[0]);

	if (!f || (f->flags & O_PATH))
		return -EBADF;
	if (f->ops != FOPS_INOTIFY)
		return -EINVAL;
	*ret = f->priv;
	return 0;
}

/* Adds to or changes the instance's watch on the file at `p`. */
static long watch_path(struct inotify *in, struct path p, uint32_t arg)
{
	struct watch *w = watch_find_inode(in, p.dentry->inode);
	uint32_t mask = arg & (IN_ALL_EVENTS | WATCH_FLAGS);

	if (!w)
		return watch_add(in, p, mask);
	if (arg & IN_MASK_CREATE)
		return -EEXIST;
	w->mask = arg & IN_MASK_ADD ? w->mask | mask : mask;
	return w->wd;
}

long sys_inotify_add_watch(struct call *c)
{
	uint32_t mask = (uint32_t)c->args[2];
	unsigned flags = 0;
	struct inotify *in;
	struct path p;
	long ret;
	int err;

	if (!(mask & VALID_BITS))
		return -EINVAL;
	if (!fd_file(c->task, (int)c->args[0]))
		return -EBADF;
	if ((mask & IN_MASK_ADD) && (mask & IN_MASK_CREATE))
		return -EINVAL;
	err = instance_of(c, &in);
	if (err)
		return err;
	if (!(mask & IN_DONT_FOLLOW))
		flags |= LOOKUP_FOLLOW;
	if (mask & IN_ONLYDIR)
		flags |= LOOKUP_DIRECTORY;
	err = path_lookup_user(c->task, AT_FDCWD, CALL_ARG_PTR(c, 1), flags, &p);
	if (err)
		return err;
	err = path_permission(c->task, p, R_OK);
	ret = err ? err : watch_path(in, p, mask);
	path_put(&p);
	return ret;
}

long sys_inotify_rm_watch(struct call *c)
{
	struct inotify *in;
	struct watch *w;
	int err = instance_of(c, &in);

	if (err)
		return err;
	w = watch_find(in, (int)c->args[1]);
	if (!w)
		return -EINVAL;
	watch_remove(w, true);
	return 0;
}

/* ---- file operations ---- */

static int put_event(struct uio *u, const struct inotify_event_node *e)
{
	struct inotify_event head = {
		.wd = e->wd, .mask = e->mask, .cookie = e->cookie, .len = e->name_size
	};

	if (uio_put(u, &head, sizeof(head)) != sizeof(head))
		return -EFAULT;
	if (e->name_size && uio_put(u, e->name, e->name_size) != (ssize_t)e->name_size)
		return -EFAULT;
	return 0;
}

static ssize_t inotify_read(struct file *f, struct uio *u, uint64_t *pos)
{
	struct inotify *in = f->priv;
	struct inotify_event_node *e;
	size_t total = 0;

	(void)pos;
	if (list_empty(&in->events))
		return -EAGAIN;
	list_for_each(e, &in->events, link) {
		size_t size = sizeof(struct inotify_event) + e->name_size;

		if (size > u->resid)
			break;
		if (put_event(u, e) < 0)
			return total ? (ssize_t)total : -EFAULT;
		total += size;
	}
	return total ? (ssize_t)total : -EINVAL;
}

static void inotify_read_done(struct file *f, size_t count)
{
	inotify_drop_events(f->priv, count);
}

static uint32_t inotify_poll(struct file *f)
{
	struct inotify *in = f->priv;

	return list_empty(&in->events) ? 0 : EPOLLIN | EPOLLRDNORM;
}

static struct waitq *inotify_waitq(struct file *f, bool for_write)
{
	struct inotify *in = f->priv;

	(void)for_write;
	return &in->wq;
}

static long inotify_ioctl(struct call *c, struct file *f, uint32_t cmd, uint64_t arg)
{
	struct inotify *in = f->priv;

	if (cmd != FIONREAD)
		return -ENOTTY;
	return user_write(c->task, uaddr(arg), &in->event_bytes, sizeof(in->event_bytes));
}

static void inotify_release(struct file *f)
{
	struct inotify *in = f->priv;

	f->priv = NULL;
	inotify_free(in);
	if (in)
		inotify_root()->instances--;
}

static ssize_t inotify_fdinfo(struct file *f, char *dst, size_t capacity)
{
	struct inotify *in = f->priv;
	size_t used = 0;
	struct watch *w;

	list_for_each(w, &in->watches, instance_link) {
		char line[128];
		int n = snprintf(line, sizeof(line),
				 "inotify wd:%x ino:%llx sdev:%x mask:%x ignored_mask:0 \n", w->wd,
				 (unsigned long long)w->inode->ino, w->inode->sb->dev, w->mask);

		if (used + (size_t)n > capacity)
			break;
		memcpy(dst + used, line, (size_t)n);
		used += (size_t)n;
	}
	return (ssize_t)used;
}

const struct file_ops inotify_file_ops = {
	.name = "inotify",
	.read = inotify_read,
	.read_done = inotify_read_done,
	.poll = inotify_poll,
	.waitq = inotify_waitq,
	.ioctl = inotify_ioctl,
	.release = inotify_release,
	.fdinfo = inotify_fdinfo,
};
