/* Start, settings and end of the whole; ends of life that are due. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "server/config/config.h"
#include "server/observe/log.h"
#include "server/sandbox/sandbox_internal.h"
#include "server/store/records.h"
#include "server/store/templates.h"

static void on_due(void *ctx, struct deadline *d)
{
	struct life *l = container_of(d, struct life, deadline);
	struct sandbox *s = l->sandbox;
	char reason[64];
	snprintf(reason, sizeof(reason), "timeout of %u s is over", l->timeout_s);
	if (s->record.pause_on_timeout)
		sandbox_pause(s, s->record.pause_keeps_memory, NULL, NULL);
	else
		sandbox_kill(s, reason, NULL, NULL);
}

static void default_shape(const struct server *server, struct cell_shape *ret)
{
	const struct config *c = server->config;
	cell_shape_make(server, (uint32_t)c->cpus, (uint32_t)(c->memory_bytes >> 20),
			(uint32_t)(c->disk_bytes >> 20), ret);
}

static int set_up(struct sandboxes *all, struct error *err)
{
	struct server *server = all->server;
	struct cell_shape shape;
	default_shape(server, &shape);
	const struct template_limits limits = { shape.cpu_count, shape.memory_mb, shape.disk_mb };
	int r = record_end_all(server->store, MESSAGE_RESTARTED, err);
	if (r < 0)
		return r;
	if (r > 0)
		daemon_log(DAEMON_WARN, "sandboxes.lost", NUMBER_FIELD("count", r));
	r = template_keep_builtin(server->store, &limits, err);
	if (r == 0)
		r = deadlines_new(server->loop, on_due, all, &all->deadlines, err);
	all->pools = r == 0 ? pools_new(server) : NULL;
	all->uses = calloc(KEY_USES_MAX, sizeof(*all->uses));
	if (r == 0 && (!all->pools || !all->uses))
		return error_set(err, ENOMEM, "start");
	return r;
}

int sandboxes_start(struct server *server, struct error *err)
{
	struct sandboxes *all = calloc(1, sizeof(*all));
	if (!all)
		return error_set(err, ENOMEM, "start");
	all->server = server;
	server->sandboxes = all;
	list_init(&all->all);
	for (unsigned int i = 0; i < SANDBOX_BUCKETS; i++)
		list_init(&all->buckets[i]);
	int r = set_up(all, err);
	if (r == 0)
		sandboxes_reload(server);
	else
		sandboxes_free(server);
	return r;
}

void sandboxes_reload(struct server *server)
{
	struct cell_shape shape;
	struct error err;
	default_shape(server, &shape);
	const struct template_limits limits = { shape.cpu_count, shape.memory_mb, shape.disk_mb };
	if (template_keep_builtin(server->store, &limits, &err) < 0)
		daemon_log(DAEMON_ERROR, "store.failed", TEXT_FIELD("error", err.message));
	const unsigned int sizes[POOL_KINDS] = {
		[POOL_PLAIN] = (unsigned int)server->config->pool_size,
		[POOL_CODE] = (unsigned int)server->config->code_pool,
	};
	pools_aim(server->sandboxes->pools, &shape, sizes);
}

void sandboxes_free(struct server *server)
{
	struct sandboxes *all = server->sandboxes;
	if (!all)
		return;
	server->sandboxes = NULL;
	pools_free(all->pools);
	deadlines_free(all->deadlines);
	free(all->uses);
	free(all);
}
