#include "codec/base64.h"

#include <errno.h>
#include <stdint.h>

static const char standard[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char url_safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* Value of a character plus one, 0 = none. */
static const uint8_t values[256] = {
	['A'] = 1,  ['B'] = 2,	['C'] = 3,  ['D'] = 4,	['E'] = 5,  ['F'] = 6,	['G'] = 7,
	['H'] = 8,  ['I'] = 9,	['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14,
	['O'] = 15, ['P'] = 16, ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21,
	['V'] = 22, ['W'] = 23, ['X'] = 24, ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28,
	['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32, ['g'] = 33, ['h'] = 34, ['i'] = 35,
	['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40, ['o'] = 41, ['p'] = 42,
	['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48, ['w'] = 49,
	['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
	['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63,
	['-'] = 63, ['/'] = 64, ['_'] = 64,
};

/* The digits of the last 1 or 2 bytes; the number of digits. */
static size_t encode_tail(const uint8_t *in, size_t size, const char *alphabet, char *out)
{
	uint32_t v = (uint32_t)in[0] << 16 | (size > 1 ? (uint32_t)in[1] << 8 : 0u);

	out[0] = alphabet[v >> 18];
	out[1] = alphabet[v >> 12 & 63];
	if (size == 1)
		return 2;
	out[2] = alphabet[v >> 6 & 63];
	return 3;
}

static size_t encode(const void *data, size_t size, const char *alphabet, char *out)
{
	const uint8_t *in = data;
	char *at = out;

	for (; size >= 3; in += 3, size -= 3) {
		uint32_t v = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8 | in[2];
		*at++ = alphabet[v >> 18];
		*at++ = alphabet[v >> 12 & 63];
		*at++ = alphabet[v >> 6 & 63];
		*at++ = alphabet[v & 63];
	}
	if (size)
		at += encode_tail(in, size, alphabet, at);
	*at = '\0';
	return (size_t)(at - out);
}

size_t base64_encode(const void *data, size_t size, char *out)
{
	size_t n = encode(data, size, standard, out);

	while (n % 4)
		out[n++] = '=';
	out[n] = '\0';
	return n;
}

size_t base64_encode_url(const void *data, size_t size, char *out)
{
	return encode(data, size, url_safe, out);
}

ssize_t base64_decode(const char *s, size_t size, void *out)
{
	uint8_t *at = out;
	uint32_t v = 0;
	size_t padding = 0, digits;

	while (padding < 2 && padding < size && s[size - 1 - padding] == '=')
		padding++;
	digits = size - padding;
	if (digits % 4 == 1 || (padding && size % 4 != 0))
		return -EILSEQ;
	for (size_t i = 0; i < digits; i++) {
		uint8_t digit = values[(unsigned char)s[i]];
		if (!digit)
			return -EILSEQ;
		v = v << 6 | (uint32_t)(digit - 1);
		if (i % 4 == 0)
			continue;
		*at++ = (uint8_t)(v >> (6 - 2 * (i % 4)));
	}
	return at - (uint8_t *)out;
}
