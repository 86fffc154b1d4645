/* Between the exchange and what carries it (h1.c, h2.c). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/region.h"
#include "codec/http1.h"
#include "http/exchange.h"
#include "http/limits.h"

struct http_conn;
struct http_server;

/* What the exchange asks of its carrier. */
struct http_carrier {
	/*
	 * Sends the response head, made of x->status and x->out_fields; with `whole` also the body,
	 * which is all there is. -errno: broken, the end follows from the loop.
	 */
	int (*head)(struct http_exchange *x, const void *body, size_t size, bool whole);
	int (*body)(struct http_exchange *x, const void *data, size_t size);
	/* The response is complete. The carrier forgets the exchange. */
	void (*end)(struct http_exchange *x);
	/* Forgets the exchange and resets the connection or stream. */
	void (*abort)(struct http_exchange *x);
	size_t (*unsent)(const struct http_exchange *x);
	/* Reader, credit or drain was set: call exchange_run() and deliver, from the loop. */
	void (*wake)(struct http_exchange *x);
};

struct out_field {
	const char *name, *value;
};

struct http_param {
	const char *name; /* in the pattern, not terminated */
	size_t name_size;
	const char *value;
};

struct http_exchange {
	struct http_conn *conn;
	struct http_server *server;
	const struct http_carrier *carrier;
	void *stream; /* the carrier's */
	struct region region;
	uint64_t start_ns;

	const char *method, *path, *query, *host;
	const char *upgrade; /* protocol the client would change to; NULL = none */
	struct http1_field *fields;
	size_t field_count;
	uint64_t length;
	struct http_param params[HTTP_PARAMS];
	size_t param_count;
	const char *label;

	http_body_fn body_fn;
	void *body_ctx;
	size_t credit;
	bool body_reading; /* http_body_read() was called */
	bool body_over;	   /* the last piece was delivered */
	struct collector *collector;

	int status;
	struct out_field *out_fields;
	size_t out_count, out_room;
	uint64_t out_length; /* UINT64_MAX = not known */
	uint64_t out_sent;
	bool started, head_only, no_content;
	bool eof_is_close; /* a client that sends no more is gone (proxy) */

	http_event_fn drain_fn, close_fn;
	void *drain_ctx, *close_ctx;
	size_t drain_below;
	bool drain_armed;

	unsigned busy; /* callbacks that are running */
	bool dead;     /* ended; freed when the last callback returns */
	bool lost;     /* the client is gone: nothing can be said any more */
};

/* ---- for carriers ---- */

/* NULL = out of memory. The strings of the request are the caller's to set, in x->region. */
struct http_exchange *exchange_new(struct http_conn *conn, const struct http_carrier *carrier);
/* Splits a request target into path and query, in x->region. -ENOMEM. */
int exchange_set_target(struct http_exchange *x, const char *target);
/* Takes the fields that are not hop-by-hop. -ENOMEM. */
int exchange_set_fields(struct http_exchange *x, const struct http1_fields *fields);
/* Hands it to the router. It may be gone when this returns. */
void exchange_dispatch(struct http_exchange *x);
/*
 * A piece of the body, at most x->credit bytes. False: the exchange ended in the callback, and x must
 * not be looked at.
 */
bool exchange_deliver(struct http_exchange *x, const uint8_t *data, size_t size, bool last,
		      int error);
static inline bool exchange_wants_body(const struct http_exchange *x)
{
	return x->body_reading && !x->body_over;
}
/* Calls the drain function if it is due. False as above. */
bool exchange_run(struct http_exchange *x);
/* The client is gone: the handler is told and the exchange is over; the carrier has let go of it. */
void exchange_lost(struct http_exchange *x);
/* Freed unless a callback runs. */
void exchange_free(struct http_exchange *x);

/* ---- for the proxy ---- */

/* 101 with that protocol, or 200 to an extended CONNECT; then bytes both ways without framing. */
void exchange_upgrade(struct http_exchange *x, const char *protocol);

/* ---- inside ---- */

/* Reports the end to hooks; the carrier has let go of it. */
void exchange_over(struct http_exchange *x, int status);
void collector_free(struct collector *c);
/* Whether a response of this status has no body. */
bool status_has_no_body(int status);
