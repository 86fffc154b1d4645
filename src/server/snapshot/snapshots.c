/*
 * Theory of operation
 *
 *   snapshot_take()  name and limits are checked, a file ".new-BUILD" is made
 *     sandbox_save()   the sandbox's turn, the transfer's turn, SAVE; the bytes reach the disk
 *       on_saved()       the file gets its name, then the row is written: in this order, so that a row
 *                        has a file whatever happens; what the new build replaces goes
 *
 * At the start a file without a row is one of a crash in between, and goes; a row without its file (or
 * with a shorter one) is what somebody or a broken disk did: it is reported and goes, too.
 *
 * Limits count files, not snapshots: the tags of one build share it.
 */
#include "server/snapshot/snapshots.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/util.h"
#include "server/config/config.h"
#include "server/observe/counters.h"
#include "server/observe/log.h"
#include "server/observe/logs.h"
#include "server/sandbox/sandbox.h"
#include "server/server.h"
#include "server/snapshot/files.h"
#include "server/snapshot/snapshots_internal.h"
#include "server/store/templates.h"

/* libuv has four workers, one of which copies the database's log now and then. */
#define TRANSFERS_MOST 3

/* ---- taking ---- */

struct taking {
	struct server *server;
	char *name, *env;
	struct snapshot_build build;
	uint64_t begun_ns;
	bool (*wanted)(void *ctx);
	snapshot_fn fn;
	void *ctx;
};

static void free_taking(struct taking *t)
{
	if (t) {
		free(t->name);
		free(t->env);
	}
	free(t);
}

static void fail(struct taking *t, const struct error *err)
{
	counters.snapshots_failed++;
	daemon_log(DAEMON_WARN, "snapshot.failed", TEXT_FIELD("sandbox", t->build.sandbox_id),
		   TEXT_FIELD("error", err->message));
	t->fn(t->ctx, NULL, err);
}

/* The row last: until then nobody knows the file. */
static int publish(struct taking *t, struct snapshot *ret, struct error *err)
{
	struct snapshots *all = t->server->snapshots;
	int r = snapshot_file_keep(all, t->build.build_id, err);
	if (r < 0) {
		snapshot_file_drop(all, t->build.build_id);
		return r;
	}
	r = snapshot_add(t->server->store, t->name, &t->build, t->env, ret, err);
	if (r < 0)
		snapshot_file_remove(all, t->build.build_id);
	return r;
}

static void announce(struct taking *t, struct sandbox *s, const struct snapshot *x)
{
	char fields[sizeof(x->id) + 64];
	uint64_t took_ns = clock_now_ns() - t->begun_ns;
	histogram_add(&counters.snapshot, took_ns);
	daemon_log(DAEMON_INFO, "snapshot.created", TEXT_FIELD("sandbox", t->build.sandbox_id),
		   TEXT_FIELD("snapshot", x->id), NUMBER_FIELD("bytes", x->size),
		   NUMBER_FIELD("us", took_ns / NSEC_PER_USEC));
	/* An id has no letter that JSON would want to be escaped. */
	snprintf(fields, sizeof(fields), "{\"event\":\"snapshot\",\"snapshot\":\"%s\"}", x->id);
	if (s)
		log_add(s, LOG_INFO, "sandbox", "snapshot", fields);
}

static void on_saved(void *ctx, struct sandbox *s, uint64_t bytes, const struct error *err)
{
	struct taking *t = ctx;
	struct snapshots *all = t->server->snapshots;
	struct snapshot x;
	struct error why;
	int r = err ? -err->code : 0;
	all->begun--;
	if (err)
		why = *err;
	else if (!t->wanted(t->ctx))
		r = error_set(&why, ECANCELED, "the client left before the snapshot was ready");
	t->build.size = bytes;
	if (r < 0)
		snapshot_file_drop(all, t->build.build_id);
	else
		r = publish(t, &x, &why);
	if (r < 0) {
		if (!err)
			snapshots_release(t->server, bytes);
		fail(t, &why);
	} else {
		all->count++;
		snapshots_reap(t->server);
		announce(t, s, &x);
		t->fn(t->ctx, &x, NULL);
	}
	free_taking(t);
}

static int check(struct server *server, const char *name, struct error *err)
{
	const struct snapshots *all = server->snapshots;
	uint64_t most = server->config->snapshots_max;
	if (all->count + all->begun >= most)
		return error_say(err, EAGAIN,
				 "the server keeps %llu snapshots, its limit "
				 "(snapshots_max): delete one",
				 (unsigned long long)all->count);
	return name ? snapshot_check_name(server->store, name, err) : 0;
}

static struct taking *taking_new(struct sandbox *s, const char *name)
{
	const struct sandbox_record *r = &s->record;
	struct taking *t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->server = s->server;
	t->begun_ns = clock_now_ns();
	t->name = name ? strdup(name) : NULL;
	t->env = r->env ? strdup(r->env) : NULL;
	random_uuid(t->build.build_id);
	memcpy(t->build.base, s->base, sizeof(t->build.base));
	memcpy(t->build.sandbox_id, r->id, sizeof(t->build.sandbox_id));
	t->build.cpu_count = r->cpu_count;
	t->build.memory_mb = r->memory_mb;
	t->build.disk_mb = r->disk_mb;
	if ((!name || t->name) && (!r->env || t->env))
		return t;
	free_taking(t);
	return NULL;
}

