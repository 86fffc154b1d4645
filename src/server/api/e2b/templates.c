/* Templates: what exists, its names, tags and visibility. Builds are not served. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api/e2b/e2b_internal.h"
#include "server/snapshot/snapshots.h"
#include "server/store/templates.h"

#define TAGS_MAX 32

static struct store *store_of(struct http_exchange *x)
{
	struct server *server = http_context(x);
	return server->store;
}

static void no_such_template(struct http_exchange *x, const char *reference)
{
	http_error(x, 404, "template '%.100s' not found", reference);
}

/* False: answered. */
static bool find(struct http_exchange *x, const char *reference, struct template_record *ret)
{
	int r = template_find(store_of(x), reference, ret);

	if (r == -EINVAL)
		http_error(x, 400, "'%.100s' is not the name of a template", reference);
	else if (r < 0)
		no_such_template(x, reference);
	return r == 0;
}

/* Builds may have lost their last tag. */
static void reply_changed(struct http_exchange *x)
{
	snapshots_reap(http_context(x));
	reply_empty(x);
}

static json_t *names_json(const struct template_record *t, bool aliases)
{
	json_t *names = json_array();

	for (unsigned int i = 0; i < t->name_count; i++) {
		const char *slash = strrchr(t->names[i], '/');
		json_array_append_new(names, json_string(aliases && slash ? slash + 1
									   : t->names[i]));
	}
	return names;
}

static void set_counts(json_t *o, const struct template_record *t)
{
	reply_set_time(o, "createdAt", t->created_us);
	reply_set_time(o, "updatedAt", t->updated_us);
	if (t->last_spawned_us)
		reply_set_time(o, "lastSpawnedAt", t->last_spawned_us);
	else
		json_object_set_new(o, "lastSpawnedAt", json_null());
	json_object_set_new(o, "spawnCount", json_integer((json_int_t)t->spawn_count));
}

static json_t *template_json(const struct template_record *t)
{
	json_t *o = json_pack("{s:s, s:s, s:i, s:i, s:i, s:b, s:o, s:o, s:n, s:I, s:s, s:s}",
			      "templateID", t->id, "buildID", t->build_id, "cpuCount",
			      (int)t->cpu_count, "memoryMB", (int)t->memory_mb, "diskSizeMB",
			      (int)t->disk_mb, "public", t->is_public, "aliases",
			      names_json(t, true), "names", names_json(t, false), "createdBy",
			      "buildCount", (json_int_t)t->build_count, "envdVersion", ENVD_VERSION,
			      "buildStatus", t->status);
	if (o)
		set_counts(o, t);
	return o;
}

void e2b_template_alias(struct http_exchange *x)
{
	struct template_record t;

	if (authorized(x, NULL) && find(x, http_param(x, "alias"), &t))
		reply_json(x, 200,
			   json_pack("{s:s, s:b}", "templateID", t.id, "public", t.is_public));
}

static void add_template(void *ctx, const struct template_record *t)
{
	json_array_append_new(ctx, template_json(t));
}

static json_t *all_templates(struct http_exchange *x)
{
	json_t *rows = json_array();
	struct error err;

	if (template_list(store_of(x), add_template, rows, &err) == 0)
		return rows;
	json_decref(rows);
	reply_failure(x, &err, 0);
	return NULL;
}

void e2b_template_list(struct http_exchange *x)
{
	json_t *rows = authorized(x, NULL) ? all_templates(x) : NULL;
	if (rows)
		reply_json(x, 200, rows);
}

/* Pages of the same list; the token is the number of rows before. */
void e2b_template_list_v2(struct http_exchange *x)
{
	int64_t skip;
	char next[24];

	if (!authorized(x, NULL))
		return;
	unsigned int limit = query_limit(x);
	if (!limit || !query_integer(x, "nextToken", 0, &skip))
		return;
	json_t *all = all_templates(x), *page = json_array();
	size_t count = json_array_size(all);
	for (size_t i = (size_t)(skip < 0 ? 0 : skip); i < count && json_array_size(page) < limit; i++)
		json_array_append(page, json_array_get(all, i));
	if (skip >= 0 && (size_t)skip + limit < count) {
		snprintf(next, sizeof(next), "%zu", (size_t)skip + limit);
		http_set(x, "x-next-token", next);
	}
	if (all)
		reply_json(x, 200, page);
	else
		json_decref(page);
	json_decref(all);
}

static json_t *build_json(const struct template_record *t)
{
	json_t *o = json_pack("{s:s, s:s, s:i, s:i, s:i, s:s}", "buildID", t->build_id, "status",
			      t->status, "cpuCount", (int)t->cpu_count, "memoryMB",
			      (int)t->memory_mb, "diskSizeMB", (int)t->disk_mb, "envdVersion",
			      ENVD_VERSION);
	if (o) {
		reply_set_time(o, "createdAt", t->created_us);
		reply_set_time(o, "updatedAt", t->updated_us);
		reply_set_time(o, "finishedAt", t->updated_us);
	}
	return o;
}

struct builds {
	const struct template_record *t;
	json_t *rows;
};

static void add_build(void *ctx, const struct snapshot_build *b)
{
	struct builds *all = ctx;
	struct template_record t = *all->t;

	memcpy(t.build_id, b->build_id, sizeof(t.build_id));
	t.cpu_count = b->cpu_count;
	t.memory_mb = b->memory_mb;
	t.disk_mb = b->disk_mb;
	t.created_us = t.updated_us = b->created_us;
	json_array_append_new(all->rows, build_json(&t));
}

