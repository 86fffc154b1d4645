/* The Range field of HTTP (RFC 9110, 14.2): one range of bytes. */
#pragma once

#include <stdint.h>

enum range_result {
	RANGE_NONE,	     /* none, several, or not understood: the whole thing is to be sent */
	RANGE_ONE,	     /* *ret_first and *ret_length (at least 1) are set */
	RANGE_UNSATISFIABLE, /* behind the end: 416 */
};

/* header NULL = none. */
enum range_result range_parse(const char *header, uint64_t size, uint64_t *ret_first,
			      uint64_t *ret_length);
