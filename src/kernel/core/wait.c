/*
 * Wait queues: who is told when an object changes.
 *
 * A queue is a plain list of waiter records which are embedded in their owners. A wake walks the
 * list once and calls the owner's kind through waiter_table[]: blocked calls go to the run queue,
 * epoll items to the ready list of their instance. Nothing user-visible runs here, so the caller
 * of waitq_wake() need not fear that its object changes under its hands.
 *
 * Two things make the walk safe whatever a waiter function removes: the waiters are first moved to
 * a private list, and each is put back before its function is called. Waiters added meanwhile
 * land on the queue itself and are not visited: they have seen the new state already.
 *
 * Exclusive waiters are served in turn: the one that took an event goes to the end of the queue.
 * The others of the same wake are passed over, ordinary waiters never are.
 *
 * Wakes nest through epoll instances that watch epoll instances; epoll bounds that depth.
 */
#include "kernel/core/wait.h"

#include "kernel/control/op.h"
#include "kernel/control/terminal.h"
#include "kernel/core/call.h"
#include "kernel/fs/epoll/epoll.h"

static bool call_waiter_wake(struct waiter *w, uint32_t events)
{
	(void)events;
	call_wake(w->owner);
	return true;
}

static const waiter_fn waiter_table[WAITER_KIND_MAX] = {
	[WAITER_CALL] = call_waiter_wake,
	[WAITER_EPOLL] = epoll_item_wake,
	[WAITER_CONTROL] = control_waiter_wake,
	[WAITER_OP] = op_waiter_wake,
};

void waitq_init(struct waitq *wq)
{
	list_init(&wq->waiters);
}

/* A zeroed queue is a valid empty one: objects come zeroed from the arena. */
static void waitq_ready(struct waitq *wq)
{
	if (!wq->waiters.next)
		list_init(&wq->waiters);
}

void waitq_add(struct waitq *wq, struct waiter *w)
{
	waitq_ready(wq);
	list_add_tail(&wq->waiters, &w->link);
}

void waiter_del(struct waiter *w)
{
	list_del(&w->link);
}

bool waitq_active(const struct waitq *wq)
{
	return wq->waiters.next && !list_empty(&wq->waiters);
}

void waitq_wake(struct waitq *wq, uint32_t events)
{
	struct list pending, served;
	bool taken = false;

	if (!waitq_active(wq))
		return;
	list_init(&pending);
	list_init(&served);
	list_splice_tail(&pending, &wq->waiters);
	while (!list_empty(&pending)) {
		struct waiter *w = list_first(&pending, struct waiter, link);
		waiter_fn wake = w->kind < WAITER_KIND_MAX ? waiter_table[w->kind] : NULL;

		list_del(&w->link);
		list_add_tail(&wq->waiters, &w->link);
		if (!wake || (w->exclusive && taken))
			continue;
		if (w->exclusive) {
			/* Before the call: the function may remove or free the waiter. */
			list_del(&w->link);
			list_add_tail(&served, &w->link);
			taken = wake(w, events);
		} else {
			wake(w, events);
		}
	}
	list_splice_tail(&wq->waiters, &served);
}

void waitq_drain(struct waitq *wq)
{
	while (waitq_active(wq)) {
		struct waiter *w = list_first(&wq->waiters, struct waiter, link);
		waiter_fn wake = w->kind < WAITER_KIND_MAX ? waiter_table[w->kind] : NULL;

		waiter_del(w);
		if (wake)
			wake(w, 0);
	}
}
