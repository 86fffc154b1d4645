#include "codec/utf8.h"

#include <string.h>

#define REPLACEMENT 0xfffdu

/* ---- decoding ---- */

/* Table 3-7 of the Unicode standard: which second byte may follow which first one. */
static int first_byte(struct utf8_state *s, uint8_t byte, uint32_t *ret)
{
	s->low = 0x80;
	s->high = 0xbf;
	if (byte < 0x80) {
		*ret = byte;
		return 1;
	}
	if (byte < 0xc2 || byte > 0xf4)
		return -1;
	if (byte < 0xe0) {
		s->left = 1;
		s->value = byte & 0x1fu;
	} else if (byte < 0xf0) {
		s->left = 2;
		s->value = byte & 0x0fu;
		s->low = byte == 0xe0 ? 0xa0 : 0x80;
		s->high = byte == 0xed ? 0x9f : 0xbf;
	} else {
		s->left = 3;
		s->value = byte & 0x07u;
		s->low = byte == 0xf0 ? 0x90 : 0x80;
		s->high = byte == 0xf4 ? 0x8f : 0xbf;
	}
	return 0;
}

int utf8_step(struct utf8_state *s, uint8_t byte, uint32_t *ret, bool *ret_again)
{
	*ret_again = false;
	if (!s->left)
		return first_byte(s, byte, ret);
	if (byte < s->low || byte > s->high) {
		s->left = 0;
		*ret_again = true;
		return -1;
	}
	s->low = 0x80;
	s->high = 0xbf;
	s->value = s->value << 6 | (byte & 0x3fu);
	if (--s->left)
		return 0;
	*ret = s->value;
	return 1;
}

/* ---- escaping ---- */

static size_t put_unit(uint32_t unit, char *out)
{
	static const char digits[] = "0123456789abcdef";

	out[0] = '\\';
	out[1] = 'u';
	for (int i = 0; i < 4; i++)
		out[2 + i] = digits[unit >> (12 - 4 * i) & 15u];
	return 6;
}

static size_t put_short(char c, char *out)
{
	out[0] = '\\';
	out[1] = c;
	return 2;
}

static size_t put_character(uint32_t c, char *out)
{
	switch (c) {
	case '"':
	case '\\':
		return put_short((char)c, out);
	case '\n':
		return put_short('n', out);
	case '\r':
		return put_short('r', out);
	case '\t':
		return put_short('t', out);
	default:
		break;
	}
	if (c >= 0x20 && c < 0x7f) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x10000)
		return put_unit(c, out);
	c -= 0x10000;
	size_t n = put_unit(0xd800 + (c >> 10), out);
	return n + put_unit(0xdc00 + (c & 0x3ff), out + n);
}

size_t utf8_escape(struct utf8_state *s, uint8_t byte, char out[UTF8_ESCAPED_MAX])
{
	uint32_t c;
	bool again;
	size_t n = 0;
	int r = utf8_step(s, byte, &c, &again);

	if (r < 0)
		n = put_character(REPLACEMENT, out);
	if (again)
		r = utf8_step(s, byte, &c, &again);
	else if (r < 0)
		return n;
	if (r < 0) /* it was no beginning either */
		return n + put_character(REPLACEMENT, out + n);
	return r > 0 ? n + put_character(c, out + n) : n;
}

size_t utf8_escape_end(struct utf8_state *s, char out[UTF8_ESCAPED_MAX])
{
	bool cut = s->left > 0;

	memset(s, 0, sizeof(*s));
	return cut ? put_character(REPLACEMENT, out) : 0;
}
