#include "server/store/snapshots.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "server/store/store_internal.h"

#define ID_LENGTH 20
#define NAMESPACE TEAM_SLUG "/"

/* ---- names ---- */

/* With the namespace. */
static int parse_name(const char *text, struct template_reference *ret, struct error *err)
{
	char name[sizeof(ret->name)];
	if (template_parse(text, ret) < 0)
		return error_say(err, EINVAL,
				 "'%.100s' is no name of a snapshot: NAME or NAME:TAG, of letters, "
				 "digits, '-', '_' and '.'",
				 text);
	const char *slash = strchr(ret->name, '/');
	if (slash && strncmp(ret->name, NAMESPACE, strlen(NAMESPACE)) != 0)
		return error_say(err, EINVAL, "'%.100s': the team of this server is '%s'", text,
				 TEAM_SLUG);
	if (slash)
		return 0;
	memcpy(name, ret->name, sizeof(name));
	if (strlen(name) + strlen(NAMESPACE) >= sizeof(name))
		return error_set(err, ENAMETOOLONG, "name of a snapshot");
	snprintf(ret->name, sizeof(ret->name), NAMESPACE "%.*s",
		 (int)(sizeof(ret->name) - sizeof(NAMESPACE)), name);
	return 0;
}

/* 0 and the template of that name, if it is a snapshot's; ret_id "" = the name is free. */
static int find_name(struct store *s, const char *text, struct template_reference *ref,
		     char ret_id[64], struct error *err)
{
	int r = parse_name(text, ref, err);
	if (r < 0)
		return r;
	ret_id[0] = '\0';
	/* By the bare name, so that built-in ones and ids of others are seen, too. */
	const char *bare = ref->name + strlen(NAMESPACE);
	sqlite3_stmt *q = store_statement(s, STATEMENT_TEMPLATE_GET);
	store_bind_text(q, 1, bare);
	r = store_step(s, q, err);
	if (r <= 0)
		return r;
	store_column_text(q, 0, ret_id, 64);
	bool builtin = sqlite3_column_int(q, 3);
	sqlite3_reset(q);
	if (builtin)
		return error_say(err, EEXIST, "'%.100s' is the name of a built-in template", bare);
	if (strcmp(ret_id, bare) == 0)
		return error_say(err, EEXIST, "'%.100s' is the id of another snapshot", bare);
	return 0;
}

int snapshot_check_name(struct store *s, const char *name, struct error *err)
{
	struct template_reference ref;
	char id[64];
	return find_name(s, name, &ref, id, err);
}

static void fill(struct snapshot *x, const char *id, const char *name, const char *tag)
{
	memset(x, 0, sizeof(*x));
	snprintf(x->template_id, sizeof(x->template_id), "%s", id);
	snprintf(x->tag, sizeof(x->tag), "%s", tag);
	if (name && *name)
		snprintf(x->name, sizeof(x->name), "%.127s:%.63s", name, tag);
	snprintf(x->id, sizeof(x->id), "%.127s:%.63s", name && *name ? name : id, tag);
}

/* ---- adding ---- */

static int bind_and_run(struct store *s, enum statement n, const struct snapshot_build *b,
			struct error *err)
{
	sqlite3_stmt *q = store_statement(s, n);
	store_bind_text(q, 1, b->template_id);
	store_bind_text(q, 2, b->build_id);
	sqlite3_bind_int64(q, 3, b->cpu_count);
	sqlite3_bind_int64(q, 4, b->memory_mb);
	sqlite3_bind_int64(q, 5, b->disk_mb);
	sqlite3_bind_int64(q, 6, b->created_us);
	return store_run(s, q, err);
}

static int insert_build(struct store *s, const struct snapshot_build *b, const char *env,
			struct error *err)
{
	sqlite3_stmt *q = store_statement(s, STATEMENT_SNAPSHOT_INSERT);
	int n = 0;
	store_bind_text(q, ++n, b->build_id);
	store_bind_text(q, ++n, b->template_id);
	store_bind_text(q, ++n, b->base);
	store_bind_text(q, ++n, b->sandbox_id);
	sqlite3_bind_int64(q, ++n, b->cpu_count);
	sqlite3_bind_int64(q, ++n, b->memory_mb);
	sqlite3_bind_int64(q, ++n, b->disk_mb);
	store_bind_text(q, ++n, env);
	sqlite3_bind_int64(q, ++n, (int64_t)b->size);
	sqlite3_bind_int64(q, ++n, b->created_us);
	return store_run(s, q, err);
}

