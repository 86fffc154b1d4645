/*
 * Text built in a buffer of the caller's, no heap. Always NUL-terminated; what does not fit is cut
 * and remembered in `truncated`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct text {
	char *data;
	size_t capacity, length;
	bool truncated;
};

/* clang-format off */
#define TEXT_INIT(buffer) { (buffer), sizeof(buffer), 0, false }

__attribute__((format(printf, 2, 3))) void text_printf(struct text *t, const char *format, ...);
void text_put(struct text *t, const char *s, size_t size);
