/*
 * Watches, and how an event of the file system gets into the queues of the instances.
 *
 *   struct inotify --watches--> struct watch <--watches-- struct inode
 *        | events                   | path (dentry: keeps the inode cached)
 *        v                          v
 *   inotify_event_node ...      struct dentry
 *
 * A watch belongs to the inode. It holds the dentry it was made through, so that the inode of an
 * unchanged file does not fall out of the cache; it lets go of it when the name is unlinked
 * (notify_removed()), so that the inode can die and the watch end with it.
 *
 * An event equal to the youngest one in the queue is dropped. A full queue, or no memory, gives one
 * IN_Q_OVERFLOW. Nobody watching costs one test of two list heads.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/fs/inotify/inotify.h"
#include "kernel/fs/inotify/inotify_internal.h"
#include "kernel/fs/notify.h"
#include "kernel/fs/vfs.h"

#include <sys/epoll.h>

/* One file system event on its way to the watches of one inode. */
struct happening {
	uint32_t mask;
	uint32_t cookie;
	const char *name; /* NULL: the inode itself */
	bool unlinked;	  /* the child has no name any more: IN_EXCL_UNLINK */
};

struct inotify_root *inotify_root(void)
{
	static struct inotify_root *root;

	if (root)
		return root;
	root = arena_root(ROOT_INOTIFY, sizeof(*root));
	if (root && !root->buckets[0].next)
		for (uint32_t i = 0; i < WATCH_BUCKETS; i++)
			list_init(&root->buckets[i]);
	return root;
}

/* ---- the queue of an instance ---- */

static void queue(struct inotify *in, struct inotify_event_node *e)
{
	list_add_tail(&in->events, &e->link);
	in->event_count++;
	in->event_bytes += (uint32_t)sizeof(struct inotify_event) + e->name_size;
	waitq_wake(&in->wq, EPOLLIN | EPOLLRDNORM);
}

static struct inotify_event_node *event_new(int wd, uint32_t mask, uint32_t cookie, const char *name)
{
	size_t length = name ? strlen(name) : 0;
	uint32_t size = length ? (uint32_t)ALIGN_UP(length + 1, (size_t)16) : 0;
	struct inotify_event_node *e = kmalloc(sizeof(*e) + size);

	if (!e)
		return NULL;
	e->wd = wd;
	e->mask = mask;
	e->cookie = cookie;
	e->name_size = size;
	if (size)
		memcpy(e->name, name, length);
	return e;
}

static void queue_overflow(struct inotify *in)
{
	struct inotify_event_node *e;

	if (in->overflow)
		return;
	e = event_new(-1, IN_Q_OVERFLOW, 0, NULL);
	if (!e)
		return; /* tried again with the next event */
	in->overflow = true;
	queue(in, e);
}

static bool same_as_last(const struct inotify *in, int wd, uint32_t mask, const char *name)
{
	const struct inotify_event_node *last;

	if (list_empty(&in->events))
		return false;
	last = list_entry(in->events.prev, struct inotify_event_node, link);
	if (last->wd != wd || last->mask != mask || !last->name_size != !(name && *name))
		return false;
	return !last->name_size || (name && !strcmp(last->name, name));
}

static void report(struct inotify *in, int wd, uint32_t mask, uint32_t cookie, const char *name)
{
	struct inotify_event_node *e;

	if (same_as_last(in, wd, mask, name))
		return;
	e = in->event_count < INOTIFY_MAX_QUEUED_EVENTS ? event_new(wd, mask, cookie, name) : NULL;
	if (e)
		queue(in, e);
	else
		queue_overflow(in);
}

void inotify_drop_events(struct inotify *in, size_t size)
{
	while (size && !list_empty(&in->events)) {
		struct inotify_event_node *e =
			list_first(&in->events, struct inotify_event_node, link);
		size_t bytes = sizeof(struct inotify_event) + e->name_size;

		if (bytes > size)
			break;
		size -= bytes;
		if (e->mask & IN_Q_OVERFLOW)
			in->overflow = false;
		list_del(&e->link);
		in->event_count--;
		in->event_bytes -= (uint32_t)bytes;
		kfree(e);
	}
}

/* ---- watches ---- */

static struct list *bucket(struct inotify_root *root, const struct inotify *in, int wd)
{
	uint64_t key = ((uint64_t)(uintptr_t)in >> 6) * 31 + (uint32_t)wd;

	return &root->buckets[key % WATCH_BUCKETS];
}

struct watch *watch_find(struct inotify *in, int wd)
{
	struct list *head = bucket(inotify_root(), in, wd);
	struct watch *w;

	list_for_each(w, head, hash_link)
		if (w->owner == in && w->wd == wd)
			return w;
	return NULL;
}

struct watch *watch_find_inode(struct inotify *in, struct inode *inode)
{
	struct watch *w;

	list_for_each(w, &inode->watches, inode_link)
		if (w->owner == in)
			return w;
	return NULL;
}

