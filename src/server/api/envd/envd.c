/*
 * The services inside a sandbox, as its clients see them on port 49983: one table. Nothing of it runs
 * inside: every answer comes from messages to the application kernel.
 */
#include "server/api/envd/envd.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "server/api/envd/envd_internal.h"
#include "server/api/reply.h"
#include "server/observe/samples.h"

#define MIB_SHIFT 20

/* ---- plain requests ---- */

static void health(struct http_exchange *x, struct sandbox *s)
{
	reply_cors(x);
	reply_empty(x);
}

static void metrics(struct http_exchange *x, struct sandbox *s)
{
	struct sample m;

	if (samples_last(s, &m) < 0)
		m = (struct sample){ .cpu_count = s->record.cpu_count };
	reply_cors(x);
	reply_json(x, 200,
		   json_pack("{s:I, s:i, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "ts",
			     (json_int_t)(m.at_us / 1000000), "cpu_count", (int)m.cpu_count,
			     "cpu_used_pct", (double)m.cpu_used_percent, "mem_total",
			     (json_int_t)m.memory_total, "mem_used", (json_int_t)m.memory_used,
			     "mem_cache", (json_int_t)m.memory_cache, "mem_total_mib",
			     (json_int_t)(m.memory_total >> MIB_SHIFT), "mem_used_mib",
			     (json_int_t)(m.memory_used >> MIB_SHIFT), "disk_used",
			     (json_int_t)m.disk_used, "disk_total", (json_int_t)m.disk_total));
}

static void envs(struct http_exchange *x, struct sandbox *s)
{
	json_t *env = s->record.env ? json_loads(s->record.env, 0, NULL) : json_object();

	reply_cors(x);
	reply_json(x, 200, env);
}

static void files_get(struct http_exchange *x, struct sandbox *s)
{
	if (envd_file_allowed(x, s, "read"))
		envd_download(x, s);
}

static void files_post(struct http_exchange *x, struct sandbox *s)
{
	if (envd_file_allowed(x, s, "write"))
		envd_upload(x, s);
}

/* ---- the table ---- */

enum { OPEN = 1 }; /* does not need the access token, or looks itself */

static const struct service {
	const char *method, *path;
	void (*plain)(struct http_exchange *x, struct sandbox *s);
	rpc_handler unary;
	int flags;
} services[] = {
	{ "GET", "/health", health, NULL, OPEN },
	{ "GET", "/files", files_get, NULL, OPEN },
	{ "HEAD", "/files", files_get, NULL, OPEN },
	{ "POST", "/files", files_post, NULL, OPEN },
	{ "GET", "/metrics", metrics, NULL, 0 },
	{ "GET", "/envs", envs, NULL, 0 },

	{ "POST", "/process.Process/Start", envd_process_start, NULL, 0 },
	{ "POST", "/process.Process/Connect", envd_process_connect, NULL, 0 },
	{ "POST", "/process.Process/List", NULL, envd_process_list, 0 },
	{ "POST", "/process.Process/SendInput", NULL, envd_process_send_input, 0 },
	{ "POST", "/process.Process/CloseStdin", NULL, envd_process_close_stdin, 0 },
	{ "POST", "/process.Process/SendSignal", NULL, envd_process_send_signal, 0 },
	{ "POST", "/process.Process/Update", NULL, envd_process_update, 0 },

	{ "POST", "/filesystem.Filesystem/Stat", NULL, envd_fs_stat, 0 },
	{ "POST", "/filesystem.Filesystem/ListDir", NULL, envd_fs_list, 0 },
	{ "POST", "/filesystem.Filesystem/MakeDir", NULL, envd_fs_make_dir, 0 },
	{ "POST", "/filesystem.Filesystem/Move", NULL, envd_fs_move, 0 },
	{ "POST", "/filesystem.Filesystem/Remove", NULL, envd_fs_remove, 0 },
	{ "POST", "/filesystem.Filesystem/WatchDir", envd_watch_dir, NULL, 0 },
	{ "POST", "/filesystem.Filesystem/CreateWatcher", NULL, envd_create_watcher, 0 },
	{ "POST", "/filesystem.Filesystem/GetWatcherEvents", NULL, envd_get_watcher_events, 0 },
	{ "POST", "/filesystem.Filesystem/RemoveWatcher", NULL, envd_remove_watcher, 0 },
};

static const struct service *find_service(const struct http_exchange *x, bool *ret_path_known)
{
	*ret_path_known = false;
	for (size_t i = 0; i < ARRAY_SIZE(services); i++) {
		if (strcmp(services[i].path, http_path(x)) != 0)
			continue;
		*ret_path_known = true;
		if (strcmp(services[i].method, http_method(x)) == 0)
			return &services[i];
	}
	return NULL;
}

static void unknown(struct http_exchange *x, bool path_known)
{
	reply_cors(x);
	if (path_known)
		http_error(x, 405, "%s does not take %s", http_path(x), http_method(x));
	else if (strncmp(http_path(x), "/process.", 9) == 0 ||
		 strncmp(http_path(x), "/filesystem.", 12) == 0)
		reply_json(x, 404,
			   json_pack("{s:s, s:s}", "code", "unimplemented", "message",
				     "there is no such method"));
	else
		http_error(x, 404, "there is no %s here", http_path(x));
}

void envd_handle(struct http_exchange *x, struct sandbox *s)
{
	bool path_known;

	if (strcmp(http_method(x), "OPTIONS") == 0) {
		reply_preflight(x);
		return;
	}
	const struct service *service = find_service(x, &path_known);
	if (!service)
		unknown(x, path_known);
	else if (!(service->flags & OPEN) && !envd_authorized(x, s))
		return;
	else if (service->unary)
		rpc_unary(x, s, service->unary);
	else
		service->plain(x, s);
}
