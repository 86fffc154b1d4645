/* Records of volumes. */
#include <errno.h>
#include <string.h>

#include "server/api/e2b/e2b_internal.h"
#include "server/store/volumes.h"

static struct store *store_of(struct http_exchange *x)
{
	struct server *server = http_context(x);
	return server->store;
}

static json_t *volume_json(const struct volume *v)
{
	return json_pack("{s:s, s:s, s:s}", "volumeID", v->id, "name", v->name, "token", v->token);
}

static void add_row(void *ctx, const struct volume *v)
{
	json_array_append_new(ctx, json_pack("{s:s, s:s}", "volumeID", v->id, "name", v->name));
}

void e2b_volume_list(struct http_exchange *x)
{
	struct error err;

	if (!authorized(x, NULL))
		return;
	json_t *rows = json_array();
	if (volume_list(store_of(x), add_row, rows, &err) == 0) {
		reply_json(x, 200, rows);
		return;
	}
	json_decref(rows);
	reply_failure(x, &err, 0);
}

static void add_body(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size)
{
	AUTO_ARGS struct args a;
	struct volume v;
	struct error err;

	args_init(&a, data, size, false);
	const char *name = args_required(&a, "name", 127);
	if (name[strspn(name,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")])
		args_fail(&a, "name must consist of letters, digits, '_' and '-'");
	if (args_answered(&a, x))
		return;
	if (volume_add(store_of(x), name, &v, &err) < 0)
		reply_failure(x, &err, 0);
	else
		reply_json(x, 201, volume_json(&v));
}

void e2b_volume_add(struct http_exchange *x)
{
	if (authorized(x, NULL))
		http_body_collect(x, BODY_MAX, add_body, NULL);
}

void e2b_volume_get(struct http_exchange *x)
{
	struct volume v;
	struct error err;

	if (!authorized(x, NULL))
		return;
	if (volume_get(store_of(x), http_param(x, "id"), &v, &err) < 0)
		reply_failure(x, &err, 0);
	else
		reply_json(x, 200, volume_json(&v));
}

void e2b_volume_delete(struct http_exchange *x)
{
	struct error err;

	if (!authorized(x, NULL))
		return;
	if (volume_delete(store_of(x), http_param(x, "id"), &err) < 0)
		reply_failure(x, &err, 0);
	else
		reply_empty(x);
}
