/* Between the files of HTTP/2: session (h2.c), requests (h2_request.c), responses (h2_response.c). */
#pragma once

#include <nghttp2/nghttp2.h>

#include "base/buffer.h"
#include "base/list.h"
#include "http/conn_internal.h"
#include "http/exchange_internal.h"
#include "http/outq.h"
#include "http/server_internal.h"

struct h2 {
	struct http_conn *conn;
	nghttp2_session *session;
	struct list streams;
	struct list dirty; /* streams with something to do */
	size_t count;
	uint64_t active_ms; /* when bytes came last */
	bool working;	    /* in h2_work(): it flushes by itself */
	bool receiving;	    /* in nghttp2_session_mem_recv(): nothing may be sent */
};

struct h2_stream {
	struct h2 *h2;
	struct list link, dirty;
	int32_t id;
	struct http_exchange *x; /* NULL: the response is complete, or was cut */
	uint64_t moved_ms;	 /* when bytes of a body moved last, or could have begun to */

	/* The head, as it comes. */
	struct http1_fields fields;
	size_t head_bytes;
	const char *scheme, *authority, *protocol;
	bool too_large, complete, dispatched;

	struct buffer in; /* arrived and not delivered: at most the window */
	bool in_end;
	struct outq out;
	bool out_end, out_deferred;
	bool gone; /* nghttp2 has closed it */
};

extern const struct http_carrier h2_carrier;

static inline struct h2_stream *h2_stream_of(const struct http_exchange *x)
{
	return x->stream;
}

/* Something is to be done for it; it is done now by who works, or soon. */
void h2_mark(struct h2_stream *s);
/* Sends what nghttp2 has, unless who works does so later. */
void h2_kick(struct h2 *h);

/* ---- requests ---- */

struct h2_stream *h2_stream_new(struct h2 *h, int32_t id);
void h2_stream_free(struct h2_stream *s);
/* A field of the request's head. -ENOMEM. */
int h2_stream_field(struct h2_stream *s, const uint8_t *name, size_t name_size,
		    const uint8_t *value, size_t value_size);
/* The head is complete: hands the exchange to the router, or answers why not. */
void h2_stream_dispatch(struct h2_stream *s);
/* Hands on what arrived, as far as credit goes; throws it away when nobody wants it. */
void h2_stream_deliver(struct h2_stream *s);

/* ---- responses ---- */

void h2_reset(struct h2_stream *s, uint32_t code);
