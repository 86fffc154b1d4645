/* Shared by inotify.c (instances, calls) and notify.c (watches, events). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/inotify.h>

#include "base/list.h"
#include "kernel/core/wait.h"
#include "kernel/fs/path.h"

struct inode;

/* Steering bits of a watch that are no events. */
#define WATCH_FLAGS (IN_ONESHOT | IN_EXCL_UNLINK)

struct inotify_event_node {
	struct list link;
	int wd;
	uint32_t mask;
	uint32_t cookie;
	uint32_t name_size; /* with NULs, a multiple of 16; 0 = no name */
	char name[];
};

struct inotify {
	struct list watches; /* watch.instance_link */
	struct list events;  /* oldest first */
	uint32_t event_count;
	uint32_t event_bytes; /* as read(2) would return them */
	bool overflow;	      /* an IN_Q_OVERFLOW is in the queue, or due */
	int last_wd;
	struct waitq wq;
};

struct watch {
	struct list instance_link;
	struct list inode_link; /* inode.watches */
	struct list hash_link;	/* inotify_root.buckets, by (instance, wd) */
	struct inotify *owner;
	struct inode *inode; /* no reference: notify_inode_gone() comes first */
	struct path path;    /* keeps the inode in memory until it is unlinked; then empty */
	int wd;
	uint32_t mask;
};

#define WATCH_BUCKETS 1024u

struct inotify_root {
	uint32_t instances, watches;
	uint32_t last_cookie;
	struct list buckets[WATCH_BUCKETS];
};
struct inotify_root *inotify_root(void); /* NULL = no memory */

struct watch *watch_find(struct inotify *in, int wd);
struct watch *watch_find_inode(struct inotify *in, struct inode *inode);
/* -ENOSPC, -ENOMEM, or the new wd. */
int watch_add(struct inotify *in, struct path path, uint32_t mask);
/* Ends it; `tell`: with IN_IGNORED. */
void watch_remove(struct watch *w, bool tell);
void inotify_drop_events(struct inotify *in, size_t size); /* as many bytes as were read */
