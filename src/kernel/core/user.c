/*
 * Guest memory access and transfers. Everything ends in one host copy per contiguous piece; the
 * iovec list of a user uio is copied and checked once, into the scratch array.
 */
#include "kernel/core/user.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <time.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/core/clock.h"
#include "kernel/core/sandbox.h"
#include "kernel/host/guest_memory.h"
#include "kernel/task/task.h"

/* Beyond this a pointer cannot be a user address on x86-64; the host would answer EFAULT too. */
#define USER_TOP 0x7ffffffff000ull

static struct iovec iov_scratch[USER_IOV_MAX];
static uint8_t scratch[SCRATCH_SIZE] __attribute__((aligned(64)));

void *scratch_buffer(void)
{
	return scratch;
}

/* A host that forbids the access does so from the first time on: nothing can be served. */
static ssize_t judge_access(ssize_t n, bool *worked, const char *reason)
{
	*worked |= n > 0;
	if (!*worked && (n == -EPERM || n == -ENOSYS))
		sandbox_end(SANDBOX_FAULT, reason);
	return n;
}

static ssize_t guest_read(struct task *t, void *dst, uint64_t src, size_t size)
{
	static bool worked;
	return judge_access(host_guest_read(t->host_tid, dst, src, size), &worked,
			    "the host forbids process_vm_readv: programs cannot be served "
			    "(hotcell doctor says more)");
}

static ssize_t guest_write(struct task *t, uint64_t dst, const void *src, size_t size)
{
	static bool worked;
	return judge_access(host_guest_write(t->host_tid, dst, src, size), &worked,
			    "the host forbids process_vm_writev: programs cannot be served "
			    "(hotcell doctor says more)");
}

static bool range_ok(struct uaddr a, size_t size)
{
	return a.v < USER_TOP && size <= USER_TOP - a.v;
}

ssize_t user_read_some(struct task *t, void *dst, struct uaddr src, size_t size)
{
	if (size == 0)
		return 0;
	if (src.v >= USER_TOP)
		return -EFAULT;
	ssize_t n = guest_read(t, dst, src.v, MIN(size, USER_TOP - src.v));
	return n <= 0 ? -EFAULT : n;
}

ssize_t user_write_some(struct task *t, struct uaddr dst, const void *src, size_t size)
{
	if (size == 0)
		return 0;
	if (dst.v >= USER_TOP)
		return -EFAULT;
	ssize_t n = guest_write(t, dst.v, src, MIN(size, USER_TOP - dst.v));
	return n <= 0 ? -EFAULT : n;
}

int user_read(struct task *t, void *dst, struct uaddr src, size_t size)
{
	if (size == 0)
		return 0;
	if (!range_ok(src, size))
		return -EFAULT;
	return guest_read(t, dst, src.v, size) == (ssize_t)size ? 0 : -EFAULT;
}

int user_write(struct task *t, struct uaddr dst, const void *src, size_t size)
{
	if (size == 0)
		return 0;
	if (!range_ok(dst, size))
		return -EFAULT;
	return guest_write(t, dst.v, src, size) == (ssize_t)size ? 0 : -EFAULT;
}

/* Reads page by page: a string may end just before an unmapped page. */
ssize_t user_string(struct task *t, char *dst, size_t capacity, struct uaddr src)
{
	size_t length = 0;

	while (length < capacity) {
		struct uaddr at = uaddr_add(src, length);
		size_t want = MIN(capacity - length, PAGE_SIZE - (at.v & (PAGE_SIZE - 1)));
		/* Most names are short: a small first piece copies less. */
		if (length == 0)
			want = MIN(want, 256);
		ssize_t n = user_read_some(t, dst + length, at, want);
		if (n < 0)
			return n;
		char *end = memchr(dst + length, '\0', (size_t)n);
		if (end)
			return end - dst;
		length += (size_t)n;
	}
	return -ENAMETOOLONG;
}

