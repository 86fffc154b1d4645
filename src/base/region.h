/* Memory that is freed all at once: small pieces from blocks, with a limit for their sum. */
#pragma once

#include <stddef.h>

struct region_block;

struct region {
	struct region_block *blocks; /* the newest first */
	size_t used, max;
};

void region_init(struct region *r, size_t max);
void region_fini(struct region *r);
/* Zeroed, aligned for anything; NULL = out of memory or over the limit. */
void *region_alloc(struct region *r, size_t size);
/* Copy of `size` bytes with a NUL behind them. */
char *region_text(struct region *r, const char *text, size_t size);
