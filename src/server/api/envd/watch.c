/*
 * Watches of directories: as a stream, and as an object that is asked for what has happened (the
 * synchronous Python client). Both are one FS_WATCH of the sandbox.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "server/api/envd/envd_internal.h"
#include "server/api/envd/watchers.h"
#include "server/api/reply.h"
#include "server/runtime/runtime.h"

#define PATH_BYTES_MAX 4096
#define EVENTS_MAX     10000 /* kept for the watchers of a sandbox that nobody asks */
#define UNSENT_MAX     (4u << 20)
#define WATCHERS_MAX   256

static json_t *event_json(struct wire_in *in)
{
	static const char *const types[] = { "EVENT_TYPE_UNSPECIFIED", "EVENT_TYPE_CREATE",
					     "EVENT_TYPE_WRITE",       "EVENT_TYPE_REMOVE",
					     "EVENT_TYPE_RENAME",      "EVENT_TYPE_CHMOD" };
	static struct wire_entry e;
	uint32_t type = wire_get_u32(in);
	const char *name = wire_get_str(in);
	uint32_t has_entry = wire_get_u32(in);

	if (in->failed || type >= ARRAY_SIZE(types))
		return NULL;
	json_t *o = json_pack("{s:o, s:s}", "name", reply_text(name), "type", types[type]);
	if (o && has_entry && wire_get_entry(in, &e))
		json_object_set_new(o, "entry", envd_entry_json(&e));
	return o;
}

/* 0 or -EINVAL: the path is too long. */
static int put_request(struct wire_out *out, const char *user, const json_t *request)
{
	const char *path = rpc_string(request, "path");
	uint32_t flags = (rpc_bool(request, "recursive", false) ? WIRE_WATCH_RECURSIVE : 0u) |
			 (rpc_bool(request, "includeEntry", false) ? WIRE_WATCH_ENTRY : 0u);

	if (strlen(path) >= PATH_BYTES_MAX)
		return -EINVAL;
	wire_put_str(out, user);
	wire_put_str(out, path);
	wire_put_u32(out, flags);
	return 0;
}

/* ---- streams ---- */

struct watch_stream {
	struct rpc_stream *stream;
	uint32_t request;
};

/* The sandbox cannot be slowed down by who watches it, and what waits here is memory. */
static void end_slow_reader(struct watch_stream *w)
{
	struct rpc_stream *st = w->stream;

	if (st->sandbox->runtime)
		runtime_cancel(st->sandbox->runtime, w->request);
	st->ctx = NULL;
	free(w);
	rpc_stream_fail(st, RPC_RESOURCE_EXHAUSTED, "the events are not read as fast as they come");
}

static void stream_event(void *ctx, const struct runtime_answer *a)
{
	struct watch_stream *w = ctx;

	if (a->error) {
		struct rpc_stream *st = w->stream;
		st->ctx = NULL;
		free(w);
		rpc_stream_fail_about(st, a->error, a->about, a->message);
	} else if (a->type == WIRE_DONE) {
		rpc_stream_send(w->stream, json_pack("{s:{}}", "start"));
	} else {
		json_t *event = event_json(a->body);
		if (event)
			rpc_stream_send(w->stream, json_pack("{s:o}", "filesystem", event));
		if (http_unsent(w->stream->x) > UNSENT_MAX)
			end_slow_reader(w);
	}
}

static void stream_open(struct rpc_stream *st)
{
	uint8_t bytes[PATH_BYTES_MAX + 256];
	struct wire_out out = { bytes, 0, sizeof(bytes), false };
	struct watch_stream *w = calloc(1, sizeof(*w));

	if (!w || !st->sandbox->runtime || put_request(&out, st->user, st->request) < 0) {
		free(w);
		rpc_stream_fail(st, RPC_INVALID_ARGUMENT, "path is too long");
		return;
	}
	w->stream = st;
	st->ctx = w;
	uint32_t request = runtime_call(st->sandbox->runtime, WIRE_FS_WATCH, &out, -1,
					stream_event, w);
	if (request)
		w->request = request;
}

static void stream_stop(struct rpc_stream *st, enum rpc_stop why)
{
	struct watch_stream *w = st->ctx;

	if (!w)
		return;
	if (st->sandbox->runtime)
		runtime_cancel(st->sandbox->runtime, w->request);
	free(w);
}

static const struct rpc_stream_ops watch_ops = {
	.open = stream_open,
	.stop = stream_stop,
	.keepalive = "{\"keepalive\":{}}",
};

void envd_watch_dir(struct http_exchange *x, struct sandbox *s)
{
	rpc_stream_begin(x, s, &watch_ops);
}

/* ---- watchers that are asked ---- */

