#include "codec/token.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"

#define T  CHAR_TOKEN
#define V  CHAR_VALUE
#define R  CHAR_TARGET
#define H  CHAR_HOST
#define D  CHAR_DIGIT
#define X  CHAR_HEX
#define P  CHAR_PLAIN
#define TV (T | V | R)
#define VR (V | R)
#define DD (T | V | R | H | D | X | P)
#define HX (T | V | R | H | X | P)
#define AL (T | V | R | H | P)

/* clang-format off */
const uint8_t char_classes[256] = {
	0, 0, 0, 0, 0, 0, 0, 0,
	0, V, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0,
	V, TV, VR, T | V, TV, TV, TV, TV,
	VR, VR, TV, TV, VR, AL, AL, VR,
	DD, DD, DD, DD, DD, DD, DD, DD,
	DD, DD, VR, VR, VR, VR, VR, VR,
	VR, HX, HX, HX, HX, HX, HX, AL,
	AL, AL, AL, AL, AL, AL, AL, AL,
	AL, AL, AL, AL, AL, AL, AL, AL,
	AL, AL, AL, VR, VR, VR, TV, AL,
	TV, HX, HX, HX, HX, HX, HX, AL,
	AL, AL, AL, AL, AL, AL, AL, AL,
	AL, AL, AL, AL, AL, AL, AL, AL,
	AL, AL, AL, VR, TV, VR, AL, 0,
	V, V, V, V, V, V, V, V,
	V, V, V, V, V, V, V, V,
	V, V, V, V, V, V, V, V,
	V, V, V, V, V, V, V, V,
	V, V, V, V, V, V, V, V,
	V, V, V, V, V, V, V, V,
	V, V, V, V, V, V, V, V,
	V, V, V, V, V, V, V, V,
	V, V, V, V, V, V, V, V,
	V, V, V, V, V, V, V, V,
	V, V, V, V, V, V, V, V,
	V, V, V, V, V, V, V, V,
	V, V, V, V, V, V, V, V,
	V, V, V, V, V, V, V, V,
	V, V, V, V, V, V, V, V,
	V, V, V, V, V, V, V, V,
};
/* clang-format on */

#undef T
#undef V
#undef R
#undef H
#undef D
#undef X
#undef P

bool text_is(const char *s, size_t size, unsigned classes)
{
	for (size_t i = 0; i < size; i++)
		if (!char_is(s[i], classes))
			return false;
	return size > 0;
}

void text_lower(char *s, size_t size)
{
	for (size_t i = 0; i < size; i++)
		s[i] = char_lower(s[i]);
}

bool text_equals(const char *s, size_t size, const char *lower)
{
	for (size_t i = 0; i < size; i++)
		if (!lower[i] || char_lower(s[i]) != lower[i])
			return false;
	return lower[size] == '\0';
}

int char_hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = char_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int text_number(const char *s, size_t size, uint64_t max, uint64_t *ret)
{
	uint64_t v = 0;
	if (!text_is(s, size, CHAR_DIGIT))
		return -EINVAL;
	for (size_t i = 0; i < size; i++) {
		uint64_t digit = (uint64_t)(s[i] - '0');
		if (v > (max - MIN(digit, max)) / 10 || digit > max)
			return -ERANGE;
		v = v * 10 + digit;
	}
	*ret = v;
	return 0;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

bool text_list_next(const char *s, size_t size, size_t *at, const char **ret, size_t *ret_size)
{
	while (*at < size) {
		size_t start = *at, end = start;
		while (end < size && s[end] != ',')
			end++;
		*at = end + 1;
		while (start < end && is_space(s[start]))
			start++;
		while (end > start && is_space(s[end - 1]))
			end--;
		if (start == end)
			continue;
		*ret = s + start;
		*ret_size = end - start;
		return true;
	}
	return false;
}

bool text_list_has(const char *s, const char *lower)
{
	const char *element;
	size_t at = 0, size, all = strlen(s);
	while (text_list_next(s, all, &at, &element, &size))
		if (text_equals(element, size, lower))
			return true;
	return false;
}
