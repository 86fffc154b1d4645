/* HTTP/2: responses. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "http/h2_internal.h"

/* ---- the body ---- */

/* nghttp2 asks for content of a DATA frame. */
static ssize_t read_out(nghttp2_session *session, int32_t id, uint8_t *data, size_t room,
			uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
	struct h2_stream *s = source->ptr;
	(void)session;
	(void)id;
	(void)ctx;
	size_t n = 0;
	while (n < room && s->out.size) {
		uv_buf_t piece;
		size_t bytes;
		(void)outq_pieces(&s->out, &piece, 1, &bytes);
		bytes = MIN(bytes, room - n);
		memcpy(data + n, piece.base, bytes);
		outq_take(&s->out, bytes);
		n += bytes;
	}
	if (s->out.size == 0 && s->out_end)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	else if (n == 0)
		return NGHTTP2_ERR_DEFERRED;
	s->moved_ms = uv_now(s->h2->conn->server->loop);
	if (s->x && s->x->drain_armed)
		h2_mark(s);
	return (ssize_t)n;
}

static int h2_body(struct http_exchange *x, const void *data, size_t size)
{
	struct h2_stream *s = h2_stream_of(x);
	if (s->gone || x->conn->sock.closing)
		return -EPIPE;
	if (s->out.size == 0)
		s->moved_ms = uv_now(x->server->loop);
	if (outq_append(&s->out, data, size) < 0) {
		conn_close(x->conn);
		return -ENOMEM;
	}
	(void)nghttp2_session_resume_data(s->h2->session, s->id);
	h2_kick(s->h2);
	return 0;
}

/* ---- the head ---- */

static nghttp2_nv field(const char *name, const char *value)
{
	union {
		const char *in;
		uint8_t *out;
	} n = { .in = name }, v = { .in = value };
	return (nghttp2_nv){ n.out, v.out, strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE };
}

static size_t make_fields(struct http_exchange *x, nghttp2_nv *nv, char status[8], char length[24])
{
	size_t count = 0;
	(void)snprintf(status, 8, "%d", x->status == 101 ? 200 : x->status);
	nv[count++] = field(":status", status);
	nv[count++] = field("date", server_date(x->server));
	for (size_t i = 0; i < x->out_count; i++)
		if (!http1_is_hop(x->out_fields[i].name))
			nv[count++] = field(x->out_fields[i].name, x->out_fields[i].value);
	if (!x->no_content && x->out_length != UINT64_MAX) {
		(void)snprintf(length, 24, "%llu", (unsigned long long)x->out_length);
		nv[count++] = field("content-length", length);
	}
	return count;
}

static int h2_head(struct http_exchange *x, const void *body, size_t size, bool whole)
{
	struct h2_stream *s = h2_stream_of(x);
	nghttp2_nv nv[HTTP_RESPONSE_FIELDS + 3];
	char status[8], length[24];
	if (s->gone || x->conn->sock.closing)
		return -EPIPE;
	size_t count = make_fields(x, nv, status, length);
	bool none = x->head_only || x->no_content || (whole && size == 0);
	if (size && outq_append(&s->out, body, size) < 0) {
		conn_close(x->conn);
		return -ENOMEM;
	}
	s->out_end = whole;
	s->moved_ms = uv_now(x->server->loop);
	nghttp2_data_provider provider = { .source = { .ptr = s }, .read_callback = read_out };
	int r = nghttp2_submit_response(s->h2->session, s->id, nv, count, none ? NULL : &provider);
	if (r < 0) {
		h2_reset(s, NGHTTP2_INTERNAL_ERROR);
		return -EIO;
	}
	h2_kick(s->h2);
	return 0;
}

/* ---- the end ---- */

static void let_go(struct h2_stream *s)
{
	s->x = NULL;
	h2_mark(s); /* what still arrives is thrown away */
}

static void h2_end(struct http_exchange *x)
{
	struct h2_stream *s = h2_stream_of(x);
	let_go(s);
	if (s->gone || x->conn->sock.closing)
		return;
	s->out_end = true;
	(void)nghttp2_session_resume_data(s->h2->session, s->id);
	h2_kick(s->h2);
}

void h2_reset(struct h2_stream *s, uint32_t code)
{
	outq_fini(&s->out);
	if (!s->gone)
		(void)nghttp2_submit_rst_stream(s->h2->session, 0, s->id, code);
	h2_kick(s->h2);
}

static void h2_abort(struct http_exchange *x)
{
	struct h2_stream *s = h2_stream_of(x);
	let_go(s);
	h2_reset(s, NGHTTP2_INTERNAL_ERROR);
}

static size_t h2_unsent(const struct http_exchange *x)
{
	return h2_stream_of(x)->out.size;
}

static void h2_wake(struct http_exchange *x)
{
	struct h2_stream *s = h2_stream_of(x);
	s->moved_ms = uv_now(x->server->loop);
	h2_mark(s);
}

const struct http_carrier h2_carrier = {
	.head = h2_head,
	.body = h2_body,
	.end = h2_end,
	.abort = h2_abort,
	.unsent = h2_unsent,
	.wake = h2_wake,
};
