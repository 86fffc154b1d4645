/*
 * select(2) and pselect6(2): like poll() with the descriptors as bits of three sets.
 *
 * The sets are copied in once, the results are built in a second triple, and all three are written
 * when the call succeeds, also when it timed out. Like Linux, descriptors beyond the size of the
 * table are ignored and closed ones below are -EBADF, and the time left is written back.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/time.h>

#include "base/util.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/core/call.h"
#include "kernel/core/clock.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/poll/poll_internal.h"
#include "kernel/fs/signalfd/signalfd.h"
#include "kernel/task/task.h"

#define SETS 3
#define TABLE_MIN 64u /* descriptors that are always looked at */

/* Which events make a descriptor a member of the read, write and exception set. */
static const uint32_t set_events[SETS] = {
	EPOLLRDNORM | EPOLLRDBAND | EPOLLIN | EPOLLHUP | EPOLLERR,
	EPOLLWRBAND | EPOLLWRNORM | EPOLLOUT | EPOLLERR,
	EPOLLPRI,
};

struct select_request {
	struct call *c;
	uint32_t count; /* descriptors */
	uint32_t words; /* 64-bit words of a set */
	uint64_t *in;	/* SETS * words */
	uint64_t *out;
};

static int sets_read(struct select_request *r)
{
	for (int i = 0; i < SETS; i++) {
		struct uaddr at = CALL_ARG_PTR(r->c, i + 1);
		uint64_t *set = r->in + (size_t)i * r->words;
		int err;

		if (!at.v || !r->words)
			continue;
		err = user_read(r->c->task, set, at, r->words * sizeof(*set));
		if (err)
			return err;
		if (r->count % 64)
			set[r->words - 1] &= (1ull << (r->count % 64)) - 1;
	}
	return 0;
}

static int sets_write(const struct select_request *r)
{
	for (int i = 0; i < SETS; i++) {
		struct uaddr at = CALL_ARG_PTR(r->c, i + 1);
		const uint64_t *set = r->out + (size_t)i * r->words;
		int err;

		if (!at.v || !r->words)
			continue;
		err = user_write(r->c->task, at, set, r->words * sizeof(*set));
		if (err)
			return err;
	}
	return 0;
}

/* Events asked for descriptor bit `bit` of word `word`. */
static uint32_t wanted_events(const struct select_request *r, uint32_t word, uint64_t bit)
{
	uint32_t events = 0;

	for (uint32_t i = 0; i < SETS; i++)
		if (r->in[i * r->words + word] & bit)
			events |= set_events[i];
	return events;
}

static uint64_t any_set(const struct select_request *r, uint32_t word)
{
	return r->in[word] | r->in[r->words + word] | r->in[2 * r->words + word];
}

static struct file *select_file(const struct select_request *r, uint32_t fd)
{
	struct file *f = fd_file(r->c->task, (int)fd);

	return f && !(f->flags & O_PATH) ? f : NULL;
}

/* Asks every descriptor: how many bits are set in the results, or -EBADF. */
static long select_pass(const struct select_request *r)
{
	long ready = 0;

	for (uint32_t word = 0; word < r->words; word++) {
		for (uint64_t left = any_set(r, word); left; left &= left - 1) {
			uint64_t bit = left & -left;
			struct file *f = select_file(r, word * 64 + (uint32_t)__builtin_ctzll(left));
			uint32_t events;

			if (!f)
				return -EBADF;
			events = file_poll(f);
			for (uint32_t i = 0; i < SETS; i++) {
				size_t at = i * r->words + word;

				if (!(r->in[at] & bit) || !(events & set_events[i]))
					continue;
				r->out[at] |= bit;
				ready++;
			}
		}
	}
	return ready;
}

static int wait_pass(const struct select_request *r)
{
	for (uint32_t word = 0; word < r->words; word++) {
		for (uint64_t left = any_set(r, word); left; left &= left - 1) {
			uint64_t bit = left & -left;
			struct file *f = select_file(r, word * 64 + (uint32_t)__builtin_ctzll(left));
			int err = f ? poll_wait_on(r->c, f, wanted_events(r, word, bit)) : 0;

			if (err)
				return err;
		}
	}
	return 0;
}

