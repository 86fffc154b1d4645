/*
 * Writes lines of JSON objects in pieces, through a small buffer, to one function. Internal to the
 * interpreter: stream.h is its interface.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/utf8.h"

#define LINE_BUFFER_SIZE (8u << 10)

struct line {
	void (*output)(void *ctx, const char *data, size_t size);
	void *ctx;
	struct utf8_state utf8; /* of the text that is being written */
	size_t size;
	char buffer[LINE_BUFFER_SIZE];
};

void line_init(struct line *l, void (*output)(void *ctx, const char *data, size_t size), void *ctx);
/* As it is: JSON of ours. */
void line_raw(struct line *l, const char *text);
/* A piece of a JSON string, escaped; characters may be split between pieces. */
void line_text(struct line *l, const uint8_t *data, size_t size);
/* The end of that string's content: a cut character becomes U+FFFD. */
void line_text_end(struct line *l);
/* A whole string with its quotes. */
void line_string(struct line *l, const char *text);
/* JSON that jsontext_valid() accepted. */
void line_json(struct line *l, const uint8_t *data, size_t size);
/* Gives what is buffered to the function. */
void line_flush(struct line *l);
