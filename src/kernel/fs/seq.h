/*
 * A growing text buffer in the arena for generated files (/proc, /sys, fdinfo). Failures are
 * remembered: a generator writes on and the reader of the buffer looks at `error` once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SEQ_MAX_BYTES (8u << 20) /* what lies beyond is cut off */

struct seq {
	char *data;
	size_t size, capacity;
	int error; /* -ENOMEM */
};

void seq_free(struct seq *s); /* frees the text, not the record */
void seq_bytes(struct seq *s, const void *bytes, size_t size);
void seq_text(struct seq *s, const char *text);
void seq_printf(struct seq *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Text with white space, backslash and '#' as \ooo: names in /proc/mounts. */
void seq_escaped(struct seq *s, const char *text);