void snapshot_take(struct sandbox *s, const char *name, bool (*wanted)(void *ctx), snapshot_fn fn,
		   void *ctx)
{
	struct snapshots *all = s->server->snapshots;
	struct taking *t = NULL;
	struct error err;
	int fd = -EBADF;
	int r = check(s->server, name, &err);
	if (r == 0) {
		t = taking_new(s, name);
		r = t ? snapshot_file_new(all, t->build.build_id, &fd, &err)
		      : error_set(&err, ENOMEM, "take a snapshot");
	}
	if (r < 0) {
		free_taking(t);
		fn(ctx, NULL, &err);
		return;
	}
	t->wanted = wanted;
	t->fn = fn;
	t->ctx = ctx;
	all->begun++;
	sandbox_save(s, fd, on_saved, t);
}

/* ---- use ---- */

int snapshot_open(struct server *server, const struct template_record *t, int *ret_fd,
		  struct error *err)
{
	int r = snapshot_file_open(server->snapshots, t->build_id, ret_fd, err);
	return r < 0 ? error_wrap(err, "snapshot '%.64s'", t->id) : 0;
}

static void remove_build(void *ctx, const char *build_id, uint64_t size)
{
	struct server *server = ctx;
	snapshot_file_remove(server->snapshots, build_id);
	snapshots_release(server, size);
	server->snapshots->count--;
}

/* What fails here is found again by the next one. */
void snapshots_reap(struct server *server)
{
	struct error err;
	if (snapshot_reap(server->store, remove_build, server, &err) < 0)
		daemon_log(DAEMON_ERROR, "store.failed", TEXT_FIELD("error", err.message));
}

int snapshots_temporary(struct server *server, int *ret_fd, struct error *err)
{
	return snapshot_file_temporary(server->snapshots, ret_fd, err);
}

void snapshots_release(struct server *server, uint64_t bytes)
{
	transfers_add_space(server->snapshots->transfers, -(int64_t)bytes);
}

struct transfers *snapshots_transfers(const struct server *server)
{
	return server->snapshots->transfers;
}

void snapshots_usage(const struct server *server, uint64_t *ret_count, uint64_t *ret_bytes)
{
	*ret_count = server->snapshots ? server->snapshots->count : 0;
	*ret_bytes = server->snapshots ? transfers_space(server->snapshots->transfers) : 0;
}

/* ---- the start ---- */

static void check_build(void *ctx, const struct snapshot_build *b)
{
	struct server *server = ctx;
	char path[600];
	struct stat st;
	struct error err;
	snprintf(path, sizeof(path), "%s/%s", server->snapshots->directory, b->build_id);
	if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == b->size)
		return;
	daemon_log(DAEMON_ERROR, "snapshot.lost", TEXT_FIELD("template", b->template_id),
		   TEXT_FIELD("build", b->build_id), TEXT_FIELD("sandbox", b->sandbox_id));
	(void)snapshot_lost(server->store, b->build_id, &err);
}

static void forget_build(void *ctx, const char *build_id, uint64_t size)
{
}

static int sweep(struct server *server, struct error *err)
{
	const char *directory = server->snapshots->directory;
	struct snapshot_build b;
	struct error ignored;
	unsigned int swept = 0;
	struct dirent *e;
	DIR *d = opendir(directory);
	if (!d)
		return error_set(err, errno, "open %.400s", directory);
	while ((e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (snapshot_build_get(server->store, e->d_name, &b, &ignored) == -ENOENT)
			swept += unlinkat(dirfd(d), e->d_name, 0) == 0;
	}
	closedir(d);
	if (swept)
		daemon_log(DAEMON_WARN, "snapshots.swept", NUMBER_FIELD("files", swept));
	return 0;
}

/* Rows first: a build that goes leaves a file. */
static int bring_together(struct server *server, struct error *err)
{
	struct snapshots *all = server->snapshots;
	uint64_t bytes = 0;
	int r = snapshot_builds(server->store, NULL, check_build, server, err);
	if (r == 0)
		r = snapshot_reap(server->store, forget_build, NULL, err);
	if (r == 0)
		r = sweep(server, err);
	if (r == 0)
		r = snapshot_totals(server->store, &all->count, &bytes, err);
	transfers_add_space(all->transfers, (int64_t)bytes);
	return r;
}

int snapshots_start(struct server *server, struct error *err)
{
	struct snapshots *all = calloc(1, sizeof(*all));
	if (!all)
		return error_set(err, ENOMEM, "start");
	server->snapshots = all;
	all->transfers = transfers_new(server->loop, TRANSFERS_MOST);
	if (!all->transfers)
		return error_set(err, ENOMEM, "start");
	snprintf(all->directory, sizeof(all->directory), "%s/" SNAPSHOT_FILES,
		 server->config->data_dir);
	if (mkdir(all->directory, 0700) < 0 && errno != EEXIST)
		return error_set(err, errno, "make the directory %.400s", all->directory);
	snapshots_reload(server);
	return bring_together(server, err);
}

void snapshots_reload(struct server *server)
{
	transfers_set_space(server->snapshots->transfers, server->config->snapshots_bytes);
}

void snapshots_free(struct server *server)
{
	struct snapshots *all = server->snapshots;
	if (!all)
		return;
	server->snapshots = NULL;
	transfers_free(all->transfers);
	free(all);
}
