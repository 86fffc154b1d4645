#include "codec/url.h"

#include <errno.h>
#include <string.h>

#include "codec/token.h"

ssize_t url_decode(const char *s, size_t size, bool plus, char *out)
{
	size_t n = 0;
	for (size_t i = 0; i < size; i++) {
		char c = s[i];
		if (c == '%') {
			int high = i + 2 < size ? char_hex_value(s[i + 1]) : -1;
			int low = i + 2 < size ? char_hex_value(s[i + 2]) : -1;
			if (high < 0 || low < 0 || (high | low) == 0)
				return -EILSEQ;
			c = (char)(high << 4 | low);
			i += 2;
		} else if (c == '+' && plus) {
			c = ' ';
		}
		out[n++] = c;
	}
	return (ssize_t)n;
}

size_t url_encode(const char *s, size_t size, char *out)
{
	static const char digits[] = "0123456789ABCDEF";
	size_t n = 0;
	for (size_t i = 0; i < size; i++) {
		if (char_is(s[i], CHAR_PLAIN)) {
			out[n++] = s[i];
			continue;
		}
		out[n++] = '%';
		out[n++] = digits[(unsigned char)s[i] >> 4];
		out[n++] = digits[s[i] & 15];
	}
	out[n] = '\0';
	return n;
}

bool query_next(const char *query, size_t size, size_t *at, struct query_field *ret)
{
	while (*at < size) {
		const char *start = query + *at;
		const char *end = memchr(start, '&', size - *at);
		size_t all = end ? (size_t)(end - start) : size - *at;
		*at += all + 1;
		if (all == 0)
			continue;
		const char *equals = memchr(start, '=', all);
		ret->name = start;
		ret->name_size = equals ? (size_t)(equals - start) : all;
		ret->value = equals ? equals + 1 : start + all;
		ret->value_size = all - ret->name_size - (equals ? 1 : 0);
		return true;
	}
	return false;
}

/* Compares without memory for the decoded name. */
static bool name_is(const struct query_field *f, const char *name)
{
	size_t size = strlen(name), at = 0;
	for (size_t i = 0; i < f->name_size; i++, at++) {
		size_t step = f->name[i] == '%' && f->name_size - i >= 3 ? 3 : 1;
		char decoded[3];
		if (at == size || url_decode(f->name + i, step, true, decoded) != 1 ||
		    decoded[0] != name[at])
			return false;
		i += step - 1;
	}
	return at == size;
}

bool query_find(const char *query, const char *name, struct query_field *ret)
{
	size_t at = 0, size = strlen(query);
	while (query_next(query, size, &at, ret))
		if (name_is(ret, name))
			return true;
	return false;
}
