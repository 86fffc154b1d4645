/* Bytes waiting to be written: a list of segments that do not move while the kernel reads them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct uv_buf_t uv_buf_t;
struct out_segment;

struct outq {
	struct out_segment *first, *last;
	size_t size;
};

void outq_init(struct outq *q);
void outq_fini(struct outq *q);
/* -ENOMEM: nothing was appended. */
int outq_append(struct outq *q, const void *data, size_t size);
/* Up to `max` pieces from the front; their count. */
size_t outq_pieces(const struct outq *q, uv_buf_t *ret, size_t max, size_t *ret_bytes);
void outq_take(struct outq *q, size_t size);
