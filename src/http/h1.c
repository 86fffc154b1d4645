/*
 * HTTP/1.1: one request after the other on a connection.
 *
 *	HEAD --> BODY --> DONE --> HEAD        (the exchange ends somewhere behind HEAD)
 *	           |        |
 *	           v        v
 *	        DISCARD   TUNNEL               anything --> LINGER --> closed
 *
 * Input is consumed step by step while the state lets it: a step in BODY needs credit, DONE waits for the
 * response. What is not consumed is kept in `in`, and reading stops until it moves. A handler that
 * answers at once does so inside h1_consume(), which then goes on with the next request: output is
 * collected meanwhile and written once. That ends (`held`) when the client has not taken enough of the
 * answers before, and after some requests, so that nobody has the loop for himself.
 *
 * After an error, or a response behind which the connection cannot go on, the end is sent and input is
 * thrown away for a while (LINGER): closing with unread input would make the kernel reset the
 * connection, and the client might never see the response.
 */
#include "http/h1_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "codec/token.h"

static int h1_open(struct http_conn *c)
{
	struct h1 *h = &c->h1;
	*h = (struct h1){ .state = H1_HEAD, .minor = 1 };
	buffer_init(&h->in, c->server->limits.head_bytes + 2 * SOCK_READ_BYTES);
	conn_set_deadline(c, conn_idle_ms(c));
	return 0;
}

void h1_linger(struct http_conn *c)
{
	c->h1.state = H1_LINGER;
	buffer_fini(&c->h1.in);
	conn_set_deadline(c, HTTP_LINGER_MS);
	sock_end(&c->sock);
	if (c->sock.eof && sock_unsent(&c->sock) == 0)
		conn_close(c);
	else
		sock_read(&c->sock, true);
}

void h1_refuse(struct http_conn *c, int status, const char *why)
{
	char body[192], head[384];
	int body_size =
		snprintf(body, sizeof(body), "{\"code\":%d,\"message\":\"%s\"}", status, why);
	int head_size = snprintf(head, sizeof(head),
				 "HTTP/1.1 %d %s\r\ndate: %s\r\ncontent-type: application/json\r\n"
				 "content-length: %d\r\nconnection: close\r\n\r\n",
				 status, http1_reason(status), server_date(c->server), body_size);
	uv_buf_t pieces[] = { uv_buf_init(head, (unsigned)head_size),
			      uv_buf_init(body, (unsigned)body_size) };
	(void)sock_send(&c->sock, pieces, ARRAY_SIZE(pieces));
	h1_linger(c);
}

/* ---- the head ---- */

static int fill(struct http_exchange *x, const struct http1_request *r)
{
	x->method = r->method;
	x->host = r->host;
	/* HTTP/2 without TLS is not offered this way: it would pass by the proxy's parser. */
	if (r->framing.upgrade && r->minor == 1 && !text_list_has(r->framing.upgrade, "h2c"))
		x->upgrade = r->framing.upgrade;
	x->length = r->framing.chunked			   ? HTTP1_NO_LENGTH
		    : r->framing.length == HTTP1_NO_LENGTH ? 0
							   : r->framing.length;
	x->head_only = strcmp(r->method, "HEAD") == 0;
	int e = exchange_set_target(x, r->target);
	return e < 0 ? e : exchange_set_fields(x, &r->fields);
}

static void begin_body(struct h1 *h, const struct http1_request *r, uint64_t length)
{
	h->chunked = r->framing.chunked;
	h->left = h->chunked ? 0 : length;
	h->state = h->chunked || h->left ? H1_BODY : H1_DONE;
	h->expect_continue = r->framing.expect_continue && h->state == H1_BODY && r->minor == 1;
	h->minor = r->minor;
	h->close_wanted = r->framing.close || r->minor == 0;
	h->body_error = 0;
	h->discarded = 0;
	chunked_init(&h->chunks);
}

