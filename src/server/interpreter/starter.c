/* Requests that are answered when the driver of a context is ready: POST /contexts, and restarts. */
#include <stdlib.h>

#include "base/util.h"
#include "http/exchange.h"
#include "server/api/reply.h"
#include "server/interpreter/interpreter_internal.h"
#include "server/interpreter/limits.h"

struct starter {
	struct list link;
	struct context *context;
	struct http_exchange *x;
	struct sandbox_attachment attachment;
	bool wants_context; /* else null */
};

static struct http_exchange *release(struct starter *st)
{
	struct http_exchange *x = st->x;

	http_on_close(x, NULL, NULL);
	sandbox_detach(&st->attachment);
	list_del(&st->link);
	st->context->starter_count--;
	free(st);
	return x;
}

/* The context stays: its id is in the list. */
static void client_left(struct http_exchange *x, void *ctx)
{
	(void)release(ctx);
}

static void sandbox_gone(struct sandbox_attachment *a)
{
	http_abort(release(container_of(a, struct starter, attachment)));
}

bool starter_add(struct context *c, struct http_exchange *x, bool wants_context)
{
	struct starter *st =
		c->starter_count < INTERPRETER_STARTERS_MAX ? calloc(1, sizeof(*st)) : NULL;

	if (!st) {
		reply_plain(x, 503, "too many requests wait for this context");
		return false;
	}
	*st = (struct starter){ .context = c,
				.x = x,
				.wants_context = wants_context,
				.attachment = { .gone = sandbox_gone } };
	list_add_tail(&c->starters, &st->link);
	c->starter_count++;
	sandbox_attach(c->interpreter->sandbox, &st->attachment);
	http_on_close(x, client_left, st);
	return true;
}

static void answer(struct context *c, struct starter *st)
{
	json_t *value = st->wants_context ? context_json(c) : json_null();
	struct http_exchange *x = release(st);

	reply_cors(x);
	reply_json(x, 200, value);
}

void starters_answer(struct context *c)
{
	while (!list_empty(&c->starters))
		answer(c, list_first(&c->starters, struct starter, link));
}

void starters_fail(struct context *c, const char *text)
{
	while (!list_empty(&c->starters))
		reply_plain(release(list_first(&c->starters, struct starter, link)), 500, "%s",
			    text);
}
