/*
 * Code in a sandbox of a server: port 49999 of it, POST /execute, one connection for each execution,
 * because closing it is how an execution is interrupted. Without --context or --workdir it runs in the
 * sandbox's default context of the language, where programs that use an SDK run theirs.
 *
 * Nothing here blocks while a server is slow: every wait is for its socket and for signals.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "client/code.h"
#include "client/target.h"

#define PIECE	    65536
#define CONTEXT_MAX 128

struct remote {
	struct target target;
	char context[CONTEXT_MAX + 1]; /* "" = the default one */
	bool own;		       /* made by us, removed by us */
};

/* ---- contexts ---- */

static bool is_context_id(const char *id)
{
	size_t size = strlen(id);

	return size && size <= CONTEXT_MAX &&
	       strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") ==
		       size;
}

/* Takes `message`. */
static int ask(struct remote *m, const char *method, const char *path, json_t *message,
	       json_t **ret, struct error *err)
{
	struct header headers[TARGET_HEADERS_MAX];
	char *body = message ? json_dumps(message, JSON_COMPACT) : NULL;

	if (message && !body) {
		json_decref(message);
		return error_set(err, 0, "a name that is not UTF-8 cannot be told to the server");
	}
	json_decref(message);
	target_headers(&m->target, headers, TARGET_INTERPRETER, "application/json");
	int r = connection_request(m->target.c, &m->target.o->endpoint, method, path, headers, body,
				   body ? strlen(body) : 0, err);
	free(body);
	return r < 0 ? r : connection_json(m->target.c, ret, err);
}

static int make_context(struct code *c, const char *directory, struct error *err)
{
	struct remote *m = c->of_backend;
	json_t *answer = NULL;

	int r = ask(m, "POST", "/contexts",
		    json_pack("{s:s, s:s}", "language", c->language.name, "cwd", directory),
		    &answer, err);
	const char *id = json_string_value(json_object_get(answer, "id"));
	if (r == 0 && (!id || !is_context_id(id)))
		r = error_set(err, EBADMSG, "the server's answer");
	if (r == 0) {
		snprintf(m->context, sizeof(m->context), "%s", id);
		m->own = true;
	}
	json_decref(answer);
	return r;
}

static int take_options(struct code *c, struct error *err)
{
	const struct option_list *passed = &c->o->passed;
	struct remote *m = c->of_backend;
	const char *directory = NULL;

	for (unsigned int i = 0; i < passed->count; i++) {
		if (passed->items[i].tag == PASSED_WORKDIR)
			directory = passed->items[i].text;
		else if (passed->items[i].tag != PASSED_ENV)
			return error_set(err, 0,
					 "--%s is for a sandbox that is made for the code, not for "
					 "--sandbox",
					 code_option_name(passed->items[i].tag));
	}
	if (c->o->context && !is_context_id(c->o->context))
		return error_set(err, 0, "--context: '%.100s' is not the id of a context",
				 c->o->context);
	if (c->o->context && directory)
		return error_set(err, 0,
				 "--context has a working directory: --workdir is for new ones");
	if (c->o->context)
		snprintf(m->context, sizeof(m->context), "%s", c->o->context);
	return directory ? make_context(c, directory, err) : 0;
}

static int remote_start(struct code *c, struct error *err)
{
	struct remote *m = calloc(1, sizeof(*m));

	if (!m)
		return error_set(err, ENOMEM, "a connection");
	c->of_backend = m;
	signals_let(true);
	int r = target_open(&m->target, c->o, c->o->sandbox, err);
	if (r == 0)
		r = take_options(c, err);
	signals_let(false);
	return r;
}

static void remote_stop(struct code *c)
{
	struct remote *m = c->of_backend;
	struct error ignored;
	char path[CONTEXT_MAX + 16];

	if (!m)
		return;
	signals_let(true);
	if (m->own) {
		snprintf(path, sizeof(path), "/contexts/%s", m->context);
		(void)ask(m, "DELETE", path, NULL, NULL, &ignored);
	}
	signals_let(false);
	target_close(&m->target);
	free(m);
	c->of_backend = NULL;
}

static int remote_restart(struct code *c, struct error *err)
{
	struct remote *m = c->of_backend;
	char path[CONTEXT_MAX + 32];

	if (!m->context[0])
		return error_set(err, 0,
				 "this is the sandbox's default context, which others may use: "
				 "only one that is given with --context, or made by --workdir, "
				 "can be restarted");
	snprintf(path, sizeof(path), "/contexts/%s/restart", m->context);
	signals_let(true);
	int r = ask(m, "POST", path, NULL, NULL, err);
	signals_let(false);
	if (r == 0)
		c->presenter.number = 0;
	return r;
}

