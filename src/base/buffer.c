#include "base/buffer.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 256

void buffer_init(struct buffer *b, size_t max)
{
	*b = (struct buffer){ .max = max };
}

void buffer_fini(struct buffer *b)
{
	if (b->data)
		free(b->data - b->taken);
	buffer_init(b, b->max);
}

/* Moves the content to the beginning of its memory. */
static void compact(struct buffer *b)
{
	uint8_t *start = b->data - b->taken;
	memmove(start, b->data, b->size + 1);
	b->data = start;
	b->room += b->taken;
	b->taken = 0;
}

int buffer_reserve(struct buffer *b, size_t more)
{
	if (more > b->max || b->size > b->max - more)
		return -EMSGSIZE;
	size_t need = b->size + more;
	if (b->data && need <= b->room)
		return 0;
	/* Moving costs `size`; it pays when at least as much was taken. */
	if (b->data && need <= b->room + b->taken && b->taken >= b->size) {
		compact(b);
		return 0;
	}
	size_t room = b->room + b->taken > FIRST_ROOM ? b->room + b->taken : FIRST_ROOM;
	while (room < need)
		room *= 2;
	if (room > b->max && need <= b->max)
		room = b->max;
	if (b->taken)
		compact(b);
	uint8_t *data = realloc(b->data, room + 1);
	if (!data)
		return -ENOMEM;
	b->data = data;
	b->room = room;
	b->data[b->size] = '\0';
	return 0;
}

int buffer_append(struct buffer *b, const void *data, size_t size)
{
	int r = buffer_reserve(b, size);
	if (r < 0)
		return r;
	if (size)
		memcpy(b->data + b->size, data, size);
	b->size += size;
	b->data[b->size] = '\0';
	return 0;
}

int buffer_text(struct buffer *b, const char *text)
{
	return buffer_append(b, text, strlen(text));
}

int buffer_printf(struct buffer *b, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int size = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (size < 0)
		return -EINVAL;
	int r = buffer_reserve(b, (size_t)size);
	if (r < 0)
		return r;
	va_start(args, format);
	(void)vsnprintf((char *)b->data + b->size, (size_t)size + 1, format, args);
	va_end(args);
	b->size += (size_t)size;
	return 0;
}

void buffer_take(struct buffer *b, size_t size)
{
	assert(size <= b->size);
	if (size == 0)
		return;
	b->data += size;
	b->size -= size;
	b->room -= size;
	b->taken += size;
	if (b->size == 0)
		compact(b);
}

void buffer_clear(struct buffer *b)
{
	buffer_take(b, b->size);
	if (b->data)
		b->data[0] = '\0';
}

uint8_t *buffer_steal(struct buffer *b, size_t *ret_size)
{
	if (b->data)
		compact(b);
	uint8_t *data = b->data;
	if (ret_size)
		*ret_size = b->size;
	buffer_init(b, b->max);
	return data;
}
