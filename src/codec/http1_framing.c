/* Where a message ends, and which of its fields belong to the connection. */
#include <string.h>

#include "base/util.h"
#include "codec/http1_internal.h"
#include "codec/token.h"

bool http1_is_hop(const char *name)
{
	static const char *const names[] = {
		"connection", "keep-alive",	   "proxy-connection", "proxy-authorization", "te",
		"trailer",    "transfer-encoding", "upgrade",	       "http2-settings"
	};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* Connection may name fields that end here, but not those on which both sides must agree. */
static bool may_be_named(const char *name)
{
	static const char *const kept[] = { "host",	     "content-length", "content-type",
					    "authorization", "cookie",	       "expect" };
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (strcmp(name, kept[i]) == 0)
			return false;
	return strncmp(name, "x-", 2) != 0 && strncmp(name, "e2b-", 4) != 0;
}

static void mark_named(struct http1_fields *fields, const char *element, size_t size)
{
	for (size_t i = 0; i < fields->count; i++) {
		struct http1_field *f = &fields->at[i];
		if (text_equals(element, size, f->name) && may_be_named(f->name))
			f->hop = true;
	}
}

static int read_length(const struct http1_field *f, struct http1_framing *framing,
		       const char **ret_why)
{
	*ret_why = "more than one Content-Length";
	if (framing->length != HTTP1_NO_LENGTH)
		return -400;
	*ret_why = "malformed Content-Length";
	return text_number(f->value, f->value_size, INT64_MAX, &framing->length) < 0 ? -400 : 0;
}

static int read_coding(const struct http1_field *f, struct http1_framing *framing,
		       const char **ret_why)
{
	*ret_why = "more than one Transfer-Encoding";
	if (framing->chunked)
		return -400;
	*ret_why = "Transfer-Encoding is not known";
	if (!text_equals(f->value, f->value_size, "chunked"))
		return f->value_size ? -501 : -400;
	framing->chunked = true;
	return 0;
}

static int read_connection(struct http1_fields *fields, const struct http1_field *f,
			   struct http1_framing *framing, bool *upgrade, const char **ret_why)
{
	const char *element;
	size_t at = 0, size;
	*ret_why = "malformed Connection";
	while (text_list_next(f->value, f->value_size, &at, &element, &size)) {
		if (!text_is(element, size, CHAR_TOKEN))
			return -400;
		if (text_equals(element, size, "close"))
			framing->close = true;
		else if (text_equals(element, size, "keep-alive"))
			framing->keep_alive = true;
		else if (text_equals(element, size, "upgrade"))
			*upgrade = true;
		else
			mark_named(fields, element, size);
	}
	return 0;
}

static int read_field(struct http1_fields *fields, struct http1_field *f,
		      struct http1_framing *framing, bool *upgrade, const char **ret_why)
{
	if (http1_is_hop(f->name))
		f->hop = true;
	if (strcmp(f->name, "content-length") == 0)
		return read_length(f, framing, ret_why);
	if (strcmp(f->name, "transfer-encoding") == 0)
		return read_coding(f, framing, ret_why);
	if (strcmp(f->name, "connection") == 0)
		return read_connection(fields, f, framing, upgrade, ret_why);
	if (strcmp(f->name, "upgrade") == 0)
		framing->upgrade = f->value;
	if (strcmp(f->name, "expect") == 0) {
		*ret_why = "unknown expectation";
		if (!text_equals(f->value, f->value_size, "100-continue"))
			return -417;
		framing->expect_continue = f->hop = true;
	}
	return 0;
}

int http1_parse_framing(struct http1_fields *fields, struct http1_framing *ret,
			const char **ret_why)
{
	bool upgrade = false;
	*ret = (struct http1_framing){ .length = HTTP1_NO_LENGTH };
	for (size_t i = 0; i < fields->count; i++) {
		int r = read_field(fields, &fields->at[i], ret, &upgrade, ret_why);
		if (r < 0)
			return r;
	}
	*ret_why = "both Content-Length and Transfer-Encoding";
	if (ret->chunked && ret->length != HTTP1_NO_LENGTH)
		return -400;
	if (!upgrade || (ret->upgrade && !*ret->upgrade))
		ret->upgrade = NULL;
	return 0;
}
