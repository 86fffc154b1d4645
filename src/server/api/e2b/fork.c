/*
 * POST /sandboxes/{id}/fork: new sandboxes with the files of a running one (reference: 2.8).
 *
 *     sandbox_save() into a file without a name ──► `count` creates, each with its own success or failure
 *                                                      │ the last one
 *                                                      ▼ the answer; the file goes
 *
 * A fork is made as its source was: template, size, environment, metadata, network, life cycle. Its tokens are
 * its own, its life is the request's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "server/api/e2b/e2b_internal.h"
#include "server/config/config.h"
#include "server/interpreter/interpreter.h"
#include "server/observe/counters.h"
#include "server/observe/log.h"
#include "server/observe/logs.h"
#include "server/snapshot/snapshots.h"

#define FORKS_MAX      100
#define FORK_TIMEOUT_S 15

struct forking;

struct fork {
	struct forking *all;
	char id[SANDBOX_ID_SIZE]; /* "" = it failed */
	json_t *result;
};

struct forking {
	struct pending *pending;
	struct server *server;
	struct key key;
	uint32_t timeout_s;
	unsigned int count, left;
	int fd; /* of the files */
	uint64_t bytes;
	struct fork forks[];
};

static void free_forking(struct forking *f)
{
	for (unsigned int i = 0; i < f->count; i++)
		json_decref(f->forks[i].result);
	if (f->fd >= 0)
		close(f->fd);
	free(f);
}

/* ---- the answer ---- */

static void killed(void *ctx, struct sandbox *s, const struct error *err, unsigned int retry)
{
}

/* One that has ended meanwhile is not found any more. */
static void each_fork(const struct forking *f, void (*fn)(struct sandbox *s))
{
	for (unsigned int i = 0; i < f->count; i++) {
		const char *id = f->forks[i].id;
		struct sandbox *s = id[0] ? sandbox_find(f->server, id) : NULL;
		if (s)
			fn(s);
	}
}

static void kill_one(struct sandbox *s)
{
	sandbox_kill(s, "the client left before the sandbox was ready", killed, NULL);
}

static void finish(struct forking *f)
{
	struct http_exchange *x = pending_end(f->pending);
	json_t *rows = x ? json_array() : NULL;

	snapshots_release(f->server, f->bytes);
	for (unsigned int i = 0; x && i < f->count; i++)
		json_array_append(rows, f->forks[i].result);
	if (x)
		reply_json(x, 201, rows);
	each_fork(f, x ? interpreter_begin : kill_one);
	free_forking(f);
}

/* ---- the forks ---- */

static void forked(void *ctx, struct sandbox *s, const struct error *err, unsigned int retry)
{
	struct fork *one = ctx;
	struct forking *f = one->all;

	if (err) {
		one->result = json_pack("{s:{s:i, s:o}}", "error", "code", reply_status(err),
					"message", reply_text(err->message));
	} else {
		memcpy(one->id, s->record.id, sizeof(one->id));
		one->result = json_pack("{s:o}", "sandbox", sandbox_json(s));
		counters.forks++;
	}
	if (--f->left == 0)
		finish(f);
}

/* The strings are the source's, which lives while this runs. */
static struct sandbox_spec spec_of(const struct sandbox *s, const struct forking *f)
{
	const struct sandbox_record *r = &s->record;

	return (struct sandbox_spec){
		.timeout_s = f->timeout_s,
		.metadata = r->metadata,
		.network = r->network,
		.volumes = r->volumes,
		.allow_internet = r->allow_internet,
		.secure = r->secure,
		.traffic_token = r->traffic_token[0] != '\0',
		.pause_on_timeout = r->pause_on_timeout,
		.pause_keeps_memory = r->pause_keeps_memory,
		.auto_resume = r->auto_resume,
		.key_id = f->key.id,
		.fork_of = s,
		.files_fd = f->fd,
	};
}

static void fail(struct forking *f, const struct error *err)
{
	struct http_exchange *x = pending_end(f->pending);

	if (x)
		reply_failure(x, err, 0);
	free_forking(f);
}

static void saved(void *ctx, struct sandbox *s, uint64_t bytes, const struct error *err)
{
	struct forking *f = ctx;

	if (err) {
		fail(f, err);
		return;
	}
	f->bytes = bytes;
	if (!f->pending->x) { /* the client left */
		snapshots_release(f->server, bytes);
		fail(f, NULL);
		return;
	}
	daemon_log(DAEMON_INFO, "sandbox.forked", TEXT_FIELD("sandbox", s->record.id),
		   NUMBER_FIELD("forks", f->count), NUMBER_FIELD("bytes", bytes));
	log_add(s, LOG_INFO, "sandbox", "forked", "{\"event\":\"forked\"}");
	const struct sandbox_spec spec = spec_of(s, f);
	f->left = f->count;
	/* The last answer frees f, maybe before the loop is over. */
	for (unsigned int i = 0, count = f->count; i < count; i++)
		sandbox_create(s->server, &spec, forked, &f->forks[i]);
}

/* ---- the request ---- */

static struct forking *forking_new(struct http_exchange *x, const struct key *key,
				   uint32_t timeout_s, unsigned int count)
{
	struct forking *f = calloc(1, sizeof(*f) + count * sizeof(f->forks[0]));

	if (!f) {
		http_error(x, 503, "out of memory");
		return NULL;
	}
	f->server = http_context(x);
	f->key = *key;
	f->timeout_s = timeout_s;
	f->count = count;
	f->fd = -EBADF;
	for (unsigned int i = 0; i < count; i++)
		f->forks[i].all = f;
	f->pending = pending_new(x);
	if (f->pending)
		return f;
	free_forking(f);
	return NULL;
}

static void begin(struct http_exchange *x, const struct key *key, uint32_t timeout_s,
		  unsigned int count)
{
	struct sandbox *s = sandbox_of(x);
	struct forking *f = s ? forking_new(x, key, timeout_s, count) : NULL;
	struct error err;

	if (!f)
		return;
	if (snapshots_temporary(f->server, &f->fd, &err) < 0) {
		fail(f, &err);
		return;
	}
	int fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 3);
	if (fd >= 0) {
		sandbox_save(s, fd, saved, f);
		return;
	}
	error_set(&err, errno, "make a file for forks");
	fail(f, &err);
}

static void fork_body(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size)
{
	const struct server *server = http_context(x);
	int64_t max_s = (int64_t)(server->config->timeout_max_ns / NSEC_PER_SEC);
	AUTO_ARGS struct args a;

	args_init(&a, data, size, true);
	int64_t count = args_integer(&a, "count", 1, FORKS_MAX, 1);
	int64_t timeout_s = args_integer(&a, "timeout", 0, TIMEOUT_MAX_S, FORK_TIMEOUT_S);
	if (timeout_s > max_s)
		args_fail(&a, "timeout of %lld s (the most is %lld s, timeout_max)",
			  (long long)timeout_s, (long long)max_s);
	if (!args_answered(&a, x))
		begin(x, ctx, (uint32_t)timeout_s, (unsigned int)count);
}

void e2b_fork(struct http_exchange *x)
{
	struct key *key = http_alloc(x, sizeof(*key));

	if (!key)
		http_error(x, 503, "out of memory");
	else if (authorized(x, key))
		http_body_collect(x, BODY_MAX, fork_body, key);
}
