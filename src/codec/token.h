/* Character classes of HTTP (RFC 9110) and URLs (RFC 3986). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CHAR_TOKEN = 1 << 0,  /* tchar: names, methods */
	CHAR_VALUE = 1 << 1,  /* in a field's value: visible, space, tab, 0x80 and above */
	CHAR_TARGET = 1 << 2, /* in a request target: visible ASCII but # */
	CHAR_HOST = 1 << 3,   /* in a registered name: letters, digits, - . _ ~ */
	CHAR_DIGIT = 1 << 4,
	CHAR_HEX = 1 << 5,
	CHAR_PLAIN = 1 << 6, /* unreserved: never needs percent-encoding */
};

extern const uint8_t char_classes[256];

static inline bool char_is(char c, unsigned classes)
{
	return char_classes[(uint8_t)c] & classes;
}

/* Every byte is of a class, and there is at least one. */
bool text_is(const char *s, size_t size, unsigned classes);

static inline char char_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

void text_lower(char *s, size_t size);
/* Compares without regard to the case of ASCII letters; `lower` is lower-case. */
bool text_equals(const char *s, size_t size, const char *lower);
/* 0 to 15, -1 = no hexadecimal digit. */
int char_hex_value(char c);
/* Decimal digits only, no sign; -EINVAL, -ERANGE if over `max`. */
int text_number(const char *s, size_t size, uint64_t max, uint64_t *ret);
/*
 * Elements of a comma-separated list, without the white space around them; empty ones are skipped.
 * Start with *at = 0. False at the end.
 */
bool text_list_next(const char *s, size_t size, size_t *at, const char **ret, size_t *ret_size);
/* Whether such a list has that element, in any case. */
bool text_list_has(const char *s, const char *lower);
