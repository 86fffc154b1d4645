#include "http/outq.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/util.h"

#define SEGMENT_BYTES 4040

struct out_segment {
	struct out_segment *next;
	size_t at, end, room;
	uint8_t data[];
};

void outq_init(struct outq *q)
{
	*q = (struct outq){ 0 };
}

void outq_fini(struct outq *q)
{
	for (struct out_segment *s = q->first, *next; s; s = next) {
		next = s->next;
		free(s);
	}
	outq_init(q);
}

static struct out_segment *add_segment(struct outq *q, size_t size)
{
	size_t room = MAX(size, SEGMENT_BYTES);
	struct out_segment *s = malloc(sizeof(*s) + room);
	if (!s)
		return NULL;
	*s = (struct out_segment){ .room = room };
	if (q->last)
		q->last->next = s;
	else
		q->first = s;
	q->last = s;
	return s;
}

static void fill(struct out_segment *s, const uint8_t **data, size_t *size)
{
	size_t n = MIN(*size, s->room - s->end);
	memcpy(s->data + s->end, *data, n);
	s->end += n;
	*data += n;
	*size -= n;
}

int outq_append(struct outq *q, const void *data, size_t size)
{
	const uint8_t *p = data;
	size_t room = q->last ? q->last->room - q->last->end : 0, all = size;
	if (size == 0)
		return 0;
	struct out_segment *old = q->last;
	if (size > room && !add_segment(q, size - room))
		return -ENOMEM;
	if (old && room)
		fill(old, &p, &size);
	if (size)
		fill(q->last, &p, &size);
	q->size += all;
	return 0;
}

size_t outq_pieces(const struct outq *q, uv_buf_t *ret, size_t max, size_t *ret_bytes)
{
	size_t count = 0, bytes = 0;
	for (struct out_segment *s = q->first; s && count < max; s = s->next) {
		if (s->end == s->at)
			continue;
		ret[count++] = uv_buf_init((char *)s->data + s->at,
					   (unsigned)MIN(s->end - s->at, INT32_MAX));
		bytes += ret[count - 1].len;
		if (s->end - s->at > INT32_MAX)
			break;
	}
	*ret_bytes = bytes;
	return count;
}

void outq_take(struct outq *q, size_t size)
{
	assert(size <= q->size);
	q->size -= size;
	while (size || (q->first && q->size == 0)) {
		struct out_segment *s = q->first;
		size_t n = MIN(size, s->end - s->at);
		s->at += n;
		size -= n;
		if (s->at < s->end)
			break;
		q->first = s->next;
		if (!q->first)
			q->last = NULL;
		free(s);
	}
}
