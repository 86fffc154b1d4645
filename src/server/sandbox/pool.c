/*
 * Theory of operation
 *
 *   struct pools ── starting: the one cell that is started now, whatever pool it is for
 *      │
 *      ├── POOL_PLAIN   ready: cells
 *      └── POOL_CODE    ready: cells;  preparing: one cell in the hands of the recipe
 *
 *     start ──ready──► (recipe: preparing ──done──►) ready ──pools_take()──► a sandbox's
 *
 * Each pool has a timer that starts its next cell; a pool behind another waits until that one is full.
 * While a cell is prepared, which takes its programs some time, others are started. A cell whose
 * preparation fails is kept all the same, as what it is, so a recipe that cannot work is tried once for
 * each cell that somebody takes.
 */
#include "server/sandbox/pool.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/util.h"
#include "server/observe/log.h"
#include "server/server.h"

/* A create that follows the one before at once goes first. */
#define REFILL_DELAY_MS 2
/* After failures: doubled each time. */
#define RETRY_MS     100
#define RETRY_MAX_MS 30000
/* A recipe that takes longer does not end any more. */
#define PREPARE_PATIENCE_MS 30000

struct pool {
	struct pools *all;
	enum pool_kind kind;
	const struct pool_recipe *recipe;
	struct pool_state state;
	struct list ready;	/* cells, the oldest first */
	struct cell *preparing; /* at most one */
	unsigned int retry_ms;	/* 0 = the last start went well */
	bool complained;	/* about a preparation, since one went well */
	uv_timer_t timer, patience;
};

struct pools {
	struct server *server;
	struct cell_shape shape;
	struct pool pools[POOL_KINDS];
	struct cell *starting; /* at most one */
	unsigned int dying, holds, timers;
	bool stopping;
	void (*done)(void *ctx);
	void *done_ctx;
};

static const struct cell_events pool_events;

const char *pool_kind_name(enum pool_kind kind)
{
	static const char *const names[] = { [POOL_PLAIN] = "plain", [POOL_CODE] = "code" };
	return names[kind];
}

static bool same_shape(const struct cell_shape *a, const struct cell_shape *b)
{
	return a->template == b->template && a->cpu_count == b->cpu_count &&
	       a->memory_mb == b->memory_mb && a->disk_mb == b->disk_mb && a->pids == b->pids &&
	       a->files == b->files;
}

/* ---- filling ---- */

static bool wants_more(const struct pool *p)
{
	return (p->kind == POOL_PLAIN || p->recipe) &&
	       p->state.ready + (p->preparing != NULL) < p->state.size;
}

/* It can be started now, and none before it has to be. */
static bool may_start(const struct pool *p)
{
	const struct pools *all = p->all;
	if (all->stopping || all->starting || all->holds || p->preparing || !wants_more(p))
		return false;
	for (const struct pool *first = all->pools; first < p; first++) {
		if (wants_more(first) && !first->retry_ms)
			return false;
	}
	return true;
}

static void start_one(uv_timer_t *timer)
{
	struct pool *p = timer->data;
	if (!may_start(p))
		return;
	p->all->starting = cell_new(p->all->server, &p->all->shape, "hotcell", &pool_events, p);
	if (!p->all->starting)
		uv_timer_start(&p->timer, start_one, RETRY_MAX_MS, 0);
}

static void refill(struct pools *all)
{
	for (unsigned int i = 0; i < POOL_KINDS; i++) {
		struct pool *p = &all->pools[i];
		if (!may_start(p) || (p->retry_ms && uv_is_active((uv_handle_t *)&p->timer)))
			continue;
		uv_timer_start(&p->timer, start_one, p->retry_ms ? p->retry_ms : REFILL_DELAY_MS,
			       0);
	}
}

static void back_off(struct pool *p)
{
	p->retry_ms = MIN(p->retry_ms ? p->retry_ms * 2 : RETRY_MS, (unsigned int)RETRY_MAX_MS);
}

static void keep(struct pool *p, struct cell *c)
{
	p->retry_ms = 0;
	if (p->all->stopping || !same_shape(&c->shape, &p->all->shape) ||
	    p->state.ready >= p->state.size) {
		cell_end(c, "not needed");
		return;
	}
	list_add_tail(&p->ready, &c->link);
	p->state.ready++;
}

/* ---- preparing ---- */

static void count_preparation(struct pool *p, const char *why)
{
	p->state.prepared += !why;
	p->state.prepare_failed += why != NULL;
	if (why && !p->complained)
		daemon_log(DAEMON_WARN, "pool.unprepared",
			   TEXT_FIELD("pool", pool_kind_name(p->kind)), TEXT_FIELD("reason", why));
	p->complained = why;
}

static void on_prepared(void *ctx, const char *why)
{
	struct pool *p = ctx;
	struct cell *c = p->preparing;
	p->preparing = NULL;
	uv_timer_stop(&p->patience);
	if (why)
		c->recipe = NULL;
	count_preparation(p, why);
	keep(p, c);
	refill(p->all);
}

static void on_impatient(uv_timer_t *timer)
{
	struct pool *p = timer->data;
	cell_unprepare(p->preparing);
	on_prepared(p, "it takes too long");
}

static void prepare(struct pool *p, struct cell *c)
{
	p->preparing = c;
	c->recipe = p->recipe;
	uv_timer_start(&p->patience, on_impatient, PREPARE_PATIENCE_MS, 0);
	p->recipe->prepare(p->all->server, c, on_prepared, p);
}

