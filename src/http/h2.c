/*
 * HTTP/2: a session of nghttp2 and its streams.
 *
 *	input -> nghttp2_session_mem_recv() -> callbacks mark streams "dirty"
 *	                                           |
 *	run, input -> h2_work(): dispatch, deliver, drain for each dirty stream -> flush
 *	                                           |
 *	handlers -> h2_response.c -> submit, queue -> flush -> nghttp2_session_mem_send() -> socket
 *
 * No handler runs inside a callback of nghttp2: there they would not be allowed to send. A stream that
 * nghttp2 has closed is freed by h2_work(), too.
 *
 * Floods: nghttp2 bounds concurrent streams, resets per second, continuations, settings and
 * acknowledgements; we bound the head (bytes, fields), the windows, and how much is queued in the
 * socket before frames are made. A stream whose body does not move although it could is reset.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "http/h2_internal.h"

#define SOCKET_BACKLOG 262144

/* ---- callbacks of nghttp2: they only note what happened ---- */

static struct h2_stream *find(nghttp2_session *session, int32_t id)
{
	return nghttp2_session_get_stream_user_data(session, id);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
	struct h2 *h = ctx;
	if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	struct h2_stream *s = h2_stream_new(h, frame->hd.stream_id);
	if (!s)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	nghttp2_session_set_stream_user_data(session, s->id, s);
	return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
		     size_t name_size, const uint8_t *value, size_t value_size, uint8_t flags,
		     void *ctx)
{
	struct h2_stream *s = find(session, frame->hd.stream_id);
	(void)flags;
	(void)ctx;
	/* Trailers are dropped. */
	if (!s || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	if (h2_stream_field(s, name, name_size, value, value_size) < 0)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
	struct h2_stream *s = find(session, frame->hd.stream_id);
	bool end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	(void)ctx;
	if (!s || (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA))
		return 0;
	if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
		s->complete = true;
	if (end)
		s->in_end = true;
	h2_mark(s);
	return 0;
}

static int on_data_chunk(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
			 size_t size, void *ctx)
{
	struct h2_stream *s = find(session, id);
	(void)flags;
	(void)ctx;
	/* The window keeps this below the buffer's limit. */
	if (!s || !s->x || buffer_append(&s->in, data, size) < 0)
		return nghttp2_session_consume(session, id, size) < 0 ? NGHTTP2_ERR_CALLBACK_FAILURE
								      : 0;
	s->moved_ms = uv_now(s->h2->conn->server->loop);
	h2_mark(s);
	return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *ctx)
{
	struct h2_stream *s = find(session, id);
	(void)code;
	(void)ctx;
	if (s) {
		s->gone = true;
		nghttp2_session_set_stream_user_data(session, id, NULL);
		h2_mark(s);
	}
	return 0;
}

/* The response is complete before the request: the rest of that is not wanted. */
static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
	struct h2_stream *s = find(session, frame->hd.stream_id);
	bool end = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	(void)ctx;
	if (s && end && !s->in_end &&
	    (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA))
		(void)nghttp2_submit_rst_stream(session, 0, s->id, NGHTTP2_NO_ERROR);
	return 0;
}

/* ---- work ---- */

/* Frames for the socket, up to what it may hold. False: there are no more. */
static bool fill_socket(struct h2 *h)
{
	struct sock *sock = &h->conn->sock;
	while (!sock->closing && sock_unsent(sock) < SOCKET_BACKLOG) {
		const uint8_t *data;
		ssize_t n = nghttp2_session_mem_send(h->session, &data);
		if (n < 0)
			conn_close(h->conn);
		if (n <= 0)
			return false;
		union {
			const uint8_t *in;
			char *out;
		} content = { .in = data };
		uv_buf_t piece = { .base = content.out, .len = (size_t)n };
		(void)sock_send(sock, &piece, 1);
	}
	return !sock->closing;
}

static void flush(struct h2 *h)
{
	struct sock *sock = &h->conn->sock;
	bool more = true;
	/* What the kernel took at once makes room; only if it did not, `written` will follow. */
	while (more && sock_unsent(sock) < SOCKET_BACKLOG) {
		sock_cork(sock);
		more = fill_socket(h);
		sock_uncork(sock);
	}
	if (sock->closing || sock->ended || nghttp2_session_want_read(h->session) ||
	    nghttp2_session_want_write(h->session))
		return;
	/* Everything is said. Closing at once could cost the client our last words. */
	sock_end(sock);
	h->active_ms = uv_now(h->conn->server->loop);
}

void h2_kick(struct h2 *h)
{
	if (!h->working && !h->receiving)
		flush(h);
}

void h2_mark(struct h2_stream *s)
{
	if (list_linked(&s->dirty))
		return;
	list_add_tail(&s->h2->dirty, &s->dirty);
	if (!s->h2->working && !s->h2->receiving)
		conn_schedule(s->h2->conn);
}

static void work_on(struct h2_stream *s)
{
	if (s->gone) {
		h2_stream_free(s);
		return;
	}
	if (s->complete && !s->dispatched)
		h2_stream_dispatch(s);
	if (s->x && s->dispatched)
		(void)exchange_run(s->x);
	h2_stream_deliver(s);
}

static void h2_work(struct http_conn *c)
{
	struct h2 *h = c->h2;
	struct list now;
	list_init(&now);
	list_splice_tail(&now, &h->dirty);
	h->working = true;
	while (!list_empty(&now)) {
		struct h2_stream *s = list_first(&now, struct h2_stream, dirty);
		list_del(&s->dirty);
		work_on(s);
	}
	h->working = false;
	flush(h);
	if (!list_empty(&h->dirty))
		conn_schedule(c);
}

