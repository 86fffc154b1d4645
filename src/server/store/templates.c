/*
 * References to templates are "id", "name" or "namespace/name", each with ":tag". Names are compared
 * in lower case. Those of built-in templates have no namespace, all others have the team's, which may be
 * left out. The tag "default" of a built-in template always exists.
 */
#include "server/store/templates.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "base/util.h"
#include "server/store/store_internal.h"

static bool is_word(const char *s, size_t max)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-_.");
	return n > 0 && s[n] == '\0' && n < max;
}

int template_parse(const char *text, struct template_reference *ret)
{
	const char *colon = strchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : strlen(text);
	char words[sizeof(ret->name)];
	if (n == 0 || n >= sizeof(ret->name) || (colon && strlen(colon + 1) >= sizeof(ret->tag)))
		return -EINVAL;
	for (size_t i = 0; i <= n; i++)
		ret->name[i] = i < n ? (char)tolower((unsigned char)text[i]) : '\0';
	ret->tagged = colon;
	snprintf(ret->tag, sizeof(ret->tag), "%s", colon ? colon + 1 : DEFAULT_TAG);
	for (char *p = ret->tag; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	memcpy(words, ret->name, sizeof(words));
	char *slash = strchr(words, '/');
	if (slash)
		*slash = '\0';
	if (!is_word(words, sizeof(words)) || (slash && !is_word(slash + 1, sizeof(words))) ||
	    !is_word(ret->tag, sizeof(ret->tag)))
		return -EINVAL;
	return 0;
}

static int refuse(const char *reference, int r, struct error *err)
{
	return error_set(err, -r, "template '%.100s'", reference);
}

static void read_template(sqlite3_stmt *q, struct template_record *ret)
{
	memset(ret, 0, sizeof(*ret));
	store_column_text(q, 0, ret->id, sizeof(ret->id));
	store_column_text(q, 1, ret->build_id, sizeof(ret->build_id));
	ret->is_public = sqlite3_column_int(q, 2);
	ret->builtin = sqlite3_column_int(q, 3);
	ret->cpu_count = (uint32_t)sqlite3_column_int64(q, 4);
	ret->memory_mb = (uint32_t)sqlite3_column_int64(q, 5);
	ret->disk_mb = (uint32_t)sqlite3_column_int64(q, 6);
	ret->created_us = sqlite3_column_int64(q, 7);
	ret->updated_us = sqlite3_column_int64(q, 8);
	ret->last_spawned_us = sqlite3_column_int64(q, 9);
	ret->spawn_count = (uint64_t)sqlite3_column_int64(q, 10);
	ret->build_count = (uint64_t)sqlite3_column_int64(q, 11);
	store_column_text(q, 12, ret->status, sizeof(ret->status));
	memcpy(ret->base, ret->id, sizeof(ret->base));
}

static int read_names(struct store *s, struct template_record *t, struct error *err)
{
	sqlite3_stmt *q = store_statement(s, STATEMENT_TEMPLATE_NAMES);
	int r;
	store_bind_text(q, 1, t->id);
	while ((r = store_step(s, q, err)) == 1) {
		if (t->name_count < ARRAY_SIZE(t->names))
			store_column_text(q, 0, t->names[t->name_count++], sizeof(t->names[0]));
	}
	return r;
}

/* 0 and the build of the tag, or -ENOENT. */
static int find_tag(struct store *s, const char *id, const struct template_reference *ref,
		    char ret_build_id[37], struct error *err)
{
	sqlite3_stmt *q = store_statement(s, STATEMENT_TEMPLATE_TAG_GET);
	store_bind_text(q, 1, id);
	store_bind_text(q, 2, ref->tag);
	int r = store_step(s, q, err);
	if (r == 0 && !ref->tagged) {
		q = store_statement(s, STATEMENT_TEMPLATE_TAG_NEWEST);
		store_bind_text(q, 1, id);
		r = store_step(s, q, err);
	}
	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	store_column_text(q, 0, ret_build_id, 37);
	sqlite3_reset(q);
	return 0;
}

/* What the build of a snapshot knows better. */
static int read_build(struct store *s, struct template_record *t, struct error *err)
{
	struct snapshot_build build;
	int r = t->builtin ? -ENOENT : snapshot_build_get(s, t->build_id, &build, err);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	t->is_snapshot = true;
	memcpy(t->base, build.base, sizeof(t->base));
	t->cpu_count = build.cpu_count;
	t->memory_mb = build.memory_mb;
	t->disk_mb = build.disk_mb;
	return 0;
}

static int find(struct store *s, const char *text, struct template_record *ret, struct error *err)
{
	struct template_reference ref;
	int r = template_parse(text, &ref);
	if (r < 0)
		return refuse(text, r, err);
	sqlite3_stmt *q = store_statement(s, STATEMENT_TEMPLATE_GET);
	store_bind_text(q, 1, ref.name);
	r = store_step(s, q, err);
	if (r <= 0)
		return r < 0 ? r : refuse(text, -ENOENT, err);
	read_template(q, ret);
	sqlite3_reset(q);
	r = find_tag(s, ret->id, &ref, ret->build_id, err);
	if (r == -ENOENT)
		return refuse(text, -ENOENT, err);
	if (r == 0)
		r = read_build(s, ret, err);
	return r < 0 ? r : read_names(s, ret, err);
}

int template_find(struct store *s, const char *reference, struct template_record *ret)
{
	struct error ignored;
	return find(s, reference, ret, &ignored);
}

#define LIST_MAX 1000

int template_list(struct store *s, void (*fn)(void *ctx, const struct template_record *t),
		  void *ctx, struct error *err)
{
	struct template_record t;
	sqlite3_stmt *q = store_statement(s, STATEMENT_TEMPLATE_LIST);
	int r;
	for (unsigned int n = 0; n < LIST_MAX && (r = store_step(s, q, err)) == 1; n++) {
		read_template(q, &t);
		r = read_names(s, &t, err);
		if (r < 0)
			break;
		fn(ctx, &t);
	}
	sqlite3_reset(q);
	return r < 0 ? r : 0;
}

static int in_use(struct store *s, const char *id, struct error *err)
{
	sqlite3_stmt *q = store_statement(s, STATEMENT_TEMPLATE_IN_USE);
	store_bind_text(q, 1, id);
	int r = store_step(s, q, err);
	sqlite3_reset(q);
	return r;
}

static int delete_tag(struct store *s, const char *id, const char *tag, struct error *err)
{
	sqlite3_stmt *q = store_statement(s, STATEMENT_TEMPLATE_TAG_DELETE);
	store_bind_text(q, 1, id);
	store_bind_text(q, 2, tag);
	return store_run(s, q, err);
}

int template_delete(struct store *s, const char *reference, struct error *err)
{
	struct template_record t;
	struct template_reference ref;
	int r = find(s, reference, &t, err);
	if (r == 0 && t.builtin)
		return error_say(err, EPERM, "template '%.100s' is built in", reference);
	if (r == 0)
		r = in_use(s, t.id, err);
	if (r == 1)
		return error_say(err, EBUSY, "template '%.100s': sandboxes use it", reference);
	if (r < 0)
		return r;
	(void)template_parse(reference, &ref); /* find() has seen that it is one */
	if (ref.tagged)
		return delete_tag(s, t.id, ref.tag, err);
	sqlite3_stmt *q = store_statement(s, STATEMENT_TEMPLATE_DELETE);
	store_bind_text(q, 1, t.id);
	return store_run(s, q, err);
}

int template_set_public(struct store *s, const char *reference, bool is_public, struct error *err)
{
	struct template_record t;
	int r = find(s, reference, &t, err);
	if (r < 0)
		return r;
	sqlite3_stmt *q = store_statement(s, STATEMENT_TEMPLATE_PUBLIC);
	store_bind_text(q, 1, t.id);
	sqlite3_bind_int(q, 2, is_public);
	sqlite3_bind_int64(q, 3, store_now_us());
	return store_run(s, q, err);
}

void template_spawned(struct store *s, const char *id)
{
	struct error ignored; /* a statistic */
	sqlite3_stmt *q = store_statement(s, STATEMENT_TEMPLATE_SPAWNED);
	store_bind_text(q, 1, id);
	sqlite3_bind_int64(q, 2, store_now_us());
	(void)store_run(s, q, &ignored);
}

/* ---- tags ---- */

int template_tags(struct store *s, const char *reference,
		  void (*fn)(void *ctx, const struct template_tag *t), void *ctx, struct error *err)
{
	struct template_record t;
	struct template_tag tag;
	int r = find(s, reference, &t, err);
	if (r < 0)
		return r;
	sqlite3_stmt *q = store_statement(s, STATEMENT_TEMPLATE_TAGS);
	store_bind_text(q, 1, t.id);
	while ((r = store_step(s, q, err)) == 1) {
		store_column_text(q, 0, tag.tag, sizeof(tag.tag));
		store_column_text(q, 1, tag.build_id, sizeof(tag.build_id));
		tag.created_us = sqlite3_column_int64(q, 2);
		fn(ctx, &tag);
	}
	return r;
}

int template_set_tag(struct store *s, enum statement how, const char *id, const char *tag,
		     const char *build_id, struct error *err)
{
	sqlite3_stmt *q = store_statement(s, how);
	store_bind_text(q, 1, id);
	store_bind_text(q, 2, tag);
	store_bind_text(q, 3, build_id);
	sqlite3_bind_int64(q, 4, store_now_us());
	return store_run(s, q, err);
}

static int lower_tag(const char *text, char *ret, size_t size, struct error *err)
{
	size_t n = strlen(text);
	for (size_t i = 0; i <= n && i < size; i++)
		ret[i] = (char)tolower((unsigned char)text[i]);
	return n < size && is_word(ret, size) ? 0 : error_set(err, EINVAL, "tag '%.100s'", text);
}

int template_tag_add(struct store *s, const char *target, const char *const *tags,
		     unsigned int count, char ret_build_id[37], struct error *err)
{
	struct template_record t;
	char tag[64];
	int r = find(s, target, &t, err);
	if (r == 0)
		r = store_begin(s, err);
	if (r < 0)
		return r;
	for (unsigned int i = 0; i < count && r == 0; i++) {
		r = lower_tag(tags[i], tag, sizeof(tag), err);
		if (r == 0)
			r = template_set_tag(s, STATEMENT_TEMPLATE_TAG_SET, t.id, tag, t.build_id,
					     err);
	}
	r = store_end(s, r, err);
	if (r == 0)
		memcpy(ret_build_id, t.build_id, sizeof(t.build_id));
	return r;
}

static int remove_tag(struct store *s, const char *id, const char *text, struct error *err)
{
	char tag[64];
	int r = lower_tag(text, tag, sizeof(tag), err);
	if (r < 0)
		return r;
	if (strcmp(tag, DEFAULT_TAG) == 0)
		return error_say(err, EPERM, "the tag '%s' cannot be removed", DEFAULT_TAG);
	r = delete_tag(s, id, tag, err);
	if (r == 0 && sqlite3_changes(s->db) == 0)
		return error_set(err, ENOENT, "tag '%s'", tag);
	return r;
}

int template_tag_remove(struct store *s, const char *name, const char *const *tags,
			unsigned int count, struct error *err)
{
	struct template_record t;
	int r = find(s, name, &t, err);
	if (r == 0)
		r = store_begin(s, err);
	if (r < 0)
		return r;
	for (unsigned int i = 0; i < count && r == 0; i++)
		r = remove_tag(s, t.id, tags[i], err);
	return store_end(s, r, err);
}

/* ---- the built-in ones ---- */

static int keep_builtin(struct store *s, const char *id, const struct template_limits *limits,
			struct error *err)
{
	struct template_record t = { .id = "" };
	snprintf(t.id, sizeof(t.id), "%s", id);
	random_uuid(t.build_id); /* counts for the first time only */
	sqlite3_stmt *q = store_statement(s, STATEMENT_TEMPLATE_BUILTIN);
	store_bind_text(q, 1, t.id);
	store_bind_text(q, 2, t.build_id);
	sqlite3_bind_int64(q, 3, limits->cpu_count);
	sqlite3_bind_int64(q, 4, limits->memory_mb);
	sqlite3_bind_int64(q, 5, limits->disk_mb);
	sqlite3_bind_int64(q, 6, store_now_us());
	int r = store_run(s, q, err);
	if (r == 0) {
		q = store_statement(s, STATEMENT_TEMPLATE_NAME_ADD);
		store_bind_text(q, 1, t.id);
		store_bind_text(q, 2, t.id);
		r = store_run(s, q, err);
	}
	if (r == 0) {
		q = store_statement(s, STATEMENT_TEMPLATE_GET);
		store_bind_text(q, 1, t.id);
		if (store_step(s, q, err) == 1)
			store_column_text(q, 1, t.build_id, sizeof(t.build_id));
		sqlite3_reset(q);
		r = template_set_tag(s, STATEMENT_TEMPLATE_TAG_KEEP, t.id, DEFAULT_TAG, t.build_id,
				     err);
	}
	return r;
}

int template_keep_builtin(struct store *s, const struct template_limits *limits, struct error *err)
{
	static const char *const names[] = { TEMPLATE_BASE, TEMPLATE_CODE };
	int r = store_begin(s, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(names) && r == 0; i++)
		r = keep_builtin(s, names[i], limits, err);
	return store_end(s, r, err);
}
