/* Growing text buffers for generated files; see seq.h. */
#include "kernel/fs/seq.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "kernel/core/arena.h"

#define FIRST_CAPACITY 1024u

void seq_free(struct seq *s)
{
	kfree(s->data);
	*s = (struct seq){ 0 };
}

/* Room for `size` more bytes, or false. */
static bool reserve(struct seq *s, size_t size)
{
	size_t capacity = s->capacity ? s->capacity : FIRST_CAPACITY;

	if (s->error || size > SEQ_MAX_BYTES - s->size)
		return false;
	if (s->size + size <= s->capacity)
		return true;
	while (capacity < s->size + size)
		capacity *= 2;
	char *data = krealloc(s->data, s->capacity, capacity);
	if (!data) {
		s->error = -ENOMEM;
		return false;
	}
	s->data = data;
	s->capacity = capacity;
	return true;
}

void seq_bytes(struct seq *s, const void *bytes, size_t size)
{
	if (!reserve(s, size))
		return;
	memcpy(s->data + s->size, bytes, size);
	s->size += size;
}

void seq_text(struct seq *s, const char *text)
{
	seq_bytes(s, text, strlen(text));
}

void seq_printf(struct seq *s, const char *format, ...)
{
	char text[1024]; /* longer texts go through seq_text() */
	va_list args;

	va_start(args, format);
	int n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n > 0)
		seq_bytes(s, text, MIN((size_t)n, sizeof(text) - 1));
}

void seq_escaped(struct seq *s, const char *text)
{
	for (; *text; text++) {
		if (strchr(" \t\n\\#", *text))
			seq_printf(s, "\\%03o", (unsigned)(unsigned char)*text);
		else
			seq_bytes(s, text, 1);
	}
}
