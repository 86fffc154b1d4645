/* Dates of HTTP, "Sun, 06 Nov 1994 08:49:37 GMT". */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HTTP_DATE_SIZE 30 /* with the NUL */

/* Seconds since 1970; years 1970 to 9999, others are cut to that. */
void http_date_format(int64_t time, char out[static HTTP_DATE_SIZE]);
/* This form only, not the two obsolete ones. -EINVAL. */
int http_date_parse(const char *s, int64_t *ret);
