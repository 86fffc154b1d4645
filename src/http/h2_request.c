/* HTTP/2: from the fields of a stream to an exchange, and its body. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "codec/authority.h"
#include "codec/token.h"
#include "http/h2_internal.h"

#define FIELD_OVERHEAD 32 /* as RFC 9113, section 6.5.2, counts them */

struct h2_stream *h2_stream_new(struct h2 *h, int32_t id)
{
	struct h2_stream *s = calloc(1, sizeof(*s));
	struct http_exchange *x = s ? exchange_new(h->conn, &h2_carrier) : NULL;
	if (!x) {
		free(s);
		return NULL;
	}
	s->h2 = h;
	s->id = id;
	s->x = x;
	x->stream = s;
	s->moved_ms = uv_now(h->conn->server->loop);
	buffer_init(&s->in, HTTP2_STREAM_WINDOW + 65536);
	outq_init(&s->out);
	list_init(&s->dirty);
	list_add_tail(&h->streams, &s->link);
	h->count++;
	return s;
}

void h2_stream_free(struct h2_stream *s)
{
	struct http_exchange *x = s->x;
	s->x = NULL;
	if (x && s->dispatched)
		exchange_lost(x);
	else if (x)
		exchange_free(x);
	list_del(&s->link);
	list_del(&s->dirty);
	s->h2->count--;
	buffer_fini(&s->in);
	outq_fini(&s->out);
	free(s);
}

/* ---- the head ---- */

static struct http1_field *new_field(struct h2_stream *s)
{
	struct http1_fields *f = &s->fields;
	if (f->count < f->max)
		return &f->at[f->count];
	size_t room = f->max ? f->max * 2 : 16;
	struct http1_field *more = region_alloc(&s->x->region, room * sizeof(*more));
	if (!more)
		return NULL;
	if (f->count)
		memcpy(more, f->at, f->count * sizeof(*more));
	f->at = more;
	f->max = room;
	return &f->at[f->count];
}

static void pseudo_field(struct h2_stream *s, const char *name, char *value)
{
	struct http_exchange *x = s->x;
	if (strcmp(name, ":method") == 0)
		x->method = value;
	else if (strcmp(name, ":path") == 0)
		x->path = value;
	else if (strcmp(name, ":scheme") == 0)
		s->scheme = value;
	else if (strcmp(name, ":authority") == 0)
		s->authority = value;
	else if (strcmp(name, ":protocol") == 0)
		s->protocol = value;
}

int h2_stream_field(struct h2_stream *s, const uint8_t *name, size_t name_size,
		    const uint8_t *value, size_t value_size)
{
	const struct http_limits *l = &s->h2->conn->server->limits;
	if (!s->x)
		return 0;
	s->head_bytes += name_size + value_size + FIELD_OVERHEAD;
	if (s->head_bytes > l->head_bytes || s->fields.count >= l->head_fields)
		s->too_large = true;
	if (s->too_large)
		return 0;
	char *n = region_text(&s->x->region, (const char *)name, name_size);
	char *v = region_text(&s->x->region, (const char *)value, value_size);
	if (!n || !v)
		return -ENOMEM;
	if (n[0] == ':') {
		pseudo_field(s, n, v);
		return 0;
	}
	struct http1_field *f = new_field(s);
	if (!f)
		return -ENOMEM;
	*f = (struct http1_field){ .name = n,
				   .value = v,
				   .name_size = (uint16_t)name_size,
				   .value_size = (uint32_t)value_size,
				   .hop = http1_is_hop(n) || strcmp(n, "expect") == 0 };
	s->fields.count++;
	return 0;
}

