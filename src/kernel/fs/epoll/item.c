/*
 * Items of an epoll instance: what is watched, and how an event gets onto the ready list.
 *
 *   struct epoll --items--> struct epoll_item --file--> struct file
 *       | ready                ^        | read_waiter, write_waiter
 *       +----------------------+        +--> waitq(s) of the object
 *
 * An item is keyed by (file, descriptor number), so a duplicate keeps it alive after the number was
 * closed, as on Linux. It disappears with EPOLL_CTL_DEL, with the file, or with the instance.
 *
 * An event moves the item to the ready list; whether the condition still holds is found out when
 * the list is read, by polling the file. That is also how edge-triggered items are re-armed: each
 * event puts them there again, reading takes them off.
 *
 * Instances can watch instances, so wakes travel upwards. Each instance passes a wake on at most
 * once per original event (wake_round), whatever the number of ways to reach it.
 */
#include <errno.h>

#include "kernel/core/arena.h"
#include "kernel/fs/epoll/epoll_internal.h"

struct epoll_root *epoll_root(void)
{
	static struct epoll_root *root;

	if (!root)
		root = arena_root(ROOT_EPOLL, sizeof(*root));
	return root;
}

uint32_t epoll_item_events(const struct epoll_item *item)
{
	uint32_t wanted = item->events & ~(uint32_t)EPOLL_PRIVATE_BITS;

	return wanted ? file_poll(item->file) & (wanted | EPOLL_ALWAYS) : 0;
}

/* Puts the item on the ready list and tells who waits for the instance. */
static bool item_ready(struct epoll_item *item)
{
	struct epoll_root *root = epoll_root();
	struct epoll *ep = item->ep;
	bool heard = waitq_active(&ep->wq);

	if (!list_linked(&item->ready_link))
		list_add_tail(&ep->ready, &item->ready_link);
	if (!root->wake_depth)
		root->round++;
	if (!heard || (root->wake_depth && ep->wake_round == root->round))
		return heard;
	ep->wake_round = root->round;
	root->wake_depth++;
	waitq_wake(&ep->wq, EPOLLIN | EPOLLRDNORM);
	root->wake_depth--;
	return true;
}

bool epoll_item_wake(struct waiter *w, uint32_t events)
{
	struct epoll_item *item = w->owner;
	uint32_t wanted = item->events & ~(uint32_t)EPOLL_PRIVATE_BITS;

	if (!wanted)
		return false;
	if (events && !(events & (wanted | EPOLL_ALWAYS)))
		return false;
	return item_ready(item);
}

/* Looks at the file's present state: for a new or changed item nobody else will tell. */
static void item_check(struct epoll_item *item)
{
	if (epoll_item_events(item))
		item_ready(item);
}

/* ---- the ring of items of a file ---- */

static void file_ring_add(struct file *f, struct epoll_item *item)
{
	struct epoll_item *first = f->epoll_items;

	list_init(&item->file_link);
	if (first)
		list_add_tail(&first->file_link, &item->file_link);
	else
		f->epoll_items = item;
}

static void file_ring_del(struct file *f, struct epoll_item *item)
{
	if (f->epoll_items == item)
		f->epoll_items = list_linked(&item->file_link)
					 ? list_entry(item->file_link.next, struct epoll_item, file_link)
					 : NULL;
	list_del(&item->file_link);
}

struct epoll_item *epoll_item_find(struct epoll *ep, struct file *f, int fd)
{
	struct epoll_item *first = f->epoll_items, *item = first;

	if (!first)
		return NULL;
	do {
		if (item->ep == ep && item->fd == fd)
			return item;
		item = list_entry(item->file_link.next, struct epoll_item, file_link);
	} while (item != first);
	return NULL;
}

/* ---- life of an item ---- */

static void item_listen(struct epoll_item *item, struct waiter *w, struct waitq *wq)
{
	w->owner = item;
	w->kind = WAITER_EPOLL;
	w->exclusive = item->events & EPOLLEXCLUSIVE;
	waitq_add(wq, w);
}

int epoll_item_add(struct epoll *ep, struct file *f, int fd, uint32_t events, uint64_t data)
{
	struct epoll_root *root = epoll_root();
	const struct file_ops *ops = file_ops(f);
	struct waitq *for_read, *for_write;
	struct epoll_item *item;

	if (root->item_count >= EPOLL_MAX_WATCHES)
		return -ENOSPC;
	item = knew(struct epoll_item);
	if (!item)
		return -ENOMEM;
	root->item_count++;
	item->ep = ep;
	item->file = f;
	item->fd = fd;
	item->events = events;
	item->data = data;
	list_add_tail(&ep->items, &item->ep_link);
	list_init(&item->ready_link);
	list_init(&item->nest_link);
	if (epoll_of(f))
		list_add_tail(&ep->nested, &item->nest_link);
	file_ring_add(f, item);

	for_read = ops->waitq ? ops->waitq(f, false) : NULL;
	for_write = ops->waitq ? ops->waitq(f, true) : NULL;
	if (for_read)
		item_listen(item, &item->read_waiter, for_read);
	if (for_write && for_write != for_read)
		item_listen(item, &item->write_waiter, for_write);
	item_check(item);
	return 0;
}

void epoll_item_modify(struct epoll_item *item, uint32_t events, uint64_t data)
{
	item->events = events;
	item->data = data;
	item_check(item);
}

void epoll_item_free(struct epoll_item *item)
{
	waiter_del(&item->read_waiter);
	waiter_del(&item->write_waiter);
	file_ring_del(item->file, item);
	list_del(&item->nest_link);
	list_del(&item->ready_link);
	list_del(&item->ep_link);
	epoll_root()->item_count--;
	kfree(item);
}

void epoll_file_release(struct file *f)
{
	while (f->epoll_items)
		epoll_item_free(f->epoll_items);
}
