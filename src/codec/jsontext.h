/*
 * JSON text (RFC 8259) of strangers that is passed on without being taken apart: whether it is JSON,
 * and the same value on one line of pure ASCII.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSONTEXT_DEPTH_MAX 128

/* One value with nothing but white space around it, valid UTF-8, not nested deeper than that. */
bool jsontext_valid(const uint8_t *data, size_t size);
/*
 * Writes a piece of a text that jsontext_valid() has accepted; at most JSONTEXT_ASCII_MAX bytes for one
 * of input. *at moves behind what was taken, which is never in the middle of a character. Returns the
 * length written; `room` must be JSONTEXT_ASCII_MAX or more.
 */
#define JSONTEXT_ASCII_MAX 12
size_t jsontext_ascii(const uint8_t *data, size_t size, size_t *at, char *out, size_t room);
