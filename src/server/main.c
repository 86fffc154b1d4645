/*
 * hotcell-server: the daemon behind `hotcell serve`. Wiring only; docs/server.md has the picture.
 *
 * Order of the start, and why: the launcher first, because it keeps the rights that we give up; then
 * the listening sockets, whose ports may be root's to give; then our rights go; everything that reads
 * what others wrote (database, requests, kernel processes) comes after that.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <uv.h>

#include "http/server.h"
#include "server/config/config.h"
#include "server/observe/log.h"
#include "server/observe/observe.h"
#include "server/routes.h"
#include "server/runtime/launcher.h"
#include "server/sandbox/sandbox.h"
#include "server/server.h"
#include "server/snapshot/snapshots.h"
#include "server/start/key_verb.h"
#include "server/start/start.h"
#include "server/store/records.h"
#include "server/store/store.h"

#define DRAIN_MS 5000 /* for requests, before the sandboxes end */

static struct server server;
static uv_signal_t on_term, on_int, on_hup;
static uv_timer_t drain_timer;
static bool stopping, ending;
static int exit_status;
static int arguments;
static char **argument;

static int complain(const struct error *err)
{
	fprintf(stderr, "hotcell: %s\n", err->message);
	return 1;
}

/* ---- the end ---- */

static void close_signal(uv_signal_t *s)
{
	uv_close((uv_handle_t *)s, NULL);
}

static void on_sandboxes_gone(void *ctx)
{
	observe_free(&server);
	sandboxes_free(&server);
	snapshots_free(&server);
	launcher_free(server.launcher);
	http_server_free(server.http);
	close_signal(&on_term);
	close_signal(&on_int);
	close_signal(&on_hup);
	uv_close((uv_handle_t *)&drain_timer, NULL);
}

static void end_sandboxes(void)
{
	if (ending)
		return;
	ending = true;
	sandboxes_stop(&server, "server stopped", on_sandboxes_gone, NULL);
}

static void on_drained(void *ctx)
{
	end_sandboxes();
}

static void on_impatient(uv_timer_t *t)
{
	end_sandboxes();
}

/* The first signal lets requests finish for a while, the second one does not. */
static void on_stop_signal(uv_signal_t *s, int number)
{
	daemon_log(DAEMON_INFO, "server.stopping", NUMBER_FIELD("signal", number));
	if (stopping) {
		end_sandboxes();
		return;
	}
	stopping = true;
	start_notify("STOPPING=1");
	uv_timer_start(&drain_timer, on_impatient, DRAIN_MS, 0);
	http_server_drain(server.http, on_drained, NULL);
}

static void on_reload_signal(uv_signal_t *s, int number)
{
	const char *fixed = NULL;
	struct error err;
	struct config *c = server.config;
	int r = config_reload(c, arguments, argument, &fixed, &err);
	if (r == 0 && c->tls_certificate)
		r = http_server_tls(server.http, c->tls_certificate, c->tls_key, &err);
	if (r < 0) {
		daemon_log(DAEMON_ERROR, "config.failed", TEXT_FIELD("error", err.message));
		return;
	}
	daemon_log_level((enum daemon_level)c->log_level);
	server.domain = c->domain;
	sandboxes_reload(&server);
	snapshots_reload(&server);
	if (fixed)
		daemon_log(DAEMON_WARN, "config.needs_restart", TEXT_FIELD("key", fixed));
	daemon_log(DAEMON_INFO, "config.loaded");
}

/* ---- the launcher ---- */

static void on_hello(void *ctx, const struct launcher_hello *h)
{
	daemon_log(DAEMON_INFO, "launcher.ready", NUMBER_FIELD("controllers", h->controllers),
		   NUMBER_FIELD("root", h->root), NUMBER_FIELD("store", h->store));
}

/* Its children died with it, and we have no rights to start another one: a service manager can. */
static void on_launcher_gone(void *ctx, const char *why)
{
	struct error err;
	daemon_log(DAEMON_ERROR, "launcher.gone", TEXT_FIELD("reason", why));
	(void)record_end_all(server.store, why, &err);
	store_close_database(server.store);
	fprintf(stderr, "hotcell: %s: every sandbox ended with it; start the server again\n", why);
	_Exit(1);
}

static const struct launcher_events launcher_events = { on_hello, on_launcher_gone };

/* ---- the start ---- */

