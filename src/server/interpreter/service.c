/* Port 49999 as clients see it: one table of requests, who may, and what their bodies must be. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "http/server.h"
#include "server/api/args.h"
#include "server/api/envd/envd.h"
#include "server/api/reply.h"
#include "server/ingress/ingress.h"
#include "server/interpreter/interpreter.h"
#include "server/interpreter/interpreter_internal.h"
#include "server/interpreter/limits.h"

#define CONTEXTS "/contexts/"

void reply_plain(struct http_exchange *x, int status, const char *format, ...)
{
	char text[1200];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	reply_cors(x);
	http_respond(x, status, "text/plain; charset=utf-8", text, strlen(text));
}

/* ---- the parts of requests ---- */

/* The sandbox, if it still runs; NULL: answered. */
static struct interpreter *running(struct http_exchange *x, const char *id)
{
	struct sandbox *s = sandbox_find(http_context(x), id);

	if (!s || s->record.state != SANDBOX_RUNNING) {
		reply_cors(x);
		reply_no_sandbox(x, id);
		return NULL;
	}
	struct interpreter *in = interpreter_of(s);
	if (!in)
		reply_plain(x, 503, "out of memory");
	return in;
}

/* "/contexts/ID" and `after`; NULL: no such context, answered. */
static struct context *named_context(struct http_exchange *x, struct interpreter *in,
				     const char *after)
{
	const char *from = http_path(x) + strlen(CONTEXTS);
	char id[64];

	snprintf(id, sizeof(id), "%.*s", (int)(strlen(from) - strlen(after)), from);
	struct context *c = context_find(in, id);
	if (!c)
		reply_plain(x, 404, "Context %s not found", id);
	return c;
}

static void check_language(struct args *a, const char *name)
{
	struct language_name buffer;
	struct language l;

	if (!a->failed && !language_find(name, &buffer, &l))
		args_fail(a, "language is not a name of a language or kernel");
}

static void check_variables(struct args *a)
{
	json_t *variables = args_object(a, "env_vars"), *value;
	const char *name;

	if (json_object_size(variables) > INTERPRETER_VARIABLES_MAX)
		args_fail(a, "env_vars has more than %u entries", INTERPRETER_VARIABLES_MAX);
	json_object_foreach(variables, name, value)
	{
		const char *text = json_string_value(value);
		if (!*name || strchr(name, '='))
			args_fail(a, "env_vars: '%.60s' is not a name of a variable", name);
		else if (!text || strlen(text) != json_string_length(value))
			args_fail(a, "env_vars: the value of '%.60s' must be a string without NUL",
				  name);
	}
}

/* True: something was wrong, which is answered. */
static bool refused(struct http_exchange *x, const struct args *a)
{
	if (a->failed)
		reply_plain(x, 400, "%s", a->message);
	return a->failed;
}

/* ---- /execute ---- */

static struct context *wanted_context(struct http_exchange *x, struct interpreter *in,
				      const char *id, const char *language)
{
	struct context *c = *id ? context_find(in, id) : context_default(in, language);

	if (!c && *id)
		reply_plain(x, 404, "Context %.100s not found", id);
	else if (!c)
		reply_plain(x, 503, "this sandbox has %u contexts, which is the limit",
			    in->context_count);
	return c;
}

static bool has_room(struct http_exchange *x, const struct context *c, size_t bytes)
{
	const struct interpreter *in = c->interpreter;

	if (c->waiting_count < INTERPRETER_WAITING_MAX &&
	    in->waiting_bytes + bytes <= INTERPRETER_WAITING_BYTES)
		return true;
	reply_plain(x, 503, "too many executions wait");
	return false;
}

static void execute(struct http_exchange *x, struct interpreter *in, const uint8_t *body,
		    size_t size)
{
	AUTO_ARGS struct args a;

	args_init(&a, body, size, false);
	const char *code = args_string(&a, "code", INTERPRETER_BODY_MAX, NULL);
	const char *id = args_string(&a, "context_id", 256, "");
	const char *language = args_string(&a, "language", 256, "");
	if (!code)
		args_fail(&a, "code is required");
	check_language(&a, language);
	check_variables(&a);
	if (*id && *language)
		args_fail(&a, "Only one of context_id or language can be provided");
	if (refused(x, &a))
		return;
	struct context *c = wanted_context(x, in, id, language);
	if (!c || !has_room(x, c, size))
		return;
	struct execution *e = execution_new(c, x, json_incref(a.object), size);
	if (e)
		context_submit(c, e);
	else
		reply_plain(x, 503, "out of memory");
}

/* ---- /contexts ---- */

static void create(struct http_exchange *x, struct interpreter *in, const uint8_t *body,
		   size_t size)
{
	AUTO_ARGS struct args a;

	args_init(&a, body, size, true);
	const char *language = args_string(&a, "language", 256, "");
	const char *cwd = args_string(&a, "cwd", INTERPRETER_CWD_MAX, "");
	check_language(&a, language);
	if (refused(x, &a))
		return;
	struct context *c = context_new(in, language, cwd);
	if (c)
		context_start(c, x, false);
	else
		reply_plain(x, 503, "this sandbox has %u contexts, which is the limit",
			    in->context_count);
}

