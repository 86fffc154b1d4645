/* HTTP/1.1: responses. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/util.h"
#include "http/h1_internal.h"

static struct h1 *of(const struct http_exchange *x)
{
	return &x->conn->h1;
}

/* The rest of a request's body that is too long to be thrown away. */
static bool much_is_left(const struct h1 *h)
{
	return h->state == H1_BODY && !h->chunked && h->left > HTTP_DISCARD_BYTES;
}

static void decide_close(struct http_exchange *x)
{
	struct h1 *h = of(x);
	/* A client that waits for 100 may send the body now, or not: nobody knows what follows. */
	if (x->conn->draining || h->expect_continue || much_is_left(h) || h->body_error)
		h->close_wanted = true;
}

static void put_framing(struct http_exchange *x, struct text *t)
{
	struct h1 *h = of(x);
	h->out_chunked = false;
	if (x->status == 101) {
		text_printf(t, "connection: upgrade\r\n");
		return;
	}
	if (x->no_content) {
		/* Neither: RFC 9110, sections 8.6 and 15.3.5. */
	} else if (x->out_length != UINT64_MAX) {
		text_printf(t, "content-length: %llu\r\n", (unsigned long long)x->out_length);
	} else if (h->minor == 1) {
		text_printf(t, "transfer-encoding: chunked\r\n");
		h->out_chunked = !x->head_only;
	} else {
		h->close_wanted = true; /* ends with the connection */
	}
	if (h->close_wanted)
		text_printf(t, "connection: close\r\n");
}

static int make_head(struct http_exchange *x, size_t *ret_size)
{
	struct http_server *s = x->server;
	struct text t = { s->head_text, s->head_room, 0, false };
	text_printf(&t, "HTTP/1.1 %d %s\r\ndate: %s\r\n", x->status, http1_reason(x->status),
		    server_date(s));
	for (size_t i = 0; i < x->out_count; i++) {
		const struct out_field *f = &x->out_fields[i];
		text_put(&t, f->name, strlen(f->name));
		text_put(&t, ": ", 2);
		text_put(&t, f->value, strlen(f->value));
		text_put(&t, "\r\n", 2);
	}
	put_framing(x, &t);
	text_put(&t, "\r\n", 2);
	*ret_size = t.length;
	return t.truncated ? -EMSGSIZE : 0;
}

/* libuv's pieces are not const, but only read. */
static uv_buf_t piece(const void *data, size_t size)
{
	union {
		const void *in;
		char *out;
	} p = { .in = data };
	return (uv_buf_t){ .base = p.out, .len = size };
}

static int send_pieces(struct http_conn *c, const uv_buf_t *pieces, unsigned count)
{
	int r = sock_send(&c->sock, pieces, count);
	if (r == 0 && !conn_account(c)) {
		conn_close(c);
		r = -ENOBUFS;
	}
	return r;
}

static int h1_head(struct http_exchange *x, const void *body, size_t size, bool whole)
{
	struct http_conn *c = x->conn;
	size_t head_size;
	(void)whole;
	decide_close(x);
	int r = make_head(x, &head_size);
	if (r < 0) {
		conn_close(c);
		return r;
	}
	if (x->status == 101) {
		c->h1.state = H1_TUNNEL;
		conn_set_deadline(c, 0);
	}
	uv_buf_t pieces[] = { piece(x->server->head_text, head_size), piece(body, size) };
	return send_pieces(c, pieces, size ? 2 : 1);
}

static int h1_body(struct http_exchange *x, const void *data, size_t size)
{
	char head[CHUNKED_HEAD_MAX];
	if (!of(x)->out_chunked) {
		uv_buf_t one = piece(data, size);
		return send_pieces(x->conn, &one, 1);
	}
	uv_buf_t pieces[] = { piece(head, chunked_head(head, size)), piece(data, size),
			      piece("\r\n", 2) };
	return send_pieces(x->conn, pieces, ARRAY_SIZE(pieces));
}

static void let_go(struct http_exchange *x)
{
	struct h1 *h = of(x);
	h->x = NULL;
	if (!h->running)
		conn_schedule(x->conn);
}

static void h1_end(struct http_exchange *x)
{
	struct h1 *h = of(x);
	if (h->out_chunked) {
		uv_buf_t end = piece(CHUNKED_END, sizeof(CHUNKED_END) - 1);
		(void)sock_send(&x->conn->sock, &end, 1);
	}
	h->out_chunked = false;
	let_go(x);
}

static void h1_abort(struct http_exchange *x)
{
	sock_uncork(&x->conn->sock); /* what was sent before goes out, if it can at once */
	conn_close(x->conn);
	let_go(x);
}

static size_t h1_unsent(const struct http_exchange *x)
{
	return sock_unsent(&x->conn->sock);
}

static void h1_wake(struct http_exchange *x)
{
	if (!of(x)->running || x->drain_armed)
		conn_schedule(x->conn);
}

const struct http_carrier h1_carrier = {
	.head = h1_head,
	.body = h1_body,
	.end = h1_end,
	.abort = h1_abort,
	.unsent = h1_unsent,
	.wake = h1_wake,
};
