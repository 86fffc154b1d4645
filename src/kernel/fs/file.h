/*
 * Open file descriptions, their operations, and descriptor tables.
 */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "kernel/core/call.h"
#include "kernel/core/user.h"
#include "kernel/core/wait.h"
#include "kernel/fs/path.h"

struct inode;
struct host_ref;
struct dir_snapshot;

enum file_ops_id {
	FOPS_NONE,
	FOPS_TREE, /* regular file of the tree file system */
	FOPS_HOST, /* regular file of a host directory */
	FOPS_DIR,  /* any directory */
	FOPS_PATH, /* O_PATH */
	FOPS_PASSED, /* descriptor passed by the caller (stdin and the like) */
	FOPS_PIPE,
	FOPS_EVENTFD,
	FOPS_TIMERFD,
	FOPS_SIGNALFD,
	FOPS_EPOLL,
	FOPS_INOTIFY,
	FOPS_PIDFD,
	FOPS_PROC,
	FOPS_SYS,
	FOPS_DEV_NULL,
	FOPS_DEV_ZERO,
	FOPS_DEV_FULL,
	FOPS_DEV_RANDOM,
	FOPS_TTY,
	FOPS_PTMX,
	FOPS_UNIX,
	FOPS_INET,
	FOPS_NETLINK,
	FOPS_MAX,
};

struct file {
	uint32_t refs;
	uint8_t ops;	/* enum file_ops_id */
	bool stream;	/* no position: pipes, sockets, terminals (ESPIPE, no f_pos) */
	bool counted;	/* inode->write_count includes this file */
	uint32_t flags; /* O_* : access mode and status flags */
	uint64_t pos;
	struct path path; /* holds references; anonymous objects have an internal one */
	struct inode *inode;
	void *priv;
	uint32_t opener_uid; /* fsuid of who opened it: linkat(AT_EMPTY_PATH) */
	uint64_t subject;    /* FOPS_PROC: process_image() of the process it is about, or 0 */
	int owner_pid;	 /* F_SETOWN */
	int owner_signal;
	void *epoll_items; /* epoll/: items that watch this file */
	struct dir_snapshot *dir; /* FOPS_DIR: snapshot of the entries */
};

/*
 * Operations. read/write move data between `u` and the file at *pos (NULL for streams) and return
 * the count or -errno; -EAGAIN means "would block": the caller then waits on waitq() unless
 * O_NONBLOCK. They must not wait themselves.
 *
 * Streams separate the move from its effect, because an answer can get lost (core/call.h):
 * read() copies data out but leaves it in place until read_done(file, n); write() stages data that
 * becomes visible at write_done(file, n). Ops without *_done have their effect at once.
 */

/*
 * What read() and write() of a terminal answer to a background process: a signal (SIGTTIN, SIGTTOU)
 * is on its way to the caller. The caller of the operation waits on waitq() for it even when the
 * file is O_NONBLOCK: the signal interrupts the call, or stops the process and the call comes again.
 */
#define FILE_WAIT_SIGNAL (-512)

struct file_ops {
	const char *name;
	ssize_t (*read)(struct file *f, struct uio *u, uint64_t *pos);
	void (*read_done)(struct file *f, size_t count);
	ssize_t (*write)(struct file *f, struct uio *u, uint64_t *pos);
	void (*write_done)(struct file *f, size_t count);
	/* EPOLL* bits true right now. NULL = always readable and writable (regular files). */
	uint32_t (*poll)(struct file *f);
	/* The queue to wait on for changes of poll(); readers and writers may share one. */
	struct waitq *(*waitq)(struct file *f, bool for_write);
	long (*ioctl)(struct call *c, struct file *f, uint32_t cmd, uint64_t arg); /* -ENOTTY */
	/* NULL = by the size of the file; with seek_extent where files have holes. */
	int64_t (*lseek)(struct file *f, int64_t offset, int whence);
	/* SEEK_DATA, SEEK_HOLE: the next one at or after `offset`; -ENXIO. */
	int64_t (*seek_extent)(struct file *f, int64_t offset, int whence);
	int (*truncate)(struct file *f, uint64_t size);
	int (*fallocate)(struct file *f, int mode, uint64_t offset, uint64_t length);
	int (*fsync)(struct file *f, bool data_only);
	/*
	 * For mmap: the host file that backs the pages, opened so that it allows exactly what the
	 * guest's descriptor allows. The descriptor stays owned by the host_ref cache.
	 */
	int (*mmap)(struct file *f, bool shared, int *ret_host_fd);
	/* Called at close() of each descriptor (locks, flush). */
	void (*flush)(struct file *f, struct task *t);
	void (*release)(struct file *f); /* last reference */
	/* Sets flags after F_SETFL/FIONBIO; NULL = nothing special. */
	int (*set_flags)(struct file *f, uint32_t flags);
	/* Longest wait of read/write in ns (SO_RCVTIMEO, SO_SNDTIMEO), then -EAGAIN. 0 = no bound. */
	uint64_t (*io_timeout)(struct file *f, bool for_write);
	/* Extra lines for /proc/PID/fdinfo/N; returns length. */
	ssize_t (*fdinfo)(struct file *f, char *dst, size_t capacity);
};
extern const struct file_ops *const file_ops_table[FOPS_MAX];

