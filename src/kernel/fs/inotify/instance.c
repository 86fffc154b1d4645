/* Instances by themselves: what a file (inotify.c) and the control channel have in common. */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/fs/inotify/inotify.h"
#include "kernel/fs/inotify/inotify_internal.h"
#include "kernel/fs/vfs.h"

struct inotify *inotify_new(void)
{
	struct inotify *in = inotify_root() ? knew(struct inotify) : NULL;

	if (!in)
		return NULL;
	list_init(&in->watches);
	list_init(&in->events);
	return in;
}

void inotify_free(struct inotify *in)
{
	if (!in)
		return;
	while (!list_empty(&in->watches))
		watch_remove(list_first(&in->watches, struct watch, instance_link), false);
	inotify_drop_events(in, SIZE_MAX);
	waitq_drain(&in->wq);
	kfree(in);
}

int inotify_watch(struct inotify *in, struct path p, uint32_t mask)
{
	struct watch *w = watch_find_inode(in, p.dentry->inode);

	return w ? w->wd : watch_add(in, p, mask);
}

void inotify_unwatch(struct inotify *in, int wd)
{
	struct watch *w = watch_find(in, wd);

	if (w)
		watch_remove(w, false);
}

bool inotify_watched(struct inotify *in, int wd, struct path *ret)
{
	struct watch *w = watch_find(in, wd);

	if (!w || !w->path.dentry)
		return false;
	*ret = w->path;
	return true;
}

bool inotify_next(struct inotify *in, struct inotify_got *ret)
{
	if (list_empty(&in->events))
		return false;
	const struct inotify_event_node *e =
		list_first(&in->events, struct inotify_event_node, link);
	size_t size = MIN((size_t)e->name_size, sizeof(ret->name) - 1);
	ret->wd = e->wd;
	ret->mask = e->mask;
	memcpy(ret->name, e->name, size);
	ret->name[size] = '\0';
	inotify_drop_events(in, sizeof(struct inotify_event) + e->name_size);
	return true;
}

struct waitq *inotify_queue(struct inotify *in)
{
	return &in->wq;
}
