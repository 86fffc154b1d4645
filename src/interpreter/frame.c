#include "interpreter/frame.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

void frame_parser_init(struct frame_parser *p)
{
	memset(p, 0, sizeof(*p));
}

bool frame_parser_idle(const struct frame_parser *p)
{
	return !p->in_content && p->header_size == 0;
}

/* Plain decimal, no sign, no leading zeros. */
static bool parse_size(const char *text, uint64_t *ret)
{
	uint64_t n = 0;

	if (!*text || (text[0] == '0' && text[1]))
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9' || n > FRAME_SIZE_MAX / 10)
			return false;
		n = n * 10 + (uint64_t)(*text - '0');
	}
	*ret = n;
	return n <= FRAME_SIZE_MAX;
}

/* Cuts "NAME ARGUMENT SIZE" in place: exactly two spaces, nothing empty. */
static bool split_header(char *header, char **ret_argument, char **ret_size)
{
	char *argument = strchr(header, ' ');
	char *size = argument ? strchr(argument + 1, ' ') : NULL;

	if (!size || argument == header || size == argument + 1 || strchr(size + 1, ' '))
		return false;
	*argument = *size = '\0';
	*ret_argument = argument + 1;
	*ret_size = size + 1;
	return true;
}

static int begin_frame(struct frame_parser *p, const struct frame_sink *sink, void *ctx)
{
	char *argument, *size_text;
	uint64_t size;

	p->header[p->header_size] = '\0';
	p->header_size = 0;
	if (!split_header(p->header, &argument, &size_text) || !parse_size(size_text, &size))
		return -EBADMSG;
	p->left = size;
	p->in_content = true;
	return sink->begin(ctx, p->header, argument, size);
}

/* Bytes taken of the header, up to its end; negative: not one. */
static ssize_t take_header(struct frame_parser *p, const uint8_t *data, size_t size,
			   bool *ret_whole)
{
	*ret_whole = false;
	for (size_t i = 0; i < size; i++) {
		if (data[i] == '\n') {
			*ret_whole = true;
			return (ssize_t)(i + 1);
		}
		if (data[i] < ' ' || data[i] > '~' || p->header_size == FRAME_HEADER_MAX)
			return -EBADMSG;
		p->header[p->header_size++] = (char)data[i];
	}
	return (ssize_t)size;
}

static int take_content(struct frame_parser *p, const struct frame_sink *sink, void *ctx,
			const uint8_t **data, size_t *size)
{
	size_t n = *size < p->left ? *size : (size_t)p->left;
	int r = n ? sink->data(ctx, *data, n) : 0;

	*data += n;
	*size -= n;
	p->left -= n;
	if (r < 0 || p->left)
		return r;
	p->in_content = false;
	return sink->end(ctx);
}

int frame_parse(struct frame_parser *p, const struct frame_sink *sink, void *ctx,
		const uint8_t *data, size_t size)
{
	int r = 0;

	while (r >= 0 && (size || (p->in_content && !p->left))) {
		bool whole;
		if (p->in_content) {
			r = take_content(p, sink, ctx, &data, &size);
			continue;
		}
		ssize_t n = take_header(p, data, size, &whole);
		if (n < 0)
			return (int)n;
		data += n;
		size -= (size_t)n;
		if (whole)
			r = begin_frame(p, sink, ctx);
	}
	return r < 0 ? r : 0;
}

int frame_header(char *out, size_t room, const char *name, const char *argument, uint64_t size)
{
	int n = snprintf(out, room, "%s %s %llu\n", name, argument ? argument : "-",
			 (unsigned long long)size);

	return n < 0 || (size_t)n >= room || n > FRAME_HEADER_MAX + 1 ? -E2BIG : n;
}
