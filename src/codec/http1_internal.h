/* Between the files of the HTTP/1.1 head parser. */
#pragma once

#include "codec/http1.h"

/* The next line, NUL-terminated instead of its CR; NULL if there is none. */
char *http1_next_line(char **at, char *end, size_t *ret_size);
/* Fields and the empty line, up to `end` exactly. */
int http1_parse_fields(char *at, char *end, struct http1_fields *fields, const char **ret_why);
/* What the fields say; also marks the fields that are hop-by-hop. */
int http1_parse_framing(struct http1_fields *fields, struct http1_framing *ret,
			const char **ret_why);
