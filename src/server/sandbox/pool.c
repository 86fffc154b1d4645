#include "server/sandbox/pool.h"

#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "server/observe/counters.h"
#include "server/observe/log.h"
#include "server/server.h"

/* A create that follows the one before at once goes first. */
#define REFILL_DELAY_MS 2
/* After failures: doubled each time. */
#define RETRY_MS     100
#define RETRY_MAX_MS 30000

struct pool {
	struct server *server;
	struct cell_shape shape;
	unsigned int size;
	struct list ready; /* cells, the oldest first */
	unsigned int ready_count;
	struct cell *starting; /* at most one */
	unsigned int dying;
	unsigned int holds;
	unsigned int retry_ms; /* 0 = the last start went well */
	uv_timer_t timer;
	bool stopping, timer_open;
	void (*done)(void *ctx);
	void *done_ctx;
};

static const struct cell_events pool_events;

static bool same_shape(const struct cell_shape *a, const struct cell_shape *b)
{
	return a->template == b->template && a->cpu_count == b->cpu_count &&
	       a->memory_mb == b->memory_mb && a->disk_mb == b->disk_mb && a->pids == b->pids &&
	       a->files == b->files;
}

/* ---- filling ---- */

static void start_one(uv_timer_t *timer)
{
	struct pool *p = timer->data;
	if (p->stopping || p->starting || p->holds || p->ready_count >= p->size)
		return;
	p->starting = cell_new(p->server, &p->shape, "hotcell", &pool_events, p);
	if (!p->starting)
		uv_timer_start(&p->timer, start_one, RETRY_MAX_MS, 0);
}

static void refill(struct pool *p)
{
	if (p->stopping || p->starting || p->holds || p->ready_count >= p->size)
		return;
	uv_timer_start(&p->timer, start_one, p->retry_ms ? p->retry_ms : REFILL_DELAY_MS, 0);
}

static void on_ready(void *ctx, struct cell *c)
{
	struct pool *p = ctx;
	p->starting = NULL;
	p->retry_ms = 0;
	if (p->stopping || !same_shape(&c->shape, &p->shape) || p->ready_count >= p->size) {
		cell_end(c, "not needed");
	} else {
		list_add_tail(&p->ready, &c->link);
		p->ready_count++;
		counters.pool_started++;
	}
	refill(p);
}

static void on_ending(void *ctx, struct cell *c)
{
	struct pool *p = ctx;
	if (list_linked(&c->link)) {
		list_del(&c->link);
		p->ready_count--;
	}
	p->dying++;
}

static void finish_if_over(struct pool *p);

static void on_ended(void *ctx, struct cell *c, const char *reason)
{
	struct pool *p = ctx;
	p->dying--;
	if (p->starting == c) {
		p->starting = NULL;
		p->retry_ms = p->retry_ms ? p->retry_ms * 2 : RETRY_MS;
		if (p->retry_ms > RETRY_MAX_MS)
			p->retry_ms = RETRY_MAX_MS;
		counters.pool_failed += !p->stopping;
		if (!p->stopping)
			daemon_log(DAEMON_ERROR, "pool.failed", TEXT_FIELD("reason", reason));
	}
	refill(p);
	finish_if_over(p);
}

static const struct cell_events pool_events = { on_ready, on_ended, on_ending };

/* ---- use ---- */

static void drop_all(struct pool *p, const char *why)
{
	while (!list_empty(&p->ready))
		cell_end(list_first(&p->ready, struct cell, link), why); /* on_ending() unlinks */
}

void pool_aim(struct pool *p, const struct cell_shape *shape, unsigned int size)
{
	if (!same_shape(&p->shape, shape))
		drop_all(p, "another shape is wanted");
	p->shape = *shape;
	p->size = size;
	while (p->ready_count > p->size)
		cell_end(list_first(&p->ready, struct cell, link), "the pool is smaller now");
	refill(p);
}

struct cell *pool_take(struct pool *p, const struct cell_shape *shape)
{
	if (list_empty(&p->ready) || !same_shape(&p->shape, shape))
		return NULL;
	struct cell *c = list_first(&p->ready, struct cell, link);
	list_del(&c->link);
	p->ready_count--;
	refill(p);
	return c;
}

void pool_hold(struct pool *p, bool hold)
{
	p->holds += hold ? 1u : -1u;
	refill(p);
}

unsigned int pool_count(const struct pool *p)
{
	return p->ready_count;
}

/* ---- life ---- */

struct pool *pool_new(struct server *server)
{
	struct pool *p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->server = server;
	list_init(&p->ready);
	uv_timer_init(server->loop, &p->timer);
	p->timer.data = p;
	p->timer_open = true;
	return p;
}

static void finish_if_over(struct pool *p)
{
	if (!p->stopping || p->starting || p->dying || p->ready_count || !p->done)
		return;
	void (*done)(void *ctx) = p->done;
	p->done = NULL;
	done(p->done_ctx);
}

void pool_stop(struct pool *p, void (*done)(void *ctx), void *ctx)
{
	p->stopping = true;
	p->done = done;
	p->done_ctx = ctx;
	uv_timer_stop(&p->timer);
	drop_all(p, "the server stops");
	if (p->starting)
		cell_end(p->starting, "the server stops");
	finish_if_over(p);
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void pool_free(struct pool *p)
{
	if (p && p->timer_open)
		uv_close((uv_handle_t *)&p->timer, on_closed);
}
