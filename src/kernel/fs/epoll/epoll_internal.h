/* Shared by item.c, nest.c, wait.c and epoll.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "base/list.h"
#include "kernel/core/wait.h"
#include "kernel/fs/epoll/epoll.h"
#include "kernel/fs/file.h"

/* Bits that steer an item and are no events. */
#define EPOLL_PRIVATE_BITS (EPOLLWAKEUP | EPOLLONESHOT | EPOLLET | EPOLLEXCLUSIVE)
#define EPOLL_ALWAYS (EPOLLERR | EPOLLHUP)

#define EPOLL_MAX_NESTS 4	  /* as Linux: a chain of at most 5 instances */
#define EPOLL_MAX_WATCHES 1000000 /* items in the sandbox: -ENOSPC */

struct epoll {
	struct file *file; /* the one open file; it owns us, no reference */
	struct list items; /* epoll_item.ep_link */
	struct list ready; /* epoll_item.ready_link */
	struct list nested; /* epoll_item.nest_link: items whose file is an epoll instance */
	struct waitq wq;   /* epoll_wait, and pollers of the instance itself */
	uint64_t wake_round; /* the last wake that went through here; see epoll_item_wake() */
	uint64_t walk_round; /* the last walk of nest.c, and what it found */
	int walk_depth;
};

struct epoll_item {
	struct list ep_link;
	struct list ready_link;
	struct list nest_link;
	struct list file_link; /* ring of all items of the file; file->epoll_items is one of them */
	struct epoll *ep;
	struct file *file; /* no reference: epoll_file_release() comes first */
	int fd;
	uint32_t events; /* 0 but for the private bits: disarmed by EPOLLONESHOT */
	uint64_t data;
	struct waiter read_waiter, write_waiter;
};

struct epoll_root {
	uint64_t round;	     /* numbers wakes and walks */
	uint32_t wake_depth; /* > 0 while a wake is under way */
	uint32_t item_count;
};
struct epoll_root *epoll_root(void);

/* item.c */
struct epoll_item *epoll_item_find(struct epoll *ep, struct file *f, int fd);
int epoll_item_add(struct epoll *ep, struct file *f, int fd, uint32_t events, uint64_t data);
void epoll_item_modify(struct epoll_item *item, uint32_t events, uint64_t data);
void epoll_item_free(struct epoll_item *item);
/* Events of the item that are true now. */
uint32_t epoll_item_events(const struct epoll_item *item);

/* nest.c: may `ep` watch `target`, itself an instance? 0 or -ELOOP. */
int epoll_nest_check(struct epoll *ep, struct epoll *target);

static inline struct epoll *epoll_of(const struct file *f)
{
	return f->ops == FOPS_EPOLL ? f->priv : NULL;
}