static void list(struct http_exchange *x, struct interpreter *in)
{
	json_t *all = json_array();
	struct context *c;

	list_for_each(c, &in->contexts, link)
		json_array_append_new(all, context_json(c));
	reply_cors(x);
	reply_json(x, 200, all);
}

static void restart(struct http_exchange *x, struct interpreter *in)
{
	struct context *c = named_context(x, in, "/restart");

	if (c)
		context_start(c, x, true);
}

static void delete (struct http_exchange *x, struct interpreter *in)
{
	struct context *c = named_context(x, in, "");

	if (!c)
		return;
	context_remove(c);
	reply_cors(x);
	reply_json(x, 200, json_null());
}

static void health(struct http_exchange *x, struct interpreter *in)
{
	reply_cors(x);
	reply_json(x, 200, json_string("OK"));
}

/* ---- the table ---- */

enum {
	WITH_TOKEN = 1,	 /* needs the access token of a secure sandbox */
	OPEN_INSIDE = 2, /* for programs of the sandbox: without its traffic token */
};

/* "*" in a path is one segment. A request with a body has `collected`, others `plain`. */
static const struct request {
	const char *method, *path;
	void (*plain)(struct http_exchange *x, struct interpreter *in);
	void (*collected)(struct http_exchange *x, struct interpreter *in, const uint8_t *body,
			  size_t size);
	int flags;
} requests[] = {
	{ "GET", "/health", health, NULL, OPEN_INSIDE },
	{ "POST", "/execute", NULL, execute, WITH_TOKEN },
	{ "GET", "/contexts", list, NULL, 0 },
	{ "POST", "/contexts", NULL, create, 0 },
	{ "POST", "/contexts/*/restart", restart, NULL, 0 },
	{ "DELETE", "/contexts/*", delete, NULL, 0 },
};

static bool matches(const char *pattern, const char *path)
{
	const char *star = strchr(pattern, '*');

	if (!star)
		return strcmp(pattern, path) == 0;
	size_t before = (size_t)(star - pattern);
	if (strncmp(pattern, path, before) != 0)
		return false;
	size_t segment = strcspn(path + before, "/");
	return segment > 0 && strcmp(star + 1, path + before + segment) == 0;
}

static const struct request *find_request(const struct http_exchange *x, bool *ret_path_known)
{
	*ret_path_known = false;
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
		if (!matches(requests[i].path, http_path(x)))
			continue;
		*ret_path_known = true;
		if (strcmp(requests[i].method, http_method(x)) == 0)
			return &requests[i];
	}
	return NULL;
}

/* As any port of the guest; code runs only for whoever could start a process. False: answered. */
static bool allowed(struct http_exchange *x, struct sandbox *s, const struct request *r)
{
	bool open = r && (r->flags & OPEN_INSIDE) && http_adopted_by(x);

	if (!open && !ingress_allowed(x, s))
		return false;
	if (!r || !(r->flags & WITH_TOKEN) || envd_has_token(x, s))
		return true;
	reply_plain(x, 401, "%s",
		    http_header(x, "x-access-token")
			    ? "the access token is not this sandbox's"
			    : "no access token: send it as X-Access-Token");
	return false;
}

bool interpreter_may_wake(struct http_exchange *x, struct sandbox *s)
{
	bool path_known;

	if (strcmp(http_method(x), "OPTIONS") != 0)
		return allowed(x, s, find_request(x, &path_known));
	reply_preflight(x);
	return false;
}

struct arrival {
	const struct request *request;
	char id[SANDBOX_ID_SIZE];
};

static void collected(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size)
{
	const struct arrival *a = ctx;
	struct interpreter *in = running(x, a->id);

	if (in)
		a->request->collected(x, in, data, size);
}

static void handle(struct http_exchange *x, struct sandbox *s, const struct request *r)
{
	struct arrival *a = http_alloc(x, sizeof(*a));

	if (!a) {
		reply_plain(x, 503, "out of memory");
		return;
	}
	a->request = r;
	snprintf(a->id, sizeof(a->id), "%s", s->record.id);
	if (r->collected) {
		http_body_collect(x, r->flags & WITH_TOKEN ? INTERPRETER_BODY_MAX : KIB(64), collected,
				  a);
		return;
	}
	struct interpreter *in = running(x, a->id);
	if (in)
		r->plain(x, in);
}

void interpreter_handle(struct http_exchange *x, struct sandbox *s)
{
	bool path_known;
	const struct request *r = find_request(x, &path_known);

	if (strcmp(http_method(x), "OPTIONS") == 0)
		reply_preflight(x);
	else if (!allowed(x, s, r))
		return;
	else if (r)
		handle(x, s, r);
	else
		reply_plain(x, path_known ? 405 : 404,
			    path_known ? "Method Not Allowed" : "Not Found");
}
