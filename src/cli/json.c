#include "cli/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "base/util.h"

void json_init(struct json *j, int fd)
{
	j->fd = fd;
	j->error = 0;
	j->depth = 0;
	j->used = 0;
	j->length = 0;
}

static void flush(struct json *j)
{
	if (j->length && !j->error)
		j->error = io_write_all(j->fd, j->buffer, j->length);
	j->length = 0;
}

static void put(struct json *j, const char *s, size_t size)
{
	while (size > 0) {
		if (j->length == sizeof(j->buffer))
			flush(j);
		size_t n = MIN(size, sizeof(j->buffer) - j->length);
		memcpy(j->buffer + j->length, s, n);
		j->length += n;
		s += n;
		size -= n;
	}
}

static void puts_(struct json *j, const char *s)
{
	put(j, s, strlen(s));
}

static void newline(struct json *j)
{
	puts_(j, "\n");
	for (unsigned int i = 0; i < j->depth; i++)
		puts_(j, "  ");
}

/* Length of the UTF-8 sequence at p, 0 when it is not one (overlong, surrogate, cut). */
static size_t utf8_length(const unsigned char *p)
{
	if (p[0] < 0x80)
		return 1;
	size_t n = p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc2 ? 2 : 0;
	if (p[0] >= 0xf5 || n == 0)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

static void put_quoted(struct json *j, const char *s)
{
	puts_(j, "\"");
	while (*s) {
		const unsigned char *u = (const unsigned char *)s;
		size_t n = utf8_length(u);
		if (*s == '"' || *s == '\\') {
			char two[2] = { '\\', *s };
			put(j, two, 2);
		} else if (*u < 0x20 || *u == 0x7f) {
			char escape[8];
			snprintf(escape, sizeof(escape), "\\u%04x", *u);
			puts_(j, escape);
		} else if (n == 0) {
			puts_(j, "\\ufffd");
		} else {
			put(j, s, n);
		}
		s += n ? n : 1;
	}
	puts_(j, "\"");
}

static void begin_value(struct json *j, const char *key)
{
	if (j->depth) {
		if (j->used & (1u << j->depth))
			puts_(j, ",");
		j->used |= 1u << j->depth;
		newline(j);
	}
	if (key) {
		put_quoted(j, key);
		puts_(j, ": ");
	}
}

static void open_level(struct json *j, const char *key, const char *bracket)
{
	begin_value(j, key);
	puts_(j, bracket);
	j->depth++;
	j->used &= ~(1u << j->depth);
}

static void close_level(struct json *j, const char *bracket)
{
	bool used = j->used & (1u << j->depth);
	j->depth--;
	if (used)
		newline(j);
	puts_(j, bracket);
}

void json_object_begin(struct json *j, const char *key)
{
	open_level(j, key, "{");
}

void json_object_end(struct json *j)
{
	close_level(j, "}");
}

void json_array_begin(struct json *j, const char *key)
{
	open_level(j, key, "[");
}

void json_array_end(struct json *j)
{
	close_level(j, "]");
}

void json_string(struct json *j, const char *key, const char *value)
{
	if (!value) {
		json_null(j, key);
		return;
	}
	begin_value(j, key);
	put_quoted(j, value);
}

static void put_raw(struct json *j, const char *key, const char *text)
{
	begin_value(j, key);
	puts_(j, text);
}

void json_uint(struct json *j, const char *key, uint64_t value)
{
	char number[32];
	snprintf(number, sizeof(number), "%" PRIu64, value);
	put_raw(j, key, number);
}

void json_int(struct json *j, const char *key, int64_t value)
{
	char number[32];
	snprintf(number, sizeof(number), "%" PRId64, value);
	put_raw(j, key, number);
}

void json_bool(struct json *j, const char *key, bool value)
{
	put_raw(j, key, value ? "true" : "false");
}

void json_null(struct json *j, const char *key)
{
	put_raw(j, key, "null");
}

void json_ms(struct json *j, const char *key, uint64_t ns)
{
	char number[48];
	snprintf(number, sizeof(number), "%llu.%03llu", (unsigned long long)(ns / NSEC_PER_MSEC),
		 (unsigned long long)(ns % NSEC_PER_MSEC / NSEC_PER_USEC));
	put_raw(j, key, number);
}

int json_finish(struct json *j)
{
	puts_(j, "\n");
	flush(j);
	return j->error;
}
