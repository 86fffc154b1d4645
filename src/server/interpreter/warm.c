/*
 * Python that waits for code in the cells of a pool (server/sandbox/pool.h), before anybody knows whose it
 * will be. The sandbox that takes the cell has it as the driver of its default context: what it was
 * started with is what any sandbox has, and the rest (its id, its variables) follows as variables.
 *
 *     preparing ──ready──► in the pool ──warm_take()──► the driver of a context
 *         │ failed             │ gone: nothing is left to take, the context starts its own
 */
#include <errno.h>
#include <stdlib.h>

#include "server/interpreter/interpreter.h"
#include "server/interpreter/interpreter_internal.h"
#include "server/sandbox/cell.h"
#include "server/sandbox/pool.h"
#include "server/server.h"

struct warm {
	struct cell *cell;
	struct driver *driver;			  /* NULL: it died while it waited */
	void (*done)(void *ctx, const char *why); /* NULL once it was called */
	void *ctx;
};

static void on_ready(void *ctx)
{
	struct warm *w = ctx;
	void (*done)(void *ctx, const char *why) = w->done;

	w->done = NULL;
	done(w->ctx, NULL);
}

static void on_failed(void *ctx, const char *name, const char *text)
{
	struct warm *w = ctx;

	driver_free(w->driver); /* the text lives until this returns */
	w->cell->prepared = NULL;
	w->done(w->ctx, text);
	free(w);
}

static void on_output(void *ctx, const char *data, size_t size)
{
}

static void on_done(void *ctx)
{
}

static void on_gone(void *ctx)
{
	struct warm *w = ctx;

	driver_free(w->driver);
	w->driver = NULL;
}

static bool on_unheard(void *ctx)
{
	return false;
}

static bool on_killed(void *ctx)
{
	return false;
}

static bool is_frozen(void *ctx)
{
	return false;
}

static const struct driver_events events = { on_ready,	 on_failed, on_output, on_done,
					     on_unheard, on_gone,   on_killed, is_frozen };

static int start(struct server *server, struct warm *w)
{
	struct language_name buffer;
	struct language python;
	json_t *environment = driver_environment(NULL);
	const struct driver_spec spec = { .language = &python,
					  .cwd = INTERPRETER_CWD,
					  .environment = environment };

	int r = environment && language_find(NULL, &buffer, &python) ? 0 : -ENOMEM;
	if (r == 0)
		r = driver_start(server->loop, w->cell->runtime, &spec, &events, w, &w->driver);
	json_decref(environment);
	return r;
}

static void prepare(struct server *server, struct cell *cell,
		    void (*done)(void *ctx, const char *why), void *ctx)
{
	struct warm *w = calloc(1, sizeof(*w));

	if (w)
		*w = (struct warm){ .cell = cell, .done = done, .ctx = ctx };
	if (w && start(server, w) == 0) {
		cell->prepared = w;
		return;
	}
	free(w);
	done(ctx, "out of memory or descriptors");
}

static void unprepare(struct cell *cell)
{
	struct warm *w = cell->prepared;

	cell->prepared = NULL;
	if (w)
		driver_free(w->driver);
	free(w);
}

const struct pool_recipe interpreter_recipe = { prepare, unprepare };

struct driver *warm_take(struct sandbox *s)
{
	struct warm *w = sandbox_take_prepared(s);
	struct driver *d = w ? w->driver : NULL;

	free(w);
	return d;
}
