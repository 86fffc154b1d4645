/* filesystem.Filesystem, the unary calls: each is one message to the sandbox. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/api/envd/envd_internal.h"
#include "base/util.h"
#include "server/runtime/runtime.h"

#define PATH_BYTES_MAX 4096
/* Bytes that lists take while they are made, of a sandbox and of all; an entry costs about so much. */
#define LISTED_MAX     (256u << 20)
#define LISTED_ALL_MAX (1u << 30)
#define ENTRY_BYTES    1536u

struct operation {
	struct rpc_call *call;
	struct sandbox *sandbox; /* outlives it: its end ends operations */
	uint32_t request;
	json_t *entries; /* of a list */
	size_t listed;	 /* bytes of them */
};

static size_t listed;

static void operation_free(struct operation *o)
{
	json_decref(o->entries);
	o->sandbox->listed -= o->listed;
	listed -= o->listed;
	free(o);
}

/* Nobody waits for it any more. */
static void left(struct rpc_call *c)
{
	struct operation *o = c->ctx;

	if (c->sandbox && c->sandbox->runtime)
		runtime_cancel(c->sandbox->runtime, o->request);
	operation_free(o);
	rpc_reply(c, NULL);
}

static bool count_bytes(struct operation *o, size_t bytes)
{
	o->listed += bytes;
	o->sandbox->listed += bytes;
	listed += bytes;
	return o->sandbox->listed <= LISTED_MAX && listed <= LISTED_ALL_MAX;
}

/* False: that is too much. */
static bool add_entries(struct operation *o, struct wire_in *in)
{
	static struct wire_entry e;
	uint32_t length = in->length, count = wire_get_u32(in);

	if (!count_bytes(o, length + (size_t)MIN(count, length) * ENTRY_BYTES))
		return false;
	for (uint32_t i = 0; i < count && wire_get_entry(in, &e); i++)
		json_array_append_new(o->entries, envd_entry_json(&e));
	return true;
}

static void give_up(struct operation *o)
{
	struct rpc_call *c = o->call;

	c->left = NULL;
	if (o->sandbox->runtime)
		runtime_cancel(o->sandbox->runtime, o->request);
	rpc_fail(c, RPC_RESOURCE_EXHAUSTED, "the list is too long (after %zu entries)",
		 json_array_size(o->entries));
	operation_free(o);
}

static void answered(void *ctx, const struct runtime_answer *a)
{
	static struct wire_entry e;
	struct operation *o = ctx;
	struct rpc_call *c = o->call;

	if (!a->error && a->type == WIRE_FS_ENTRIES) {
		if (!add_entries(o, a->body))
			give_up(o);
		return;
	}
	c->left = NULL;
	if (a->error)
		rpc_fail_about(c, a->error, a->about, a->message);
	else if (a->type == WIRE_FS_ENTRY && wire_get_entry(a->body, &e))
		rpc_reply(c, json_pack("{s:o}", "entry", envd_entry_json(&e)));
	else if (o->entries)
		rpc_reply(c, json_pack("{s:O}", "entries", o->entries));
	else
		rpc_reply(c, json_object());
	operation_free(o);
}

/* False: answered. */
static bool put_path(struct rpc_call *c, struct wire_out *out, const char *name)
{
	json_t *v = rpc_member(c->request, name);
	const char *path = json_is_string(v) ? json_string_value(v) : "";

	if (strlen(path) < PATH_BYTES_MAX && (!v || strlen(path) == json_string_length(v))) {
		wire_put_str(out, path);
		return true;
	}
	rpc_fail(c, RPC_INVALID_ARGUMENT, "%s is not a path", name);
	return false;
}

static void send_operation(struct rpc_call *c, uint32_t type, const struct wire_out *out,
			   bool list)
{
	struct operation *o = calloc(1, sizeof(*o));

	if (!o || !c->sandbox->runtime) {
		free(o);
		rpc_fail(c, RPC_UNAVAILABLE, "the sandbox is not running");
		return;
	}
	o->call = c;
	o->sandbox = c->sandbox;
	o->entries = list ? json_array() : NULL;
	c->ctx = o;
	c->left = left;
	uint32_t request = runtime_call(c->sandbox->runtime, type, out, -1, answered, o);
	if (request)
		o->request = request;
}

static void one_path(struct rpc_call *c, uint32_t type)
{
	uint8_t bytes[PATH_BYTES_MAX + 256];
	struct wire_out out = { bytes, 0, sizeof(bytes), false };

	wire_put_str(&out, c->user);
	if (put_path(c, &out, "path"))
		send_operation(c, type, &out, false);
}

void envd_fs_stat(struct rpc_call *c)
{
	one_path(c, WIRE_FS_STAT);
}

void envd_fs_make_dir(struct rpc_call *c)
{
	one_path(c, WIRE_FS_MAKE_DIR);
}

void envd_fs_remove(struct rpc_call *c)
{
	one_path(c, WIRE_FS_REMOVE);
}

void envd_fs_list(struct rpc_call *c)
{
	uint8_t bytes[PATH_BYTES_MAX + 256];
	struct wire_out out = { bytes, 0, sizeof(bytes), false };
	uint32_t depth = rpc_u32(c->request, "depth");

	wire_put_str(&out, c->user);
	if (!put_path(c, &out, "path"))
		return;
	wire_put_u32(&out, depth ? depth : 1);
	send_operation(c, WIRE_FS_LIST, &out, true);
}

void envd_fs_move(struct rpc_call *c)
{
	static uint8_t bytes[2 * PATH_BYTES_MAX + 256];
	struct wire_out out = { bytes, 0, sizeof(bytes), false };

	wire_put_str(&out, c->user);
	if (put_path(c, &out, "source") && put_path(c, &out, "destination"))
		send_operation(c, WIRE_FS_MOVE, &out, false);
}
