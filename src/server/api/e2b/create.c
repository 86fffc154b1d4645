/*
 * POST /sandboxes and /v2/sandboxes. The two differ in their defaults: version 1 lives 15 seconds
 * and is open unless asked otherwise; version 2 lives 300 and always has an access token.
 */
#include <stdlib.h>
#include <string.h>

#include "server/api/e2b/e2b_internal.h"
#include "server/interpreter/interpreter.h"

#define METADATA_MAX	  256
#define ENV_MAX		  1024
#define VOLUME_MOUNTS_MAX 16
#define TOKENS_MAX	  5

struct create_version {
	uint32_t timeout_s;
	bool always_secure;
};
static const struct create_version v1 = { 15, false }, v2 = { 300, true };

/* Everything of the request; the strings in `owned` are the spec's. */
struct create_request {
	struct sandbox_spec spec;
	char *owned[4];
};

static void free_request(struct create_request *r)
{
	for (size_t i = 0; i < sizeof(r->owned) / sizeof(r->owned[0]); i++)
		free(r->owned[i]);
}

static void read_life(struct args *a, struct sandbox_spec *s)
{
	json_t *resume = args_object(a, "autoResume");
	json_t *enabled = json_object_get(resume, "enabled");

	s->pause_on_timeout = args_bool(a, "autoPause", false);
	s->pause_keeps_memory = args_bool(a, "autoPauseMemory", true);
	if (resume && !json_is_boolean(enabled))
		args_fail(a, "autoResume.enabled must be true or false");
	s->auto_resume = json_is_true(enabled);
	if (!s->pause_keeps_memory && !s->pause_on_timeout)
		args_fail(a, "autoPauseMemory: false needs autoPause: true");
	if (!s->pause_keeps_memory && s->auto_resume)
		args_fail(a, "autoPauseMemory: false cannot be combined with autoResume");
}

static void check_mount(struct args *a, json_t *mounts, json_t *mount)
{
	const char *name = json_string_value(json_object_get(mount, "name"));
	const char *path = json_string_value(json_object_get(mount, "path"));
	json_t *other;
	size_t i, same = 0;

	if (!name || !*name || !path)
		args_fail(a, "volumeMounts: each needs a name and a path");
	else if (path[0] != '/' || path[1] == '\0' || strstr(path, "//") || strstr(path, "/../") ||
		 strstr(path, "/./") || path[strlen(path) - 1] == '/')
		args_fail(a, "volumeMounts: '%.100s' is not an absolute clean path", path);
	json_array_foreach(mounts, i, other) {
		const char *p = json_string_value(json_object_get(other, "path"));
		same += path && p && strcmp(path, p) == 0;
	}
	if (same > 1)
		args_fail(a, "volumeMounts: '%.100s' is there twice", path);
}

static char *read_volumes(struct args *a)
{
	json_t *mounts = args_array(a, "volumeMounts"), *mount;
	size_t i;

	if (!mounts || json_array_size(mounts) == 0)
		return NULL;
	if (json_array_size(mounts) > VOLUME_MOUNTS_MAX)
		args_fail(a, "volumeMounts has more than %d entries", VOLUME_MOUNTS_MAX);
	json_array_foreach(mounts, i, mount)
		check_mount(a, mounts, mount);
	return a->failed ? NULL : json_dumps(mounts, JSON_COMPACT);
}

/* Recorded by other servers; here only its form is checked. */
static void check_iam(struct args *a)
{
	json_t *tokens = json_object_get(args_object(a, "iam"), "tokens");

	if (tokens && !json_is_object(tokens))
		args_fail(a, "iam.tokens must be an object");
	else if (json_object_size(tokens) > TOKENS_MAX)
		args_fail(a, "iam.tokens has more than %d entries", TOKENS_MAX);
}

static void read_request(struct args *a, const struct create_version *v, struct create_request *r)
{
	struct sandbox_spec *s = &r->spec;
	json_t *network = args_object(a, "network");

	s->template = args_required(a, "templateID", 256);
	s->timeout_s = (uint32_t)args_integer(a, "timeout", 1, TIMEOUT_MAX_S, v->timeout_s);
	s->secure = v->always_secure || args_bool(a, "secure", false);
	s->allow_internet = args_tristate(a, "allow_internet_access");
	s->traffic_token = json_is_false(json_object_get(network, "allowPublicTraffic"));
	read_life(a, s);
	check_iam(a);
	(void)args_object(a, "mcp");
	s->metadata = r->owned[0] = args_string_map(a, "metadata", METADATA_MAX);
	s->env = r->owned[1] = args_string_map(a, "envVars", ENV_MAX);
	s->network = r->owned[2] = network_args(a, network, s->secure);
	s->volumes = r->owned[3] = read_volumes(a);
}

static void killed(void *ctx, struct sandbox *s, const struct error *err, unsigned int retry)
{
}

static void created(void *ctx, struct sandbox *s, const struct error *err, unsigned int retry)
{
	struct http_exchange *x = pending_end(ctx);

	if (!x) { /* nobody knows its id */
		if (!err)
			sandbox_kill(s, "the client left before the sandbox was ready", killed, NULL);
	} else if (err) {
		reply_failure(x, err, retry);
	} else {
		reply_json(x, 201, sandbox_json(s));
		interpreter_begin(s);
	}
}

/* What is known before the body: who asks, in which version. */
struct create_context {
	const struct create_version *version;
	struct key key;
};

static void create(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size)
{
	const struct create_context *c = ctx;
	AUTO_ARGS struct args a;
	struct create_request r = { .spec.key_id = c->key.id };

	args_init(&a, data, size, false);
	read_request(&a, c->version, &r);
	struct pending *p = args_answered(&a, x) ? NULL : pending_new(x);
	if (p)
		sandbox_create(http_context(x), &r.spec, created, p);
	free_request(&r);
}

static void begin(struct http_exchange *x, const struct create_version *version)
{
	struct create_context *c = http_alloc(x, sizeof(*c));

	if (!c) {
		http_error(x, 503, "out of memory");
		return;
	}
	c->version = version;
	if (authorized(x, &c->key))
		http_body_collect(x, BODY_MAX, create, c);
}

void e2b_create_v1(struct http_exchange *x)
{
	begin(x, &v1);
}

void e2b_create_v2(struct http_exchange *x)
{
	begin(x, &v2);
}
