/* What happens to a context: executions come, wait, run and end; its driver starts and ends. */
#include <errno.h>
#include <string.h>

#include "server/interpreter/interpreter_internal.h"
#include "server/interpreter/limits.h"
#include "server/process/spawn.h"
#include "server/server.h"

static void advance(struct context *c);

/* ---- ends ---- */

/* Takes it out of the queue, if it is there. */
static struct execution *take(struct context *c, struct execution *e)
{
	if (list_linked(&e->link)) {
		list_del(&e->link);
		c->waiting_count--;
	}
	return e;
}

static void fail_waiting(struct context *c, const char *name, const char *value,
			 enum execution_outcome outcome)
{
	while (!list_empty(&c->waiting)) {
		struct execution *e = list_first(&c->waiting, struct execution, link);
		execution_fail(take(c, e), name, value, outcome);
	}
}

static void drop_driver(struct context *c)
{
	driver_free(c->driver);
	c->driver = NULL;
}

static void finish_running(struct context *c, enum execution_outcome outcome)
{
	struct execution *e = c->running;

	c->running = NULL;
	if (e)
		execution_finish(e, outcome);
}

/* Everything that runs or waits. */
static void end_executions(struct context *c, const char *name, const char *value)
{
	if (c->running && c->driver)
		driver_end(c->driver, name, value);
	finish_running(c, EXECUTION_ABORTED);
	fail_waiting(c, name, value, EXECUTION_ABORTED);
}

/* Its driver cannot be started. A context that somebody asked for and never had does not stay. */
static void fail(struct context *c, const char *name, const char *text)
{
	bool stays = c->kept;

	drop_driver(c);
	starters_fail(c, text);
	fail_waiting(c, name, text, EXECUTION_NOT_STARTED);
	if (!stays)
		context_free(c);
}

/* ---- the driver ---- */

static void on_ready(void *ctx)
{
	struct context *c = ctx;

	c->kept = true;
	starters_answer(c);
	advance(c);
}

static void on_failed(void *ctx, const char *name, const char *text)
{
	fail(ctx, name, text);
}

static void on_output(void *ctx, const char *data, size_t size)
{
	struct context *c = ctx;

	if (!c->running)
		return;
	execution_send(c->running, data, size);
	if (execution_full(c->running))
		driver_pause(c->driver, true);
}

static void on_done(void *ctx)
{
	struct context *c = ctx;

	finish_running(c, EXECUTION_DONE);
	driver_pause(c->driver, false);
	advance(c);
}

/* Killed between two executions, and the second came before the news of it. */
static bool on_unheard(void *ctx)
{
	struct context *c = ctx;
	struct execution *e = c->running;

	if (!e || e->tried)
		return false;
	e->tried = true;
	c->running = NULL;
	list_add_head(&c->waiting, &e->link);
	c->waiting_count++;
	return true;
}

static void on_gone(void *ctx)
{
	struct context *c = ctx;

	drop_driver(c);
	finish_running(c, EXECUTION_DIED);
	advance(c);
}

static bool on_killed(void *ctx)
{
	const struct context *c = ctx;

	return memory_ask(c->interpreter);
}

static bool is_frozen(void *ctx)
{
	const struct context *c = ctx;

	return c->interpreter->sandbox->record.state != SANDBOX_RUNNING;
}

static const struct driver_events events = { on_ready,	 on_failed, on_output, on_done,
					     on_unheard, on_gone,   on_killed, is_frozen };

static int start(struct context *c)
{
	struct sandbox *s = c->interpreter->sandbox;
	json_t *env = driver_environment(s);
	json_t *own = s->record.env ? json_loads(s->record.env, 0, NULL) : NULL;
	const struct driver_spec spec = { .language = &c->language,
					  .cwd = c->cwd,
					  .environment = env,
					  .budget = &c->interpreter->budget };

	int r = !s->runtime ? -ESHUTDOWN : !env ? -ENOMEM : 0;
	if (r == 0)
		r = driver_start(s->server->loop, s->runtime, &spec, &events, c, &c->driver);
	if (r == 0 && own)
		driver_set_variables(c->driver, own);
	if (r == 0)
		(void)memory_ask(c->interpreter);
	json_decref(env);
	json_decref(own);
	return r;
}

/* It was started before there was this sandbox. */
void context_adopt(struct context *c, struct driver *d)
{
	json_t *env = spawn_environment(c->interpreter->sandbox);

	driver_set_owner(d, &events, c);
	c->driver = d;
	if (env)
		driver_set_variables(d, env);
	json_decref(env);
	(void)memory_ask(c->interpreter);
}

/* False: the context may be gone. */
static bool need_driver(struct context *c)
{
	int r = c->driver ? 0 : start(c);

	if (r < 0)
		fail(c, "ContextNotStarted", strerrordesc_np(-r));
	return r == 0;
}

/* ---- executions ---- */

static void advance(struct context *c)
{
	if (c->running || list_empty(&c->waiting) || !need_driver(c))
		return;
	if (!driver_is_ready(c->driver))
		return;
	struct execution *e = list_first(&c->waiting, struct execution, link);
	if (driver_execute(c->driver, e->code, e->code_size, e->variables))
		c->running = take(c, e);
}

void context_submit(struct context *c, struct execution *e)
{
	list_add_tail(&c->waiting, &e->link);
	c->waiting_count++;
	advance(c);
}

void context_withdraw(struct context *c, struct execution *e)
{
	if (c->running != e) {
		take(c, e);
		return;
	}
	c->running = NULL;
	driver_interrupt(c->driver);
	driver_pause(c->driver, false);
}

void context_drained(struct context *c, struct execution *e)
{
	if (c->running == e && !execution_full(e))
		driver_pause(c->driver, false);
}

void context_keep_alive(struct context *c, struct execution *e)
{
	static const char line[] = "{\"type\":\"keepalive\"}\n";

	if (c->running == e)
		driver_keepalive(c->driver);
	else
		execution_send(e, line, sizeof(line) - 1);
}

/* ---- requests for the context itself ---- */

void context_warm(struct context *c)
{
	(void)need_driver(c);
}

void context_start(struct context *c, struct http_exchange *x, bool restart)
{
	if (restart) {
		end_executions(c, "ContextRestarting", "Context was restarted");
		drop_driver(c);
	}
	if (!starter_add(c, x, !restart))
		return;
	if (c->driver && driver_is_ready(c->driver))
		starters_answer(c);
	else
		(void)need_driver(c);
}

void context_remove(struct context *c)
{
	end_executions(c, "ExecutionAborted", "The context was removed");
	starters_fail(c, "the context was removed");
	context_free(c);
}
