#include "codec/http1.h"

#include <errno.h>
#include <string.h>
#include <sys/types.h>

#include "base/util.h"
#include "codec/authority.h"
#include "codec/http1_internal.h"
#include "codec/token.h"

/*
 * A line is looked at when its end has arrived; the rest of the head is the same for requests and
 * responses.
 */
ssize_t http1_scan(struct http1_scan *s, const char *data, size_t size)
{
	while (s->at < size) {
		const char *line = data + s->at;
		const char *lf = memchr(line, '\n', size - s->at);
		size_t seen = lf ? (size_t)(lf - line) : size - s->at;
		const char *cr = memchr(line, '\r', seen);
		if (memchr(line, '\0', seen))
			return -EBADMSG;
		if (!lf) {
			/* A CR may be the last byte so far; then it is looked at again. */
			bool last = cr == data + size - 1;
			s->at = last ? size - 1 : size;
			return cr && !last ? -EBADMSG : 0;
		}
		/* The CR may have been passed over at the end of what was there before. */
		if (!cr || cr != lf - 1)
			return -EBADMSG;
		size_t start = s->at;
		s->at += seen + 1;
		bool empty = seen == 1 && start >= 2 && data[start - 1] == '\n';
		if (empty)
			return (ssize_t)s->at;
		if (start == 0 && seen == 1)
			return -EBADMSG;
	}
	return 0;
}

/* ---- lines ---- */

