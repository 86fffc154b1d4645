/*
 * inotify(7). Events come in through kernel/fs/notify.h; the calls are declared in
 * kernel/abi/syscalls.h.
 */
#pragma once

struct file_ops;
extern const struct file_ops inotify_file_ops; /* FOPS_INOTIFY */

/* As /proc/sys/fs/inotify shows them. */
#define INOTIFY_MAX_QUEUED_EVENTS 16384u
#define INOTIFY_MAX_INSTANCES 1024u /* in the sandbox */
#define INOTIFY_MAX_WATCHES 524288u /* in the sandbox */