static inline const struct file_ops *file_ops(const struct file *f)
{
	return file_ops_table[f->ops];
}

/*
 * A new open file with one reference, charged to LIMIT_FILES. Takes its own references on path and
 * inode. NULL: -ENFILE is the answer.
 */
struct file *file_new(enum file_ops_id ops, struct path path, struct inode *inode, uint32_t flags);
/* An anonymous object: `name` "[eventfd]" shows as "anon_inode:[eventfd]". Makes the inode and path
 * too. NULL = -ENOMEM. */
struct file *file_new_anon(enum file_ops_id ops, const char *name, uint32_t flags, void *priv);
/*
 * Opens (O_CREAT: makes, owned by root) a regular file for the kernel itself, by absolute path. O_*
 * as for open(2). -EISDIR, -EINVAL for other types; -EACCES when what would be written is no file's
 * content (/proc, a passed descriptor behind /proc/PID/fd).
 */
int file_open_kernel(const char *name, uint32_t flags, uint32_t mode, struct file **ret);
struct file *file_get(struct file *f);
void file_put(struct file *f);

static inline bool file_readable(const struct file *f)
{
	return (f->flags & O_ACCMODE) != O_WRONLY && !(f->flags & O_PATH);
}
static inline bool file_writable(const struct file *f)
{
	return (f->flags & O_ACCMODE) != O_RDONLY && !(f->flags & O_PATH);
}

/* Current EPOLL* state through the ops (regular files: IN|OUT). */
uint32_t file_poll(struct file *f);

/* ---- descriptor tables ---- */
struct fd_entry {
	struct file *file;
	bool cloexec;
	bool injected_writable;
	bool injected; /* a host descriptor of this number exists in the guest process (mmap) */
	bool injected_stale; /* ... but of the file that was here before */
};

struct fdtable {
	uint32_t refs;
	uint32_t capacity; /* entries allocated */
	uint32_t count;	   /* entries in use */
	uint32_t first_free;
	struct fd_entry *entries;
};

struct fdtable *fdtable_new(void);
struct fdtable *fdtable_copy(const struct fdtable *from); /* fork: NULL on ENOMEM */
struct fdtable *fdtable_get(struct fdtable *t);
void fdtable_put(struct fdtable *t, struct task *closer);
void fdtable_close_on_exec(struct fdtable *t, struct task *task);

/* The file behind a guest descriptor, no reference taken; NULL = -EBADF. */
struct file *fd_file(struct task *t, int fd);
/* Takes over one reference of `f`. Lowest free number >= min under RLIMIT_NOFILE; -EMFILE, -ENOMEM.
 * On failure the reference is still the caller's. */
int fd_install(struct task *t, struct file *f, int min, bool cloexec);
int fd_install_at(struct task *t, struct file *f, int fd, bool cloexec); /* dup2: closes the old one */
int fd_close(struct task *t, int fd); /* 0, -EBADF; releases locks of the process on the inode */
struct fd_entry *fd_entry(struct task *t, int fd); /* NULL = closed */

/*
 * For calls that can block on a descriptor. As on Linux a blocked call keeps its open file, whatever
 * another thread does to the descriptor meanwhile: call_file() is fd_file() at the first run and the
 * held file on a retry; call_block_file() holds the file and blocks.
 */
struct file *call_file(struct call *c, int fd); /* no reference taken; NULL = -EBADF */
long call_block_file(struct call *c, struct file *f, struct waitq *wq);

/* The usual end of a call that makes a descriptor: installs or drops `f`. f == NULL: -ENOMEM. */
long fd_return(struct call *c, struct file *f, bool cloexec);
