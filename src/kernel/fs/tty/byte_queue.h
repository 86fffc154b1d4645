/*
 * A ring of bytes in fixed storage. Bytes can be staged behind the queue's end: they are invisible
 * until committed, and a new staging starts over (answers can get lost, see core/call.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/util.h"

struct byte_queue {
	uint8_t *data; /* the owner's storage */
	uint32_t size;
	uint32_t start, count;
	uint32_t staged;
};

static inline void byte_queue_init(struct byte_queue *q, void *storage, uint32_t size)
{
	*q = (struct byte_queue){ .data = storage, .size = size };
}

/* Room for staging, after what is staged already. */
static inline uint32_t byte_queue_room(const struct byte_queue *q)
{
	return q->size - q->count - q->staged;
}

static inline void byte_queue_clear(struct byte_queue *q)
{
	q->start = q->count = q->staged = 0;
}

/* Keeps only the oldest `count` bytes. */
static inline void byte_queue_truncate(struct byte_queue *q, uint32_t count)
{
	q->staged = 0;
	q->count = MIN(q->count, count);
}

static inline void byte_queue_stage_reset(struct byte_queue *q)
{
	q->staged = 0;
}

/* The caller checked the room. */
static inline void byte_queue_stage(struct byte_queue *q, uint8_t c)
{
	uint32_t at = q->start + q->count + q->staged;

	q->data[at >= q->size ? at - q->size : at] = c;
	q->staged++;
}

/* Stages as much as fits; returns the count. */
static inline uint32_t byte_queue_stage_bytes(struct byte_queue *q, const void *bytes, size_t count)
{
	uint32_t n = (uint32_t)MIN((size_t)byte_queue_room(q), count);
	uint32_t at = (q->start + q->count + q->staged) % q->size;
	uint32_t first = MIN(n, q->size - at);

	memcpy(q->data + at, bytes, first);
	memcpy(q->data, (const uint8_t *)bytes + first, n - first);
	q->staged += n;
	return n;
}

/* Makes the first `count` staged bytes visible and forgets the others. */
static inline void byte_queue_commit(struct byte_queue *q, uint32_t count)
{
	q->count += MIN(count, q->staged);
	q->staged = 0;
}

/* Adds one byte at once; false when full. Must not be mixed with a staging under way. */
static inline bool byte_queue_put(struct byte_queue *q, uint8_t c)
{
	if (q->count == q->size)
		return false;
	byte_queue_stage(q, c);
	byte_queue_commit(q, 1);
	return true;
}

/* The contiguous bytes `offset` behind the front. */
static inline const uint8_t *byte_queue_peek(const struct byte_queue *q, uint32_t offset,
					     uint32_t *ret_count)
{
	uint32_t at = (q->start + offset) % q->size;

	*ret_count = offset >= q->count ? 0 : MIN(q->count - offset, q->size - at);
	return q->data + at;
}

static inline void byte_queue_drop(struct byte_queue *q, uint32_t count)
{
	count = MIN(count, q->count);
	q->start = (q->start + count) % q->size;
	q->count -= count;
	if (!q->count && !q->staged)
		q->start = 0; /* stay in the first pages */
}
