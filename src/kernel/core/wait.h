/*
 * Wait queues. Everything that can become ready (a pipe end, a socket, a terminal, an epoll
 * instance, a child) embeds a struct waitq. A waiter is an embedded record that is told, by kind,
 * that something changed: it then looks again. Wake-ups may be spurious; they are never lost.
 *
 * waitq_wake() never runs user-visible work itself: a blocked call is put on the run queue and
 * retried after the current handler returned, so handlers need not fear re-entrance.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

struct waitq {
	struct list waiters; /* struct waiter.link; lazily initialised, zeroed = empty */
};

enum waiter_kind {
	WAITER_CALL,	/* owner: struct call, retried */
	WAITER_EPOLL,	/* owner: struct epoll_item, marked ready */
	WAITER_CONTROL, /* owner: a terminal of control/, pumped */
	WAITER_OP,	/* owner: struct op of control/, put on its run queue */
	WAITER_KIND_MAX,
};

struct waiter {
	struct list link;      /* on waitq.waiters */
	struct list call_link; /* on call.waiters (WAITER_CALL only) */
	void *owner;
	uint8_t kind;	   /* enum waiter_kind */
	bool exclusive;	   /* woken one at a time (accept, EPOLLEXCLUSIVE) */
};

void waitq_init(struct waitq *wq);
void waitq_add(struct waitq *wq, struct waiter *w);
void waiter_del(struct waiter *w);

/*
 * Tells the waiters. `events` are EPOLL* bits that may have become true (a hint: 0 = look at
 * everything); epoll uses it to re-arm edge-triggered items, so call it on every new event even if
 * the object was already ready.
 */
void waitq_wake(struct waitq *wq, uint32_t events);

/*
 * Before the object that holds the queue is freed: wakes and detaches every waiter. Blocked calls
 * then run again and find the object gone. (A call blocked on a file holds no reference on it.)
 */
void waitq_drain(struct waitq *wq);

bool waitq_active(const struct waitq *wq);

/* Dispatch by kind; table in core/wait.c. */
typedef bool (*waiter_fn)(struct waiter *w, uint32_t events); /* true: an exclusive waiter took it */
