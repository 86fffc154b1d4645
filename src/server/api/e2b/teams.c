/* Teams and keys: a server has one team, and every key belongs to it. */
#include <string.h>

#include "server/api/e2b/e2b_internal.h"

#define TEAM_ID "00000000-0000-4000-8000-000000000001"

void e2b_health(struct http_exchange *x)
{
	reply_cors(x);
	reply_empty(x);
}

/* The key of the request is the only one that can be shown: others are stored as hashes. */
void e2b_teams(struct http_exchange *x)
{
	const char *key = http_header(x, "x-api-key");
	const char *bearer = http_header(x, "authorization");

	if (!authorized(x, NULL))
		return;
	reply_json(x, 200,
		   json_pack("[{s:s, s:s, s:s, s:b}]", "teamID", TEAM_ID, "name", "default",
			     "apiKey", key ? key : bearer + strlen("Bearer "), "isDefault", 1));
}

static json_t *key_json(const struct key *k)
{
	json_t *o = json_pack("{s:s, s:s, s:{s:s, s:i, s:s, s:s}}", "id", k->uuid, "name", k->name,
			      "mask", "prefix", "e2b_", "valueLength", 40, "maskedValuePrefix",
			      k->mask, "maskedValueSuffix", "");
	if (!o)
		return NULL;
	reply_set_time(o, "createdAt", k->created_us);
	if (k->last_used_us)
		reply_set_time(o, "lastUsed", k->last_used_us);
	else
		json_object_set_new(o, "lastUsed", json_null());
	return o;
}

static void add_row(void *ctx, const struct key *k)
{
	if (!k->revoked_us)
		json_array_append_new(ctx, key_json(k));
}

void e2b_key_list(struct http_exchange *x)
{
	struct server *server = http_context(x);
	struct error err;

	if (!authorized(x, NULL))
		return;
	json_t *rows = json_array();
	if (key_list(server->store, add_row, rows, &err) == 0) {
		reply_json(x, 200, rows);
		return;
	}
	json_decref(rows);
	reply_failure(x, &err, 0);
}

/* A key made through a key has the same limits: nobody lifts their own. */
static void add_body(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size)
{
	struct server *server = http_context(x);
	AUTO_ARGS struct args a;
	char text[KEY_TEXT_SIZE];
	const struct key *own = ctx;
	struct key made;
	struct error err;

	args_init(&a, data, size, false);
	const char *name = args_required(&a, "name", 63);
	if (args_answered(&a, x))
		return;
	if (key_add(server->store, name, &own->limits, text, &made, &err) < 0) {
		reply_failure(x, &err, 0);
		return;
	}
	json_t *o = key_json(&made);
	if (o)
		json_object_set_new(o, "key", json_string(text));
	reply_json(x, 201, o);
}

void e2b_key_add(struct http_exchange *x)
{
	struct key *own = http_alloc(x, sizeof(*own));

	if (!own)
		http_error(x, 503, "out of memory");
	else if (authorized(x, own))
		http_body_collect(x, BODY_MAX, add_body, own);
}

void e2b_key_delete(struct http_exchange *x)
{
	struct server *server = http_context(x);
	struct error err;

	if (!authorized(x, NULL))
		return;
	if (key_revoke(server->store, http_param(x, "id"), &err) < 0)
		reply_failure(x, &err, 0);
	else
		reply_empty(x);
}
