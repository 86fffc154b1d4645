/*
 * A bounded byte queue for streams (sockets, pipes), made of chunks that are allocated when data
 * arrives and given back when it was read: an idle ring owns no memory.
 *
 * Both directions are split in a move and its effect, as fs/file.h demands:
 *   ring_stage()  copies bytes in behind the committed end;   ring_commit() makes them readable
 *   ring_peek()   copies bytes out and leaves them in place;  ring_consume() takes them away
 * What was staged and never committed is overwritten or dropped by the next operation.
 *
 * Memory is charged to LIMIT_BUFFER_BYTES by chunk.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel/core/user.h"

struct ring_chunk;

struct ring {
	uint32_t capacity;	 /* most committed bytes */
	uint32_t size;		 /* committed bytes */
	struct ring_chunk *head; /* oldest; NULL = no chunk */
	struct ring_chunk *tail; /* holds the committed end; chunks behind it are staged only */
};

void ring_init(struct ring *r, uint32_t capacity);
/* Drops all content and memory. */
void ring_clear(struct ring *r);

static inline uint32_t ring_space(const struct ring *r)
{
	return r->size >= r->capacity ? 0 : r->capacity - r->size;
}

/*
 * Moves up to `max` bytes of `u` in. Returns the count, 0 when the ring is full, -EFAULT, or
 * -ENOBUFS when no memory can be had for even one byte.
 */
ssize_t ring_stage(struct ring *r, struct uio *u, size_t max);
void ring_commit(struct ring *r, size_t count);

/* Copies out up to `max` bytes from `offset` bytes behind the oldest. Count (0: empty) or -EFAULT. */
ssize_t ring_peek(const struct ring *r, size_t offset, struct uio *u, size_t max);
void ring_consume(struct ring *r, size_t count);