/* Clients may split Cookie; HTTP/1.1 and handlers know one. */
static int join_cookies(struct h2_stream *s)
{
	struct http1_field *first = NULL;
	struct buffer all;
	buffer_init(&all, s->h2->conn->server->limits.head_bytes);
	int r = 0;
	for (size_t i = 0; i < s->fields.count && r == 0; i++) {
		struct http1_field *f = &s->fields.at[i];
		if (strcmp(f->name, "cookie") != 0)
			continue;
		r = buffer_printf(&all, "%s%s", first ? "; " : "", f->value);
		f->hop = first != NULL;
		first = first ? first : f;
	}
	if (first && r == 0) {
		first->value = region_text(&s->x->region, (char *)all.data, all.size);
		first->value_size = (uint32_t)all.size;
		r = first->value ? 0 : -ENOMEM;
	}
	buffer_fini(&all);
	return r;
}

/* :authority, or Host; both must agree. */
static const char *set_host(struct h2_stream *s)
{
	const char *host = http1_find(&s->fields, "host");
	const char *authority = s->authority ? s->authority : host;
	if (!authority || authority_check(authority, strlen(authority)) < 0)
		return "malformed :authority";
	char *lower = region_text(&s->x->region, authority, strlen(authority));
	if (!lower)
		return "out of memory";
	text_lower(lower, strlen(lower));
	s->x->host = lower;
	if (host && !text_equals(host, strlen(host), lower))
		return ":authority and host differ";
	return NULL;
}

static const char *set_target(struct h2_stream *s)
{
	struct http_exchange *x = s->x;
	const char *path = x->path;
	x->path = "/";
	if (!path || !text_is(path, strlen(path), CHAR_TARGET))
		return "malformed :path";
	if (path[0] != '/' && (strcmp(path, "*") != 0 || strcmp(x->method, "OPTIONS") != 0))
		return "malformed :path";
	return exchange_set_target(x, path) < 0 ? "out of memory" : NULL;
}

static const char *set_length(struct h2_stream *s)
{
	const char *text = http1_find(&s->fields, "content-length");
	s->x->length = s->in_end ? 0 : HTTP1_NO_LENGTH;
	if (text && text_number(text, strlen(text), INT64_MAX, &s->x->length) < 0)
		return "malformed content-length";
	return NULL;
}

/* What is wrong with the head; NULL = nothing. */
static const char *fill(struct h2_stream *s)
{
	struct http_exchange *x = s->x;
	bool no_method = !x->method;
	if (no_method)
		x->method = "GET";
	x->head_only = strcmp(x->method, "HEAD") == 0;
	x->query = x->host = "";
	const char *why = no_method || strlen(x->method) > 32 ? "malformed :method" : NULL;
	const char *target_why = set_target(s);
	why = why ? why : target_why;
	why = why ? why : set_host(s);
	why = why ? why : set_length(s);
	if (!why && (join_cookies(s) < 0 || exchange_set_fields(x, &s->fields) < 0))
		why = "out of memory";
	x->upgrade = s->protocol;
	return why;
}

void h2_stream_dispatch(struct h2_stream *s)
{
	struct http_exchange *x = s->x;
	s->dispatched = true;
	if (!x)
		return;
	const char *why = fill(s);
	if (s->too_large)
		http_error(x, 431, "request head too large");
	else if (strcmp(x->method, "CONNECT") == 0 && !x->upgrade)
		http_error(x, 501, "CONNECT is not supported");
	else if (why)
		http_error(x, 400, "%s", why);
	else
		exchange_dispatch(x);
}

/* ---- the body ---- */

static void consumed(struct h2_stream *s, size_t size)
{
	buffer_take(&s->in, size);
	if (size)
		(void)nghttp2_session_consume(s->h2->session, s->id, size);
	if (s->in.size == 0)
		buffer_fini(&s->in);
}

void h2_stream_deliver(struct h2_stream *s)
{
	if (!s->x)
		consumed(s, s->in.size);
	while (s->x && s->dispatched && exchange_wants_body(s->x)) {
		size_t n = MIN(s->in.size, s->x->credit);
		bool last = s->in_end && n == s->in.size;
		if (n == 0 && !last)
			return;
		(void)exchange_deliver(s->x, s->in.data, n, last, 0);
		consumed(s, n);
	}
}
