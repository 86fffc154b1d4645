/*
 * Theory of operation
 *
 *   struct transfers ── waiting: transfers in the order in which they came
 *          │ running: their number, at most `most`
 *
 * The loop owns a transfer before and after its work; in between the worker has it, and the loop does
 * two things only: it sets `cancelled`, and it shuts the socket down, which wakes the worker. So one that
 * runs is never freed before libuv says that the work is over.
 *
 * The file's position is the transfer's own: forks read one file at the same time.
 */
#include "server/snapshot/transfer.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/list.h"
#include "base/util.h"

#define CHUNK (256u << 10)

struct transfers {
	uv_loop_t *loop;
	struct list waiting;
	unsigned int running, most;
	bool closed; /* freed when nothing runs */
	/* Bytes of all saves; the workers count, too. */
	_Atomic uint64_t used, max;
};

enum state { NEW, WAITING, TURN, RUNNING };

struct transfer {
	struct list link;
	struct transfers *all;
	const struct transfer_events *events;
	void *ctx;
	enum state state;
	struct transfer_plan plan;
	uv_work_t work;
	atomic_bool cancelled;
	/* The worker's, then the loop's. */
	uint64_t bytes;
	int code; /* positive errno, 0 = all of it */
};

/* ---- the worker ---- */

static int fail(struct transfer *t, int code)
{
	t->code = atomic_load(&t->cancelled) ? ECANCELED : code;
	return -1;
}

static int wait_for(struct transfer *t, int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };
	int r;
	do
		r = poll(&p, 1, (int)t->plan.patience_ms);
	while (r < 0 && errno == EINTR);
	if (r == 0)
		return fail(t, ETIMEDOUT);
	return r < 0 ? fail(t, errno) : 0;
}

/* Bytes, 0 at the end, -1 failed. */
static ssize_t read_some(struct transfer *t, uint8_t *buffer)
{
	for (;;) {
		ssize_t n = t->plan.save ? read(t->plan.from, buffer, CHUNK)
					 : pread(t->plan.from, buffer, CHUNK, (off_t)t->bytes);
		if (n >= 0)
			return n;
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return fail(t, errno);
		if (wait_for(t, t->plan.from, POLLIN) < 0)
			return -1;
	}
}

static int write_all(struct transfer *t, const uint8_t *data, size_t size)
{
	while (size > 0) {
		ssize_t n = t->plan.save ? write(t->plan.to, data, size)
					 : send(t->plan.to, data, size, MSG_NOSIGNAL);
		if (n > 0) {
			data += n;
			size -= (size_t)n;
		} else if (errno == EAGAIN) {
			if (wait_for(t, t->plan.to, POLLOUT) < 0)
				return -1;
		} else if (errno != EINTR) {
			return fail(t, errno == EDQUOT ? ENOSPC : errno); /* of the host */
		}
	}
	return 0;
}

/* Counted before it is written: several workers share the space. */
static int account(struct transfer *t, uint64_t size)
{
	struct transfers *all = t->all;
	if (!t->plan.save)
		return 0;
	if (size > t->plan.max - t->bytes)
		return fail(t, EFBIG);
	if (atomic_fetch_add(&all->used, size) + size > atomic_load(&all->max)) {
		atomic_fetch_sub(&all->used, size);
		return fail(t, EDQUOT);
	}
	return 0;
}

static void move_bytes(struct transfer *t, uint8_t *buffer)
{
	ssize_t n;
	while ((n = read_some(t, buffer)) > 0) {
		if (account(t, (uint64_t)n) < 0)
			return;
		t->bytes += (uint64_t)n;
		if (write_all(t, buffer, (size_t)n) < 0)
			return;
		if (atomic_load(&t->cancelled)) {
			(void)fail(t, ECANCELED);
			return;
		}
	}
	if (n == 0 && t->plan.save && t->plan.sync && fsync(t->plan.to) < 0)
		(void)fail(t, errno);
}

