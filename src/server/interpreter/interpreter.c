/*
 * Theory of operation
 *
 * A sandbox has a list of contexts. Two are always there, the default ones of Python and JavaScript, as
 * clients expect; the default one of another language is made when it is first used, and all others are
 * made by POST /contexts. A context is a place for a driver: it has none before it is used, and none after
 * its process has ended, however that came about. The next execution starts one. So nothing inside a
 * sandbox can break a context for good.
 *
 *     no driver ──execution──► starting ──ready──► ready ◄──► executing
 *         ▲                       │ failed           │ gone        │ gone
 *         └───────────────────────┴──────────────────┴─────────────┘
 *
 * One execution at a time; others wait in order. A client that leaves takes its execution along: out of the
 * queue, or by an interrupt. A pause is such a leave: the sandbox cuts every stream that hangs on it.
 * After a pause with memory the contexts are as they were; after one without, and when the kernel process
 * ends them, they have no driver.
 *
 * Limits are in limits.h. driver.c has what happens to one process.
 */
#include "server/interpreter/interpreter.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "server/api/reply.h"
#include "server/interpreter/interpreter_internal.h"
#include "server/interpreter/limits.h"
#include "server/store/templates.h"

static struct stream_budget everybody = { .max = INTERPRETER_HELD_ALL_MAX };

/* ---- contexts ---- */

struct context *context_new(struct interpreter *in, const char *language, const char *cwd)
{
	struct context *c =
		in->context_count < INTERPRETER_CONTEXTS_MAX ? calloc(1, sizeof(*c)) : NULL;

	if (!c)
		return NULL;
	c->interpreter = in;
	list_init(&c->waiting);
	list_init(&c->starters);
	c->cwd = strdup(cwd && *cwd ? cwd : INTERPRETER_CWD);
	if (!c->cwd || !language_find(language, &c->name, &c->language)) {
		free(c->cwd);
		free(c);
		return NULL;
	}
	random_uuid(c->id);
	list_add_tail(&in->contexts, &c->link);
	in->context_count++;
	counters.contexts++;
	return c;
}

void context_free(struct context *c)
{
	driver_free(c->driver);
	list_del(&c->link);
	c->interpreter->context_count--;
	counters.contexts--;
	free(c->cwd);
	free(c);
}

struct context *context_find(struct interpreter *in, const char *id)
{
	struct context *c;

	list_for_each(c, &in->contexts, link) {
		if (strcmp(c->id, id) == 0)
			return c;
	}
	return NULL;
}

struct context *context_default(struct interpreter *in, const char *language)
{
	struct language_name buffer;
	struct language l;
	struct context *c;

	if (!language_find(language, &buffer, &l))
		return NULL;
	const char *name = l.shares ? l.shares : l.name;
	list_for_each(c, &in->contexts, link) {
		if (c->is_default && strcmp(c->language.name, name) == 0)
			return c;
	}
	c = context_new(in, name, NULL);
	if (c)
		c->is_default = true;
	return c;
}

json_t *context_json(const struct context *c)
{
	return json_pack("{s:s, s:s, s:o}", "id", c->id, "language", c->language.name, "cwd",
			 reply_text(c->cwd));
}

/* ---- of a sandbox ---- */

static void interpreter_free(struct interpreter *in)
{
	while (!list_empty(&in->contexts))
		context_remove(list_first(&in->contexts, struct context, link));
	in->sandbox->interpreter = NULL;
	free(in);
}

struct interpreter *interpreter_of(struct sandbox *s)
{
	static const char *const always[] = { "python", "javascript" };
	struct interpreter *in = s->interpreter;

	if (in)
		return in;
	in = calloc(1, sizeof(*in));
	if (!in)
		return NULL;
	in->sandbox = s;
	in->budget.max = INTERPRETER_HELD_MAX;
	in->budget.parent = &everybody;
	list_init(&in->contexts);
	s->interpreter = in;
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++) {
		struct context *c = context_default(in, always[i]);
		if (!c) {
			interpreter_free(in);
			return NULL;
		}
		c->kept = true;
	}
	struct driver *warm = warm_take(s);
	if (warm)
		context_adopt(context_default(in, NULL), warm);
	return in;
}

void interpreter_begin(struct sandbox *s)
{
	struct interpreter *in =
		strcmp(s->base, TEMPLATE_CODE) == 0 ? interpreter_of(s) : NULL;

	if (in && s->record.state == SANDBOX_RUNNING)
		context_warm(context_default(in, NULL));
}

/* Their streams were cut before. */
void interpreter_gone(struct sandbox *s)
{
	struct context *c;

	if (!s->interpreter)
		return;
	if (s->record.state == SANDBOX_ENDED) {
		interpreter_free(s->interpreter);
		return;
	}
	list_for_each(c, &s->interpreter->contexts, link) {
		driver_free(c->driver);
		c->driver = NULL;
	}
}
