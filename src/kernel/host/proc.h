/*
 * The host's /proc, as far as the jail shows it: the state of guest processes that only the host
 * kernel knows (memory, times, maps) and their numbers in the guest's pid namespace.
 *
 * All tids here are those of the kernel process's own pid namespace (task.host_tid).
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* The proc mount to use. Takes ownership of `fd`; -1 takes it away (everything is -ENOENT then). */
void host_proc_set_root(int fd);

/*
 * Reads /proc/<host_tid>/<name>, or /proc/<name> when host_tid is 0, up to `capacity` bytes.
 * Returns the count (not NUL-terminated) or -errno; -ESRCH/-ENOENT when the task is gone.
 */
ssize_t host_proc_read(int host_tid, const char *name, char *dst, size_t capacity);

/* The same in pieces, for files without a bound. The descriptor must not outlive the handler. */
int host_proc_open(int host_tid, const char *name);
ssize_t host_proc_next(int fd, char *dst, size_t capacity); /* 0 = end */
void host_proc_close(int fd);

/*
 * Opens the file behind our own descriptor `fd` again with other flags (a private description, or
 * an access mode of its own). `flags` are O_*; O_CLOEXEC is added. -errno; -ENOENT without /proc.
 */
int host_proc_reopen(int fd, int flags);
/* chmod of the file behind our own descriptor `fd`, which may be O_PATH. */
int host_proc_chmod(int fd, unsigned mode);

/* Writes a small value to /proc/<host_tid>/<name> (oom_score_adj, timerslack_ns). 0 or -errno. */
int host_proc_write(int host_tid, const char *name, const char *src, size_t size);

/*
 * Numbers of a task: thread group and parent in our namespace, its own tid and tgid in the
 * innermost namespace (what the guest sees). One open, one read, one close. 0 or -errno.
 */
int host_proc_ids(int host_tid, int *ret_tgid, int *ret_ppid, int *ret_ns_tid, int *ret_ns_tgid);

/* Opens a namespace of a process (0 = our own), "ns/pid" and the like: a link to what has no path. */
int host_proc_open_namespace(int host_pid, const char *name);

/* The threads of a process, as the host lists them. Returns how many were stored or -errno. */
int host_proc_threads(int host_pid, int *tids, int max);

int host_proc_thread_count(int host_pid); /* or -errno */
/* All processes of our own pid namespace, likewise. */
int host_proc_processes(int *pids, int max);

/* The last character of the path of a process's executable (/proc/PID/exe), or -errno. */
int host_proc_exe_end(int host_pid);

/* The state letter of a task ('R', 'S', 'Z', ...); 0 when it is gone. */
char host_proc_state(int host_tid);

/* Children made by one thread. Returns how many were stored (at most `max`) or -errno. */
int host_proc_children(int host_tgid, int host_tid, int *pids, int max);