static void begin_request(struct http_conn *c, const uint8_t *data, size_t size)
{
	struct http_server *s = c->server;
	struct http_exchange *x = exchange_new(c, &h1_carrier);
	char *head = x ? region_text(&x->region, (const char *)data, size) : NULL;
	const char *why = "out of memory";
	struct http1_request r = { .fields = { s->fields, s->limits.head_fields, 0 } };
	int e = head ? http1_parse_request(head, size, &r, &why) : -503;
	if (e == 0 && fill(x, &r) < 0)
		e = -503;
	if (e < 0) {
		if (x)
			exchange_free(x);
		h1_refuse(c, -e, e == -503 ? "out of memory" : why);
		return;
	}
	begin_body(&c->h1, &r, x->length);
	conn_set_deadline(c, 0);
	c->h1.requests++;
	c->h1.scan.at = 0;
	c->h1.in_head = false;
	c->h1.x = x;
	exchange_dispatch(x);
}

/* Empty lines in front of a request are skipped: some clients end a body with one. */
static size_t empty_lines(const uint8_t *data, size_t size)
{
	size_t n = 0;
	while (size - n >= 2 && data[n] == '\r' && data[n + 1] == '\n')
		n += 2;
	return n;
}

static bool step_head(struct http_conn *c, const uint8_t *data, size_t size, size_t *ret_used)
{
	struct h1 *h = &c->h1;
	h->held = h->requests >= HTTP_REQUESTS_PER_TURN ||
		  sock_unsent(&c->sock) > HTTP_UNSENT_BYTES;
	if (h->held)
		return false;
	size_t skip = h->scan.at ? 0 : empty_lines(data, size);
	*ret_used = skip;
	data += skip;
	size -= skip;
	if (size + skip && !h->in_head) {
		h->in_head = true;
		conn_set_deadline(c, c->server->limits.head_timeout_ms);
	}
	if (size < 2) {
		if (c->sock.eof)
			h1_linger(c);
		return false;
	}
	ssize_t end = http1_scan(&h->scan, (const char *)data, size);
	if (end < 0) {
		h1_refuse(c, 400, "malformed request head");
		return false;
	}
	if ((end ? (size_t)end : size) > c->server->limits.head_bytes) {
		h1_refuse(c, 431, "request head too large");
		return false;
	}
	if (end == 0) {
		if (c->sock.eof)
			h1_linger(c);
		return false;
	}
	*ret_used += (size_t)end;
	begin_request(c, data, (size_t)end);
	return c->h1.state != H1_LINGER;
}

/* ---- the body ---- */

static bool body_failed(struct http_conn *c, int error)
{
	struct h1 *h = &c->h1;
	h->body_error = error;
	h->close_wanted = true;
	h->state = H1_DONE;
	return true;
}

/* One piece, as far as credit goes; true = there may be more to do. */
static bool step_body(struct http_conn *c, const uint8_t *data, size_t size, size_t *ret_used)
{
	struct h1 *h = &c->h1;
	struct http_exchange *x = h->x;
	size_t credit = exchange_wants_body(x) ? x->credit : 0, piece_size;
	const uint8_t *piece = data, *start = data;
	if (size == 0)
		return c->sock.eof && body_failed(c, -ECONNRESET);
	bool last;
	if (h->chunked) {
		int r = chunked_decode(&h->chunks, &data, &size, credit, &piece, &piece_size);
		if (r < 0)
			return body_failed(c, r);
		last = r == 1;
		*ret_used = (size_t)(data - start);
	} else {
		piece_size = (size_t)MIN(h->left, MIN(size, credit));
		h->left -= piece_size;
		last = h->left == 0;
		*ret_used = piece_size;
	}
	if (*ret_used)
		h->expect_continue = false;
	if (last)
		h->state = H1_DONE;
	if (piece_size || (last && exchange_wants_body(x)))
		(void)exchange_deliver(x, piece, piece_size, last, 0);
	return *ret_used > 0;
}

/* Behind the request: the reader has to learn of the end. */
static bool step_done(struct http_conn *c)
{
	struct h1 *h = &c->h1;
	if (!exchange_wants_body(h->x))
		return false;
	(void)exchange_deliver(h->x, NULL, 0, true, h->body_error);
	return true;
}

