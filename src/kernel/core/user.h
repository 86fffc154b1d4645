/*
 * Guest memory. The only way to it: copy once, validate the copy, never look twice.
 * All functions work on the address space of `t` and return 0 (or a count) or -EFAULT.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "kernel/core/call.h"

struct task;

int user_read(struct task *t, void *dst, struct uaddr src, size_t size);
int user_write(struct task *t, struct uaddr dst, const void *src, size_t size);

/* As much as can be read/written before the first bad page; -EFAULT when that is nothing. */
ssize_t user_read_some(struct task *t, void *dst, struct uaddr src, size_t size);
ssize_t user_write_some(struct task *t, struct uaddr dst, const void *src, size_t size);

/* NUL-terminated string; length without NUL, -EFAULT, or -ENAMETOOLONG when capacity is short. */
ssize_t user_string(struct task *t, char *dst, size_t capacity, struct uaddr src);

/* Common small types. */
int user_read_u32(struct task *t, uint32_t *ret, struct uaddr src);
int user_read_u64(struct task *t, uint64_t *ret, struct uaddr src);
int user_write_u32(struct task *t, struct uaddr dst, uint32_t v);
int user_write_u64(struct task *t, struct uaddr dst, uint64_t v);

struct timespec;
/* Reads and validates (0 <= nsec < 1e9, sec >= 0 else -EINVAL). Absent pointer: *ret_ns = UINT64_MAX. */
int user_read_timeout(struct task *t, uint64_t *ret_ns, struct uaddr timespec);

#define USER_IOV_MAX 1024

/*
 * A transfer between a file and memory, either guest memory (iovec list) or one kernel buffer.
 * Producers call uio_put() (file -> memory), consumers uio_get() (memory -> file). Both advance.
 * The iovec array is the shared scratch array: one user uio at a time per call, not kept across
 * a block (a retried handler builds it again).
 */
struct uio {
	struct task *task; /* NULL: kernel buffer */
	const struct iovec *iov;
	uint32_t iov_count;
	uint32_t iov_index;
	size_t iov_offset;
	size_t resid; /* bytes left in total */
	struct iovec one;
};

/* The piece number `index`: a single buffer has no vector. */
static inline const struct iovec *uio_piece(const struct uio *u, uint32_t index)
{
	return u->iov ? &u->iov[index] : &u->one;
}

/* Of a kernel buffer: where its next byte is, so that data can go there without a copy between. */
static inline char *uio_kernel_at(const struct uio *u)
{
	return (char *)u->one.iov_base + u->iov_offset;
}

void uio_user(struct uio *u, struct task *t, struct uaddr buf, size_t size);
/* Copies and checks an iovec array: -EFAULT, -EINVAL (count, lengths over SSIZE_MAX). */
int uio_user_vec(struct uio *u, struct task *t, struct uaddr iov, uint64_t count);
void uio_kernel(struct uio *u, void *buf, size_t size);

/* Moves up to `size` bytes; returns the count (short at a bad page), -EFAULT when none. */
ssize_t uio_put(struct uio *u, const void *src, size_t size);
ssize_t uio_get(struct uio *u, void *dst, size_t size);
/*
 * The same with the kernel's side in `count` <= 64 pieces, in one host call: pages of a pipe or of a
 * socket buffer. The pieces should not add up to more than u->resid.
 */
ssize_t uio_put_pieces(struct uio *u, const struct iovec *from, unsigned count);
ssize_t uio_get_pieces(struct uio *u, const struct iovec *into, unsigned count);
ssize_t uio_put_zero(struct uio *u, size_t size);
/* Steps over `size` bytes of the memory side without moving data. */
void uio_skip(struct uio *u, size_t size);
/* Moves back by `size` bytes just transferred. */
void uio_rewind(struct uio *u, size_t size);

/* A scratch buffer of SCRATCH_SIZE bytes for one handler run; not re-entrant, never kept. */
#define SCRATCH_SIZE (256u << 10)
void *scratch_buffer(void);
