#include "client/clean.h"

#include <stdbool.h>
#include <string.h>

/* C1 controls, and what turns the direction of the text around, as UTF-8. */
static size_t hostile_size(const unsigned char *s, size_t left)
{
	if (left >= 2 && s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0)
		return 2;
	if (left >= 3 && s[0] == 0xe2 &&
	    ((s[1] == 0x80 && s[2] >= 0xa8 && s[2] <= 0xae) ||
	     (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9)))
		return 3;
	return 0;
}

static size_t clean(char *text, size_t size, const char *keep)
{
	unsigned char *out = (unsigned char *)text;
	const unsigned char *s = out, *end = out + size;

	while (s < end) {
		size_t hostile = hostile_size(s, (size_t)(end - s));
		bool control = (*s < ' ' && (*s == '\0' || !strchr(keep, *s))) || *s == 0x7f;
		*out++ = hostile || control ? '?' : *s;
		s += hostile ? hostile : 1;
	}
	return (size_t)(out - (unsigned char *)text);
}

void clean_text(char *text)
{
	text[clean(text, strlen(text), "")] = '\0';
}

size_t clean_lines(char *text, size_t size)
{
	return clean(text, size, "\n\t");
}