static long select_run(struct select_request *r, uint64_t timeout_ns)
{
	long ready;
	int err = sets_read(r);

	if (err)
		return err;
	signalfd_set_poller(r->c->task);
	ready = select_pass(r);
	if (ready < 0)
		return ready;
	if (!ready && poll_must_wait(r->c, timeout_ns)) {
		err = wait_pass(r);
		return err ? err : poll_block(r->c, timeout_ns);
	}
	err = sets_write(r);
	return err ? err : ready;
}

static long select_call(struct call *c, uint64_t timeout_ns)
{
	struct select_request r = { .c = c };
	uint64_t *memory, *own = NULL;
	size_t size;
	long ret;

	c->no_restart = true;
	if ((int)c->args[0] < 0)
		return -EINVAL;
	r.count = MIN((uint32_t)c->args[0], MAX(c->task->files->capacity, TABLE_MIN));
	r.words = (r.count + 63) / 64;
	size = (size_t)r.words * 2 * SETS * sizeof(uint64_t);
	if (size > SCRATCH_SIZE) {
		own = kmalloc(size);
		if (!own)
			return -ENOMEM;
		memory = own;
	} else {
		memory = scratch_buffer();
		memset(memory, 0, size);
	}
	r.in = memory;
	r.out = memory + (size_t)SETS * r.words;
	ret = select_run(&r, timeout_ns);
	kfree(own);
	return ret;
}

/* Time left for a finished call; the deadline is not set if it never had to wait. */
static uint64_t left_of(const struct call *c, uint64_t timeout_ns)
{
	return c->deadline ? poll_time_left(c) : timeout_ns;
}

long sys_select(struct call *c)
{
	uint64_t timeout_ns = POLL_FOREVER;
	struct timeval tv;
	long ret;

	if (c->args[4]) {
		uint64_t seconds;

		if (user_read(c->task, &tv, CALL_ARG_PTR(c, 4), sizeof(tv)) < 0)
			return -EFAULT;
		if (tv.tv_sec < 0 || tv.tv_usec < 0)
			return -EINVAL;
		seconds = (uint64_t)tv.tv_sec + (uint64_t)tv.tv_usec / 1000000;
		if (seconds < INT64_MAX / NSEC_PER_SEC)
			timeout_ns = seconds * NSEC_PER_SEC +
				     (uint64_t)tv.tv_usec % 1000000 * NSEC_PER_USEC;
	}
	ret = select_call(c, timeout_ns);
	if (ret >= 0 && timeout_ns && timeout_ns != POLL_FOREVER) {
		uint64_t left = left_of(c, timeout_ns);

		tv.tv_sec = (time_t)(left / NSEC_PER_SEC);
		tv.tv_usec = (suseconds_t)(left % NSEC_PER_SEC / NSEC_PER_USEC);
		/* A read-only timeout is no error. */
		(void)user_write(c->task, CALL_ARG_PTR(c, 4), &tv, sizeof(tv));
	}
	return ret;
}

long sys_pselect6(struct call *c)
{
	struct {
		uint64_t set, size;
	} mask = { 0 };
	uint64_t timeout_ns;
	long ret;
	int err;

	c->no_restart = true;
	if (c->args[5] && user_read(c->task, &mask, CALL_ARG_PTR(c, 5), sizeof(mask)) < 0)
		return -EFAULT;
	err = user_read_timeout(c->task, &timeout_ns, CALL_ARG_PTR(c, 4));
	if (!err)
		err = call_set_sigmask(c, uaddr(mask.set), mask.size);
	if (err)
		return err;
	ret = select_call(c, timeout_ns);
	if (ret >= 0 && timeout_ns && timeout_ns != POLL_FOREVER) {
		struct timespec left = timespec_from_ns(left_of(c, timeout_ns));

		(void)user_write(c->task, CALL_ARG_PTR(c, 4), &left, sizeof(left));
	}
	return ret;
}
