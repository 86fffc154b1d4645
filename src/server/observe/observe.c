#include "server/observe/observe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <uv.h>

#include "base/util.h"
#include "server/config/config.h"
#include "server/observe/log.h"
#include "server/observe/observe_internal.h"
#include "server/sandbox/sandbox.h"
#include "server/server.h"
#include "server/store/records.h"
#include "server/store/store.h"

#define TICK_MS		 500
#define SAMPLE_EVERY	 10u  /* ticks: 5 s */
#define PRUNE_EVERY	 120u /* ticks: a minute */
#define CHECKPOINT_PAGES 1000

struct observer {
	struct server *server;
	uv_timer_t timer;
	uv_work_t checkpoint;
	bool checkpointing;
	unsigned int tick;
	char database[512];
};

struct turn {
	unsigned int number, tick;
};

static void visit(void *ctx, struct sandbox *s)
{
	struct turn *t = ctx;
	logs_flush(s);
	/* Each has its place among the ticks for life, whoever comes and goes. */
	if (((uintptr_t)s / 64 + t->tick) % SAMPLE_EVERY == 0)
		samples_take(s);
}

static void on_pruned(void *ctx, const char *id)
{
	logs_remove(ctx, id);
}

static void prune(struct observer *o)
{
	const struct config *c = o->server->config;
	int64_t before = store_now_us() - (int64_t)(c->keep_ended_ns / NSEC_PER_USEC);
	struct error err;
	if (record_prune(o->server->store, before, (unsigned int)c->keep_ended_count, on_pruned,
			 o->server, &err) < 0)
		daemon_log(DAEMON_WARN, "store.failed", TEXT_FIELD("error", err.message));
}

/* ---- checkpoints, in a worker ---- */

static void run_checkpoint(uv_work_t *work)
{
	struct observer *o = work->data;
	(void)store_checkpoint(o->database);
}

static void after_checkpoint(uv_work_t *work, int status)
{
	struct observer *o = work->data;
	o->checkpointing = false;
	if (!o->server)
		free(o);
}

static void maybe_checkpoint(struct observer *o)
{
	if (o->checkpointing || store_log_pages(o->server->store) < CHECKPOINT_PAGES)
		return;
	o->checkpoint.data = o;
	o->checkpointing = uv_queue_work(o->server->loop, &o->checkpoint, run_checkpoint,
					 after_checkpoint) == 0;
}

static void on_tick(uv_timer_t *timer)
{
	struct observer *o = timer->data;
	struct turn t = { .tick = o->tick++ };
	sandbox_each(o->server, visit, &t);
	if (o->tick % PRUNE_EVERY == 0)
		prune(o);
	maybe_checkpoint(o);
}

/* ---- life ---- */

int observe_start(struct server *server, struct error *err)
{
	struct observer *o = calloc(1, sizeof(*o));
	char path[512];
	if (!o)
		return error_set(err, ENOMEM, "start");
	snprintf(path, sizeof(path), "%s/logs", server->config->data_dir);
	if (mkdir(path, 0700) < 0 && errno != EEXIST) {
		free(o);
		return error_set(err, errno, "make the directory %.400s", path);
	}
	o->server = server;
	snprintf(o->database, sizeof(o->database), "%s/hotcell.db", server->config->data_dir);
	uv_timer_init(server->loop, &o->timer);
	o->timer.data = o;
	uv_timer_start(&o->timer, on_tick, TICK_MS, TICK_MS);
	server->observer = o;
	sandboxes_on_free(server, observe_forget);
	prune(o);
	/* What the last run left in the log. SQLite keeps the descriptor of a second connection for the
	 * next one (closing it would drop the first one's locks): from now on their number is constant. */
	(void)store_checkpoint(o->database);
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	struct observer *o = handle->data;
	o->server = NULL;
	if (!o->checkpointing)
		free(o);
}

void observe_free(struct server *server)
{
	if (server->observer)
		uv_close((uv_handle_t *)&server->observer->timer, on_closed);
	server->observer = NULL;
}

void observe_forget(struct sandbox *s)
{
	logs_end(s);
	samples_end(s);
}
