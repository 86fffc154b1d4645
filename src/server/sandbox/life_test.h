/* A server without HTTP around real kernel processes, for tests of the life of sandboxes. */
#pragma once

#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <uv.h>

#include "base/clock.h"
#include "base/util.h"
#include "server/config/config.h"
#include "server/observe/log.h"
#include "server/observe/observe.h"
#include "server/runtime/launcher.h"
#include "server/runtime/runtime.h"
#include "server/sandbox/pool.h"
#include "server/sandbox/sandbox.h"
#include "server/server.h"
#include "server/snapshot/snapshots.h"
#include "server/store/keys.h"
#include "server/store/records.h"
#include "server/store/store.h"

static struct server server;
/* Below the working directory, which the runner removes. */
static char top[256];

/* ---- a server ---- */

static inline void on_hello(void *ctx, const struct launcher_hello *h)
{
}

static inline void on_gone(void *ctx, const char *why)
{
	fprintf(stderr, "%s\n", why);
	_exit(1);
}

static const struct launcher_events launcher_events = { on_hello, on_gone };

static inline void must(int r, const struct error *err)
{
	if (r < 0)
		fprintf(stderr, "# %s\n", err->message);
	CHECK(r >= 0);
}

static inline void make_top(void)
{
	CHECK(getcwd(top, sizeof(top) - 32));
	strcat(top, "/life-XXXXXX");
	CHECK(mkdtemp(top));
}

/* `option`: one more "--name=value"; NULL = no pool for the code interpreter. */
static inline void start_with(const char *pool, const char *option)
{
	char program[512], database[512], stores[512], data[512], pool_size[32];
	struct error err;
	int fd;
	pid_t pid;
	snprintf(program, sizeof(program), "%s/hotcell-launcher", getenv("BUILD"));
	snprintf(database, sizeof(database), "%s/hotcell.db", top);
	snprintf(stores, sizeof(stores), "%s/sandboxes", top);
	snprintf(data, sizeof(data), "--data-dir=%s", top);
	snprintf(pool_size, sizeof(pool_size), "--pool-size=%s", pool);
	char *argv[] = { strdup(data), strdup(pool_size), strdup(option ? option : "--code-pool=0"),
			 NULL };
	(void)mkdir(stores, 0700);
	must(config_load(3, argv, &server.config, &err), &err);
	daemon_log_level(DAEMON_ERROR);
	signal(SIGPIPE, SIG_IGN);
	must(launcher_start(program, stores, &fd, &pid, &err), &err);
	server.loop = uv_default_loop();
	must(store_open_database(database, &server.store, &err), &err);
	must(launcher_new(server.loop, fd, &launcher_events, NULL, &server.launcher, &err), &err);
	must(snapshots_start(&server, &err), &err);
	must(sandboxes_start(&server, &err), &err);
	must(observe_start(&server, &err), &err);
}

static inline void start(const char *pool)
{
	make_top();
	start_with(pool, NULL);
}

static inline void on_stopped(void *ctx)
{
	observe_free(&server);
	sandboxes_free(&server);
	snapshots_free(&server);
	launcher_free(server.launcher);
}