/* name NULL = none. */
static int make_template(struct store *s, const char *name, struct snapshot_build *b,
			 struct error *err)
{
	random_text(b->template_id, ID_LENGTH, RANDOM_ALPHANUMERIC);
	int r = bind_and_run(s, STATEMENT_TEMPLATE_INSERT, b, err);
	if (r < 0 || !name)
		return r;
	sqlite3_stmt *q = store_statement(s, STATEMENT_TEMPLATE_NAME_ADD);
	store_bind_text(q, 1, name);
	store_bind_text(q, 2, b->template_id);
	return store_run(s, q, err);
}

static int add(struct store *s, const struct template_reference *ref, struct snapshot_build *b,
	       const char *env, struct error *err)
{
	int r = b->template_id[0] ? 0 : make_template(s, ref->name[0] ? ref->name : NULL, b, err);
	if (r == 0)
		r = bind_and_run(s, STATEMENT_TEMPLATE_BUILT, b, err);
	if (r == 0)
		r = insert_build(s, b, env, err);
	if (r == 0)
		r = template_set_tag(s, STATEMENT_TEMPLATE_TAG_SET, b->template_id, ref->tag,
				     b->build_id, err);
	return r;
}

int snapshot_add(struct store *s, const char *name, struct snapshot_build *b, const char *env,
		 struct snapshot *ret, struct error *err)
{
	struct template_reference ref = { .tag = DEFAULT_TAG };
	int r = store_begin(s, err);
	if (r < 0)
		return r;
	b->template_id[0] = '\0';
	b->created_us = store_now_us();
	if (name)
		r = find_name(s, name, &ref, b->template_id, err);
	if (r == 0)
		r = add(s, &ref, b, env, err);
	r = store_end(s, r, err);
	if (r < 0)
		return r;
	fill(ret, b->template_id, ref.name, ref.tag);
	ret->size = b->size;
	ret->created_us = b->created_us;
	memcpy(ret->sandbox_id, b->sandbox_id, sizeof(ret->sandbox_id));
	return 0;
}

/* ---- reading ---- */

static void read_build(sqlite3_stmt *q, struct snapshot_build *ret)
{
	store_column_text(q, 0, ret->build_id, sizeof(ret->build_id));
	store_column_text(q, 1, ret->template_id, sizeof(ret->template_id));
	store_column_text(q, 2, ret->base, sizeof(ret->base));
	store_column_text(q, 3, ret->sandbox_id, sizeof(ret->sandbox_id));
	ret->cpu_count = (uint32_t)sqlite3_column_int64(q, 4);
	ret->memory_mb = (uint32_t)sqlite3_column_int64(q, 5);
	ret->disk_mb = (uint32_t)sqlite3_column_int64(q, 6);
	ret->size = (uint64_t)sqlite3_column_int64(q, 7);
	ret->created_us = sqlite3_column_int64(q, 8);
}

int snapshot_build_get(struct store *s, const char *build_id, struct snapshot_build *ret,
		       struct error *err)
{
	sqlite3_stmt *q = store_statement(s, STATEMENT_SNAPSHOT_GET);
	store_bind_text(q, 1, build_id);
	int r = store_step(s, q, err);
	if (r <= 0)
		return r < 0 ? r : error_set(err, ENOENT, "snapshot '%.40s'", build_id);
	read_build(q, ret);
	sqlite3_reset(q);
	return 0;
}

int snapshot_build_env(struct store *s, const char *build_id, char **ret, struct error *err)
{
	sqlite3_stmt *q = store_statement(s, STATEMENT_SNAPSHOT_ENV);
	store_bind_text(q, 1, build_id);
	int r = store_step(s, q, err);
	if (r <= 0)
		return r < 0 ? r : error_set(err, ENOENT, "snapshot '%.40s'", build_id);
	const char *text = (const char *)sqlite3_column_text(q, 0);
	*ret = text ? strdup(text) : NULL;
	r = text && !*ret ? error_set(err, ENOMEM, "snapshot '%.40s'", build_id) : 0;
	sqlite3_reset(q);
	return r;
}

