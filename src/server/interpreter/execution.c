/*
 * One request for /execute: its response is begun at once, so that the client knows that it was taken, and
 * gets lines from then on, at least one in INTERPRETER_KEEPALIVE_MS but while one is half written.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/util.h"
#include "http/exchange.h"
#include "server/api/reply.h"
#include "server/interpreter/interpreter_internal.h"
#include "server/interpreter/limits.h"
#include "server/server.h"

#define CONTENT_TYPE "application/x-ndjson"

static void free_timer(uv_handle_t *h)
{
	free(h);
}

/* What the client has not taken is held like what its driver has not completed. */
static void count_unsent(struct execution *e, size_t unsent)
{
	struct stream_budget *b = &e->context->interpreter->budget;

	b->held += unsent;
	b->held -= e->unsent;
	e->unsent = unsent;
}

static void count_outcome(const struct execution *e, enum execution_outcome outcome)
{
	const struct language *l;
	unsigned int i = 0;

	while (i < EXECUTION_LANGUAGES - 1 && (l = language_at(i)) &&
	       strcmp(l->name, e->context->language.name) != 0)
		i++;
	counters.executions[i][outcome]++;
}

static struct http_exchange *release(struct execution *e, enum execution_outcome outcome)
{
	struct http_exchange *x = e->x;

	count_outcome(e, outcome);
	count_unsent(e, 0);
	e->context->interpreter->waiting_bytes -= e->bytes;
	http_on_close(x, NULL, NULL);
	http_on_drain(x, 0, NULL, NULL);
	sandbox_detach(&e->attachment);
	if (e->timer)
		uv_close((uv_handle_t *)e->timer, free_timer);
	json_decref(e->request);
	free(e);
	return x;
}

/* ---- ends that come from outside ---- */

static void client_left(struct http_exchange *x, void *ctx)
{
	struct execution *e = ctx;

	context_withdraw(e->context, e);
	(void)release(e, EXECUTION_ABANDONED);
}

static void sandbox_gone(struct sandbox_attachment *a)
{
	struct execution *e = container_of(a, struct execution, attachment);

	context_withdraw(e->context, e);
	http_abort(release(e, EXECUTION_ABANDONED));
}

/* ---- lines ---- */

static void drained(struct http_exchange *x, void *ctx)
{
	struct execution *e = ctx;

	count_unsent(e, http_unsent(x));
	context_drained(e->context, e);
}

static void on_timer(uv_timer_t *timer)
{
	struct execution *e = timer->data;
	uint64_t silent_ms = (clock_now_ns() - e->sent_ns) / NSEC_PER_MSEC;

	count_unsent(e, http_unsent(e->x));
	if (silent_ms >= INTERPRETER_KEEPALIVE_MS) {
		context_keep_alive(e->context, e);
		silent_ms = 0;
	}
	uv_timer_start(timer, on_timer, INTERPRETER_KEEPALIVE_MS - silent_ms, 0);
}

void execution_send(struct execution *e, const char *data, size_t size)
{
	e->sent_ns = clock_now_ns();
	if (!e->answered)
		histogram_add(&counters.first_line, e->sent_ns - e->begun_ns);
	e->answered = true;
	http_send(e->x, data, size);
	count_unsent(e, http_unsent(e->x));
}

bool execution_full(const struct execution *e)
{
	return http_unsent(e->x) > INTERPRETER_UNSENT_MAX;
}

/* ---- its life ---- */

struct execution *execution_new(struct context *c, struct http_exchange *x, json_t *request,
				size_t bytes)
{
	struct execution *e = calloc(1, sizeof(*e));
	uv_timer_t *timer = calloc(1, sizeof(*timer));
	const json_t *code = json_object_get(request, "code");

	if (!e || !timer) {
		free(e);
		free(timer);
		json_decref(request);
		return NULL;
	}
	*e = (struct execution){ .context = c,
				 .x = x,
				 .timer = timer,
				 .request = request,
				 .code = json_string_value(code),
				 .code_size = json_string_length(code),
				 .variables = json_object_get(request, "env_vars"),
				 .bytes = bytes,
				 .begun_ns = clock_now_ns(),
				 .sent_ns = clock_now_ns(),
				 .attachment = { .gone = sandbox_gone } };
	c->interpreter->waiting_bytes += bytes;
	uv_timer_init(c->interpreter->sandbox->server->loop, timer);
	timer->data = e;
	uv_timer_start(timer, on_timer, INTERPRETER_KEEPALIVE_MS, 0);
	sandbox_attach(c->interpreter->sandbox, &e->attachment);
	reply_cors(x);
	http_set(x, "cache-control", "no-cache");
	http_start(x, 200, CONTENT_TYPE, UINT64_MAX);
	http_on_close(x, client_left, e);
	http_on_drain(x, INTERPRETER_UNSENT_MAX / 2, drained, e);
	return e;
}

void execution_finish(struct execution *e, enum execution_outcome outcome)
{
	http_finish(release(e, outcome));
}

static void send_line(struct execution *e, json_t *line)
{
	char *text = line ? json_dumps(line, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;

	json_decref(line);
	if (text) {
		execution_send(e, text, strlen(text));
		execution_send(e, "\n", 1);
	}
	free(text);
}

void execution_fail(struct execution *e, const char *name, const char *value,
		    enum execution_outcome outcome)
{
	send_line(e, json_pack("{s:s, s:s, s:o, s:o}", "type", "error", "name", name, "value",
			       reply_text(value), "traceback", reply_text(value)));
	send_line(e, json_pack("{s:s}", "type", "end_of_execution"));
	execution_finish(e, outcome);
}
