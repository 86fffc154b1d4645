/*
 * Bytes that grow, up to a limit given at birth. Behind the content there is always a NUL, so text
 * can be used as a string. Taking from the front is cheap: the content moves only when room is
 * needed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct buffer {
	uint8_t *data; /* never NULL after the first append */
	size_t size;
	size_t room;  /* allocated bytes behind `data`, the NUL not counted */
	size_t taken; /* bytes taken from the front, still allocated */
	size_t max;
};

/* No memory is taken yet. */
void buffer_init(struct buffer *b, size_t max);
/* Frees the memory; the buffer is empty and may be used again with the same limit. */
void buffer_fini(struct buffer *b);
/* Room for `more` bytes behind the content. -EMSGSIZE over the limit, -ENOMEM. */
int buffer_reserve(struct buffer *b, size_t more);
/* The same errors; nothing is appended then. */
int buffer_append(struct buffer *b, const void *data, size_t size);
int buffer_text(struct buffer *b, const char *text);
__attribute__((format(printf, 2, 3))) int buffer_printf(struct buffer *b, const char *format, ...);
/* Drops bytes from the front, at most all. */
void buffer_take(struct buffer *b, size_t size);
/* Empty, memory is kept. */
void buffer_clear(struct buffer *b);
/* The memory for free(), and the buffer is empty. NULL if it never held anything. */
uint8_t *buffer_steal(struct buffer *b, size_t *ret_size);