/* ---- an execution ---- */

/* -EINTR: a signal came first. */
static int wait_for(struct code *c, int fd, short what)
{
	struct pollfd fds[] = { { .fd = c->signals, .events = POLLIN },
				{ .fd = fd, .events = what } };

	while (!fds[1].revents) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return -errno;
		int r = fds[0].revents ? signals_handle(c) : 0;
		if (r > 0)
			c->interrupted = true;
		if (r != 0)
			return -EINTR;
	}
	return 0;
}

static char *make_body(const struct code *c, const char *code, size_t size, struct error *err)
{
	const struct remote *m = c->of_backend;
	const struct option_list *passed = &c->o->passed;
	json_t *o = json_object(), *env = json_object();

	json_object_set_new(o, "code", json_stringn(code, size));
	if (m->context[0])
		json_object_set_new(o, "context_id", json_string(m->context));
	else
		json_object_set_new(o, "language", json_string(c->language.name));
	for (unsigned int i = 0; i < passed->count; i++) {
		const char *text = passed->items[i].text, *equals = strchr(text, '=');
		if (passed->items[i].tag != PASSED_ENV)
			continue;
		const char *value = equals ? equals + 1 : getenv(text);
		size_t name = equals ? (size_t)(equals - text) : strlen(text);
		if (value)
			json_object_setn_new(env, text, name, json_string(value));
	}
	if (json_object_size(env))
		json_object_set(o, "env_vars", env);
	char *body = json_object_get(o, "code") ? json_dumps(o, JSON_COMPACT) : NULL;
	json_decref(env);
	json_decref(o);
	if (!body)
		error_set(err, ENOMEM, "the request");
	return body;
}

static int send_body(struct code *c, struct connection *n, const char *body, size_t size,
		     struct error *err)
{
	int r = 0;

	connection_set_blocking(n, false);
	while (r == 0 && size) {
		ssize_t sent = connection_try_write(n, body, size);
		if (sent == -EAGAIN)
			r = wait_for(c, n->fd, POLLOUT);
		else if (sent < 0)
			r = (int)sent;
		if (sent > 0) {
			body += sent;
			size -= (size_t)sent;
		}
	}
	return r < 0 ? error_set(err, -r, "send to the server") : 0;
}

static int take_answer(struct code *c, struct connection *n, struct error *err)
{
	int r;

	while ((r = connection_answer(n, err)) == -EAGAIN) {
		r = wait_for(c, n->fd, POLLIN);
		if (r < 0)
			return error_set(err, -r, "read the answer");
	}
	if (r < 0 || n->status == 200)
		return r;
	connection_set_blocking(n, true);
	return answer_error(n, err);
}

static int take_lines(struct code *c, struct connection *n, struct error *err)
{
	static char piece[PIECE];
	int r = 0;

	while (r == 0 && !c->presenter.lost && !c->presenter.ended) {
		ssize_t size = connection_read(n, piece, sizeof(piece));
		if (size > 0)
			presenter_take(&c->presenter, piece, (size_t)size);
		else if (size == -EAGAIN)
			r = wait_for(c, n->fd, POLLIN);
		else
			break;
	}
	if (r < 0)
		return error_set(err, -r, "read the answer");
	if (c->presenter.ended || c->presenter.lost)
		return 0;
	return error_set(err, 0,
			 "the connection to the sandbox was cut: it has ended, or the server has "
			 "(hotcell ps -a says why)");
}

static int exchange(struct code *c, const char *body, struct error *err)
{
	struct remote *m = c->of_backend;
	struct header headers[TARGET_HEADERS_MAX];
	size_t size = strlen(body);

	/* A new one: a request that may have been executed is not sent twice. */
	connection_close(m->target.c);
	target_headers(&m->target, headers, TARGET_INTERPRETER, "application/json");
	signals_let(true);
	int r = connection_begin(m->target.c, &c->o->endpoint, "POST", "/execute", headers, size,
				 err);
	signals_let(false);
	if (r == 0)
		r = send_body(c, m->target.c, body, size, err);
	if (r == 0)
		r = take_answer(c, m->target.c, err);
	if (r == 0)
		r = take_lines(c, m->target.c, err);
	connection_close(m->target.c);
	return r;
}

static int remote_execute(struct code *c, const char *code, size_t size, struct error *err)
{
	char *body = make_body(c, code, size, err);

	if (!body)
		return -err->code;
	int r = exchange(c, body, err);
	free(body);
	return c->interrupted || c->stopped_by ? 0 : r;
}

const struct backend backend_remote = { remote_start, remote_execute, remote_restart, remote_stop };
