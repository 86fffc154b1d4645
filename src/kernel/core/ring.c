/*
 * Ring buffers: theory of operation.
 *
 *   head                          tail
 *    |                             |
 *   [chunk: ....dddddddd] -> [chunk: dddd----] -> [chunk: (staged)]
 *            ^start     ^end           ^end = committed end
 *
 * A chunk is a run of pages in one of three sizes; a big write takes big chunks, so that it is one
 * copy per 64 KiB from guest memory, a small one takes a page. Chunks behind `tail` hold staged
 * bytes only and have start == end == 0.
 *
 * Freed chunks go to a small pool before they go back to the arena: a busy connection then neither
 * allocates nor zeroes pages. Old bytes in a pooled chunk are never visible, since only committed
 * bytes are ever copied out. The pool is not charged to the sandbox's buffer limit and is bounded
 * by POOL_MAX.
 */
#include "kernel/core/ring.h"

#include <errno.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/core/limits.h"

#define CLASS_COUNT 3
#define CHUNK_MAX KIB(64)

static const uint32_t class_size[CLASS_COUNT] = { KIB(4), KIB(16), KIB(64) };
static const uint32_t POOL_MAX[CLASS_COUNT] = { 32, 8, 8 };

struct ring_chunk {
	struct ring_chunk *next;
	uint8_t *data;
	uint32_t start, end; /* committed bytes */
	uint8_t size_class;
};

struct ring_pool {
	struct ring_chunk *free[CLASS_COUNT];
	uint32_t count[CLASS_COUNT];
};

static struct ring_pool *pool(void)
{
	static struct ring_pool *cached;
	if (!cached)
		cached = arena_root(ROOT_RING, sizeof(*cached));
	return cached;
}

static struct ring_chunk *chunk_fresh(unsigned size_class)
{
	struct ring_chunk *ch = knew(struct ring_chunk);
	if (!ch)
		return NULL;
	ch->data = arena_pages(class_size[size_class] / PAGE_SIZE);
	if (!ch->data) {
		kfree(ch);
		return NULL;
	}
	ch->size_class = (uint8_t)size_class;
	return ch;
}

static struct ring_chunk *chunk_new(size_t wanted)
{
	unsigned size_class = 0;
	while (size_class < CLASS_COUNT - 1 && class_size[size_class] < wanted)
		size_class++;
	if (!limit_charge(LIMIT_BUFFER_BYTES, class_size[size_class]))
		return NULL;
	struct ring_pool *p = pool();
	struct ring_chunk *ch = p ? p->free[size_class] : NULL;
	if (ch) {
		p->free[size_class] = ch->next;
		p->count[size_class]--;
		ch->next = NULL;
		ch->start = ch->end = 0;
		return ch;
	}
	ch = chunk_fresh(size_class);
	if (!ch)
		limit_release(LIMIT_BUFFER_BYTES, class_size[size_class]);
	return ch;
}

static void chunk_free(struct ring_chunk *ch)
{
	unsigned size_class = ch->size_class;
	struct ring_pool *p = pool();
	limit_release(LIMIT_BUFFER_BYTES, class_size[size_class]);
	if (p && p->count[size_class] < POOL_MAX[size_class]) {
		ch->next = p->free[size_class];
		p->free[size_class] = ch;
		p->count[size_class]++;
		return;
	}
	arena_pages_free(ch->data, class_size[size_class] / PAGE_SIZE);
	kfree(ch);
}

static void free_chain(struct ring_chunk *ch)
{
	while (ch) {
		struct ring_chunk *next = ch->next;
		chunk_free(ch);
		ch = next;
	}
}

void ring_init(struct ring *r, uint32_t capacity)
{
	*r = (struct ring){ .capacity = capacity };
}

void ring_clear(struct ring *r)
{
	free_chain(r->head);
	r->head = r->tail = NULL;
	r->size = 0;
}

/* The chunk for the next staged byte: the one after `ch`, made when missing. */
static struct ring_chunk *next_chunk(struct ring *r, struct ring_chunk *ch, size_t wanted)
{
	if (ch && ch->next)
		return ch->next;
	struct ring_chunk *fresh = chunk_new(MIN(wanted, CHUNK_MAX));
	if (!fresh)
		return NULL;
	if (ch)
		ch->next = fresh;
	else
		r->head = r->tail = fresh;
	return fresh;
}

ssize_t ring_stage(struct ring *r, struct uio *u, size_t max)
{
	size_t want = MIN(MIN(max, u->resid), ring_space(r));
	size_t done = 0;
	struct ring_chunk *ch = r->tail;
	uint32_t at = ch ? ch->end : 0;

	while (done < want) {
		if (!ch || at == class_size[ch->size_class]) {
			ch = next_chunk(r, ch, want - done);
			if (!ch)
				return done ? (ssize_t)done : -ENOBUFS;
			at = 0;
		}
		size_t n = MIN(want - done, class_size[ch->size_class] - at);
		ssize_t got = uio_get(u, ch->data + at, n);
		if (got <= 0)
			return done ? (ssize_t)done : got;
		done += (size_t)got;
		at += (uint32_t)got;
		if ((size_t)got < n)
			break;
	}
	return (ssize_t)done;
}

void ring_commit(struct ring *r, size_t count)
{
	struct ring_chunk *ch = r->tail;
	while (ch && count) {
		uint32_t n = (uint32_t)MIN(count, class_size[ch->size_class] - ch->end);
		ch->end += n;
		r->size += n;
		count -= n;
		r->tail = ch;
		ch = ch->next;
	}
	if (!r->tail)
		return;
	free_chain(r->tail->next);
	r->tail->next = NULL;
	if (!r->size)
		ring_clear(r);
}

ssize_t ring_peek(const struct ring *r, size_t offset, struct uio *u, size_t max)
{
	if (offset >= r->size)
		return 0;
	size_t want = MIN(MIN(max, u->resid), r->size - offset);
	size_t done = 0;

	for (const struct ring_chunk *ch = r->head; ch && done < want; ch = ch->next) {
		uint32_t filled = ch->end - ch->start;
		if (offset >= filled) {
			offset -= filled;
			continue;
		}
		size_t n = MIN(want - done, filled - offset);
		ssize_t put = uio_put(u, ch->data + ch->start + offset, n);
		if (put <= 0)
			return done ? (ssize_t)done : put;
		done += (size_t)put;
		offset = 0;
		if ((size_t)put < n)
			break;
	}
	return (ssize_t)done;
}

void ring_consume(struct ring *r, size_t count)
{
	count = MIN(count, r->size);
	r->size -= (uint32_t)count;
	if (!r->size) {
		ring_clear(r);
		return;
	}
	while (count) {
		struct ring_chunk *ch = r->head;
		uint32_t n = (uint32_t)MIN(count, ch->end - ch->start);
		ch->start += n;
		count -= n;
		if (ch->start == ch->end && ch != r->tail) {
			r->head = ch->next;
			chunk_free(ch);
		}
	}
}
