/*
 * poll(2) and ppoll(2).
 *
 * One pass asks every descriptor for its state. If something is ready the answer goes out at once;
 * only if nothing is does a second pass register the call on the queues of the files. A
 * woken call starts again from the top, with the array read afresh.
 *
 * Only the `revents` fields are written, and only where they differ from what is there: another
 * thread may be changing the rest of the array, and most fields stay zero anyway. The
 * differing ones go out together through one list of two-byte pieces.
 *
 * Arrays longer than a block are worked through block by block, so any length the descriptor limit
 * admits needs no memory of its own.
 */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/epoll.h>

#include "base/util.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/call.h"
#include "kernel/core/clock.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/poll/poll_internal.h"
#include "kernel/fs/signalfd/signalfd.h"
#include "kernel/task/task.h"

#define BLOCK_FDS 4096u
#define BATCH 256u

struct poll_scratch {
	struct pollfd fds[BLOCK_FDS];
	struct iovec iov[BATCH];
	int16_t revents[BATCH];
};
_Static_assert(sizeof(struct poll_scratch) <= SCRATCH_SIZE, "scratch too small");

/* One poll() call: what is worked on. */
struct poll_request {
	struct call *c;
	struct poll_scratch *s;
	struct uaddr fds;
	uint32_t count;
	uint32_t batch; /* pieces collected in s->iov */
	bool loaded;	/* s->fds holds the block at loaded_start */
	uint32_t loaded_start;
};

/* ---- shared with select ---- */

int poll_wait_on(struct call *c, struct file *f, uint32_t events)
{
	const struct file_ops *ops = file_ops(f);
	struct waitq *for_read, *for_write;
	uint32_t write_bits = EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND;
	int err = 0;

	if (!ops->waitq)
		return 0;
	for_read = ops->waitq(f, false);
	for_write = ops->waitq(f, true);
	if (for_read)
		err = call_wait_on(c, for_read, false);
	/* Errors and hang-ups are told on both queues. */
	if (!err && for_write && for_write != for_read && ((events & write_bits) || !for_read))
		err = call_wait_on(c, for_write, false);
	return err;
}

bool poll_must_wait(const struct call *c, uint64_t timeout_ns)
{
	return timeout_ns && !c->timed_out;
}

long poll_block(struct call *c, uint64_t timeout_ns)
{
	if (timeout_ns != POLL_FOREVER) {
		int err = call_set_timeout(c, timeout_ns);

		if (err)
			return err;
	}
	return CALL_BLOCK;
}

uint64_t poll_time_left(const struct call *c)
{
	uint64_t now;

	if (!c->deadline || c->deadline == UINT64_MAX || c->timed_out)
		return 0;
	clock_tick();
	now = clock_mono();
	return c->deadline > now ? c->deadline - now : 0;
}

/* ---- one block of the array ---- */

static uint32_t wanted_events(const struct pollfd *p)
{
	return (uint32_t)(uint16_t)p->events | EPOLLERR | EPOLLHUP;
}

static struct file *poll_file(struct task *t, int fd)
{
	struct file *f = fd_file(t, fd);

	return f && !(f->flags & O_PATH) ? f : NULL;
}

static int16_t poll_one(struct task *t, const struct pollfd *p)
{
	struct file *f;

	if (p->fd < 0)
		return 0;
	f = poll_file(t, p->fd);
	return f ? (int16_t)(file_poll(f) & wanted_events(p)) : POLLNVAL;
}

static int flush_batch(struct poll_request *r)
{
	struct uio u = {
		.task = r->c->task,
		.iov = r->s->iov,
		.iov_count = r->batch,
		.resid = r->batch * sizeof(r->s->revents[0]),
	};
	size_t size = u.resid;

	r->batch = 0;
	if (!size)
		return 0;
	return uio_put(&u, r->s->revents, size) == (ssize_t)size ? 0 : -EFAULT;
}