char *http1_next_line(char **at, char *end, size_t *ret_size)
{
	char *line = *at;
	char *cr = memchr(line, '\r', (size_t)(end - line));
	if (!cr || cr + 1 >= end || cr[1] != '\n')
		return NULL;
	*cr = '\0';
	*at = cr + 2;
	*ret_size = (size_t)(cr - line);
	return line;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

static int parse_field(char *line, size_t size, struct http1_field *f, const char **ret_why)
{
	char *colon = memchr(line, ':', size);
	*ret_why = "malformed header field";
	if (!colon || (size_t)(colon - line) > UINT16_MAX)
		return -400;
	f->name = line;
	f->name_size = (uint16_t)(colon - line);
	/* No space before the colon, no folding: both would begin or end the name with a space. */
	if (!text_is(f->name, f->name_size, CHAR_TOKEN))
		return -400;
	*colon = '\0';
	text_lower(f->name, f->name_size);
	char *start = colon + 1, *end = line + size;
	while (start < end && is_space(*start))
		start++;
	while (end > start && is_space(end[-1]))
		end--;
	*end = '\0';
	f->value = start;
	f->value_size = (uint32_t)(end - start);
	f->hop = false;
	if (f->value_size && !text_is(f->value, f->value_size, CHAR_VALUE))
		return -400;
	return 0;
}

int http1_parse_fields(char *at, char *end, struct http1_fields *fields, const char **ret_why)
{
	fields->count = 0;
	for (;;) {
		size_t size;
		char *line = http1_next_line(&at, end, &size);
		if (!line) {
			*ret_why = "malformed line";
			return -400;
		}
		if (size == 0)
			return at == end ? 0 : -400;
		if (fields->count == fields->max) {
			*ret_why = "too many header fields";
			return -431;
		}
		int r = parse_field(line, size, &fields->at[fields->count], ret_why);
		if (r < 0)
			return r;
		fields->count++;
	}
}

const char *http1_find(const struct http1_fields *fields, const char *name)
{
	for (size_t i = 0; i < fields->count; i++)
		if (strcmp(fields->at[i].name, name) == 0)
			return fields->at[i].value;
	return NULL;
}

/* ---- first lines ---- */

/* "HTTP/1.0" or "HTTP/1.1": the minor number. */
static int parse_version(const char *s, size_t size)
{
	if (size != 8 || memcmp(s, "HTTP/", 5) != 0 || !char_is(s[5], CHAR_DIGIT) || s[6] != '.' ||
	    !char_is(s[7], CHAR_DIGIT))
		return -400;
	if (s[5] != '1' || s[7] > '1')
		return -505;
	return s[7] - '0';
}

/* Cuts "http://host" from the target, which must name the same host as the field. */
static int parse_absolute(struct http1_request *r, char **ret_authority)
{
	char *target = r->target;
	size_t scheme = strncasecmp(target, "http://", 7) == 0	  ? 7
			: strncasecmp(target, "https://", 8) == 0 ? 8
								  : 0;
	if (scheme == 0)
		return -400;
	char *authority = target + scheme;
	size_t size = strcspn(authority, "/?");
	char *path = authority + size;
	/* "http://host?query" has an empty path, which is sent as "/": nobody sends it. */
	if (size == 0 || *path == '?')
		return -400;
	/* The authority moves one to the left, over the scheme, to get its NUL. */
	memmove(authority - 1, authority, size);
	authority[size - 1] = '\0';
	static char root[] = "/";
	r->target = *path ? path : root;
	*ret_authority = authority - 1;
	return 0;
}

static int parse_target(struct http1_request *r, char **ret_authority, const char **ret_why)
{
	*ret_authority = NULL;
	*ret_why = "malformed request target";
	if (r->target[0] == '/')
		return 0;
	if (strcmp(r->target, "*") == 0)
		return strcmp(r->method, "OPTIONS") == 0 ? 0 : -400;
	if (strcmp(r->method, "CONNECT") == 0) {
		*ret_why = "CONNECT is not supported";
		return -501;
	}
	return parse_absolute(r, ret_authority);
}

static int parse_request_line(char *line, size_t size, struct http1_request *r,
			      char **ret_authority, const char **ret_why)
{
	*ret_why = "malformed request line";
	char *first = memchr(line, ' ', size);
	char *last = memrchr(line, ' ', size);
	if (!first || first == last)
		return -400;
	*first = *last = '\0';
	r->method = line;
	r->target = first + 1;
	if (!text_is(r->method, (size_t)(first - line), CHAR_TOKEN) || first - line > 32)
		return -400;
	r->minor = parse_version(last + 1, (size_t)(line + size - last - 1));
	if (r->minor < 0) {
		*ret_why = "HTTP version not supported";
		return r->minor;
	}
	if (!text_is(r->target, (size_t)(last - r->target), CHAR_TARGET))
		return -400;
	return parse_target(r, ret_authority, ret_why);
}

static int check_host(struct http1_request *r, char *authority, const char **ret_why)
{
	struct http1_field *host = NULL;
	for (size_t i = 0; i < r->fields.count; i++) {
		if (strcmp(r->fields.at[i].name, "host") != 0)
			continue;
		*ret_why = "more than one Host";
		if (host)
			return -400;
		host = &r->fields.at[i];
	}
	*ret_why = "Host is missing";
	static char none[] = "";
	r->host = host ? host->value : none;
	if (!host && r->minor == 0 && !authority)
		return 0;
	if (!host)
		return -400;
	*ret_why = "malformed Host";
	if (authority_check(host->value, host->value_size) < 0)
		return -400;
	text_lower(host->value, host->value_size);
	*ret_why = "request target and Host differ";
	return !authority || text_equals(authority, strlen(authority), host->value) ? 0 : -400;
}

int http1_parse_request(char *head, size_t size, struct http1_request *r, const char **ret_why)
{
	char *at = head, *end = head + size, *authority;
	size_t line_size;
	char *line = http1_next_line(&at, end, &line_size);
	*ret_why = "malformed request line";
	if (!line)
		return -400;
	int e = parse_request_line(line, line_size, r, &authority, ret_why);
	if (e < 0)
		return e;
	e = http1_parse_fields(at, end, &r->fields, ret_why);
	if (e < 0)
		return e;
	e = check_host(r, authority, ret_why);
	if (e < 0)
		return e;
	e = http1_parse_framing(&r->fields, &r->framing, ret_why);
	if (e < 0)
		return e;
	/* A reader that knows only HTTP/1.0 would not see the chunks. */
	if (r->framing.chunked && r->minor == 0) {
		*ret_why = "Transfer-Encoding with HTTP/1.0";
		return -400;
	}
	return 0;
}

int http1_parse_response(char *head, size_t size, struct http1_response *r, const char **ret_why)
{
	char *at = head, *end = head + size;
	size_t line_size;
	char *line = http1_next_line(&at, end, &line_size);
	*ret_why = "malformed status line";
	if (!line || line_size < 12 || line[8] != ' ')
		return -502;
	r->minor = parse_version(line, 8);
	uint64_t status;
	if (r->minor < 0 || text_number(line + 9, 3, 599, &status) < 0 || status < 100)
		return -502;
	r->status = (int)status;
	if (line_size > 12 && (line[12] != ' ' ||
			       (line_size > 13 && !text_is(line + 13, line_size - 13, CHAR_VALUE))))
		return -502;
	r->reason = line_size > 12 ? line + 13 : line + 12;
	if (http1_parse_fields(at, end, &r->fields, ret_why) < 0 ||
	    http1_parse_framing(&r->fields, &r->framing, ret_why) < 0)
		return -502;
	*ret_why = "Transfer-Encoding with HTTP/1.0";
	return r->framing.chunked && r->minor == 0 ? -502 : 0;
}