int watch_add(struct inotify *in, struct path path, uint32_t mask)
{
	struct inotify_root *root = inotify_root();
	struct watch *w;

	if (root->watches >= INOTIFY_MAX_WATCHES)
		return -ENOSPC;
	w = knew(struct watch);
	if (!w)
		return -ENOMEM;
	do {
		in->last_wd = in->last_wd == INT32_MAX ? 1 : in->last_wd + 1;
	} while (watch_find(in, in->last_wd));
	w->owner = in;
	w->wd = in->last_wd;
	w->mask = mask;
	w->path = path_get(path);
	w->inode = path.dentry->inode;
	list_add_tail(&in->watches, &w->instance_link);
	list_add_tail(&w->inode->watches, &w->inode_link);
	list_add_tail(bucket(root, in, w->wd), &w->hash_link);
	root->watches++;
	return w->wd;
}

void watch_remove(struct watch *w, bool tell)
{
	if (tell)
		report(w->owner, w->wd, IN_IGNORED, 0, NULL);
	list_del(&w->instance_link);
	list_del(&w->inode_link);
	list_del(&w->hash_link);
	inotify_root()->watches--;
	path_put(&w->path);
	kfree(w);
}

/* ---- events ---- */

static void tell_watches(struct inode *inode, const struct happening *h)
{
	uint32_t is_dir = h->mask & IN_ISDIR;
	struct watch *w, *next;

	if (list_empty(&inode->watches))
		return;
	inode_get(inode); /* ending a watch may drop the last reference on it */
	list_for_each_safe(w, next, &inode->watches, inode_link) {
		uint32_t mask = h->mask & w->mask & IN_ALL_EVENTS;

		if (!mask || (h->unlinked && (w->mask & IN_EXCL_UNLINK)))
			continue;
		report(w->owner, w->wd, mask | is_dir, h->cookie, h->name);
		if (w->mask & IN_ONESHOT)
			watch_remove(w, true);
	}
	inode_put(inode);
}

/* Watches that hold a name which is gone let go of it. */
static void release_unlinked(struct inode *inode)
{
	struct watch *w, *next;

	list_for_each_safe(w, next, &inode->watches, inode_link)
		if (w->path.dentry && w->path.dentry->unlinked)
			path_put(&w->path);
}

static uint32_t dir_bit(const struct inode *inode)
{
	return S_ISDIR(inode->mode) ? IN_ISDIR : 0;
}

void notify_dentry(struct dentry *d, uint32_t mask)
{
	struct inode *inode = d->inode;
	struct inode *dir = d->parent != d ? d->parent->inode : NULL;
	struct happening h = { .mask = mask };

	if (!inode || (list_empty(&inode->watches) && (!dir || list_empty(&dir->watches))))
		return;
	h.mask |= dir_bit(inode);
	if (dir) {
		struct happening child = h;

		child.name = d->name;
		child.unlinked = d->unlinked;
		tell_watches(dir, &child);
	}
	tell_watches(inode, &h);
}

void notify_child(struct inode *dir, const char *name, uint32_t mask, uint32_t cookie)
{
	struct happening h = { .mask = mask, .cookie = cookie, .name = name };

	tell_watches(dir, &h);
}

void notify_inode(struct inode *inode, uint32_t mask)
{
	struct happening h = { .mask = mask };
	struct watch *w, *next;

	/* As on Linux the events of the object itself do not say what it is. */
	if (!(mask & (IN_DELETE_SELF | IN_MOVE_SELF)))
		h.mask |= dir_bit(inode);
	if (list_empty(&inode->watches))
		return;
	inode_get(inode);
	tell_watches(inode, &h);
	if (mask & IN_DELETE_SELF)
		list_for_each_safe(w, next, &inode->watches, inode_link)
			watch_remove(w, true);
	inode_put(inode);
}

void notify_removed(struct dentry *d)
{
	struct inode *inode = d->inode;

	if (!inode || list_empty(&inode->watches))
		return;
	inode_get(inode);
	release_unlinked(inode);
	if (d->refs == 1 && !inode->nlink)
		notify_inode(inode, IN_DELETE_SELF);
	inode_put(inode);
}

void notify_rename(struct inode *old_dir, const char *old_name, struct inode *new_dir,
		   const char *new_name, struct inode *moved)
{
	struct inotify_root *root = inotify_root();
	uint32_t is_dir = dir_bit(moved), cookie;

	if (!root || !root->watches)
		return;
	cookie = ++root->last_cookie;
	if (!cookie)
		cookie = ++root->last_cookie;
	notify_child(old_dir, old_name, IN_MOVED_FROM | is_dir, cookie);
	notify_child(new_dir, new_name, IN_MOVED_TO | is_dir, cookie);
	notify_inode(moved, IN_MOVE_SELF);
}

void notify_inode_gone(struct inode *inode)
{
	struct happening h = { .mask = IN_DELETE_SELF };
	struct watch *w, *next;

	tell_watches(inode, &h);
	list_for_each_safe(w, next, &inode->watches, inode_link)
		watch_remove(w, true);
}
