/*
 * POST /sandboxes/{id}/snapshots and GET /snapshots (reference: 2.8). A snapshot is a template: creating
 * from it and deleting it are the calls for templates.
 *
 * The cursor is URL-safe base64 of "created__template__tag", as that of sandboxes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "codec/base64.h"
#include "server/api/e2b/e2b_internal.h"
#include "server/snapshot/snapshots.h"

#define NAME_MAX_BYTES 256

static json_t *snapshot_json(const struct snapshot *x)
{
	json_t *names = json_array();

	if (x->name[0])
		json_array_append_new(names, json_string(x->name));
	return json_pack("{s:s, s:o}", "snapshotID", x->id, "names", names);
}

/* ---- taking one ---- */

static bool is_wanted(void *ctx)
{
	const struct pending *p = ctx;
	return p->x != NULL;
}

static void taken(void *ctx, const struct snapshot *snapshot, const struct error *err)
{
	struct http_exchange *x = pending_end(ctx);

	if (x && err)
		reply_failure(x, err, 0);
	else if (x)
		reply_json(x, 201, snapshot_json(snapshot));
}

static void take_body(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size)
{
	AUTO_ARGS struct args a;

	args_init(&a, data, size, true);
	const char *name = args_string(&a, "name", NAME_MAX_BYTES, NULL);
	if (args_answered(&a, x))
		return;
	struct sandbox *s = sandbox_of(x);
	struct pending *p = s ? pending_new(x) : NULL;
	if (p)
		snapshot_take(s, name, is_wanted, taken, p);
}

void e2b_snapshot_take(struct http_exchange *x)
{
	if (authorized(x, NULL))
		http_body_collect(x, BODY_MAX, take_body, NULL);
}

/* ---- the list ---- */

struct page {
	json_t *rows;
	struct snapshot last;
};

static void add_row(void *ctx, const struct snapshot *x)
{
	struct page *p = ctx;

	json_t *o = snapshot_json(x);

	if (o) { /* what a person wants to see in a list; our own */
		json_object_set_new(o, "sandboxID", json_string(x->sandbox_id));
		json_object_set_new(o, "sizeBytes", json_integer((json_int_t)x->size));
		reply_set_time(o, "createdAt", x->created_us);
	}
	json_array_append_new(p->rows, o);
	p->last = *x;
}

static bool read_cursor(struct http_exchange *x, const char *token, struct snapshot_filter *f)
{
	char text[192];
	ssize_t n = strlen(token) < sizeof(text) ? base64_decode(token, strlen(token), text) : -1;

	if (n > 0) {
		text[n] = '\0';
		if (sscanf(text, "%" SCNd64 "__%63[a-z0-9]__%63s", &f->after_us, f->after_id,
			   f->after_tag) == 3)
			return true;
	}
	http_error(x, 400, "nextToken is not one of this list's");
	return false;
}

static void set_cursor(struct http_exchange *x, const struct snapshot *last)
{
	char text[192], token[272];

	int n = snprintf(text, sizeof(text), "%" PRId64 "__%s__%s", last->created_us,
			 last->template_id, last->tag);
	base64_encode_url(text, (size_t)n, token);
	http_set(x, "x-next-token", token);
}

static const char *given(struct http_exchange *x, const char *name)
{
	const char *value = http_query_param(x, name);
	return value && *value ? value : NULL;
}

void e2b_snapshot_list(struct http_exchange *x)
{
	struct server *server = http_context(x);
	struct snapshot_filter f = { .name = NULL };
	char sandbox[SANDBOX_ID_SIZE];
	struct error err;
	bool more;

	if (!authorized(x, NULL))
		return;
	const char *token = given(x, "nextToken"), *id = given(x, "sandboxID");
	f.limit = query_limit(x);
	f.name = given(x, "name");
	if (f.limit == 0 || (token && !read_cursor(x, token, &f)))
		return;
	if (id) { /* the legacy form is cut, one that is too long is nobody's */
		snprintf(sandbox, sizeof(sandbox), "%.*s", (int)strcspn(id, "-"), id);
		f.sandbox_id = sandbox;
	}
	struct page page = { .rows = json_array() };
	if (snapshot_list(server->store, &f, add_row, &page, &more, &err) < 0) {
		json_decref(page.rows);
		reply_failure(x, &err, 0);
		return;
	}
	if (more)
		set_cursor(x, &page.last);
	reply_json(x, 200, page.rows);
}