/* ---- what becomes of cells ---- */

static void on_ready(void *ctx, struct cell *c)
{
	struct pool *p = ctx;
	p->all->starting = NULL;
	p->state.started++;
	if (p->recipe && wants_more(p) && !p->all->stopping)
		prepare(p, c);
	else
		keep(p, c);
	refill(p->all);
}

static void on_ending(void *ctx, struct cell *c)
{
	struct pool *p = ctx;
	if (list_linked(&c->link)) {
		list_del(&c->link);
		p->state.ready--;
	}
	if (p->preparing == c) {
		p->preparing = NULL;
		uv_timer_stop(&p->patience);
		back_off(p); /* it may be the recipe that kills it */
		if (!p->all->stopping)
			count_preparation(p, "its sandbox ended");
	}
	p->all->dying++;
}

static void finish_if_over(struct pools *all);

static void on_ended(void *ctx, struct cell *c, const char *reason)
{
	struct pool *p = ctx;
	struct pools *all = p->all;
	all->dying--;
	if (all->starting == c) {
		all->starting = NULL;
		back_off(p);
		p->state.failed += !all->stopping;
		if (!all->stopping)
			daemon_log(DAEMON_ERROR, "pool.failed",
				   TEXT_FIELD("pool", pool_kind_name(p->kind)),
				   TEXT_FIELD("reason", reason));
	}
	refill(all);
	finish_if_over(all);
}

static const struct cell_events pool_events = { on_ready, on_ended, on_ending };

/* ---- use ---- */

static void drop_all(struct pool *p, const char *why)
{
	while (!list_empty(&p->ready))
		cell_end(list_first(&p->ready, struct cell, link), why); /* on_ending() unlinks */
	if (p->preparing)
		cell_end(p->preparing, why);
}

void pools_aim(struct pools *all, const struct cell_shape *shape,
	       const unsigned int sizes[POOL_KINDS])
{
	bool changed = !same_shape(&all->shape, shape);
	all->shape = *shape;
	for (unsigned int i = 0; i < POOL_KINDS; i++) {
		struct pool *p = &all->pools[i];
		if (changed)
			drop_all(p, "another shape is wanted");
		p->state.size = sizes[i];
		p->retry_ms = 0;
		p->complained = false;
		while (p->state.ready > p->state.size)
			cell_end(list_first(&p->ready, struct cell, link),
				 "the pool is smaller now");
	}
	refill(all);
}

struct cell *pools_take(struct pools *all, enum pool_kind kind, const struct cell_shape *shape,
			enum pool_kind *ret_kind)
{
	struct pool *p = &all->pools[kind];
	if (p->state.ready == 0)
		p = &all->pools[POOL_PLAIN];
	if (p->state.ready == 0 || !same_shape(&all->shape, shape))
		return NULL;
	struct cell *c = list_first(&p->ready, struct cell, link);
	list_del(&c->link);
	p->state.ready--;
	*ret_kind = p->kind;
	refill(all);
	return c;
}

void pools_hold(struct pools *all, bool hold)
{
	all->holds += hold ? 1u : -1u;
	refill(all);
}

const struct pool_state *pools_state(const struct pools *all, enum pool_kind kind)
{
	return &all->pools[kind].state;
}

void pools_set_recipe(struct pools *all, enum pool_kind kind, const struct pool_recipe *recipe)
{
	all->pools[kind].recipe = recipe;
	refill(all);
}

/* ---- life ---- */

static void add_timer(struct pool *p, uv_timer_t *timer)
{
	uv_timer_init(p->all->server->loop, timer);
	timer->data = p;
	p->all->timers++;
}

struct pools *pools_new(struct server *server)
{
	struct pools *all = calloc(1, sizeof(*all));
	if (!all)
		return NULL;
	all->server = server;
	for (unsigned int i = 0; i < POOL_KINDS; i++) {
		struct pool *p = &all->pools[i];
		p->all = all;
		p->kind = (enum pool_kind)i;
		list_init(&p->ready);
		add_timer(p, &p->timer);
		add_timer(p, &p->patience);
	}
	return all;
}

static void finish_if_over(struct pools *all)
{
	if (!all->stopping || all->starting || all->dying || !all->done)
		return;
	void (*done)(void *ctx) = all->done;
	all->done = NULL;
	done(all->done_ctx);
}

void pools_stop(struct pools *all, void (*done)(void *ctx), void *ctx)
{
	all->stopping = true;
	all->done = done;
	all->done_ctx = ctx;
	for (unsigned int i = 0; i < POOL_KINDS; i++) {
		uv_timer_stop(&all->pools[i].timer);
		drop_all(&all->pools[i], "the server stops");
	}
	if (all->starting)
		cell_end(all->starting, "the server stops");
	finish_if_over(all);
}

static void on_closed(uv_handle_t *handle)
{
	struct pool *p = handle->data;
	if (--p->all->timers == 0)
		free(p->all);
}

void pools_free(struct pools *all)
{
	for (unsigned int i = 0; all && i < POOL_KINDS; i++) {
		uv_close((uv_handle_t *)&all->pools[i].timer, on_closed);
		uv_close((uv_handle_t *)&all->pools[i].patience, on_closed);
	}
}
