#include "interpreter/line.h"

#include <string.h>

#include "codec/jsontext.h"

void line_init(struct line *l, void (*output)(void *ctx, const char *data, size_t size), void *ctx)
{
	l->output = output;
	l->ctx = ctx;
	l->utf8 = (struct utf8_state){ 0 };
	l->size = 0;
}

void line_flush(struct line *l)
{
	size_t size = l->size;

	l->size = 0;
	if (size)
		l->output(l->ctx, l->buffer, size);
}

static void need(struct line *l, size_t room)
{
	if (sizeof(l->buffer) - l->size < room)
		line_flush(l);
}

static void put(struct line *l, const char *data, size_t size)
{
	while (size) {
		need(l, 1);
		size_t n = sizeof(l->buffer) - l->size;
		n = n < size ? n : size;
		memcpy(l->buffer + l->size, data, n);
		l->size += n;
		data += n;
		size -= n;
	}
}

void line_raw(struct line *l, const char *text)
{
	put(l, text, strlen(text));
}

void line_text(struct line *l, const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		need(l, UTF8_ESCAPED_MAX);
		l->size += utf8_escape(&l->utf8, data[i], l->buffer + l->size);
	}
}

void line_text_end(struct line *l)
{
	need(l, UTF8_ESCAPED_MAX);
	l->size += utf8_escape_end(&l->utf8, l->buffer + l->size);
}

void line_string(struct line *l, const char *text)
{
	put(l, "\"", 1);
	line_text(l, (const uint8_t *)text, strlen(text));
	line_text_end(l);
	put(l, "\"", 1);
}

void line_json(struct line *l, const uint8_t *data, size_t size)
{
	size_t at = 0;

	while (at < size) {
		need(l, JSONTEXT_ASCII_MAX);
		l->size += jsontext_ascii(data, size, &at, l->buffer + l->size,
					  sizeof(l->buffer) - l->size);
	}
}
