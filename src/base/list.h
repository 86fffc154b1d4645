/*
 * Intrusive doubly linked circular list. A head and an unlinked node both point to
 * themselves, so list_del() is idempotent and list_linked() is meaningful.
 */
#pragma once

#include <stdbool.h>

#include "base/util.h"

struct list {
	struct list *next, *prev;
};

static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool list_empty(const struct list *head)
{
	return head->next == head;
}

/* True while the node is on some list. A zeroed node counts as unlinked. */
static inline bool list_linked(const struct list *node)
{
	return node->next && node->next != node;
}

static inline void list_insert_between(struct list *node, struct list *prev, struct list *next)
{
	node->prev = prev;
	node->next = next;
	prev->next = node;
	next->prev = node;
}

/* Adds at the tail: the list is then a queue from head.next. */
static inline void list_add_tail(struct list *head, struct list *node)
{
	list_insert_between(node, head->prev, head);
}

static inline void list_add_head(struct list *head, struct list *node)
{
	list_insert_between(node, head, head->next);
}

static inline void list_del(struct list *node)
{
	if (!list_linked(node)) {
		list_init(node);
		return;
	}
	node->prev->next = node->next;
	node->next->prev = node->prev;
	list_init(node);
}

/* Moves every node of `from` to the tail of `to`; `from` ends empty. */
static inline void list_splice_tail(struct list *to, struct list *from)
{
	if (list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	list_init(from);
}

#define list_entry(node, type, member) container_of(node, type, member)
#define list_first(head, type, member) list_entry((head)->next, type, member)

/* `head` is evaluated at every step: an expression without effects. */
#define list_for_each(pos, head, member)                                                           \
	for (pos = list_entry((head)->next, __typeof__(*pos), member); &pos->member != (head);    \
	     pos = list_entry(pos->member.next, __typeof__(*pos), member))

/* Safe against removal of `pos` itself, not of its successor. */
#define list_for_each_safe(pos, tmp, head, member)                                                 \
	for (pos = list_entry((head)->next, __typeof__(*pos), member),                            \
	    tmp = list_entry(pos->member.next, __typeof__(*pos), member);                         \
	     &pos->member != (head);                                                              \
	     pos = tmp, tmp = list_entry(tmp->member.next, __typeof__(*pos), member))