int user_read_u32(struct task *t, uint32_t *ret, struct uaddr src)
{
	return user_read(t, ret, src, sizeof(*ret));
}

int user_read_u64(struct task *t, uint64_t *ret, struct uaddr src)
{
	return user_read(t, ret, src, sizeof(*ret));
}

int user_write_u32(struct task *t, struct uaddr dst, uint32_t v)
{
	return user_write(t, dst, &v, sizeof(v));
}

int user_write_u64(struct task *t, struct uaddr dst, uint64_t v)
{
	return user_write(t, dst, &v, sizeof(v));
}

int user_read_timeout(struct task *t, uint64_t *ret_ns, struct uaddr at)
{
	struct timespec ts;

	if (!at.v) {
		*ret_ns = UINT64_MAX;
		return 0;
	}
	if (user_read(t, &ts, at, sizeof(ts)) < 0)
		return -EFAULT;
	if (ts.tv_sec < 0 || ts.tv_nsec < 0 || ts.tv_nsec >= 1000000000)
		return -EINVAL;
	/* Centuries are forever; the sum with the clock must not overflow. */
	if (ts.tv_sec > 1000000000)
		*ret_ns = UINT64_MAX;
	else
		*ret_ns = ns_from_timespec(&ts);
	return 0;
}

/* ---- transfers ---- */

void uio_user(struct uio *u, struct task *t, struct uaddr buf, size_t size)
{
	size = MIN(size, (size_t)0x7ffff000); /* MAX_RW_COUNT, as Linux caps every transfer */
	*u = (struct uio){ .task = t, .iov_count = 1, .resid = size };
	u->one = (struct iovec){ (void *)(uintptr_t)buf.v, size };
	u->iov = NULL;
}

void uio_kernel(struct uio *u, void *buf, size_t size)
{
	*u = (struct uio){ .iov_count = 1, .resid = size };
	u->one = (struct iovec){ buf, size };
}

int uio_user_vec(struct uio *u, struct task *t, struct uaddr iov, uint64_t count)
{
	size_t total = 0;

	if (count > USER_IOV_MAX)
		return -EINVAL;
	if (user_read(t, iov_scratch, iov, (size_t)count * sizeof(struct iovec)) < 0)
		return -EFAULT;
	for (uint64_t i = 0; i < count; i++) {
		if (iov_scratch[i].iov_len > SSIZE_MAX)
			return -EINVAL;
		size_t room = 0x7ffff000 - total;
		iov_scratch[i].iov_len = MIN(iov_scratch[i].iov_len, room);
		total += iov_scratch[i].iov_len;
	}
	*u = (struct uio){
		.task = t, .iov = iov_scratch, .iov_count = (uint32_t)count, .resid = total
	};
	return 0;
}

void uio_skip(struct uio *u, size_t size)
{
	u->resid -= size;
	while (size) {
		size_t left = uio_piece(u, u->iov_index)->iov_len - u->iov_offset;
		if (size < left) {
			u->iov_offset += size;
			return;
		}
		size -= left;
		u->iov_index++;
		u->iov_offset = 0;
	}
}

void uio_rewind(struct uio *u, size_t size)
{
	u->resid += size;
	while (size) {
		if (size <= u->iov_offset) {
			u->iov_offset -= size;
			return;
		}
		size -= u->iov_offset;
		u->iov_index--;
		u->iov_offset = uio_piece(u, u->iov_index)->iov_len;
	}
}

/* Collects up to 64 pieces that start at the current position; returns their total size. */
static size_t gather(const struct uio *u, size_t size, struct iovec *out, unsigned *ret_count)
{
	size_t total = 0, offset = u->iov_offset;
	unsigned count = 0;

	for (uint32_t i = u->iov_index; i < u->iov_count && total < size && count < 64; i++) {
		const struct iovec *v = uio_piece(u, i);
		size_t n = MIN(v->iov_len - offset, size - total);
		if (n) {
			out[count].iov_base = (char *)v->iov_base + offset;
			out[count++].iov_len = n;
		}
		total += n;
		offset = 0;
	}
	*ret_count = count;
	return total;
}