int snapshot_builds(struct store *s, const char *template_id,
		    void (*fn)(void *ctx, const struct snapshot_build *b), void *ctx,
		    struct error *err)
{
	struct snapshot_build b;
	sqlite3_stmt *q = store_statement(s, STATEMENT_SNAPSHOT_BUILDS);
	int r;
	store_bind_text(q, 1, template_id);
	while ((r = store_step(s, q, err)) == 1) {
		read_build(q, &b);
		fn(ctx, &b);
	}
	return r;
}

int snapshot_totals(struct store *s, uint64_t *ret_count, uint64_t *ret_bytes, struct error *err)
{
	sqlite3_stmt *q = store_statement(s, STATEMENT_SNAPSHOT_TOTALS);
	int r = store_step(s, q, err);
	if (r <= 0)
		return r;
	*ret_count = (uint64_t)sqlite3_column_int64(q, 0);
	*ret_bytes = (uint64_t)sqlite3_column_int64(q, 1);
	sqlite3_reset(q);
	return 0;
}

static void read_row(sqlite3_stmt *q, struct snapshot *ret)
{
	fill(ret, (const char *)sqlite3_column_text(q, 0), (const char *)sqlite3_column_text(q, 2),
	     (const char *)sqlite3_column_text(q, 1));
	ret->created_us = sqlite3_column_int64(q, 3);
	ret->size = (uint64_t)sqlite3_column_int64(q, 4);
	store_column_text(q, 5, ret->sandbox_id, sizeof(ret->sandbox_id));
}

int snapshot_list(struct store *s, const struct snapshot_filter *f,
		  void (*fn)(void *ctx, const struct snapshot *x), void *ctx, bool *ret_more,
		  struct error *err)
{
	struct template_reference ref = { .tagged = false };
	struct snapshot x;
	unsigned int count = 0;
	int r;
	*ret_more = false;
	if (f->name && template_parse(f->name, &ref) < 0)
		return 0; /* nothing is called that */
	sqlite3_stmt *q = store_statement(s, STATEMENT_SNAPSHOT_LIST);
	store_bind_text(q, 1, f->sandbox_id);
	store_bind_text(q, 2, f->name ? ref.name : NULL);
	store_bind_text(q, 3, ref.tagged ? ref.tag : NULL);
	sqlite3_bind_int64(q, 4, f->after_us);
	store_bind_text(q, 5, f->after_id);
	store_bind_text(q, 6, f->after_tag);
	sqlite3_bind_int64(q, 7, (int64_t)f->limit + 1);
	while ((r = store_step(s, q, err)) == 1) {
		if (count++ == f->limit) {
			*ret_more = true;
			sqlite3_reset(q);
			return 0;
		}
		read_row(q, &x);
		fn(ctx, &x);
	}
	return r;
}

/* ---- forgetting ---- */

int snapshot_lost(struct store *s, const char *build_id, struct error *err)
{
	sqlite3_stmt *q = store_statement(s, STATEMENT_SNAPSHOT_UNTAG);
	store_bind_text(q, 1, build_id);
	return store_run(s, q, err);
}

int snapshot_reap(struct store *s, void (*fn)(void *ctx, const char *build_id, uint64_t size),
		  void *ctx, struct error *err)
{
	sqlite3_stmt *q = store_statement(s, STATEMENT_TEMPLATE_EMPTY);
	int r = store_run(s, q, err);
	if (r == 0)
		r = store_run(s, store_statement(s, STATEMENT_TEMPLATE_NEWEST), err);
	if (r < 0)
		return r;
	q = store_statement(s, STATEMENT_SNAPSHOT_REAP);
	while ((r = store_step(s, q, err)) == 1)
		fn(ctx, (const char *)sqlite3_column_text(q, 0),
		   (uint64_t)sqlite3_column_int64(q, 1));
	return r;
}
