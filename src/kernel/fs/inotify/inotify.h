/*
 * inotify(7). Events come in through kernel/fs/notify.h; the calls are declared in
 * kernel/abi/syscalls.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/fs/path.h"

struct file_ops;
extern const struct file_ops inotify_file_ops; /* FOPS_INOTIFY */

/* As /proc/sys/fs/inotify shows them. */
#define INOTIFY_MAX_QUEUED_EVENTS 16384u
#define INOTIFY_MAX_INSTANCES 1024u /* in the sandbox */
#define INOTIFY_MAX_WATCHES 524288u /* in the sandbox */

/* ---- instances of the kernel's own, without a file (control/watch.c) ---- */
struct inotify;
struct waitq;

struct inotify_got {
	int wd;
	uint32_t mask;
	char name[NAME_MAX_BYTES + 1]; /* "" = the watched object itself */
};

struct inotify *inotify_new(void); /* NULL = -ENOMEM */
void inotify_free(struct inotify *in); /* NULL is fine */
/* Watches the object at `p`; one watch per object. The wd or -errno. */
int inotify_watch(struct inotify *in, struct path p, uint32_t mask);
void inotify_unwatch(struct inotify *in, int wd);
/* What a watch is on; no reference is taken. False when it has lost its name, or ended. */
bool inotify_watched(struct inotify *in, int wd, struct path *ret);
/* Takes the oldest event; false when there is none. */
bool inotify_next(struct inotify *in, struct inotify_got *ret);
/* Woken with every event. */
struct waitq *inotify_queue(struct inotify *in);
