/*
 * Streams. One ends in one of four ways: the handler ends it; the client leaves; its deadline
 * (Connect-Timeout-Ms) passes; the sandbox is gone, then the connection is cut without an end, which
 * is how clients tell it from a proper one.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/util.h"
#include "codec/envelope.h"
#include "server/api/envd/rpc_internal.h"
#include "server/api/explain.h"
#include "server/api/json.h"
#include "server/api/reply.h"
#include "server/server.h"

#define CONTENT_TYPE	    "application/connect+json"
#define UNSENT_MAX	    (256u << 10)
#define KEEPALIVE_DEFAULT_S 90
#define KEEPALIVE_MAX_S	    3600

struct rpc_timers {
	uv_timer_t keepalive, deadline;
	unsigned int open;
	uint64_t keepalive_ms;
	bool used; /* something was sent since the last look */
};

static void timer_closed(uv_handle_t *h)
{
	struct rpc_timers *t = h->data;

	if (--t->open == 0)
		free(t);
}

static void timers_free(struct rpc_timers *t)
{
	if (!t)
		return;
	t->keepalive.data = t->deadline.data = t;
	uv_close((uv_handle_t *)&t->keepalive, timer_closed);
	uv_close((uv_handle_t *)&t->deadline, timer_closed);
}

static void stream_free(struct rpc_stream *st)
{
	sandbox_detach(&st->attachment);
	timers_free(st->timers);
	json_decref(st->request);
	free(st);
}

/* ---- sending ---- */

static void send_envelope(struct rpc_stream *st, uint8_t flags, const char *text)
{
	size_t size = strlen(text);
	uint8_t head[ENVELOPE_HEAD];
	uint8_t small[4096];

	envelope_head(head, flags, (uint32_t)size);
	if (st->timers)
		st->timers->used = true;
	if (size <= sizeof(small) - ENVELOPE_HEAD) {
		memcpy(small, head, ENVELOPE_HEAD);
		memcpy(small + ENVELOPE_HEAD, text, size);
		http_send(st->x, small, ENVELOPE_HEAD + size);
		return;
	}
	http_send(st->x, head, ENVELOPE_HEAD);
	http_send(st->x, text, size);
}

void rpc_stream_send(struct rpc_stream *st, json_t *message)
{
	char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;

	json_decref(message);
	if (text)
		send_envelope(st, 0, text);
	free(text);
}

bool rpc_stream_full(const struct rpc_stream *st)
{
	return http_unsent(st->x) > UNSENT_MAX;
}

static void finish(struct rpc_stream *st, const char *end)
{
	struct http_exchange *x = st->x;

	http_on_close(x, NULL, NULL);
	http_on_drain(x, 0, NULL, NULL);
	send_envelope(st, ENVELOPE_END, end);
	stream_free(st);
	http_finish(x);
}

void rpc_stream_end(struct rpc_stream *st)
{
	finish(st, "{}");
}

void rpc_stream_fail(struct rpc_stream *st, enum rpc_code code, const char *format, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	json_t *end = json_pack("{s:{s:s, s:o}}", "error", "code", rpc_codes[code].name, "message",
				reply_text(text));
	char *json = end ? json_dumps(end, JSON_COMPACT) : NULL;
	json_decref(end);
	finish(st, json ? json : "{\"error\":{\"code\":\"internal\"}}");
	free(json);
}

void rpc_stream_fail_about(struct rpc_stream *st, int error, uint32_t about, const char *subject)
{
	char text[EXPLAIN_SIZE];

	explain(text, error, about, subject);
	rpc_stream_fail(st, rpc_code_of(error, about), "%s", text);
}

/* ---- what ends it from outside ---- */

static void client_left(struct http_exchange *x, void *ctx)
{
	struct rpc_stream *st = ctx;

	st->ops->stop(st, RPC_STOP_LEFT);
	stream_free(st);
}

static void sandbox_gone(struct sandbox_attachment *a)
{
	struct rpc_stream *st = container_of(a, struct rpc_stream, attachment);
	struct http_exchange *x = st->x;

	st->ops->stop(st, RPC_STOP_SANDBOX);
	http_on_close(x, NULL, NULL);
	stream_free(st);
	http_abort(x);
}

static void deadline_passed(uv_timer_t *h)
{
	struct rpc_stream *st = h->data;

	st->ops->stop(st, RPC_STOP_DEADLINE);
	rpc_stream_fail(st, RPC_DEADLINE_EXCEEDED, "the time limit of the request is over");
}