static bool step_discard(struct http_conn *c, const uint8_t *data, size_t size, size_t *ret_used)
{
	struct h1 *h = &c->h1;
	const uint8_t *piece, *start = data;
	size_t piece_size;
	bool last = false;
	if (h->chunked) {
		int r = chunked_decode(&h->chunks, &data, &size, size, &piece, &piece_size);
		last = r == 1;
		*ret_used = (size_t)(data - start);
		if (r < 0)
			h->discarded = UINT64_MAX / 2;
	} else {
		*ret_used = (size_t)MIN(h->left, size);
		h->left -= *ret_used;
		last = h->left == 0;
	}
	h->discarded += *ret_used;
	if (last) {
		h->state = H1_DONE;
		return true;
	}
	if (h->discarded > HTTP_DISCARD_BYTES || c->sock.eof)
		h1_linger(c);
	return h->state == H1_DISCARD && *ret_used > 0;
}

static bool step_tunnel(struct http_conn *c, const uint8_t *data, size_t size, size_t *ret_used)
{
	struct http_exchange *x = c->h1.x;
	if (!exchange_wants_body(x))
		return false;
	size_t n = MIN(size, x->credit);
	bool last = size == 0 && c->sock.eof;
	*ret_used = n;
	return (n || last) && exchange_deliver(x, data, n, last, 0) && !last;
}

/* ---- all of it ---- */

/* The exchange is over: what now? */
static void after_exchange(struct http_conn *c)
{
	struct h1 *h = &c->h1;
	if (h->state == H1_TUNNEL || h->close_wanted || h->body_error) {
		h1_linger(c);
	} else if (h->state == H1_BODY) {
		h->state = H1_DISCARD;
		conn_set_deadline(c, c->server->limits.stall_timeout_ms);
	} else if (h->state == H1_DONE) {
		h->state = H1_HEAD;
		conn_set_deadline(c, conn_idle_ms(c));
	}
}

static bool step(struct http_conn *c, const uint8_t *data, size_t size, size_t *ret_used)
{
	struct h1 *h = &c->h1;
	*ret_used = 0;
	if (!h->x && (h->state == H1_BODY || h->state == H1_DONE || h->state == H1_TUNNEL))
		after_exchange(c);
	switch (h->state) {
	case H1_HEAD:
		return step_head(c, data, size, ret_used);
	case H1_BODY:
		return step_body(c, data, size, ret_used);
	case H1_DONE:
		return step_done(c);
	case H1_DISCARD:
		return step_discard(c, data, size, ret_used);
	case H1_TUNNEL:
		return step_tunnel(c, data, size, ret_used);
	case H1_LINGER:
		*ret_used = size;
		return false;
	}
	return false;
}

static size_t consume(struct http_conn *c, const uint8_t *data, size_t size)
{
	size_t used = 0, n;
	c->h1.running = true;
	c->h1.held = false;
	c->h1.requests = 0;
	sock_cork(&c->sock);
	bool more = true;
	while (more && !c->sock.closing) {
		more = step(c, data + used, size - used, &n);
		used += n;
	}
	c->h1.running = false;
	sock_uncork(&c->sock);
	/* Else it goes on when some of that is written. */
	if (c->h1.held && sock_unsent(&c->sock) <= HTTP_UNSENT_BYTES)
		conn_schedule(c);
	return used;
}

static void send_continue(struct http_conn *c)
{
	static char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct h1 *h = &c->h1;
	if (!h->expect_continue || !h->x || !h->x->body_reading || h->x->started)
		return;
	h->expect_continue = false;
	uv_buf_t piece = uv_buf_init(text, sizeof(text) - 1);
	if (h->in.size == 0)
		(void)sock_send(&c->sock, &piece, 1);
}

