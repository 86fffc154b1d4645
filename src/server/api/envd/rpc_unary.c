#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "server/api/envd/rpc_internal.h"
#include "server/api/explain.h"
#include "server/api/json.h"
#include "server/api/reply.h"
#include "wire/wire.h"

static void call_free(struct rpc_call *c)
{
	sandbox_detach(&c->attachment);
	json_decref(c->request);
	free(c);
}

/* The operation may still be going on: its own end frees the call. */
static void client_left(struct http_exchange *x, void *ctx)
{
	struct rpc_call *c = ctx;

	c->x = NULL;
	if (c->left)
		c->left(c);
}

static void sandbox_gone(struct sandbox_attachment *a)
{
	struct rpc_call *c = container_of(a, struct rpc_call, attachment);
	struct http_exchange *x = c->x;

	c->x = NULL;
	if (x) {
		http_on_close(x, NULL, NULL);
		http_abort(x);
	}
	if (c->left)
		c->left(c);
	else
		c->sandbox = NULL; /* what it waits for ends with the sandbox, and frees it */
}

static void answer(struct http_exchange *x, int status, json_t *message)
{
	reply_cors(x);
	reply_json(x, status, message);
}

static void answer_error(struct http_exchange *x, enum rpc_code code, const char *text)
{
	answer(x, rpc_codes[code].status,
	       json_pack("{s:s, s:o}", "code", rpc_codes[code].name, "message",
			 reply_text(text)));
}

void rpc_reply(struct rpc_call *c, json_t *message)
{
	struct http_exchange *x = c->x;

	call_free(c);
	if (!x) {
		json_decref(message);
		return;
	}
	http_on_close(x, NULL, NULL);
	answer(x, 200, message);
}

void rpc_fail(struct rpc_call *c, enum rpc_code code, const char *format, ...)
{
	struct http_exchange *x = c->x;
	char text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	call_free(c);
	if (!x)
		return;
	http_on_close(x, NULL, NULL);
	answer_error(x, code, text);
}

void rpc_fail_about(struct rpc_call *c, int error, uint32_t about, const char *subject)
{
	char text[EXPLAIN_SIZE];

	explain(text, error, about, subject);
	rpc_fail(c, rpc_code_of(error, about), "%s", text);
}

/* ---- the request ---- */

struct begin {
	char sandbox_id[SANDBOX_ID_SIZE];
	rpc_handler handler;
};

static void collected(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size)
{
	const struct begin *b = ctx;
	/* It may have ended while the body came. */
	struct sandbox *s = sandbox_find(http_context(x), b->sandbox_id);
	json_error_t error;
	struct rpc_call *c = s ? calloc(1, sizeof(*c)) : NULL;

	if (!s) {
		reply_no_sandbox(x, b->sandbox_id);
		return;
	}
	if (!c) {
		answer_error(x, RPC_RESOURCE_EXHAUSTED, "out of memory");
		return;
	}
	c->request = size ? json_parse(data, size, 0, &error) : json_object();
	if (!json_is_object(c->request)) {
		call_free(c);
		answer_error(x, RPC_INVALID_ARGUMENT, "the request is not a JSON object");
		return;
	}
	c->x = x;
	c->sandbox = s;
	c->attachment.gone = sandbox_gone;
	sandbox_attach(s, &c->attachment);
	rpc_read_user(x, c->user, sizeof(c->user));
	http_on_close(x, client_left, c);
	b->handler(c);
}

void rpc_unary(struct http_exchange *x, struct sandbox *s, rpc_handler handler)
{
	struct begin *b = http_alloc(x, sizeof(*b));

	if (!b) {
		answer_error(x, RPC_RESOURCE_EXHAUSTED, "out of memory");
		return;
	}
	snprintf(b->sandbox_id, sizeof(b->sandbox_id), "%s", s->record.id);
	b->handler = handler;
	http_body_collect(x, RPC_BODY_MAX, collected, b);
}
