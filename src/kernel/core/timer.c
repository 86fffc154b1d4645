/*
 * Timers: a binary min-heap of pointers to the embedded struct timer, ordered by deadline. The
 * heap array lives in the arena (ROOT_TIMER) and grows by doubling; a timer knows its index, so
 * re-arming and cancelling need no search. Index 0 is unused: heap_index 0 means "not armed".
 *
 * Invariant: heap[t->heap_index] == t for every armed timer, and the heap never shrinks below the
 * number of armed timers, so re-arming an armed timer cannot fail.
 */
#include "kernel/core/timer.h"

#include <errno.h>

#include "kernel/core/arena.h"
#include "kernel/core/clock.h"

#define HEAP_INITIAL 64u

struct timer_root {
	struct timer **heap; /* 1-based */
	uint32_t count;
	uint32_t capacity; /* slots, including the unused slot 0 */
};

static struct timer_root *root;

static struct timer_root *timers(void)
{
	if (!root)
		root = arena_root(ROOT_TIMER, sizeof(*root));
	return root;
}

static void heap_place(struct timer_root *r, uint32_t index, struct timer *t)
{
	r->heap[index] = t;
	t->heap_index = index;
}

static void heap_up(struct timer_root *r, uint32_t index)
{
	struct timer *t = r->heap[index];

	while (index > 1 && r->heap[index / 2]->deadline > t->deadline) {
		heap_place(r, index, r->heap[index / 2]);
		index /= 2;
	}
	heap_place(r, index, t);
}

static void heap_down(struct timer_root *r, uint32_t index)
{
	struct timer *t = r->heap[index];

	for (;;) {
		uint32_t child = index * 2;

		if (child > r->count)
			break;
		if (child < r->count && r->heap[child + 1]->deadline < r->heap[child]->deadline)
			child++;
		if (r->heap[child]->deadline >= t->deadline)
			break;
		heap_place(r, index, r->heap[child]);
		index = child;
	}
	heap_place(r, index, t);
}

static int heap_grow(struct timer_root *r)
{
	uint32_t capacity = r->capacity ? r->capacity * 2 : HEAP_INITIAL;
	struct timer **heap;

	if (r->count + 1 < r->capacity)
		return 0;
	if (capacity > UINT32_MAX / sizeof(*heap) / 2)
		return -ENOMEM;
	heap = krealloc(r->heap, r->capacity * sizeof(*heap), capacity * sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	r->heap = heap;
	r->capacity = capacity;
	return 0;
}

int timer_arm(struct timer *t, enum timer_op op, uint64_t deadline)
{
	struct timer_root *r = timers();

	if (!r)
		return -ENOMEM;
	if (!timer_armed(t)) {
		int err = heap_grow(r);

		if (err)
			return err;
		t->op = (uint8_t)op;
		t->deadline = deadline;
		heap_place(r, ++r->count, t);
		heap_up(r, r->count);
		return 0;
	}
	t->op = (uint8_t)op;
	t->deadline = deadline;
	heap_up(r, t->heap_index);
	heap_down(r, t->heap_index);
	return 0;
}

void timer_cancel(struct timer *t)
{
	struct timer_root *r = root;
	uint32_t index = t->heap_index;
	struct timer *last;

	if (!index)
		return;
	if (!r)
		r = timers();
	t->heap_index = 0;
	last = r->heap[r->count--];
	if (last == t)
		return;
	heap_place(r, index, last);
	heap_up(r, index);
	heap_down(r, last->heap_index);
}

uint64_t timer_run(void)
{
	struct timer_root *r = timers();
	uint64_t now = clock_mono();
	uint32_t budget;

	if (!r)
		return UINT64_MAX;
	/* A callback may re-arm for a time already past: each turn has an end. */
	for (budget = r->count; budget && r->count && r->heap[1]->deadline <= now; budget--) {
		struct timer *t = r->heap[1];
		timer_fn fn = t->op < TIMER_OP_MAX ? timer_ops[t->op] : NULL;

		timer_cancel(t);
		if (fn)
			fn(t);
	}
	if (!r->count)
		return UINT64_MAX;
	return r->heap[1]->deadline > now ? r->heap[1]->deadline - now : 0;
}
