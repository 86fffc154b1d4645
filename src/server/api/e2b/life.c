/* The life of a sandbox: get, kill, time-outs, pause, resume, connect. */
#include <errno.h>
#include <string.h>

#include "server/api/e2b/e2b_internal.h"

#define REFRESH_MAX_S 3600
#define REFRESH_MIN_S 15
#define V1_CONNECT_S  15
#define V2_CONNECT_S  300

void e2b_get(struct http_exchange *x)
{
	if (!authorized(x, NULL))
		return;
	struct sandbox *s = sandbox_of(x);
	if (s) {
		sandbox_refresh_end(s);
		reply_json(x, 200, detail_json(&s->record));
	}
}

/* ---- kill ---- */

static void done_empty(void *ctx, struct sandbox *s, const struct error *err, unsigned int retry)
{
	struct http_exchange *x = pending_end(ctx);

	if (x && err)
		reply_failure(x, err, retry);
	else if (x)
		reply_empty(x);
}

void e2b_kill(struct http_exchange *x)
{
	if (!authorized(x, NULL))
		return;
	struct sandbox *s = sandbox_of(x);
	struct pending *p = s ? pending_new(x) : NULL;
	if (p)
		sandbox_kill(s, "killed by API", done_empty, p);
}

/* ---- time-outs ---- */

static void set_timeout(struct http_exchange *x, uint64_t seconds, bool extend_only)
{
	struct sandbox *s = sandbox_of(x);
	struct error err;

	if (!s)
		return;
	if (sandbox_set_timeout(s, seconds, extend_only, &err) < 0)
		reply_failure(x, &err, 0);
	else
		reply_empty(x);
}

static void timeout_body(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size)
{
	AUTO_ARGS struct args a;

	args_init(&a, data, size, false);
	int64_t seconds = args_integer(&a, "timeout", 0, TIMEOUT_MAX_S, -1);
	if (!a.failed && seconds < 0)
		args_fail(&a, "timeout is required");
	if (!args_answered(&a, x))
		set_timeout(x, (uint64_t)seconds, false);
}

void e2b_timeout(struct http_exchange *x)
{
	if (authorized(x, NULL))
		http_body_collect(x, BODY_MAX, timeout_body, NULL);
}

static void refresh_body(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size)
{
	AUTO_ARGS struct args a;

	args_init(&a, data, size, true);
	int64_t seconds = args_integer(&a, "duration", 0, REFRESH_MAX_S, REFRESH_MIN_S);
	if (!args_answered(&a, x))
		set_timeout(x, (uint64_t)(seconds < REFRESH_MIN_S ? REFRESH_MIN_S : seconds), true);
}

void e2b_refresh(struct http_exchange *x)
{
	if (authorized(x, NULL))
		http_body_collect(x, BODY_MAX, refresh_body, NULL);
}

/* ---- pause ---- */

static void pause_body(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size)
{
	AUTO_ARGS struct args a;

	args_init(&a, data, size, true);
	bool memory = args_bool(&a, "memory", true);
	if (args_answered(&a, x))
		return;
	struct sandbox *s = sandbox_of(x);
	struct pending *p = s ? pending_new(x) : NULL;
	if (p)
		sandbox_pause(s, memory, done_empty, p);
}

void e2b_pause(struct http_exchange *x)
{
	if (authorized(x, NULL))
		http_body_collect(x, BODY_MAX, pause_body, NULL);
}

/* ---- connect and resume ---- */

enum { CONNECT, RESUME };

/* 201 when it was resumed; a running one answers a connect with 200 and a resume with 409. */
static void resumed(void *ctx, struct sandbox *s, const struct error *err, unsigned int retry)
{
	struct pending *p = ctx;
	int verb = p->flag;
	struct http_exchange *x = pending_end(p);
	bool was_running = err && err->code == EALREADY;

	if (!x)
		return;
	if (was_running && verb == RESUME)
		http_error(x, 409, "sandbox %s is running already", s->record.id);
	else if (err && !was_running)
		reply_failure(x, err, retry);
	else
		reply_json(x, was_running ? 200 : 201, sandbox_json(s));
}

static void connect_to(struct http_exchange *x, int verb, int64_t seconds, bool memory)
{
	struct sandbox *s = sandbox_of(x);
	struct pending *p = s ? pending_new(x) : NULL;

	if (!p)
		return;
	p->flag = verb;
	sandbox_resume(s, (uint32_t)seconds, memory, resumed, p);
}

static void connect_body(struct http_exchange *x, const uint8_t *data, size_t size, int verb,
			 int64_t fallback_s)
{
	AUTO_ARGS struct args a;

	args_init(&a, data, size, true);
	int64_t seconds = args_integer(&a, "timeout", 1, TIMEOUT_MAX_S, fallback_s);
	bool memory = args_bool(&a, "memory", true);
	(void)args_bool(&a, "autoPause", false);
	if (!args_answered(&a, x))
		connect_to(x, verb, seconds, memory);
}

static void connect_body_v1(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size)
{
	connect_body(x, data, size, CONNECT, V1_CONNECT_S);
}

static void connect_body_v2(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size)
{
	connect_body(x, data, size, CONNECT, V2_CONNECT_S);
}

static void resume_body(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size)
{
	connect_body(x, data, size, RESUME, V1_CONNECT_S);
}

void e2b_connect_v1(struct http_exchange *x)
{
	if (authorized(x, NULL))
		http_body_collect(x, BODY_MAX, connect_body_v1, NULL);
}

void e2b_connect_v2(struct http_exchange *x)
{
	if (authorized(x, NULL))
		http_body_collect(x, BODY_MAX, connect_body_v2, NULL);
}

void e2b_resume(struct http_exchange *x)
{
	if (authorized(x, NULL))
		http_body_collect(x, BODY_MAX, resume_body, NULL);
}
