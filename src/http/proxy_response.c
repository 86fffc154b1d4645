/* The reverse proxy: the upstream's response. */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "codec/http1.h"
#include "codec/token.h"
#include "http/proxy_internal.h"

static void bad(struct proxy *p)
{
	proxy_fail(p, 502, "the port's answer is not valid HTTP");
}

/* Fields that are written anew, or that only HTTP/1.1 has. */
static bool is_own(const struct proxy *p, const char *name)
{
	if (strcmp(name, "content-length") == 0 || strcmp(name, "date") == 0)
		return true;
	/* Over HTTP/2 there was no key to be answered. */
	return p->state == PROXY_TUNNEL && strcmp(name, "sec-websocket-accept") == 0 &&
	       strcmp(p->x->method, "CONNECT") == 0;
}

static void copy_fields(struct proxy *p, const struct http1_response *r)
{
	for (size_t i = 0; i < r->fields.count; i++) {
		const struct http1_field *f = &r->fields.at[i];
		if (!f->hop && !is_own(p, f->name))
			http_add(p->x, f->name, f->value);
	}
}

static void begin_tunnel(struct proxy *p, const struct http1_response *r)
{
	if (!p->upgrade || !r->framing.upgrade) {
		bad(p);
		return;
	}
	p->state = PROXY_TUNNEL;
	copy_fields(p, r);
	proxy_begin_tunnel(p, r->framing.upgrade);
}

static void begin_response(struct proxy *p, const struct http1_response *r)
{
	const struct http1_framing *f = &r->framing;
	bool none = p->x->head_only || status_has_no_body(r->status);
	p->chunked = f->chunked && !none;
	p->until_close = !f->chunked && f->length == HTTP1_NO_LENGTH && !none;
	p->left = none || p->chunked || p->until_close ? 0 : f->length;
	p->state = PROXY_BODY;
	chunked_init(&p->chunks);
	copy_fields(p, r);
	http_start(p->x, r->status, NULL, f->chunked ? HTTP1_NO_LENGTH : f->length);
}

/* The head is complete in p->in. False: more is needed for a final one, or all is over. */
static bool take_head(struct proxy *p, size_t size)
{
	struct http_server *s = p->server;
	struct http1_response r = { .fields = { s->fields, s->limits.head_fields, 0 } };
	const char *why;
	if (http1_parse_response((char *)p->in.data, size, &r, &why) < 0) {
		bad(p);
		return false;
	}
	if (r.status == 101)
		begin_tunnel(p, &r);
	else if (r.status >= 200)
		begin_response(p, &r);
	buffer_take(&p->in, size);
	p->scan = (struct http1_scan){ 0 };
	return p->x != NULL;
}

/* ---- the body ---- */

static void chunked_body(struct proxy *p, const uint8_t *data, size_t size)
{
	const uint8_t *piece;
	size_t piece_size;
	int r = 0;
	while (p->x && r == 0 && size > 0) {
		r = chunked_decode(&p->chunks, &data, &size, SIZE_MAX, &piece, &piece_size);
		if (piece_size)
			proxy_to_client(p, piece, piece_size);
	}
	if (r < 0)
		bad(p);
	else if (r == 1)
		proxy_finish(p);
}

static void body(struct proxy *p, const uint8_t *data, size_t size)
{
	if (p->chunked) {
		chunked_body(p, data, size);
		return;
	}
	size_t n = p->until_close ? size : (size_t)MIN(p->left, size);
	p->left -= p->until_close ? 0 : n;
	if (n)
		proxy_to_client(p, data, n);
	if (!p->until_close && p->left == 0)
		proxy_finish(p);
}

/* Looks for heads in p->in; interim ones (100, 103) are dropped. */
static void heads(struct proxy *p)
{
	while (p->x && p->state == PROXY_HEAD && p->in.size) {
		ssize_t end = http1_scan(&p->scan, (const char *)p->in.data, p->in.size);
		if (end < 0)
			bad(p);
		if (end <= 0 || !take_head(p, (size_t)end))
			return;
	}
}

/* Collects the head; behind it goes on with what is left in p->in. */
static void head_data(struct proxy *p, const uint8_t *data, size_t size)
{
	if (buffer_append(&p->in, data, size) < 0) {
		proxy_fail(p, 502, "out of memory");
		return;
	}
	heads(p);
	if (!p->x)
		return;
	if (p->state == PROXY_HEAD) {
		if (p->in.size == p->in.max)
			bad(p);
		return;
	}
	size_t rest = p->in.size;
	if (p->state == PROXY_BODY)
		body(p, p->in.data, rest);
	else if (rest)
		proxy_to_client(p, p->in.data, rest);
	buffer_fini(&p->in);
}

void proxy_response_data(struct proxy *p, const uint8_t *data, size_t size)
{
	if (p->state == PROXY_HEAD) {
		/* No more than the limit of a head; what does not fit is behind it, or too much. */
		size_t n = MIN(size, p->in.max - p->in.size);
		head_data(p, data, n);
		data += n;
		size -= n;
	}
	if (!p->x || !size)
		return;
	if (p->state == PROXY_TUNNEL)
		proxy_to_client(p, data, size);
	else
		body(p, data, size);
}

void proxy_response_eof(struct proxy *p)
{
	if (p->state == PROXY_BODY && p->until_close)
		proxy_finish(p);
	else
		proxy_fail(p, 502, "the port closed the connection without a complete answer");
}
