#include "server/store/volumes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "server/store/store_internal.h"

static void read_volume(sqlite3_stmt *q, struct volume *ret)
{
	store_column_text(q, 0, ret->id, sizeof(ret->id));
	store_column_text(q, 1, ret->name, sizeof(ret->name));
	store_column_text(q, 2, ret->token, sizeof(ret->token));
	ret->created_us = sqlite3_column_int64(q, 3);
}

int volume_list(struct store *s, void (*fn)(void *ctx, const struct volume *v), void *ctx,
		struct error *err)
{
	struct volume v;
	sqlite3_stmt *q = store_statement(s, STATEMENT_VOLUME_LIST);
	int r;
	while ((r = store_step(s, q, err)) == 1) {
		read_volume(q, &v);
		fn(ctx, &v);
	}
	return r;
}

static int get_by(struct store *s, enum statement by, const char *what, struct volume *ret,
		  struct error *err)
{
	sqlite3_stmt *q = store_statement(s, by);
	store_bind_text(q, 1, what);
	int r = store_step(s, q, err);
	if (r <= 0)
		return r < 0 ? r : error_set(err, ENOENT, "volume '%.100s'", what);
	read_volume(q, ret);
	sqlite3_reset(q);
	return 0;
}

int volume_get(struct store *s, const char *id, struct volume *ret, struct error *err)
{
	return get_by(s, STATEMENT_VOLUME_GET, id, ret, err);
}

int volume_find(struct store *s, const char *name, struct volume *ret, struct error *err)
{
	return get_by(s, STATEMENT_VOLUME_FIND, name, ret, err);
}

int volume_add(struct store *s, const char *name, struct volume *ret, struct error *err)
{
	struct volume v = { .created_us = store_now_us() };
	if (strlen(name) >= sizeof(v.name))
		return error_say(err, EINVAL, "a volume's name has at most 127 bytes");
	snprintf(v.name, sizeof(v.name), "%s", name);
	random_uuid(v.id);
	random_text(v.token, 40, RANDOM_HEX);
	sqlite3_stmt *q = store_statement(s, STATEMENT_VOLUME_INSERT);
	store_bind_text(q, 1, v.id);
	store_bind_text(q, 2, v.name);
	store_bind_text(q, 3, v.token);
	sqlite3_bind_int64(q, 4, v.created_us);
	int r = store_run(s, q, err);
	if (r == -EEXIST)
		return error_set(err, EEXIST, "volume '%.100s'", name);
	if (r == 0)
		*ret = v;
	return r;
}

int volume_delete(struct store *s, const char *id, struct error *err)
{
	sqlite3_stmt *q = store_statement(s, STATEMENT_VOLUME_DELETE);
	store_bind_text(q, 1, id);
	int r = store_run(s, q, err);
	if (r < 0)
		return r;
	return sqlite3_changes(s->db) ? 0 : error_set(err, ENOENT, "volume '%.100s'", id);
}