/* Those that are there: of a snapshot one for each file, the newest first. */
static json_t *builds_json(struct http_exchange *x, const struct template_record *t)
{
	struct builds all = { t, json_array() };
	struct error err;

	if (!t->is_snapshot)
		json_array_append_new(all.rows, build_json(t));
	else if (snapshot_builds(store_of(x), t->id, add_build, &all, &err) < 0)
		json_array_clear(all.rows);
	return all.rows;
}

void e2b_template_get(struct http_exchange *x)
{
	struct template_record t;

	if (!authorized(x, NULL) || !find(x, http_param(x, "id"), &t))
		return;
	json_t *o = json_pack("{s:s, s:b, s:o, s:o, s:o}", "templateID", t.id, "public",
			      t.is_public, "aliases", names_json(&t, true), "names",
			      names_json(&t, false), "builds", builds_json(x, &t));
	if (o)
		set_counts(o, &t);
	reply_json(x, 200, o);
}

void e2b_template_delete(struct http_exchange *x)
{
	const char *id = http_param(x, "id");
	struct error err;

	if (!authorized(x, NULL))
		return;
	int r = template_delete(store_of(x), id, &err);
	if (r == -ENOENT)
		no_such_template(x, id);
	else if (r == -EBUSY)
		http_error(x, 400, "%s", err.message);
	else if (r < 0)
		reply_failure(x, &err, 0);
	else
		reply_changed(x);
}

static void patch(struct http_exchange *x, const uint8_t *data, size_t size, bool names)
{
	const char *id = http_param(x, "id");
	AUTO_ARGS struct args a;
	struct template_record t;
	struct error err;

	args_init(&a, data, size, false);
	int public = args_tristate(&a, "public");
	if (!a.failed && public < 0)
		args_fail(&a, "public is required");
	if (args_answered(&a, x) || !find(x, id, &t))
		return;
	if (template_set_public(store_of(x), id, public, &err) < 0)
		reply_failure(x, &err, 0);
	else if (names)
		reply_json(x, 200, json_pack("{s:o}", "names", names_json(&t, false)));
	else
		reply_json(x, 200, json_object());
}

static void patch_v1(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size)
{
	patch(x, data, size, false);
}

static void patch_v2(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size)
{
	patch(x, data, size, true);
}

void e2b_template_patch_v1(struct http_exchange *x)
{
	if (authorized(x, NULL))
		http_body_collect(x, BODY_MAX, patch_v1, NULL);
}

void e2b_template_patch_v2(struct http_exchange *x)
{
	if (authorized(x, NULL))
		http_body_collect(x, BODY_MAX, patch_v2, NULL);
}

/* ---- tags ---- */

static void add_tag(void *ctx, const struct template_tag *t)
{
	json_t *o = json_pack("{s:s, s:s}", "tag", t->tag, "buildID", t->build_id);

	if (o)
		reply_set_time(o, "createdAt", t->created_us);
	json_array_append_new(ctx, o);
}

void e2b_template_tags(struct http_exchange *x)
{
	struct template_record t;
	struct error err;

	if (!authorized(x, NULL) || !find(x, http_param(x, "id"), &t))
		return;
	json_t *rows = json_array();
	if (template_tags(store_of(x), t.id, add_tag, rows, &err) == 0) {
		reply_json(x, 200, rows);
		return;
	}
	json_decref(rows);
	reply_failure(x, &err, 0);
}

/* Number of tags, 0 = failed. */
static unsigned int read_tags(struct args *a, const char *tags[TAGS_MAX])
{
	json_t *list = args_array(a, "tags"), *v;
	size_t i;

	if (!a->failed && (json_array_size(list) == 0 || json_array_size(list) > TAGS_MAX))
		args_fail(a, "tags must be an array of 1 to %d names", TAGS_MAX);
	if (a->failed)
		return 0;
	json_array_foreach(list, i, v) {
		tags[i] = json_string_value(v);
		if (!tags[i] || !*tags[i] || json_string_length(v) > 63)
			args_fail(a, "tags: entry %zu is not a name of at most 63 characters", i);
	}
	return a->failed ? 0 : (unsigned int)json_array_size(list);
}

static void tag_add(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size)
{
	AUTO_ARGS struct args a;
	const char *tags[TAGS_MAX];
	char build[37];
	struct error err;

	args_init(&a, data, size, false);
	const char *target = args_required(&a, "target", 256);
	unsigned int count = read_tags(&a, tags);
	if (args_answered(&a, x))
		return;
	int r = template_tag_add(store_of(x), target, tags, count, build, &err);
	snapshots_reap(http_context(x));
	if (r < 0)
		reply_failure(x, &err, 0);
	else
		reply_json(x, 201,
			   json_pack("{s:O, s:s}", "tags", json_object_get(a.object, "tags"),
				     "buildID", build));
}

void e2b_tag_add(struct http_exchange *x)
{
	if (authorized(x, NULL))
		http_body_collect(x, BODY_MAX, tag_add, NULL);
}

static void tag_remove(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size)
{
	AUTO_ARGS struct args a;
	const char *tags[TAGS_MAX];
	struct error err;

	args_init(&a, data, size, false);
	const char *name = args_required(&a, "name", 256);
	unsigned int count = read_tags(&a, tags);
	if (args_answered(&a, x))
		return;
	if (template_tag_remove(store_of(x), name, tags, count, &err) < 0)
		reply_failure(x, &err, 0);
	else
		reply_changed(x);
}

void e2b_tag_remove(struct http_exchange *x)
{
	if (authorized(x, NULL))
		http_body_collect(x, BODY_MAX, tag_remove, NULL);
}
