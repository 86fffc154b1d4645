#include "base/region.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

#define BLOCK_BYTES 2032 /* with malloc's own words a quarter of two pages */
#define ALIGNMENT   16

struct region_block {
	struct region_block *next;
	size_t used, size;
	_Alignas(ALIGNMENT) unsigned char data[];
};

void region_init(struct region *r, size_t max)
{
	*r = (struct region){ .max = max };
}

void region_fini(struct region *r)
{
	for (struct region_block *b = r->blocks, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	region_init(r, r->max);
}

static struct region_block *add_block(struct region *r, size_t size)
{
	struct region_block *b = malloc(sizeof(*b) + size);
	if (!b)
		return NULL;
	b->used = 0;
	b->size = size;
	b->next = r->blocks;
	r->blocks = b;
	return b;
}

void *region_alloc(struct region *r, size_t size)
{
	if (size > r->max - r->used)
		return NULL;
	size_t need = ALIGN_UP(size, (size_t)ALIGNMENT);
	struct region_block *b = r->blocks;
	if (!b || b->size - b->used < need)
		b = add_block(r, MAX(need, BLOCK_BYTES - sizeof(*b)));
	if (!b)
		return NULL;
	void *p = b->data + b->used;
	b->used += need;
	r->used += size;
	memset(p, 0, size);
	return p;
}

char *region_text(struct region *r, const char *text, size_t size)
{
	char *p = region_alloc(r, size + 1);
	if (p)
		memcpy(p, text, size);
	return p;
}