static ssize_t kernel_copy(struct uio *u, void *into, const void *from, size_t size)
{
	char *base = (char *)u->one.iov_base + u->iov_offset;
	if (into)
		memcpy(into, base, size);
	else if (from)
		memcpy(base, from, size);
	else
		memset(base, 0, size);
	u->iov_offset += size;
	u->resid -= size;
	return (ssize_t)size;
}

/* One of `into` (memory -> kernel) or `from` (kernel -> memory). */
static ssize_t user_copy(struct uio *u, char *into, const char *from, size_t size)
{
	size_t done = 0;

	while (done < size) {
		struct iovec remote[64];
		unsigned count;
		size_t want = gather(u, size - done, remote, &count);
		int tid = u->task->host_tid;
		ssize_t n = into ? host_guest_readv(tid, into + done, want, remote, count)
				 : host_guest_writev(tid, from + done, want, remote, count);
		if (n <= 0)
			return done ? (ssize_t)done : -EFAULT;
		uio_skip(u, (size_t)n);
		done += (size_t)n;
		if ((size_t)n < want)
			break; /* a bad page: short */
	}
	return (ssize_t)done;
}

ssize_t uio_put(struct uio *u, const void *src, size_t size)
{
	size = MIN(size, u->resid);
	if (!u->task)
		return kernel_copy(u, NULL, src, size);
	return user_copy(u, NULL, src, size);
}

ssize_t uio_get(struct uio *u, void *dst, size_t size)
{
	size = MIN(size, u->resid);
	if (!u->task)
		return kernel_copy(u, dst, NULL, size);
	return user_copy(u, dst, NULL, size);
}

static ssize_t pieces_one_by_one(struct uio *u, const struct iovec *v, unsigned count, bool put)
{
	ssize_t total = 0;

	for (unsigned i = 0; i < count; i++) {
		ssize_t n = put ? uio_put(u, v[i].iov_base, v[i].iov_len)
				: uio_get(u, v[i].iov_base, v[i].iov_len);
		if (n < 0)
			return total ? total : n;
		total += n;
		if ((size_t)n < v[i].iov_len)
			break;
	}
	return total;
}

static ssize_t move_pieces(struct uio *u, const struct iovec *v, unsigned count, bool put)
{
	struct iovec remote[64];
	unsigned remote_count;
	size_t size = 0;

	for (unsigned i = 0; i < count; i++)
		size += v[i].iov_len;
	/* One host call serves the usual case; everything odd goes piece by piece. */
	if (!u->task || size > u->resid || count > 64 ||
	    gather(u, size, remote, &remote_count) < size)
		return pieces_one_by_one(u, v, count, put);
	int tid = u->task->host_tid;
	ssize_t n = put ? host_guest_writev_from(tid, v, count, remote, remote_count)
			: host_guest_readv_into(tid, v, count, remote, remote_count);
	if (n <= 0)
		return size ? -EFAULT : 0;
	uio_skip(u, (size_t)n);
	return n;
}

ssize_t uio_put_pieces(struct uio *u, const struct iovec *from, unsigned count)
{
	return move_pieces(u, from, count, true);
}

ssize_t uio_get_pieces(struct uio *u, const struct iovec *into, unsigned count)
{
	return move_pieces(u, into, count, false);
}

ssize_t uio_put_zero(struct uio *u, size_t size)
{
	static const char zeroes[16384];
	size_t done = 0;

	size = MIN(size, u->resid);
	while (done < size) {
		size_t want = MIN(size - done, sizeof(zeroes));
		ssize_t n = uio_put(u, zeroes, want);
		if (n < 0)
			return done ? (ssize_t)done : n;
		done += (size_t)n;
		if ((size_t)n < want)
			break;
	}
	return (ssize_t)done;
}