static inline unsigned int count_entries(const char *name)
{
	char path[512];
	unsigned int n = 0;
	struct dirent *e;
	snprintf(path, sizeof(path), "%s/%s", top, name);
	DIR *d = opendir(path);
	CHECK(d);
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static inline void stop(void)
{
	sandboxes_stop(&server, "server stopped", on_stopped, NULL);
	uv_run(server.loop, UV_RUN_DEFAULT);
	store_close_database(server.store);
}

static inline void loop_until(const bool *done)
{
	while (!*done)
		uv_run(server.loop, UV_RUN_ONCE);
}

static inline void fill_pool(enum pool_kind kind, uint64_t count)
{
	while (sandboxes_pool(&server, kind)->ready < count)
		uv_run(server.loop, UV_RUN_ONCE);
}

/* ---- operations, waited for ---- */

struct result {
	bool done;
	struct sandbox *sandbox;
	int code;
	unsigned int retry_s;
	char message[512];
};

static inline void on_done(void *ctx, struct sandbox *s, const struct error *err,
			   unsigned int retry_s)
{
	struct result *r = ctx;
	CHECK(!r->done);
	*r = (struct result){
		.done = true, .sandbox = s, .code = err ? err->code : 0, .retry_s = retry_s
	};
	if (err)
		memcpy(r->message, err->message, sizeof(r->message));
}

static const struct sandbox_spec plain = {
	.template = "base", .timeout_s = 60, .allow_internet = -1, .pause_keeps_memory = true
};

static inline struct result create(const struct sandbox_spec *spec)
{
	struct result r = { .done = false };
	sandbox_create(&server, spec, on_done, &r);
	loop_until(&r.done);
	return r;
}

static inline struct sandbox *create_one(const struct sandbox_spec *spec)
{
	struct result r = create(spec);
	if (r.code)
		fprintf(stderr, "# %s\n", r.message);
	CHECK_EQ(r.code, 0);
	CHECK(r.sandbox);
	CHECK_EQ(r.sandbox->record.state, SANDBOX_RUNNING);
	return r.sandbox;
}

static inline int kill_one(struct sandbox *s)
{
	struct result r = { .done = false };
	sandbox_kill(s, "killed", on_done, &r);
	loop_until(&r.done);
	return r.code;
}

static inline int pause_one(struct sandbox *s, bool memory)
{
	struct result r = { .done = false };
	sandbox_pause(s, memory, on_done, &r);
	loop_until(&r.done);
	return r.code;
}

static inline int resume_one(struct sandbox *s, uint32_t timeout_s)
{
	struct result r = { .done = false };
	sandbox_resume(s, timeout_s, true, on_done, &r);
	loop_until(&r.done);
	return r.code;
}

static inline void get_record(const char *id, struct sandbox_record *ret)
{
	struct error err;
	must(record_get(server.store, id, ret, &err), &err);
}

static inline void wait_end(const char *id)
{
	while (sandbox_find(&server, id))
		uv_run(server.loop, UV_RUN_ONCE);
}

/* ---- programs inside ---- */

struct run {
	bool spawned, done;
	int error, status;
};

static inline void on_spawned(void *ctx, uint32_t pid)
{
	((struct run *)ctx)->spawned = true;
}

static inline void on_failed(void *ctx, int error, uint32_t about, const char *message)
{
	struct run *r = ctx;
	r->error = error;
	r->done = true;
}

static inline void on_exited(void *ctx, uint32_t status)
{
	struct run *r = ctx;
	r->status = (int)status;
	r->done = true;
}

static const struct runtime_process_events run_events = { on_spawned, on_failed, NULL, on_exited };

static inline void spawn(struct sandbox *s, struct run *r, const char *script)
{
	static const char env[] = "PATH=/usr/bin:/bin";
	char args[1024] = "sh";
	size_t n = 3;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), fds[3] = { null, null, null };
	memcpy(args + n, "-c", 3);
	n += 3;
	memcpy(args + n, script, strlen(script) + 1);
	n += strlen(script) + 1;
	memcpy(args + n, env, sizeof(env));
	n += sizeof(env);
	const struct wire_spawn spawn = { .user = "",
					  .cwd = "",
					  .path = "/bin/sh",
					  .argc = 3,
					  .envc = 1,
					  .args = args,
					  .args_size = (uint32_t)n };
	*r = (struct run){ .done = false };
	CHECK(runtime_spawn(s->runtime, &spawn, fds, 3, &run_events, r));
	close(null);
}

static inline int run(struct sandbox *s, const char *script)
{
	struct run r;
	spawn(s, &r, script);
	loop_until(&r.done);
	CHECK_EQ(r.error, 0);
	return r.status;
}
