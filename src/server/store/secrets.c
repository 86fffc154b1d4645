#include "server/store/secrets.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "server/store/store_internal.h"

static void read_secret(sqlite3_stmt *q, struct secret *ret)
{
	store_column_text(q, 0, ret->id, sizeof(ret->id));
	store_column_text(q, 1, ret->name, sizeof(ret->name));
	ret->version = (uint32_t)sqlite3_column_int64(q, 2);
	ret->metadata = (const char *)sqlite3_column_text(q, 3);
	ret->created_us = sqlite3_column_int64(q, 4);
	ret->updated_us = sqlite3_column_int64(q, 5);
}

int secret_list(struct store *s, const char *after, unsigned int limit,
		void (*fn)(void *ctx, const struct secret *x), void *ctx, struct error *err)
{
	struct secret x;
	sqlite3_stmt *q = store_statement(s, STATEMENT_SECRET_LIST);
	int r;
	store_bind_text(q, 1, after);
	sqlite3_bind_int64(q, 2, limit);
	while ((r = store_step(s, q, err)) == 1) {
		read_secret(q, &x);
		fn(ctx, &x);
	}
	return r;
}

int secret_get(struct store *s, const char *name, void (*fn)(void *ctx, const struct secret *x),
	       void *ctx, struct error *err)
{
	struct secret x;
	sqlite3_stmt *q = store_statement(s, STATEMENT_SECRET_GET);
	store_bind_text(q, 1, name);
	int r = store_step(s, q, err);
	if (r <= 0)
		return r < 0 ? r : error_set(err, ENOENT, "secret '%.100s'", name);
	read_secret(q, &x);
	fn(ctx, &x);
	sqlite3_reset(q);
	return 0;
}

int secret_add(struct store *s, const char *name, const char *value, const char *metadata,
	       void (*fn)(void *ctx, const struct secret *x), void *ctx, struct error *err)
{
	char uuid[37], id[sizeof(((struct secret *)0)->id)];

	if (strlen(name) >= sizeof(((struct secret *)0)->name))
		return error_say(err, EINVAL, "a secret's name has at most 128 bytes");
	random_uuid(uuid);
	snprintf(id, sizeof(id), SECRET_ID_PREFIX "%s", uuid);
	sqlite3_stmt *q = store_statement(s, STATEMENT_SECRET_INSERT);
	store_bind_text(q, 1, id);
	store_bind_text(q, 2, name);
	store_bind_text(q, 3, value);
	store_bind_text(q, 4, metadata ? metadata : "{}");
	sqlite3_bind_int64(q, 5, store_now_us());
	int r = store_run(s, q, err);
	if (r == -EEXIST)
		return error_set(err, EEXIST, "secret '%.100s'", name);
	return r < 0 ? r : secret_get(s, id, fn, ctx, err);
}

int secret_update(struct store *s, const char *name, const char *value, const char *metadata,
		  void (*fn)(void *ctx, const struct secret *x), void *ctx, struct error *err)
{
	sqlite3_stmt *q = store_statement(s, STATEMENT_SECRET_UPDATE);
	store_bind_text(q, 1, name);
	store_bind_text(q, 2, value);
	store_bind_text(q, 3, metadata);
	sqlite3_bind_int64(q, 4, store_now_us());
	int r = store_run(s, q, err);
	return r < 0 ? r : secret_get(s, name, fn, ctx, err);
}

int secret_delete(struct store *s, const char *name, struct error *err)
{
	sqlite3_stmt *q = store_statement(s, STATEMENT_SECRET_DELETE);
	store_bind_text(q, 1, name);
	int r = store_run(s, q, err);
	if (r < 0)
		return r;
	return sqlite3_changes(s->db) ? 0 : error_set(err, ENOENT, "secret '%.100s'", name);
}
