#include "codec/jsontext.h"

#include <string.h>

#include "codec/utf8.h"

struct scan {
	const uint8_t *at, *end;
	unsigned int depth;
	bool object[JSONTEXT_DEPTH_MAX]; /* what is open: an object, else an array */
};

static bool is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(uint8_t c)
{
	return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f');
}

static void skip_space(struct scan *s)
{
	while (s->at < s->end &&
	       (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
		s->at++;
}

static bool take(struct scan *s, uint8_t c)
{
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

static bool take_word(struct scan *s, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0)
		return false;
	s->at += n;
	return true;
}

static bool take_digits(struct scan *s)
{
	const uint8_t *begin = s->at;

	while (s->at < s->end && is_digit(*s->at))
		s->at++;
	return s->at > begin;
}

static bool take_number(struct scan *s)
{
	take(s, '-');
	if (!take(s, '0') && !take_digits(s))
		return false;
	if (take(s, '.') && !take_digits(s))
		return false;
	if (take(s, 'e') || take(s, 'E')) {
		if (!take(s, '+'))
			take(s, '-');
		return take_digits(s);
	}
	return true;
}

static bool take_escape(struct scan *s)
{
	if (s->at == s->end)
		return false;
	uint8_t c = *s->at++;
	if (c != 'u')
		return c && strchr("\"\\/bfnrt", c);
	for (int i = 0; i < 4; i++) {
		if (s->at == s->end || !is_hex(*s->at++))
			return false;
	}
	return true;
}

/* Behind the opening quote. */
static bool take_string(struct scan *s)
{
	struct utf8_state state = { 0 };
	uint32_t character;
	bool again;

	while (s->at < s->end) {
		uint8_t c = *s->at++;
		if (!state.left && c == '"')
			return true;
		if (!state.left && c == '\\') {
			if (!take_escape(s))
				return false;
		} else if (c < 0x20 || utf8_step(&state, c, &character, &again) < 0) {
			return false;
		}
	}
	return false;
}

static bool open_container(struct scan *s, bool object)
{
	if (s->depth == JSONTEXT_DEPTH_MAX)
		return false;
	s->object[s->depth++] = object;
	return true;
}

/* "key": and what follows is a value. */
static bool take_key(struct scan *s)
{
	skip_space(s);
	if (!take(s, '"') || !take_string(s))
		return false;
	skip_space(s);
	return take(s, ':');
}

/* *ret_open: an opening bracket with something inside was taken, its first value follows. */
static bool take_value(struct scan *s, bool *ret_open)
{
	*ret_open = false;
	skip_space(s);
	if (take(s, '"'))
		return take_string(s);
	if (take(s, '[') || take(s, '{')) {
		bool object = s->at[-1] == '{';
		skip_space(s);
		if (take(s, object ? '}' : ']'))
			return s->depth < JSONTEXT_DEPTH_MAX;
		*ret_open = true;
		return open_container(s, object) && (!object || take_key(s));
	}
	return take_word(s, "true") || take_word(s, "false") || take_word(s, "null") ||
	       take_number(s);
}

/* Behind a value: closes what ends here. *ret_more: another value follows. */
static bool take_ends(struct scan *s, bool *ret_more)
{
	*ret_more = false;
	for (;;) {
		skip_space(s);
		if (!s->depth)
			return s->at == s->end;
		bool object = s->object[s->depth - 1];
		if (take(s, ',')) {
			*ret_more = true;
			return !object || take_key(s);
		}
		if (!take(s, object ? '}' : ']'))
			return false;
		s->depth--;
	}
}

bool jsontext_valid(const uint8_t *data, size_t size)
{
	struct scan s = { .at = data, .end = data + size };
	bool open, more = true;

	while (more) {
		if (!take_value(&s, &open))
			return false;
		if (!open && !take_ends(&s, &more))
			return false;
	}
	return true;
}

size_t jsontext_ascii(const uint8_t *data, size_t size, size_t *at, char *out, size_t room)
{
	struct utf8_state state = { 0 };
	size_t n = 0;

	while (*at < size && (state.left || room - n >= JSONTEXT_ASCII_MAX)) {
		uint8_t c = data[(*at)++];
		if (c == '\n' || c == '\r' ||
		    c == '\t') /* white space: in strings they are escaped */
			out[n++] = ' ';
		else if (c < 0x7f)
			out[n++] = (char)c;
		else
			n += utf8_escape(&state, c, out + n);
	}
	return n;
}
