#include "server/sandbox/cell.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <uv.h>

#include "base/clock.h"
#include "base/names.h"
#include "base/util.h"
#include "kernel/core/limits.h"
#include "server/config/config.h"
#include "server/observe/counters.h"
#include "server/observe/log.h"
#include "server/runtime/launcher.h"
#include "server/runtime/runtime.h"
#include "server/sandbox/pool.h"
#include "server/server.h"

#define READY_PATIENCE_MS 20000
#define END_PATIENCE_MS	  1000

struct private
{
	struct server *server;
	const struct cell_events *events;
	void *ctx;
	uv_timer_t timer; /* patience: with READY, then with the end */
	bool runtime_alive, reaped, ending;
	char reason[512]; /* "" = not known yet */
	uint32_t status;
};

static struct private *private_of(struct cell *c)
{
	return c->private;
}

/* ---- the end ---- */

static void on_timer_closed(uv_handle_t *handle)
{
	struct cell *c = handle->data;
	struct private *p = private_of(c);
	p->events->ended(p->ctx, c, p->reason);
	free(p);
	free(c);
}

static void set_reason(struct private *p, const char *reason)
{
	if (p->reason[0] == '\0')
		snprintf(p->reason, sizeof(p->reason), "%s", reason);
}

/* A kernel process that said nothing: what its end and its control group tell. */
static void explain(struct cell *c)
{
	struct private *p = private_of(c);
	int status = (int)p->status;
	const char *name = WIFSIGNALED(status) ? signal_short_name(WTERMSIG(status)) : NULL;
	char text[128];
	if (c->usage.oom_kills && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		snprintf(text, sizeof(text), "memory limit of %u MiB reached", c->shape.memory_mb);
	else if (WIFSIGNALED(status))
		snprintf(text, sizeof(text), "the kernel process was killed by signal %d (%s)",
			 WTERMSIG(status), name ? name : "?");
	else
		snprintf(text, sizeof(text),
			 "the kernel process ended unexpectedly: exit status %d",
			 WEXITSTATUS(status));
	set_reason(p, text);
}

static void finish_if_over(struct cell *c)
{
	struct private *p = private_of(c);
	if (p->runtime_alive || !p->reaped)
		return;
	explain(c);
	uv_close((uv_handle_t *)&p->timer, on_timer_closed);
}

static void begin_end(struct cell *c)
{
	struct private *p = private_of(c);
	if (p->ending)
		return;
	p->ending = true;
	c->ready = false;
	if (c->inside)
		p->server->inside->close(c->inside);
	c->inside = NULL;
	cell_unprepare(c);
	if (p->events->ending)
		p->events->ending(p->ctx, c);
}

static void on_impatient(uv_timer_t *timer)
{
	struct cell *c = timer->data;
	struct private *p = private_of(c);
	set_reason(p, "the kernel process did not get ready");
	begin_end(c);
	launcher_kill(p->server->launcher, c->launch_id);
}

/* ---- the runtime ---- */

static void on_ready(void *ctx, uint64_t start_ns)
{
	struct cell *c = ctx;
	struct private *p = private_of(c);
	uv_timer_stop(&p->timer);
	c->ready = true;
	c->ready_ns = clock_now_ns();
	if (p->server->inside && !p->ending)
		c->inside = p->server->inside->open(p->server, c->runtime);
	p->events->ready(p->ctx, c);
}

static void on_died(void *ctx, uint32_t how, const char *reason, const struct wire_stats *stats)
{
	struct cell *c = ctx;
	struct private *p = private_of(c);
	p->runtime_alive = false;
	if (stats) {
		c->stats = *stats;
		c->have_stats = true;
	}
	set_reason(p, reason); /* "" says nothing and stays open */
	if (how == WIRE_DEATH_FAULT)
		counters.channel_errors += strncmp(reason, "the kernel process broke", 24) == 0;
	c->runtime = NULL;
	begin_end(c);
	/* In order it ends by itself, else it must. */
	if (!p->reaped)
		launcher_kill(p->server->launcher, c->launch_id);
	finish_if_over(c);
}

static void on_log(void *ctx, uint32_t level, const char *text)
{
	struct cell *c = ctx;
	daemon_log(level <= 1 ? DAEMON_WARN : DAEMON_DEBUG, "kernel.log",
		   NUMBER_FIELD("cell", c->launch_id), TEXT_FIELD("text", text));
}

static const struct runtime_events runtime_events = { on_ready, on_died, on_log };

/* ---- the launcher ---- */

static void on_launched(void *ctx, int control_fd, const struct error *err)
{
	struct cell *c = ctx;
	struct private *p = private_of(c);
	struct error why;
	if (err) {
		set_reason(p, err->message);
		p->reaped = true;
		begin_end(c);
		uv_close((uv_handle_t *)&p->timer, on_timer_closed);
		return;
	}
	if (runtime_new(p->server->loop, control_fd, &runtime_events, c, &c->runtime, &why) < 0) {
		set_reason(p, why.message);
		begin_end(c);
		launcher_kill(p->server->launcher, c->launch_id);
		return;
	}
	p->runtime_alive = true;
	if (p->ending) /* before it began */
		runtime_abandon(c->runtime, p->reason);
}

static void on_exited(void *ctx, const struct launcher_exited *e)
{
	struct cell *c = ctx;
	struct private *p = private_of(c);
	p->reaped = true;
	p->status = e->status;
	c->usage = e->usage;
	/* What it said last is still in the channel, before the end of file. */
	finish_if_over(c);
}

static const struct launcher_child_events child_events = { on_launched, on_exited };

/* ---- life ---- */

void cell_shape_make(const struct server *server, uint32_t cpu_count, uint32_t memory_mb,
		     uint32_t disk_mb, struct cell_shape *ret)
{
	*ret = (struct cell_shape){ .template = LAUNCHER_TEMPLATE_HOST,
				    .cpu_count = cpu_count,
				    .memory_mb = memory_mb,
				    .disk_mb = disk_mb,
				    .pids = (uint32_t)server->config->pids,
				    .files = (uint32_t)server->config->files };
}

static void fill_request(const struct server *server, const struct cell_shape *shape,
			 const char *hostname, struct launcher_launch *ret)
{
	const struct config *config = server->config;
	bool in_memory = strcmp(config->store, "memory") == 0;
	*ret = (struct launcher_launch){ .template = shape->template };
	snprintf(ret->hostname, sizeof(ret->hostname), "%s", hostname);
	ret->limits[LIMIT_MEMORY] = MIB(shape->memory_mb);
	ret->limits[LIMIT_PIDS] = shape->pids;
	ret->limits[LIMIT_FILES] = shape->files;
	ret->limits[LIMIT_CPU_MILLI] = shape->cpu_count * 1000ull;
	ret->limits[LIMIT_DISK_BYTES] = MIB(shape->disk_mb);
	/* In memory it leaves a quarter to programs (as `hotcell run` does). */
	if (in_memory)
		ret->limits[LIMIT_DISK_BYTES] =
			MIN(MIB(shape->disk_mb), MIB(shape->memory_mb) / 4 * 3);
}

struct cell *cell_new(struct server *server, const struct cell_shape *shape, const char *hostname,
		      const struct cell_events *events, void *ctx)
{
	struct cell *c = calloc(1, sizeof(*c));
	struct private *p = calloc(1, sizeof(*p));
	struct launcher_launch request;
	if (!c || !p)
		goto fail;
	list_init(&c->link);
	c->shape = *shape;
	c->private = p;
	c->begun_ns = clock_now_ns();
	*p = (struct private){ .server = server, .events = events, .ctx = ctx };
	fill_request(server, shape, hostname, &request);
	c->launch_id = launcher_launch(server->launcher, &request, &child_events, c);
	if (c->launch_id == 0)
		goto fail;
	uv_timer_init(server->loop, &p->timer);
	p->timer.data = c;
	uv_timer_start(&p->timer, on_impatient, READY_PATIENCE_MS, 0);
	return c;
fail:
	free(p);
	free(c);
	return NULL;
}

void cell_set_owner(struct cell *c, const struct cell_events *events, void *ctx)
{
	struct private *p = private_of(c);
	p->events = events;
	p->ctx = ctx;
}

void cell_running(struct cell *c, struct sandbox *s)
{
	if (c->inside)
		private_of(c)->server->inside->running(c->inside, s);
}

void cell_unprepare(struct cell *c)
{
	const struct pool_recipe *recipe = c->recipe;
	c->recipe = NULL;
	if (recipe)
		recipe->unprepare(c);
	c->prepared = NULL;
}

void cell_end(struct cell *c, const char *reason)
{
	struct private *p = private_of(c);
	if (p->ending)
		return;
	set_reason(p, reason);
	begin_end(c);
	uv_timer_start(&p->timer, on_impatient, END_PATIENCE_MS, 0);
	/* A frozen group reads nothing. */
	if (c->runtime && !c->frozen)
		runtime_shutdown(c->runtime, p->reason);
	else
		launcher_kill(p->server->launcher, c->launch_id);
}