static void keep_alive(uv_timer_t *h)
{
	struct rpc_stream *st = h->data;

	if (!st->timers->used)
		send_envelope(st, 0, st->ops->keepalive);
	st->timers->used = false;
}

static void drained(struct http_exchange *x, void *ctx)
{
	struct rpc_stream *st = ctx;

	if (st->ops->drained)
		st->ops->drained(st);
}

/* ---- the beginning ---- */

static uint64_t header_number(const struct http_exchange *x, const char *name)
{
	const char *text = http_header(x, name);
	char *end;

	if (!text || *text < '0' || *text > '9')
		return 0;
	uint64_t n = strtoull(text, &end, 10);
	return *end ? 0 : n;
}

uint64_t rpc_stream_limit_ms(const struct rpc_stream *st)
{
	return MIN(header_number(st->x, "connect-timeout-ms"), UINT32_MAX);
}

static struct rpc_timers *start_timers(struct rpc_stream *st)
{
	struct rpc_timers *t = calloc(1, sizeof(*t));
	uint64_t seconds = header_number(st->x, "keepalive-ping-interval");
	uint64_t deadline_ms = rpc_stream_limit_ms(st);

	if (!t)
		return NULL;
	seconds = seconds ? MIN(seconds, KEEPALIVE_MAX_S) : KEEPALIVE_DEFAULT_S;
	uv_timer_init(st->sandbox->server->loop, &t->keepalive);
	uv_timer_init(st->sandbox->server->loop, &t->deadline);
	t->open = 2;
	t->keepalive.data = t->deadline.data = st;
	uv_timer_start(&t->keepalive, keep_alive, seconds * 1000, seconds * 1000);
	if (deadline_ms)
		uv_timer_start(&t->deadline, deadline_passed, deadline_ms, 0);
	return t;
}

/* The one envelope of the request; NULL = malformed. */
static json_t *parse_envelope(const uint8_t *data, size_t size)
{
	struct envelope e;
	json_error_t error;

	if (envelope_parse(data, size, RPC_BODY_MAX, &e) != (int64_t)size || size == 0 || e.flags)
		return NULL;
	if (e.size == 0)
		return json_object();
	json_t *v = json_parse(e.payload, e.size, 0, &error);
	if (json_is_object(v))
		return v;
	json_decref(v);
	return NULL;
}

struct begin {
	char sandbox_id[SANDBOX_ID_SIZE];
	const struct rpc_stream_ops *ops;
};

static void collected(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size)
{
	const struct begin *b = ctx;
	struct sandbox *s = sandbox_find(http_context(x), b->sandbox_id);
	struct rpc_stream *st = s ? calloc(1, sizeof(*st)) : NULL;

	if (!s) {
		reply_no_sandbox(x, b->sandbox_id);
		return;
	}
	if (!st) {
		http_error(x, 503, "out of memory");
		return;
	}
	st->x = x;
	st->sandbox = s;
	st->ops = b->ops;
	st->attachment.gone = sandbox_gone;
	sandbox_attach(s, &st->attachment);
	rpc_read_user(x, st->user, sizeof(st->user));
	st->request = parse_envelope(data, size);
	st->timers = start_timers(st);
	reply_cors(x);
	http_start(x, 200, CONTENT_TYPE, UINT64_MAX);
	http_on_close(x, client_left, st);
	http_on_drain(x, UNSENT_MAX / 2, drained, st);
	if (!st->timers)
		rpc_stream_fail(st, RPC_RESOURCE_EXHAUSTED, "out of memory");
	else if (!st->request)
		rpc_stream_fail(st, RPC_INVALID_ARGUMENT, "the request is not one JSON message");
	else
		st->ops->open(st);
}

void rpc_stream_begin(struct http_exchange *x, struct sandbox *s, const struct rpc_stream_ops *ops)
{
	const char *type = http_header(x, "content-type");
	struct begin *b = http_alloc(x, sizeof(*b));

	if (!type || strncmp(type, CONTENT_TYPE, strlen(CONTENT_TYPE)) != 0) {
		http_error(x, 415, "the content type of a stream is " CONTENT_TYPE);
		return;
	}
	if (!b) {
		http_error(x, 503, "out of memory");
		return;
	}
	snprintf(b->sandbox_id, sizeof(b->sandbox_id), "%s", s->record.id);
	b->ops = ops;
	http_body_collect(x, RPC_BODY_MAX, collected, b);
}