static void h2_input(struct http_conn *c, const uint8_t *data, size_t size)
{
	struct h2 *h = c->h2;
	if (c->sock.ended)
		return;
	h->active_ms = uv_now(c->server->loop);
	h->receiving = true;
	ssize_t n = nghttp2_session_mem_recv(h->session, data, size);
	h->receiving = false;
	if (n < 0)
		conn_close(c);
	h2_work(c);
}

static void h2_eof(struct http_conn *c)
{
	conn_close(c);
}

/* ---- time ---- */

/* Resets a stream whose body, in either direction, waits for the client. */
static void check_stream(struct h2_stream *s, uint64_t now_ms)
{
	const struct http_limits *l = &s->h2->conn->server->limits;
	uint32_t limit = s->complete ? l->stall_timeout_ms : l->head_timeout_ms;
	bool waits = !s->complete || s->out.size > 0 ||
		     (s->x && exchange_wants_body(s->x) && s->x->credit && !s->in_end &&
		      s->in.size == 0);
	if (!waits || now_ms - s->moved_ms < limit)
		return;
	/* In the middle of a head there is no other stream. */
	if (!s->complete)
		(void)nghttp2_session_terminate_session(s->h2->session, NGHTTP2_PROTOCOL_ERROR);
	else
		h2_reset(s, NGHTTP2_CANCEL);
}

static void h2_expired(struct http_conn *c, bool stalled)
{
	struct h2 *h = c->h2;
	const struct http_limits *l = &c->server->limits;
	uint64_t now = uv_now(c->server->loop);
	if (stalled || (c->sock.ended && now - h->active_ms >= HTTP_LINGER_MS)) {
		conn_close(c);
		return;
	}
	struct h2_stream *s, *next;
	list_for_each_safe(s, next, &h->streams, link)
		check_stream(s, now);
	if (h->count == 0 && now - h->active_ms >= l->idle_timeout_ms)
		(void)nghttp2_session_terminate_session(h->session, NGHTTP2_NO_ERROR);
	conn_set_deadline(c, HTTP_SWEEP_MS);
	h2_work(c);
}

/* ---- beginning and end ---- */

static nghttp2_option *make_options(void)
{
	nghttp2_option *o;
	if (nghttp2_option_new(&o) != 0)
		return NULL;
	nghttp2_option_set_no_auto_window_update(o, 1);
	nghttp2_option_set_no_closed_streams(o, 1);
	nghttp2_option_set_stream_reset_rate_limit(o, HTTP2_RESETS_BURST, HTTP2_RESETS_RATE);
	nghttp2_option_set_max_continuations(o, HTTP2_CONTINUATIONS);
	return o;
}

static nghttp2_session_callbacks *make_callbacks(void)
{
	nghttp2_session_callbacks *cb;
	if (nghttp2_session_callbacks_new(&cb) != 0)
		return NULL;
	nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data_chunk);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
	nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_frame_sent);
	return cb;
}

static int make_session(struct h2 *h)
{
	nghttp2_option *o = make_options();
	nghttp2_session_callbacks *cb = make_callbacks();
	int r = o && cb ? nghttp2_session_server_new2(&h->session, cb, h, o) : -1;
	nghttp2_option_del(o);
	nghttp2_session_callbacks_del(cb);
	return r == 0 ? 0 : -ENOMEM;
}

static int send_settings(struct h2 *h, const struct http_limits *l)
{
	nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, l->streams_per_connection },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, HTTP2_STREAM_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, l->head_bytes },
		{ NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1 },
	};
	int r = nghttp2_submit_settings(h->session, 0, settings, ARRAY_SIZE(settings));
	if (r == 0)
		r = nghttp2_session_set_local_window_size(h->session, 0, 0, HTTP2_SESSION_WINDOW);
	return r == 0 ? 0 : -ENOMEM;
}

static int h2_open(struct http_conn *c)
{
	struct h2 *h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->conn = c;
	list_init(&h->streams);
	list_init(&h->dirty);
	h->active_ms = uv_now(c->server->loop);
	int r = make_session(h);
	if (r == 0)
		r = send_settings(h, &c->server->limits);
	if (r < 0) {
		nghttp2_session_del(h->session);
		free(h);
		return r;
	}
	c->h2 = h;
	conn_set_deadline(c, HTTP_SWEEP_MS);
	flush(h);
	return 0;
}

static void h2_drain(struct http_conn *c)
{
	struct h2 *h = c->h2;
	int32_t last = nghttp2_session_get_last_proc_stream_id(h->session);
	if (h->count == 0)
		(void)nghttp2_session_terminate_session(h->session, NGHTTP2_NO_ERROR);
	else
		(void)nghttp2_submit_goaway(h->session, 0, last, NGHTTP2_NO_ERROR, NULL, 0);
	flush(h);
}

static void h2_closed(struct http_conn *c)
{
	struct h2 *h = c->h2;
	h->working = true; /* nothing is sent any more */
	while (!list_empty(&h->streams)) {
		struct h2_stream *s = list_first(&h->streams, struct h2_stream, link);
		if (!s->gone)
			nghttp2_session_set_stream_user_data(h->session, s->id, NULL);
		h2_stream_free(s);
	}
	nghttp2_session_del(h->session);
	free(h);
	c->h2 = NULL;
}

const struct http_protocol http2_protocol = {
	.open = h2_open,
	.input = h2_input,
	.eof = h2_eof,
	.run = h2_work,
	.expired = h2_expired,
	.drain = h2_drain,
	.closed = h2_closed,
};
