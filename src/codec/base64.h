/* Base64 (RFC 4648): standard and URL-safe alphabet. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* With padding. `out` holds (size + 2) / 3 * 4 + 1; the length. */
size_t base64_encode(const void *data, size_t size, char *out);
/* URL-safe, without padding. */
size_t base64_encode_url(const void *data, size_t size, char *out);
/*
 * Either alphabet, with or without padding, no white space. `out` holds size / 4 * 3 + 3 and may be
 * `s` itself. The size; -EILSEQ.
 */
ssize_t base64_decode(const char *s, size_t size, void *out);