struct watcher {
	struct list link;
	char id[24];
	struct sandbox *sandbox;
	struct rpc_call *creator; /* waits for it to be armed; NULL afterwards */
	uint32_t request;
	json_t *events;
};

struct watcher_table {
	struct list watchers;
	unsigned int count;
	size_t kept; /* events of all of them */
	uint64_t next;
};

static void watcher_free(struct watcher *w)
{
	if (list_linked(&w->link)) {
		w->sandbox->watchers->count--;
		w->sandbox->watchers->kept -= json_array_size(w->events);
	}
	list_del(&w->link);
	json_decref(w->events);
	free(w);
}

void watchers_free(struct sandbox *s)
{
	struct watcher_table *t = s->watchers;

	if (!t)
		return;
	while (!list_empty(&t->watchers)) {
		struct watcher *w = list_first(&t->watchers, struct watcher, link);
		if (s->runtime)
			runtime_cancel(s->runtime, w->request);
		watcher_free(w);
	}
	free(t);
	s->watchers = NULL;
}

/* One whose creator still waits for its name has none yet. */
static struct watcher *find_watcher(struct rpc_call *c)
{
	const char *id = rpc_string(c->request, "watcherId");
	struct watcher *w;

	if (c->sandbox->watchers) {
		list_for_each(w, &c->sandbox->watchers->watchers, link) {
			if (!w->creator && strcmp(w->id, id) == 0)
				return w;
		}
	}
	rpc_fail(c, RPC_NOT_FOUND, "watcher %.40s not found", id);
	return NULL;
}

static void watcher_event(void *ctx, const struct runtime_answer *a)
{
	struct watcher *w = ctx;
	struct rpc_call *c = w->creator;

	w->creator = NULL;
	if (c)
		c->left = NULL;
	if (a->error) {
		if (c)
			rpc_fail_about(c, a->error, a->about, a->message);
		watcher_free(w);
	} else if (a->type == WIRE_DONE && c) {
		rpc_reply(c, json_pack("{s:s}", "watcherId", w->id));
	} else if (w->sandbox->watchers->kept < EVENTS_MAX) {
		json_t *event = event_json(a->body);
		if (event && json_array_append_new(w->events, event) == 0)
			w->sandbox->watchers->kept++;
	}
}

/* The creator left before it was armed: nobody knows its name. */
static void creator_left(struct rpc_call *c)
{
	struct watcher *w = c->ctx;

	if (c->sandbox->runtime)
		runtime_cancel(c->sandbox->runtime, w->request);
	watcher_free(w);
	rpc_reply(c, NULL);
}

static struct watcher_table *table_of(struct sandbox *s)
{
	if (!s->watchers) {
		s->watchers = calloc(1, sizeof(*s->watchers));
		if (s->watchers)
			list_init(&s->watchers->watchers);
	}
	return s->watchers;
}

void envd_create_watcher(struct rpc_call *c)
{
	uint8_t bytes[PATH_BYTES_MAX + 256];
	struct wire_out out = { bytes, 0, sizeof(bytes), false };
	struct watcher_table *t = table_of(c->sandbox);
	struct watcher *w = t && t->count < WATCHERS_MAX ? calloc(1, sizeof(*w)) : NULL;

	if (!w || !c->sandbox->runtime) {
		free(w);
		rpc_fail(c, RPC_RESOURCE_EXHAUSTED, "at most %d watchers", WATCHERS_MAX);
		return;
	}
	w->sandbox = c->sandbox;
	w->events = json_array();
	if (put_request(&out, c->user, c->request) < 0) {
		watcher_free(w);
		rpc_fail(c, RPC_INVALID_ARGUMENT, "path is too long");
		return;
	}
	snprintf(w->id, sizeof(w->id), "w%llu", (unsigned long long)++t->next);
	w->creator = c;
	c->ctx = w;
	c->left = creator_left;
	list_add_tail(&t->watchers, &w->link);
	t->count++;
	uint32_t request = runtime_call(c->sandbox->runtime, WIRE_FS_WATCH, &out, -1,
					watcher_event, w);
	if (request)
		w->request = request;
}

void envd_get_watcher_events(struct rpc_call *c)
{
	struct watcher *w = find_watcher(c);

	if (!w)
		return;
	json_t *events = w->events;
	c->sandbox->watchers->kept -= json_array_size(events);
	w->events = json_array();
	rpc_reply(c, json_pack("{s:o}", "events", events));
}

void envd_remove_watcher(struct rpc_call *c)
{
	struct watcher *w = find_watcher(c);

	if (!w)
		return;
	if (c->sandbox->runtime)
		runtime_cancel(c->sandbox->runtime, w->request);
	watcher_free(w);
	rpc_reply(c, json_object());
}
