#include "codec/chunked.h"

#include <errno.h>
#include <stdio.h>

#include "base/util.h"
#include "codec/token.h"

#define DIGITS_MAX   15
#define LINE_MAX_    1024
#define OVERHEAD_MAX 16384

enum {
	SIZE,	   /* hexadecimal digits */
	EXTENSION, /* behind ; up to CR */
	SIZE_LF,
	DATA,
	DATA_CR,
	DATA_LF,
	TRAILER,      /* first byte of a line behind the last chunk */
	TRAILER_NAME, /* up to the colon */
	TRAILER_VALUE,
	TRAILER_LF,
	END_LF,
	END,
};

void chunked_init(struct chunked *c)
{
	*c = (struct chunked){ .state = SIZE };
}

static int next(struct chunked *c, int state)
{
	c->state = (uint8_t)state;
	return 0;
}

/* A byte that is neither size nor content. */
static int dropped(struct chunked *c, char b, unsigned classes)
{
	if (!char_is(b, classes) || ++c->line > LINE_MAX_ || ++c->overhead > OVERHEAD_MAX)
		return -EBADMSG;
	return 0;
}

static int size_byte(struct chunked *c, char b)
{
	int digit = char_hex_value(b);
	if (digit >= 0) {
		if (++c->digits > DIGITS_MAX)
			return -EBADMSG;
		c->left = c->left << 4 | (uint64_t)digit;
		return 0;
	}
	c->line = 0;
	if (c->digits == 0)
		return -EBADMSG;
	if (b == '\r')
		return next(c, SIZE_LF);
	/* White space before ; is "bad" in the grammar and seen nowhere. */
	return b == ';' ? next(c, EXTENSION) : -EBADMSG;
}

static int trailer_byte(struct chunked *c, char b)
{
	switch (c->state) {
	case TRAILER:
		c->line = 0;
		if (b == '\r')
			return next(c, END_LF);
		c->state = TRAILER_NAME;
		return dropped(c, b, CHAR_TOKEN);
	case TRAILER_NAME:
		return b == ':' ? next(c, TRAILER_VALUE) : dropped(c, b, CHAR_TOKEN);
	case TRAILER_VALUE:
		return b == '\r' ? next(c, TRAILER_LF) : dropped(c, b, CHAR_VALUE);
	default:
		return b == '\n' ? next(c, TRAILER) : -EBADMSG;
	}
}

static int framing_byte(struct chunked *c, char b)
{
	switch (c->state) {
	case SIZE:
		return size_byte(c, b);
	case EXTENSION:
		return b == '\r' ? next(c, SIZE_LF) : dropped(c, b, CHAR_VALUE);
	case SIZE_LF:
		return b == '\n' ? next(c, c->left ? DATA : TRAILER) : -EBADMSG;
	case DATA_CR:
		return b == '\r' ? next(c, DATA_LF) : -EBADMSG;
	case DATA_LF:
		c->digits = 0;
		return b == '\n' ? next(c, SIZE) : -EBADMSG;
	case END_LF:
		return b == '\n' ? next(c, END) : -EBADMSG;
	default:
		return trailer_byte(c, b);
	}
}

int chunked_decode(struct chunked *c, const uint8_t **data, size_t *size, size_t max,
		   const uint8_t **ret_piece, size_t *ret_size)
{
	*ret_piece = *data;
	*ret_size = 0;
	while (c->state != END && *size > 0) {
		if (c->state == DATA) {
			size_t n = (size_t)MIN(c->left, MIN(*size, max));
			*ret_piece = *data;
			*ret_size = n;
			*data += n;
			*size -= n;
			c->left -= n;
			if (c->left == 0)
				c->state = DATA_CR;
			return 0;
		}
		int r = framing_byte(c, (char)**data);
		if (r < 0)
			return r;
		++*data;
		--*size;
	}
	return c->state == END;
}

size_t chunked_head(char head[static CHUNKED_HEAD_MAX], size_t size)
{
	return (size_t)snprintf(head, CHUNKED_HEAD_MAX, "%zx\r\n", size);
}
