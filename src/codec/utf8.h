/*
 * UTF-8 of strangers made into JSON strings of pure ASCII: control characters, quotes and everything
 * behind ASCII as escapes, what is not UTF-8 (RFC 3629: no surrogates, nothing overlong) as U+FFFD.
 * Input comes in pieces of any size.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A character that is not complete yet. All zero = none. */
struct utf8_state {
	uint32_t value;
	uint8_t left;	   /* continuation bytes that miss */
	uint8_t low, high; /* what the next one must be */
};

/* The most that one byte of input, or a flush, adds to the output: two escapes. */
#define UTF8_ESCAPED_MAX 12

/*
 * Takes one byte; writes what is known now to `out`, and returns how much that is (0 to
 * UTF8_ESCAPED_MAX).
 */
size_t utf8_escape(struct utf8_state *s, uint8_t byte, char out[UTF8_ESCAPED_MAX]);
/* The input ends here: U+FFFD for a character that was cut. */
size_t utf8_escape_end(struct utf8_state *s, char out[UTF8_ESCAPED_MAX]);
/* One step of decoding: 1 = *ret is a character, 0 = more is needed, -1 = not UTF-8. After -1 with
 * *ret_again the byte begins something else and must be given once more. */
int utf8_step(struct utf8_state *s, uint8_t byte, uint32_t *ret, bool *ret_again);