static int put_revents(struct poll_request *r, uint32_t index, int16_t revents)
{
	struct uaddr at = uaddr_add(r->fds, (uint64_t)index * sizeof(struct pollfd) +
						    offsetof(struct pollfd, revents));

	r->s->revents[r->batch] = revents;
	r->s->iov[r->batch].iov_base = (void *)at.v; /* a guest address: never used here */
	r->s->iov[r->batch].iov_len = sizeof(revents);
	return ++r->batch == BATCH ? flush_batch(r) : 0;
}

/* Loads the block at `start`, unless it is the one that is there. */
static int read_block(struct poll_request *r, uint32_t start, uint32_t *ret_count)
{
	uint32_t count = MIN(r->count - start, BLOCK_FDS);

	*ret_count = count;
	if (r->loaded && r->loaded_start == start)
		return 0;
	r->loaded = true;
	r->loaded_start = start;
	return user_read(r->c->task, r->s->fds,
			 uaddr_add(r->fds, (uint64_t)start * sizeof(struct pollfd)),
			 count * sizeof(struct pollfd));
}

/*
 * Asks every descriptor and stores what changed; returns how many are ready. If the call is going
 * to block the last batch, usually the only one, is dropped: it would be written again.
 */
static long poll_pass(struct poll_request *r, bool may_block)
{
	uint32_t ready = 0, count;
	int err;

	for (uint32_t start = 0; start < r->count; start += count) {
		err = read_block(r, start, &count);
		if (err)
			return err;
		for (uint32_t i = 0; i < count; i++) {
			const struct pollfd *p = &r->s->fds[i];
			int16_t revents = poll_one(r->c->task, p);

			ready += revents != 0;
			if (revents == p->revents)
				continue;
			err = put_revents(r, start + i, revents);
			if (err)
				return err;
		}
	}
	if (!ready && may_block)
		return 0;
	err = flush_batch(r);
	return err ? err : (long)ready;
}

static int wait_pass(struct poll_request *r)
{
	uint32_t count;

	for (uint32_t start = 0; start < r->count; start += count) {
		int err = read_block(r, start, &count);

		for (uint32_t i = 0; !err && i < count; i++) {
			const struct pollfd *p = &r->s->fds[i];
			struct file *f = p->fd < 0 ? NULL : poll_file(r->c->task, p->fd);

			if (f)
				err = poll_wait_on(r->c, f, wanted_events(p));
		}
		if (err)
			return err;
	}
	return 0;
}

/* ---- calls ---- */

static long poll_call(struct call *c, uint64_t timeout_ns)
{
	struct poll_request r = { .c = c, .s = scratch_buffer(), .fds = CALL_ARG_PTR(c, 0) };
	long ready;
	int err;

	c->no_restart = true;
	if ((uint32_t)c->args[1] > task_rlimit(c->task, RLIMIT_NOFILE))
		return -EINVAL;
	r.count = (uint32_t)c->args[1];
	signalfd_set_poller(c->task);
	ready = poll_pass(&r, poll_must_wait(c, timeout_ns));
	if (ready || !poll_must_wait(c, timeout_ns))
		return ready;
	err = wait_pass(&r);
	return err ? err : poll_block(c, timeout_ns);
}

long sys_poll(struct call *c)
{
	int ms = (int)c->args[2];

	return poll_call(c, ms < 0 ? POLL_FOREVER : (uint64_t)ms * NSEC_PER_MSEC);
}

long sys_ppoll(struct call *c)
{
	uint64_t timeout_ns;
	long ret;
	int err;

	c->no_restart = true;
	err = user_read_timeout(c->task, &timeout_ns, CALL_ARG_PTR(c, 2));
	if (!err)
		err = call_set_sigmask(c, CALL_ARG_PTR(c, 3), c->args[4]);
	if (err)
		return err;
	ret = poll_call(c, timeout_ns);
	if (ret >= 0 && timeout_ns && timeout_ns != POLL_FOREVER) {
		struct timespec left = timespec_from_ns(c->deadline ? poll_time_left(c) : timeout_ns);

		/* As on Linux a read-only timeout is no error. */
		(void)user_write(c->task, CALL_ARG_PTR(c, 2), &left, sizeof(left));
	}
	return ret;
}