static void on_work(uv_work_t *work)
{
	struct transfer *t = work->data;
	uint8_t *buffer = malloc(CHUNK);
	if (!buffer)
		t->code = ENOMEM;
	else if (!atomic_load(&t->cancelled))
		move_bytes(t, buffer);
	free(buffer);
}

/* ---- turns ---- */

static void give_turns(struct transfers *all)
{
	while (all->running < all->most && !list_empty(&all->waiting)) {
		struct transfer *t = list_first(&all->waiting, struct transfer, link);
		list_del(&t->link);
		all->running++;
		t->state = TURN;
		t->events->turn(t->ctx);
	}
}

/* The transfer has had its turn. */
static void end(struct transfer *t)
{
	struct transfers *all = t->all;
	free(t);
	all->running--;
	if (!all->closed)
		give_turns(all);
	else if (all->running == 0)
		free(all);
}

static int explain(const struct transfer *t, struct error *err)
{
	const char *what = t->plan.save ? "write the snapshot" : "read the snapshot";
	if (t->code == ENOSPC)
		return error_say(err, ENOSPC, "%s: the server's disk is full", what);
	if (t->code == EDQUOT)
		return error_say(err, EDQUOT,
				 "%s: all of them would take more than %llu MiB "
				 "(snapshots_bytes)",
				 what, (unsigned long long)atomic_load(&t->all->max) >> 20);
	if (t->code == ETIMEDOUT)
		return error_say(err, ETIMEDOUT, "%s: nothing came for %u s", what,
				 t->plan.patience_ms / 1000);
	return error_set(err, t->code, "%s", what);
}

static void on_worked(uv_work_t *work, int status)
{
	struct transfer *t = work->data;
	const struct transfer_plan *plan = &t->plan;
	struct error err;
	bool silent = atomic_load(&t->cancelled);
	if (status < 0 && !t->code)
		t->code = ECANCELED;
	close(plan->from);
	close(plan->to);
	if ((silent || t->code) && plan->save)
		atomic_fetch_sub(&t->all->used, t->bytes);
	if (!silent)
		t->events->done(t->ctx, t->bytes, t->code && explain(t, &err) ? &err : NULL);
	end(t);
}

/* ---- use ---- */

struct transfer *transfer_new(struct transfers *all, const struct transfer_events *events,
			      void *ctx)
{
	struct transfer *t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	list_init(&t->link);
	t->all = all;
	t->events = events;
	t->ctx = ctx;
	t->plan = (struct transfer_plan){ .from = -EBADF, .to = -EBADF };
	return t;
}

void transfer_wait(struct transfer *t)
{
	t->state = WAITING;
	list_add_tail(&t->all->waiting, &t->link);
	give_turns(t->all);
}

void transfer_run(struct transfer *t, const struct transfer_plan *plan)
{
	t->plan = *plan;
	t->state = RUNNING;
	t->work.data = t;
	/* It fails without a callback only. */
	(void)uv_queue_work(t->all->loop, &t->work, on_work, on_worked);
}

void transfer_cancel(struct transfer *t)
{
	if (!t)
		return;
	if (t->state == RUNNING) {
		atomic_store(&t->cancelled, true);
		(void)shutdown(t->plan.save ? t->plan.from : t->plan.to, SHUT_RDWR);
	} else if (t->state == TURN) {
		end(t);
	} else {
		list_del(&t->link);
		free(t);
	}
}

struct transfers *transfers_new(uv_loop_t *loop, unsigned int most)
{
	struct transfers *all = calloc(1, sizeof(*all));
	if (!all)
		return NULL;
	all->loop = loop;
	all->most = most;
	list_init(&all->waiting);
	return all;
}

void transfers_set_space(struct transfers *all, uint64_t max)
{
	atomic_store(&all->max, max);
}

void transfers_add_space(struct transfers *all, int64_t bytes)
{
	atomic_fetch_add(&all->used, (uint64_t)bytes);
}

uint64_t transfers_space(const struct transfers *all)
{
	return atomic_load(&all->used);
}

void transfers_free(struct transfers *all)
{
	if (!all)
		return;
	all->closed = true;
	if (all->running == 0)
		free(all);
}
