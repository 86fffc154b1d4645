/*
 * Pipes and FIFOs: pipe(7), fifo(7), fcntl(2) F_SETPIPE_SZ.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct call;
struct file;
struct file_ops;
struct inode;
struct pipe;

#define PIPE_SIZE_MAX (1u << 20) /* /proc/sys/fs/pipe-max-size */

extern const struct file_ops pipe_file_ops; /* FOPS_PIPE */

/*
 * Opens a FIFO, or a pipe again through /proc/PID/fd. Access mode and O_NONBLOCK are taken from
 * file->flags. On success the file is FOPS_PIPE with everything set. Blocks as fifo(7) says: it
 * then returns CALL_BLOCK (pass it on; the file, still FOPS_NONE, is to be dropped) and uses
 * c->progress; an opener must not use it for itself. Errors: -ENXIO, -ENOMEM.
 */
int fifo_open(struct call *c, struct inode *inode, struct file *file);

/* The inode of a FIFO goes away: frees what hangs on inode->object. For the VFS's evict. */
void fifo_inode_evict(struct inode *inode);

/* F_SETPIPE_SZ, F_GETPIPE_SZ: the size in bytes, -EBADF (not a pipe), -EINVAL, -EPERM, -EBUSY. */
long pipe_fcntl(struct file *file, unsigned cmd, uint64_t arg);

/* ---- for splice, tee, sendfile: the pipe of a file, NULL when it is none ---- */
struct pipe *pipe_of(const struct file *file);

bool pipe_empty(const struct pipe *p);
/* True when a read of the empty pipe means end of file. */
bool pipe_no_writers(const struct pipe *p);
bool pipe_no_readers(const struct pipe *p);
/* Bytes that pipe_append() takes now. */
size_t pipe_space(const struct pipe *p);
/*
 * The bytes at distance `skip` from the read end: *ret points into the pipe, the result is how
 * many are contiguous there (0: no more). Valid until the pipe changes.
 */
size_t pipe_peek(struct pipe *p, size_t skip, const void **ret);
/* Drops `size` bytes from the read end and tells writers. */
void pipe_consume(struct pipe *p, size_t size);
/* Adds bytes at the write end and tells readers; the count taken (short when full), -ENOMEM. */
ssize_t pipe_append(struct pipe *p, const void *src, size_t size);
/* Copies or moves up to `size` bytes from one pipe to another; the count, -EAGAIN, -ENOMEM. */
ssize_t pipe_tee(struct pipe *in, struct pipe *out, size_t size);
ssize_t pipe_splice(struct pipe *in, struct pipe *out, size_t size);
/* Queues to wait on: data (or EOF) arrives, space arrives (or readers go). */
struct waitq *pipe_read_waitq(struct pipe *p);
struct waitq *pipe_write_waitq(struct pipe *p);
