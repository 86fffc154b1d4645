/* JSON of clients, bounded in what it costs. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH_MAX	64
#define JSON_VALUES_MAX 200000

/*
 * True: parsing it makes at most JSON_VALUES_MAX values, JSON_DEPTH_MAX deep. A value costs a hundred
 * bytes of memory and may come as two of text, so that the length of the text alone bounds little.
 */
bool json_is_modest(const uint8_t *data, size_t size);

/* NULL: not JSON, or not modest; error->text says so. flags: of json_loadb(). */
json_t *json_parse(const uint8_t *data, size_t size, size_t flags, json_error_t *ret_error);
