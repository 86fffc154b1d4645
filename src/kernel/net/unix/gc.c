/*
 * Unreachable sockets: theory of operation.
 *
 * A unix socket can be in flight: a reference to its open file sits in the queue of a unix socket
 * (SCM_RIGHTS). When all references to a socket are in queues, and those queues can only be read
 * through sockets of which the same holds, nobody can ever get at it again: a cycle.
 *
 *   candidates   open sockets all of whose file references are in flight
 *   gc_count     of a candidate: references from queues of sockets that are no candidates
 *   reachable    gc_count > 0, and whatever sits in queues of reachable ones
 *
 * What remains is emptied, which drops the references and thereby closes the sockets. Connections
 * that a listener has not accepted yet have no open file; their queues count as the listener's.
 * There is no recursion: work lists only, and scm_fds_free() flattens what closing sets off.
 *
 * It runs soon after a unix socket was closed while any is in flight, or when there are many, as on
 * Linux: not for each of the thousands that an exit may close, and never more than a twentieth of
 * the time. When something is refused for want of buffers or open files, which what is unreachable may
 * hold, it runs at once, but never more than half of the time (core/dispatch.c makes the call again).
 */
#include <errno.h>

#include "base/util.h"
#include "kernel/core/clock.h"
#include "kernel/fs/file.h"
#include "kernel/net/dgram.h"
#include "kernel/net/unix/unix.h"

#define IN_FLIGHT_FREE 1000u
#define COST_FACTOR 20 /* one part collecting, nineteen parts working */

static struct unix_sock *unix_of_file(struct file *f)
{
	return f && f->ops == FOPS_UNIX && f->priv ? unix_sock(f->priv) : NULL;
}

void unix_gc_in_flight(struct file *f, int delta)
{
	struct unix_sock *u = unix_of_file(f);

	if (!u)
		return;
	struct unix_state_root *root = unix_root();
	u->in_flight += (uint32_t)delta;
	if (!u->in_flight) {
		list_del(&u->gc_link);
		root->in_flight_count--;
	} else if (!list_linked(&u->gc_link)) {
		list_add_tail(&root->in_flight, &u->gc_link);
		/* Whoever sends all sockets over each other never closes one for good. */
		if (++root->in_flight_count > MAX(root->gc_at, IN_FLIGHT_FREE))
			unix_gc_want();
	}
}

typedef void (*visit_fn)(struct scm_fds **fds, void *ctx);

static void visit_queue(struct unix_sock *u, visit_fn visit, void *ctx)
{
	struct unix_mark *mark;
	struct dgram *d;

	list_for_each(mark, &u->marks, link)
		if (mark->fds)
			visit(&mark->fds, ctx);
	list_for_each(d, &u->sk.rxq, link)
		if (d->fds)
			visit(&d->fds, ctx);
}

/* Everything in flight that can be read through `u`. */
static void visit_all(struct unix_sock *u, visit_fn visit, void *ctx)
{
	struct unix_sock *child;

	visit_queue(u, visit, ctx);
	list_for_each(child, &u->pending, pending_link)
		visit_queue(child, visit, ctx);
}

static void visit_discount(struct scm_fds **fds, void *ctx)
{
	(void)ctx;
	for (uint32_t i = 0; i < (*fds)->count; i++) {
		struct unix_sock *u = unix_of_file((*fds)->files[i]);
		if (u && u->candidate)
			u->gc_count--;
	}
}

static void mark_reachable(struct unix_sock *u, struct list *work)
{
	u->candidate = false;
	list_add_tail(work, &u->work_link);
}

static void visit_reach(struct scm_fds **fds, void *ctx)
{
	for (uint32_t i = 0; i < (*fds)->count; i++) {
		struct unix_sock *u = unix_of_file((*fds)->files[i]);
		if (u && u->candidate)
			mark_reachable(u, ctx);
	}
}

static void visit_take(struct scm_fds **fds, void *ctx)
{
	scm_fds_dequeued(*fds);
	list_add_tail(ctx, &(*fds)->deferred_link);
	*fds = NULL;
}

static bool find_candidates(struct unix_state_root *root)
{
	struct unix_sock *u;
	bool any = false;

	list_for_each(u, &root->in_flight, gc_link) {
		u->candidate = u->sk.file && u->sk.file->refs == u->in_flight;
		u->gc_count = u->in_flight;
		any |= u->candidate;
	}
	return any;
}

static void spare_reachable(struct unix_state_root *root)
{
	struct unix_sock *u;
	struct list work;

	list_init(&work);
	list_for_each(u, &root->in_flight, gc_link)
		if (u->candidate)
			visit_all(u, visit_discount, NULL);
	list_for_each(u, &root->in_flight, gc_link)
		if (u->candidate && u->gc_count)
			mark_reachable(u, &work);
	while (!list_empty(&work)) {
		u = list_first(&work, struct unix_sock, work_link);
		list_del(&u->work_link);
		visit_all(u, visit_reach, &work);
	}
}

/* Empties the queues of what is still a candidate. */
static void collect(struct unix_state_root *root)
{
	struct unix_sock *u;
	struct list garbage, taken;

	list_init(&garbage);
	list_init(&taken);
	/* First a list of its own: taking descriptors out of queues changes root->in_flight. */
	list_for_each(u, &root->in_flight, gc_link)
		if (u->candidate)
			list_add_tail(&garbage, &u->work_link);
	while (!list_empty(&garbage)) {
		u = list_first(&garbage, struct unix_sock, work_link);
		list_del(&u->work_link);
		u->candidate = false;
		visit_all(u, visit_take, &taken);
	}
	while (!list_empty(&taken)) {
		struct scm_fds *fds = list_first(&taken, struct scm_fds, deferred_link);
		list_del(&fds->deferred_link);
		scm_fds_free(fds);
	}
}

static void collect_now(struct unix_state_root *root)
{
	if (root->collecting || list_empty(&root->in_flight))
		return;
	root->collecting = true;
	if (find_candidates(root)) {
		spare_reachable(root);
		collect(root);
	}
	root->collecting = false;
}

void unix_gc_want(void)
{
	struct unix_state_root *root = unix_root();

	if (list_empty(&root->in_flight) || timer_armed(&root->gc_timer))
		return;
	/* Without memory for the timer: the next socket that closes asks again. */
	(void)timer_arm(&root->gc_timer, TIMER_UNIX_GC, MAX(root->gc_next, clock_mono()));
}

static void collect_timed(struct unix_state_root *root)
{
	clock_tick();
	uint64_t began = clock_mono();
	collect_now(root);
	root->gc_at = root->in_flight_count * 2;
	clock_tick();
	uint64_t ended = clock_mono();
	root->gc_urgent_next = ended + (ended - began);
	root->gc_next = ended + (ended - began) * COST_FACTOR;
}

void unix_gc_timer_fired(struct timer *t)
{
	collect_timed(container_of(t, struct unix_state_root, gc_timer));
}

bool unix_gc_urgent(void)
{
	struct unix_state_root *root = unix_root();

	if (!root || list_empty(&root->in_flight))
		return false;
	clock_tick();
	if (clock_mono() < root->gc_urgent_next)
		return false;
	timer_cancel(&root->gc_timer);
	collect_timed(root);
	return true;
}
