#include "codec/range.h"

#include <stdbool.h>
#include <string.h>

/* Digits up to the first other character; saturates. False: there are none. */
static bool read_number(const char **at, uint64_t *ret)
{
	const char *start = *at;

	*ret = 0;
	for (; **at >= '0' && **at <= '9'; (*at)++) {
		if (__builtin_mul_overflow(*ret, 10u, ret) ||
		    __builtin_add_overflow(*ret, (uint64_t)(**at - '0'), ret))
			*ret = UINT64_MAX / 16;
	}
	return *at > start;
}

enum range_result range_parse(const char *header, uint64_t size, uint64_t *ret_first,
			      uint64_t *ret_length)
{
	uint64_t first, last;

	if (!header || strncmp(header, "bytes=", 6) != 0)
		return RANGE_NONE;
	const char *at = header + 6;
	bool has_first = read_number(&at, &first);
	if (*at++ != '-')
		return RANGE_NONE;
	bool has_last = read_number(&at, &last);
	if (*at || (!has_first && !has_last) || (has_first && has_last && last < first))
		return RANGE_NONE;
	if (!has_first) { /* the last so many bytes */
		if (last == 0 || size == 0)
			return RANGE_UNSATISFIABLE;
		*ret_length = last < size ? last : size;
		*ret_first = size - *ret_length;
		return RANGE_ONE;
	}
	if (first >= size)
		return RANGE_UNSATISFIABLE;
	*ret_first = first;
	*ret_length = has_last && last < size ? last - first + 1 : size - first;
	return RANGE_ONE;
}
