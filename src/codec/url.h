/* Percent-encoding and query strings (RFC 3986; forms as HTML has them). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Decodes %XX into `out`, which has room for `size` bytes (it may be `s` itself); plus: + is a
 * space. The decoded size; -EILSEQ for a malformed sequence or one of a NUL.
 */
ssize_t url_decode(const char *s, size_t size, bool plus, char *out);
/* Everything but unreserved characters is encoded. `out` holds 3 * size + 1; the length. */
size_t url_encode(const char *s, size_t size, char *out);

/* Fields of a query or a form, still encoded. Start with *at = 0; false at the end. */
struct query_field {
	const char *name, *value;
	size_t name_size, value_size;
};
bool query_next(const char *query, size_t size, size_t *at, struct query_field *ret);
/* The first field whose decoded name is that. */
bool query_find(const char *query, const char *name, struct query_field *ret);
