#include "server/api/json.h"

#include <stdio.h>
#include <string.h>

/* Past the string that begins at `at`; size = it does not end. */
static size_t skip_string(const uint8_t *data, size_t size, size_t at)
{
	for (at++; at < size && data[at] != '"'; at++) {
		if (data[at] == '\\')
			at++;
	}
	return at < size ? at : size;
}

/* What is no JSON is counted somehow: the parser stops at it. */
bool json_is_modest(const uint8_t *data, size_t size)
{
	size_t depth = 0, values = 1;

	for (size_t at = 0; at < size; at++) {
		switch (data[at]) {
		case '"':
			at = skip_string(data, size, at);
			break;
		case '[':
		case '{':
			depth++;
			values++;
			break;
		case ']':
		case '}':
			depth -= depth > 0;
			break;
		case ',':
			values++;
			break;
		default:
			break;
		}
		if (depth > JSON_DEPTH_MAX || values > JSON_VALUES_MAX)
			return false;
	}
	return true;
}

json_t *json_parse(const uint8_t *data, size_t size, size_t flags, json_error_t *ret_error)
{
	if (json_is_modest(data, size))
		return json_loadb((const char *)data, size, flags, ret_error);
	memset(ret_error, 0, sizeof(*ret_error));
	snprintf(ret_error->text, sizeof(ret_error->text), "more than %d values, or deeper than %d",
		 JSON_VALUES_MAX, JSON_DEPTH_MAX);
	return NULL;
}