/* Whether to go on reading, and how long to wait for more of a body. */
static void settle(struct http_conn *c)
{
	struct h1 *h = &c->h1;
	if (c->sock.closing || h->state == H1_LINGER)
		return;
	if (h->in.size == 0)
		buffer_fini(&h->in);
	send_continue(c);
	bool full = h->state == H1_DONE	  ? h->in.size >= HTTP_PIPELINED_BYTES
		    : h->state == H1_HEAD ? h->held
					  : h->in.size > 0;
	sock_read(&c->sock, !full);
	/* A client that closed its side may be gone altogether: only sending would tell. */
	bool unanswered = h->state == H1_DONE && h->x && !h->x->started;
	if (unanswered && c->sock.eof && c->deadline_ms == 0)
		conn_set_deadline(c, c->server->limits.stall_timeout_ms);
	if (h->state != H1_BODY)
		return;
	/* Who has no credit cannot be late. */
	bool waiting = exchange_wants_body(h->x) && h->x->credit > 0;
	conn_set_deadline(c, waiting ? c->server->limits.stall_timeout_ms : 0);
}

static void h1_input(struct http_conn *c, const uint8_t *data, size_t size)
{
	struct h1 *h = &c->h1;
	if (h->state == H1_LINGER) {
		h->discarded += size;
		if (h->discarded > HTTP_DISCARD_BYTES * 4)
			conn_close(c);
		return;
	}
	int r = 0;
	if (h->in.size == 0) {
		size_t used = consume(c, data, size);
		if (used < size && h->state != H1_LINGER)
			r = buffer_append(&h->in, data + used, size - used);
	} else {
		r = buffer_append(&h->in, data, size);
		size_t used = r == 0 ? consume(c, h->in.data, h->in.size) : 0;
		buffer_take(&h->in, MIN(used, h->in.size));
	}
	if (r < 0)
		conn_close(c);
	settle(c);
}

static void h1_run(struct http_conn *c)
{
	struct h1 *h = &c->h1;
	if (h->state == H1_LINGER) {
		if (c->sock.eof && sock_unsent(&c->sock) == 0)
			conn_close(c);
		return;
	}
	if (h->x)
		(void)exchange_run(h->x);
	uint8_t none = 0;
	size_t used = consume(c, h->in.data ? h->in.data : &none, h->in.size);
	buffer_take(&h->in, MIN(used, h->in.size));
	settle(c);
}

static void h1_eof(struct http_conn *c)
{
	const struct http_exchange *x = c->h1.x;
	bool endless = x && x->started && x->out_length == UINT64_MAX;
	if (c->h1.state != H1_TUNNEL && x && (endless || x->eof_is_close))
		conn_close(c);
	else
		h1_run(c);
}

static void h1_expired(struct http_conn *c, bool stalled)
{
	struct h1 *h = &c->h1;
	struct http_exchange *x = h->x;
	if (h->state == H1_LINGER && !stalled && sock_unsent(&c->sock) > 0) {
		conn_set_deadline(c, HTTP_LINGER_MS);
	} else if (h->state == H1_DONE && !stalled && x && x->started) {
		/* It has been answered meanwhile. */
	} else if (!stalled && h->state == H1_HEAD && !h->in_head && sock_unsent(&c->sock) > 0) {
		conn_set_deadline(c, conn_idle_ms(c)); /* it takes its answers */
	} else if (!stalled && h->state == H1_HEAD && h->in_head) {
		h1_refuse(c, 408, "the request took too long");
	} else if (!stalled && h->state == H1_BODY && x && !x->started) {
		h->x = NULL;
		exchange_lost(x);
		h1_refuse(c, 408, "the request took too long");
	} else {
		conn_close(c);
	}
}

static void h1_drain(struct http_conn *c)
{
	if (c->h1.state == H1_HEAD && c->h1.in.size == 0)
		h1_linger(c);
	else
		c->h1.close_wanted = true;
}

static void h1_closed(struct http_conn *c)
{
	struct http_exchange *x = c->h1.x;
	c->h1.x = NULL;
	if (x)
		exchange_lost(x);
	buffer_fini(&c->h1.in);
}

const struct http_protocol http1_protocol = {
	.open = h1_open,
	.input = h1_input,
	.eof = h1_eof,
	.run = h1_run,
	.expired = h1_expired,
	.drain = h1_drain,
	.closed = h1_closed,
};
