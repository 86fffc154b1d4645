/* The request's body: credit, and the whole of it in memory. */
#include <errno.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/util.h"
#include "http/conn_internal.h"
#include "http/exchange_internal.h"

void http_body_read(struct http_exchange *x, http_body_fn fn, void *ctx, size_t credit)
{
	x->body_fn = fn;
	x->body_ctx = ctx;
	x->credit = credit;
	x->body_reading = true;
	x->carrier->wake(x);
}

void http_body_grant(struct http_exchange *x, size_t bytes)
{
	if (__builtin_add_overflow(x->credit, bytes, &x->credit))
		x->credit = SIZE_MAX;
	if (exchange_wants_body(x))
		x->carrier->wake(x);
}

struct collector {
	struct buffer buffer;
	struct http_conn *conn; /* outlives it */
	size_t counted;		/* of conn->body_held */
	http_whole_fn fn;
	void *ctx;
};

static bool count(struct collector *c, size_t size)
{
	c->counted += size;
	c->conn->body_held += size;
	return conn_account(c->conn);
}

static void forget(struct collector *c)
{
	buffer_fini(&c->buffer);
	c->conn->body_held -= c->counted;
	c->counted = 0;
	(void)conn_account(c->conn);
}

void collector_free(struct collector *c)
{
	if (c)
		forget(c);
	free(c);
}

static void too_large(struct http_exchange *x, size_t max)
{
	http_error(x, 413, "the request body is larger than %zu bytes", max);
}

static void on_piece(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size,
		     bool last, int error)
{
	struct collector *c = ctx;
	if (error < 0) {
		http_error(x, 400, "the request body is %s",
			   error == -ECONNRESET ? "incomplete" : "malformed");
		return;
	}
	if (!count(c, size)) {
		forget(c); /* the answer counts, too */
		http_error(x, 503, "the programs of this sandbox send too much at a time");
		return;
	}
	int r = buffer_append(&c->buffer, data, size); /* also makes an empty one a string */
	if (r == -EMSGSIZE) {
		too_large(x, c->buffer.max);
		return;
	}
	if (r < 0) {
		http_error(x, 503, "out of memory");
		return;
	}
	if (!last) {
		http_body_grant(x, size);
		return;
	}
	c->fn(x, c->ctx, c->buffer.data, c->buffer.size);
	forget(c); /* the exchange may be over, but not freed before we return */
}

void http_body_collect(struct http_exchange *x, size_t max, http_whole_fn fn, void *ctx)
{
	if (x->length != HTTP1_NO_LENGTH && x->length > max) {
		too_large(x, max);
		return;
	}
	struct collector *c = calloc(1, sizeof(*c));
	if (!c) {
		http_error(x, 503, "out of memory");
		return;
	}
	buffer_init(&c->buffer, max);
	c->conn = x->conn;
	c->fn = fn;
	c->ctx = ctx;
	x->collector = c;
	http_body_read(x, on_piece, c, MIN(max + 1, (size_t)KIB(256)));
}
