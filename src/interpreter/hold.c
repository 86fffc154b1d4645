#include "interpreter/hold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "interpreter/line.h"
#include "interpreter/stream.h"

#define FIRST_CAPACITY 4096u

static bool reserve(struct stream_budget *budget, size_t size)
{
	for (const struct stream_budget *b = budget; b; b = b->parent) {
		if (b->held > b->max || size > b->max - b->held)
			return false;
	}
	for (struct stream_budget *b = budget; b; b = b->parent)
		b->held += size;
	return true;
}

static void release(struct stream_budget *budget, size_t size)
{
	for (struct stream_budget *b = budget; b; b = b->parent)
		b->held -= size;
}

void hold_init(struct hold *h, struct stream_budget *budget)
{
	*h = (struct hold){ .budget = budget };
}

void hold_clear(struct hold *h)
{
	release(h->budget, h->capacity);
	free(h->data);
	hold_init(h, h->budget);
}

static int grow(struct hold *h, size_t wanted)
{
	size_t capacity = h->capacity ? h->capacity : FIRST_CAPACITY;

	while (capacity < wanted)
		capacity *= 2;
	if (capacity == h->capacity)
		return 0;
	size_t more = capacity - h->capacity;
	if (!reserve(h->budget, more))
		return -ENOMEM;
	uint8_t *data = realloc(h->data, capacity);
	if (!data) {
		release(h->budget, more);
		return -ENOMEM;
	}
	h->data = data;
	h->capacity = capacity;
	return 0;
}

int hold_add(struct hold *h, const uint8_t *data, size_t size, size_t max)
{
	if (size > max || h->size > max - size)
		return -EMSGSIZE;
	int r = grow(h, h->size + size);
	if (r < 0)
		return r;
	memcpy(h->data + h->size, data, size);
	h->size += size;
	return 0;
}

/* ---- members of an object ---- */

struct member {
	struct hold *into;
	size_t max;
	int error;
};

static void add_output(void *ctx, const char *data, size_t size)
{
	struct member *m = ctx;

	if (m->error == 0)
		m->error = hold_add(m->into, (const uint8_t *)data, size, m->max);
}

int hold_add_extra(struct hold *h, const char *type, bool is_json, const struct hold *value,
		   size_t max)
{
	struct member m = { .into = h, .max = max };
	size_t before = h->size;
	struct line *l = malloc(sizeof(*l));

	if (!l)
		return -ENOMEM;
	line_init(l, add_output, &m);
	if (before)
		line_raw(l, ",");
	line_string(l, type);
	line_raw(l, ":");
	if (is_json) {
		line_json(l, value->data, value->size);
	} else {
		line_raw(l, "\"");
		line_text(l, value->data, value->size);
		line_text_end(l);
		line_raw(l, "\"");
	}
	line_flush(l);
	free(l);
	if (m.error < 0)
		h->size = before;
	return m.error;
}