static int listen_all(uint16_t *ret_port, struct error *err)
{
	const struct config *c = server.config;
	const struct http_limits limits = {
		.connections = (uint32_t)c->connections_max,
		.connections_per_address = (uint32_t)c->connections_per_address,
	};
	const struct http_hooks hooks = { server_intercept, observe_request };
	size_t count;
	const struct http_route *routes = server_routes(&count);
	int r = http_server_new(server.loop, routes, count, &hooks, &limits, &server, &server.http,
				err);
	if (r == 0 && c->tls_certificate)
		r = http_server_tls(server.http, c->tls_certificate, c->tls_key, err);
	for (unsigned int i = 0; i < c->listen.count && r == 0; i++)
		r = http_listen(server.http, c->listen.items[i].text, false,
				*ret_port ? NULL : ret_port, err);
	for (unsigned int i = 0; i < c->listen_tls.count && r == 0; i++)
		r = http_listen(server.http, c->listen_tls.items[i].text, true,
				*ret_port ? NULL : ret_port, err);
	return r;
}

static int open_store(struct error *err)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/hotcell.db", server.config->data_dir);
	return store_open_database(path, &server.store, err);
}

static void watch_signals(void)
{
	signal(SIGPIPE, SIG_IGN);
	uv_signal_init(server.loop, &on_term);
	uv_signal_init(server.loop, &on_int);
	uv_signal_init(server.loop, &on_hup);
	uv_timer_init(server.loop, &drain_timer);
	uv_signal_start(&on_term, on_stop_signal, SIGTERM);
	uv_signal_start(&on_int, on_stop_signal, SIGINT);
	uv_signal_start(&on_hup, on_reload_signal, SIGHUP);
}

static int start(uint16_t *ret_port, char *ret_key, size_t key_size, struct error *err)
{
	struct start_owner owner;
	char store_dir[512];
	int launcher_fd = -1;
	pid_t launcher_pid;
	int r = start_choose_owner(server.config, &owner, err);
	if (r == 0)
		r = start_make_directories(server.config, &owner, store_dir, sizeof(store_dir),
					   err);
	if (r == 0)
		r = launcher_start(NULL, store_dir[0] ? store_dir : NULL, &launcher_fd,
				   &launcher_pid, err);
	if (r == 0)
		r = listen_all(ret_port, err);
	if (r == 0)
		r = start_drop_rights(&owner, err);
	if (r == 0)
		r = start_lock(server.config, err);
	if (r == 0)
		r = open_store(err);
	if (r == 0)
		r = launcher_new(server.loop, launcher_fd, &launcher_events, NULL, &server.launcher,
				 err);
	if (r == 0)
		r = snapshots_start(&server, err);
	if (r == 0)
		r = sandboxes_start(&server, err);
	if (r == 0)
		r = server_parts_start(&server, err);
	if (r == 0)
		r = observe_start(&server, err);
	return r < 0 ? r : start_first_key(server.store, ret_key, key_size, err);
}

static int serve(void)
{
	struct error err;
	uint16_t port = 0;
	char key[64];
	umask(077);
	start_raise_descriptors();
	daemon_log_level((enum daemon_level)server.config->log_level);
	server.loop = uv_default_loop();
	server.domain = server.config->domain;
	watch_signals();
	if (start(&port, key, sizeof(key), &err) < 0)
		return complain(&err);
	start_announce(server.config, port, key);
	daemon_log(DAEMON_INFO, "server.started", NUMBER_FIELD("port", port),
		   TEXT_FIELD("data_dir", server.config->data_dir));
	start_notify("READY=1");
	uv_run(server.loop, UV_RUN_DEFAULT);
	store_close_database(server.store);
	config_free(server.config);
	daemon_log(DAEMON_INFO, "server.stopped");
	return exit_status;
}

int main(int argc, char **argv)
{
	struct error err;
	const char *verb = argc > 1 ? argv[1] : "";
	if (strcmp(verb, "key") == 0)
		return key_verb(argc - 2, argv + 2);
	if (strcmp(verb, "serve") != 0) {
		fprintf(stderr, "hotcell-server is started by `hotcell serve` and `hotcell key`\n");
		return 2;
	}
	arguments = argc - 2;
	argument = argv + 2;
	if (config_load(arguments, argument, &server.config, &err) < 0)
		return complain(&err);
	if (server.config->help) {
		config_help();
		return 0;
	}
	if (server.config->check) {
		config_print(server.config);
		return 0;
	}
	return serve();
}
