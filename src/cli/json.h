/*
 * A JSON writer without heap: values are written as they come, commas and indentation are kept by
 * the writer. Text that is not UTF-8 comes out with U+FFFD, so the result is always valid JSON.
 * `key` is NULL inside arrays.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json {
	int fd;
	int error; /* first write error, -errno */
	unsigned int depth;
	uint32_t used; /* bit per depth: something was written there already */
	size_t length;
	char buffer[4096];
};

void json_init(struct json *j, int fd);
/* Final newline and flush. 0 or the first -errno. */
int json_finish(struct json *j);

void json_object_begin(struct json *j, const char *key);
void json_object_end(struct json *j);
void json_array_begin(struct json *j, const char *key);
void json_array_end(struct json *j);
void json_string(struct json *j, const char *key, const char *value); /* NULL = null */
void json_uint(struct json *j, const char *key, uint64_t value);
void json_int(struct json *j, const char *key, int64_t value);
void json_bool(struct json *j, const char *key, bool value);
void json_null(struct json *j, const char *key);
/* Nanoseconds as milliseconds with three decimals. */
void json_ms(struct json *j, const char *key, uint64_t ns);
