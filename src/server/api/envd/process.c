/* process.Process: start, follow, feed, signal. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "codec/base64.h"
#include "server/api/envd/envd_internal.h"
#include "server/process/process.h"

#define SIZE_COLS 80
#define SIZE_ROWS 24

/* ---- events of a stream ---- */

struct viewer {
	struct follower follower;
	struct rpc_stream *stream;
};

static struct viewer *viewer_of(struct follower *f)
{
	return container_of(f, struct viewer, follower);
}

static json_t *event(const char *name, json_t *value)
{
	return json_pack("{s:{s:o}}", "event", name, value);
}

static void on_started(struct follower *f, uint32_t pid)
{
	rpc_stream_send(viewer_of(f)->stream,
			event("start", json_pack("{s:I}", "pid", (json_int_t)pid)));
}

static void on_failed(struct follower *f, int error, uint32_t about, const char *message)
{
	struct viewer *v = viewer_of(f);

	rpc_stream_fail_about(v->stream, error, about, message);
	free(v);
}

static void on_data(struct follower *f, enum process_stream stream, const uint8_t *data,
		    size_t size)
{
	static const char *const names[] = { "stdout", "stderr", "pty" };
	char *text = malloc((size + 2) / 3 * 4 + 1);

	if (!text)
		return;
	base64_encode(data, size, text);
	rpc_stream_send(viewer_of(f)->stream,
			event("data", json_pack("{s:s}", names[stream], text)));
	free(text);
}

static json_t *end_json(const struct process_end *e)
{
	json_t *o = json_pack("{s:b, s:s}", "exited", e->exited, "status", e->status);

	if (e->code != 0) {
		json_object_set_new(o, "exitCode", json_integer(e->code));
		json_object_set_new(o, "error", json_string(e->status));
	}
	return o;
}

static void on_ended(struct follower *f, const struct process_end *e)
{
	struct viewer *v = viewer_of(f);

	rpc_stream_send(v->stream, event("end", end_json(e)));
	rpc_stream_end(v->stream);
	free(v);
}

static bool on_full(struct follower *f)
{
	return rpc_stream_full(viewer_of(f)->stream);
}

static struct viewer *viewer_new(struct rpc_stream *st)
{
	struct viewer *v = calloc(1, sizeof(*v));

	if (!v)
		return NULL;
	*v = (struct viewer){ .stream = st,
			      .follower = { .started = on_started,
					    .failed = on_failed,
					    .data = on_data,
					    .ended = on_ended,
					    .full = on_full } };
	list_init(&v->follower.link);
	st->ctx = v;
	return v;
}

static void stop(struct rpc_stream *st, enum rpc_stop why)
{
	struct viewer *v = st->ctx;

	if (!v)
		return;
	process_unfollow(&v->follower);
	free(v);
}

static void drained(struct rpc_stream *st)
{
	struct viewer *v = st->ctx;

	if (v && v->follower.process)
		process_drained(v->follower.process);
}

/* ---- Start ---- */

static bool all_strings(const json_t *args)
{
	json_t *v;
	size_t i;

	if (args && !json_is_array(args))
		return false;
	json_array_foreach(args, i, v) {
		if (!json_is_string(v) || strlen(json_string_value(v)) != json_string_length(v))
			return false;
	}
	return true;
}

static void read_size(const json_t *pty, uint32_t *ret_cols, uint32_t *ret_rows)
{
	json_t *size = rpc_member(pty, "size");

	*ret_cols = rpc_u32(size, "cols");
	*ret_rows = rpc_u32(size, "rows");
	if (*ret_cols == 0 || *ret_cols > UINT16_MAX)
		*ret_cols = SIZE_COLS;
	if (*ret_rows == 0 || *ret_rows > UINT16_MAX)
		*ret_rows = SIZE_ROWS;
}

static void open_start(struct rpc_stream *st)
{
	json_t *process = rpc_member(st->request, "process");
	json_t *pty = rpc_member(st->request, "pty");
	json_t *tag = rpc_member(st->request, "tag");
	struct process_spec spec = { .cmd = rpc_string(process, "cmd"),
				     .args = rpc_member(process, "args"),
				     .envs = rpc_member(process, "envs"),
				     .cwd = rpc_string(process, "cwd"),
				     .user = st->user,
				     .tag = json_string_value(tag),
				     .tty = pty != NULL,
				     .stdin_open = rpc_bool(st->request, "stdin", true),
				     .limit_ms = rpc_stream_limit_ms(st) };

	if (!*spec.cmd || !all_strings(spec.args)) {
		rpc_stream_fail(st, RPC_INVALID_ARGUMENT,
				"process.cmd is required, and process.args are strings");
		return;
	}
	read_size(pty, &spec.cols, &spec.rows);
	struct viewer *v = viewer_new(st);
	int r = v ? process_start(st->sandbox, &spec, &v->follower) : -ENOMEM;
	if (r < 0) {
		free(v);
		rpc_stream_fail(st, rpc_code_of(-r, 0), "start %.100s: %s", spec.cmd,
				strerrordesc_np(-r));
	}
}

static const struct rpc_stream_ops start_ops = {
	.open = open_start,
	.stop = stop,
	.drained = drained,
	.keepalive = "{\"event\":{\"keepalive\":{}}}",
};

void envd_process_start(struct http_exchange *x, struct sandbox *s)
{
	rpc_stream_begin(x, s, &start_ops);
}

/* ---- Connect ---- */

