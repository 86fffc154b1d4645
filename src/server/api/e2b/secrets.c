/* Secrets: stored, counted, never shown. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api/e2b/e2b_internal.h"
#include "server/store/secrets.h"

#define VALUE_MAX (64u << 10)

static struct store *store_of(struct http_exchange *x)
{
	struct server *server = http_context(x);
	return server->store;
}

static json_t *secret_json(const struct secret *s)
{
	json_t *o = json_pack("{s:s, s:s, s:i, s:o}", "secretID", s->id, "name", s->name,
			      "currentVersion", (int)s->version, "metadata", text_json(s->metadata));
	if (o) {
		reply_set_time(o, "createdAt", s->created_us);
		reply_set_time(o, "updatedAt", s->updated_us);
	}
	return o;
}

static void keep_one(void *ctx, const struct secret *s)
{
	*(json_t **)ctx = secret_json(s);
}

static void answer(struct http_exchange *x, int r, int status, json_t *value,
		   const struct error *err)
{
	if (r == 0) {
		reply_json(x, status, value);
		return;
	}
	json_decref(value);
	reply_failure(x, err, 0);
}

/* ---- list ---- */

struct page {
	json_t *rows;
	unsigned int limit;
	char last[129];
	bool more;
};

static void add_row(void *ctx, const struct secret *s)
{
	struct page *p = ctx;

	if (json_array_size(p->rows) == p->limit) {
		p->more = true;
		return;
	}
	json_array_append_new(p->rows, secret_json(s));
	snprintf(p->last, sizeof(p->last), "%s", s->name);
}

void e2b_secret_list(struct http_exchange *x)
{
	struct page p = { 0 };
	struct error err;

	if (!authorized(x, NULL) || !(p.limit = query_limit(x)))
		return;
	const char *after = http_query_param(x, "nextToken");
	p.rows = json_array();
	int r = secret_list(store_of(x), after ? after : "", p.limit + 1, add_row, &p, &err);
	if (r == 0 && p.more)
		http_set(x, "x-next-token", p.last);
	answer(x, r, 200, p.rows, &err);
}

/* ---- one ---- */

/* Names travel in headers and paths, and share the latter with ids. They are kept in lower case. */
static void take_name(struct args *a, const char *name, char ret[129])
{
	size_t good = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

	snprintf(ret, 129, "%s", name);
	for (char *c = ret; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c += 'a' - 'A';
	if (a->failed)
		return;
	if (!*name || name[good])
		args_fail(a, "name must consist of letters, digits, '_' and '-'");
	else if (strncmp(ret, SECRET_ID_PREFIX, strlen(SECRET_ID_PREFIX)) == 0)
		args_fail(a, "names that begin with " SECRET_ID_PREFIX " are reserved for ids");
}

static void add_body(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size)
{
	AUTO_ARGS struct args a;
	json_t *made = NULL;
	struct error err;
	char name[129];

	args_init(&a, data, size, false);
	take_name(&a, args_required(&a, "name", 128), name);
	const char *value = args_required(&a, "value", VALUE_MAX);
	char *metadata = args_string_map(&a, "metadata", 64);
	if (!args_answered(&a, x)) {
		int r = secret_add(store_of(x), name, value, metadata, keep_one, &made, &err);
		answer(x, r, 201, made, &err);
	}
	free(metadata);
}

void e2b_secret_add(struct http_exchange *x)
{
	if (authorized(x, NULL))
		http_body_collect(x, BODY_MAX, add_body, NULL);
}

void e2b_secret_get(struct http_exchange *x)
{
	json_t *found = NULL;
	struct error err;

	if (!authorized(x, NULL))
		return;
	int r = secret_get(store_of(x), http_param(x, "id"), keep_one, &found, &err);
	answer(x, r, 200, found, &err);
}

static void update_body(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size)
{
	AUTO_ARGS struct args a;
	json_t *made = NULL;
	struct error err;

	args_init(&a, data, size, false);
	const char *value = args_required(&a, "value", VALUE_MAX);
	char *metadata = args_string_map(&a, "metadata", 64);
	if (!args_answered(&a, x)) {
		int r = secret_update(store_of(x), http_param(x, "id"), value, metadata, keep_one,
				      &made, &err);
		answer(x, r, 200, made, &err);
	}
	free(metadata);
}

void e2b_secret_update(struct http_exchange *x)
{
	if (authorized(x, NULL))
		http_body_collect(x, BODY_MAX, update_body, NULL);
}

void e2b_secret_delete(struct http_exchange *x)
{
	struct error err;

	if (!authorized(x, NULL))
		return;
	if (secret_delete(store_of(x), http_param(x, "id"), &err) < 0)
		reply_failure(x, &err, 0);
	else
		reply_empty(x);
}
