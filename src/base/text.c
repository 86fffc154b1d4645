#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void text_printf(struct text *t, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	int n = vsnprintf(t->data + t->length, t->capacity - t->length, format, ap);
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n >= t->capacity - t->length) {
		t->length = t->capacity - 1;
		t->truncated = true;
	} else {
		t->length += (size_t)n;
	}
}

void text_put(struct text *t, const char *s, size_t size)
{
	size_t room = t->capacity - 1 - t->length;
	if (size > room) {
		size = room;
		t->truncated = true;
	}
	memcpy(t->data + t->length, s, size);
	t->length += size;
	t->data[t->length] = '\0';
}