static struct process *selected(struct sandbox *s, const json_t *request)
{
	json_t *selector = rpc_member(request, "process");
	const char *tag = json_string_value(rpc_member(selector, "tag"));

	return process_find(s, rpc_u32(selector, "pid"), tag);
}

static void open_connect(struct rpc_stream *st)
{
	struct process *p = selected(st->sandbox, st->request);
	struct viewer *v = p ? viewer_new(st) : NULL;

	if (!p)
		rpc_stream_fail(st, RPC_NOT_FOUND, "there is no such process");
	else if (!v)
		rpc_stream_fail(st, RPC_RESOURCE_EXHAUSTED, "out of memory");
	else
		process_follow(p, &v->follower);
}

static const struct rpc_stream_ops connect_ops = {
	.open = open_connect,
	.stop = stop,
	.drained = drained,
	.keepalive = "{\"event\":{\"keepalive\":{}}}",
};

void envd_process_connect(struct http_exchange *x, struct sandbox *s)
{
	rpc_stream_begin(x, s, &connect_ops);
}

/* ---- unary calls ---- */

static void add_process(void *ctx, const struct process_view *v)
{
	json_t *config = json_pack("{s:s}", "cmd", v->cmd);
	json_t *info = json_pack("{s:o, s:I}", "config", config, "pid", (json_int_t)v->pid);

	if (v->args)
		json_object_set(config, "args", (json_t *)(uintptr_t)v->args);
	if (v->envs)
		json_object_set(config, "envs", (json_t *)(uintptr_t)v->envs);
	if (*v->cwd)
		json_object_set_new(config, "cwd", json_string(v->cwd));
	if (v->tag)
		json_object_set_new(info, "tag", json_string(v->tag));
	json_array_append_new(ctx, info);
}

void envd_process_list(struct rpc_call *c)
{
	json_t *processes = json_array();

	process_each(c->sandbox, add_process, processes);
	rpc_reply(c, json_pack("{s:o}", "processes", processes));
}

/* The process of the request, alive; NULL: answered. */
static struct process *living(struct rpc_call *c)
{
	struct process *p = selected(c->sandbox, c->request);

	if (p && process_alive(p))
		return p;
	rpc_fail(c, RPC_NOT_FOUND, "there is no such process");
	return NULL;
}

static void written(void *ctx, int error)
{
	struct rpc_call *c = ctx;

	if (error)
		rpc_fail(c, RPC_INTERNAL, "standard input of the process is closed");
	else
		rpc_reply(c, json_object());
}

static void put_input(struct rpc_call *c, struct process *p, const json_t *input)
{
	json_t *tty = rpc_member(input, "pty"), *plain = rpc_member(input, "stdin");
	json_t *value = tty ? tty : plain;
	size_t length = json_string_length(value);
	uint8_t *bytes = value ? malloc(length / 4 * 3 + 4) : NULL;

	if (!json_is_string(value) || !bytes) {
		free(bytes);
		rpc_fail(c, RPC_INVALID_ARGUMENT, "input.stdin or input.pty is required");
		return;
	}
	ssize_t size = base64_decode(json_string_value(value), length, bytes);
	int r = size < 0 ? -EILSEQ
			 : process_input(p, tty != NULL, bytes, (size_t)size, written, c);
	free(bytes);
	if (r == -EILSEQ)
		rpc_fail(c, RPC_INVALID_ARGUMENT, "the input is not base64");
	else if (r == -ENOBUFS)
		rpc_fail(c, RPC_RESOURCE_EXHAUSTED, "the process does not read its input");
	else if (r < 0)
		rpc_fail(c, RPC_INTERNAL, "%s",
			 r == -ENOTTY	? "the process has no terminal"
			 : r == -EINVAL ? "the process has a terminal: use input.pty"
					: "standard input of the process is closed");
}

void envd_process_send_input(struct rpc_call *c)
{
	struct process *p = living(c);

	if (p)
		put_input(c, p, rpc_member(c->request, "input"));
}

void envd_process_close_stdin(struct rpc_call *c)
{
	struct process *p = living(c);

	if (!p)
		return;
	if (process_close_input(p) < 0)
		rpc_fail(c, RPC_UNKNOWN, "the process has a terminal, which is not closed this way");
	else
		rpc_reply(c, json_object());
}

void envd_process_send_signal(struct rpc_call *c)
{
	json_t *v = rpc_member(c->request, "signal");
	const char *name = json_string_value(v);
	json_int_t number = json_integer_value(v);
	struct process *p = living(c);

	if (!p)
		return;
	if ((name && strcmp(name, "SIGNAL_SIGKILL") == 0) || number == SIGKILL)
		number = SIGKILL;
	else if ((name && strcmp(name, "SIGNAL_SIGTERM") == 0) || number == SIGTERM)
		number = SIGTERM;
	else
		number = 0;
	if (!number) {
		rpc_fail(c, RPC_UNIMPLEMENTED, "signals are SIGNAL_SIGKILL and SIGNAL_SIGTERM");
		return;
	}
	process_signal(p, (int)number);
	rpc_reply(c, json_object());
}

void envd_process_update(struct rpc_call *c)
{
	json_t *pty = rpc_member(c->request, "pty");
	struct process *p = living(c);
	uint32_t cols, rows;

	if (!p)
		return;
	if (!process_is_tty(p)) {
		rpc_fail(c, RPC_INTERNAL, "the process has no terminal");
		return;
	}
	if (pty) {
		read_size(pty, &cols, &rows);
		process_resize(p, cols, rows);
	}
	rpc_reply(c, json_object());
}
