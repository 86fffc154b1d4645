#include "server/store/records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "server/store/store_internal.h"

/* States that a client sees as alive. */
#define ALIVE (((1u << SANDBOX_ENDED) - 1) & ~(1u << SANDBOX_STARTING))

static void bind_record(sqlite3_stmt *q, const struct sandbox_record *r)
{
	int n = 0;
	store_bind_text(q, ++n, r->id);
	store_bind_text(q, ++n, r->template_id);
	store_bind_text(q, ++n, r->alias);
	sqlite3_bind_int64(q, ++n, r->key_id);
	sqlite3_bind_int(q, ++n, (int)r->state);
	sqlite3_bind_int64(q, ++n, r->started_us);
	sqlite3_bind_int64(q, ++n, r->end_us);
	sqlite3_bind_int64(q, ++n, r->ended_us);
	store_bind_text(q, ++n, r->reason);
	sqlite3_bind_int64(q, ++n, r->cpu_count);
	sqlite3_bind_int64(q, ++n, r->memory_mb);
	sqlite3_bind_int64(q, ++n, r->disk_mb);
	store_bind_text(q, ++n, r->metadata);
	store_bind_text(q, ++n, r->env);
	store_bind_text(q, ++n, r->network);
	sqlite3_bind_int(q, ++n, r->allow_internet);
	sqlite3_bind_int(q, ++n, r->secure);
	store_bind_text(q, ++n, r->access_token);
	store_bind_text(q, ++n, r->traffic_token);
	sqlite3_bind_int(q, ++n, r->pause_on_timeout);
	sqlite3_bind_int(q, ++n, r->pause_keeps_memory);
	sqlite3_bind_int(q, ++n, r->auto_resume);
	store_bind_text(q, ++n, r->volumes);
}

/* The strings stay SQLite's. */
static void read_record(sqlite3_stmt *q, struct sandbox_record *r)
{
	int n = 0;
	memset(r, 0, sizeof(*r));
	store_column_text(q, n++, r->id, sizeof(r->id));
	store_column_text(q, n++, r->template_id, sizeof(r->template_id));
	r->alias = (char *)(uintptr_t)sqlite3_column_text(q, n++);
	r->key_id = sqlite3_column_int64(q, n++);
	r->state = (enum sandbox_state)sqlite3_column_int(q, n++);
	r->started_us = sqlite3_column_int64(q, n++);
	r->end_us = sqlite3_column_int64(q, n++);
	r->ended_us = sqlite3_column_int64(q, n++);
	r->reason = (char *)(uintptr_t)sqlite3_column_text(q, n++);
	r->cpu_count = (uint32_t)sqlite3_column_int64(q, n++);
	r->memory_mb = (uint32_t)sqlite3_column_int64(q, n++);
	r->disk_mb = (uint32_t)sqlite3_column_int64(q, n++);
	r->metadata = (char *)(uintptr_t)sqlite3_column_text(q, n++);
	r->env = (char *)(uintptr_t)sqlite3_column_text(q, n++);
	r->network = (char *)(uintptr_t)sqlite3_column_text(q, n++);
	r->allow_internet = sqlite3_column_int(q, n++);
	r->secure = sqlite3_column_int(q, n++);
	store_column_text(q, n++, r->access_token, sizeof(r->access_token));
	store_column_text(q, n++, r->traffic_token, sizeof(r->traffic_token));
	r->pause_on_timeout = sqlite3_column_int(q, n++);
	r->pause_keeps_memory = sqlite3_column_int(q, n++);
	r->auto_resume = sqlite3_column_int(q, n++);
	r->volumes = (char *)(uintptr_t)sqlite3_column_text(q, n++);
}

int record_insert(struct store *s, const struct sandbox_record *r, struct error *err)
{
	int done = store_begin(s, err);
	if (done < 0)
		return done;
	sqlite3_stmt *q = store_statement(s, STATEMENT_SANDBOX_INSERT);
	bind_record(q, r);
	done = store_run(s, q, err);
	if (done == 0) {
		q = store_statement(s, STATEMENT_TEMPLATE_SPAWNED);
		store_bind_text(q, 1, r->template_id);
		sqlite3_bind_int64(q, 2, r->started_us);
		done = store_run(s, q, err);
	}
	return store_end(s, done, err);
}

int record_update(struct store *s, const struct sandbox_record *r, struct error *err)
{
	sqlite3_stmt *q = store_statement(s, STATEMENT_SANDBOX_STATE);
	store_bind_text(q, 1, r->id);
	sqlite3_bind_int(q, 2, (int)r->state);
	sqlite3_bind_int64(q, 3, r->end_us);
	sqlite3_bind_int64(q, 4, r->ended_us);
	store_bind_text(q, 5, r->reason);
	return store_run(s, q, err);
}

int record_update_network(struct store *s, const struct sandbox_record *r, struct error *err)
{
	sqlite3_stmt *q = store_statement(s, STATEMENT_SANDBOX_NETWORK);
	store_bind_text(q, 1, r->id);
	store_bind_text(q, 2, r->network);
	sqlite3_bind_int(q, 3, r->allow_internet);
	return store_run(s, q, err);
}

static char **string_at(struct sandbox_record *r, unsigned int n)
{
	char **const all[] = { &r->alias,   &r->reason,	 &r->metadata, &r->env,
			       &r->network, &r->volumes, NULL };
	return all[n];
}

int record_get(struct store *s, const char *id, struct sandbox_record *ret, struct error *err)
{
	sqlite3_stmt *q = store_statement(s, STATEMENT_SANDBOX_GET);
	store_bind_text(q, 1, id);
	int r = store_step(s, q, err);
	if (r <= 0)
		return r < 0 ? r : error_set(err, ENOENT, "sandbox '%.30s'", id);
	read_record(q, ret);
	bool complete = true;
	for (unsigned int i = 0; string_at(ret, i); i++) {
		char **p = string_at(ret, i);
		if (*p)
			complete &= (*p = strdup(*p)) != NULL;
	}
	sqlite3_reset(q);
	if (complete)
		return 0;
	record_fini(ret);
	return error_set(err, ENOMEM, "read a record");
}

void record_fini(struct sandbox_record *r)
{
	for (unsigned int i = 0; string_at(r, i); i++) {
		free(*string_at(r, i));
		*string_at(r, i) = NULL;
	}
}

int record_list(struct store *s, const struct sandbox_filter *f,
		void (*fn)(void *ctx, const struct sandbox_record *r), void *ctx, bool *ret_more,
		struct error *err)
{
	struct sandbox_record record;
	sqlite3_stmt *q = store_statement(s, f->ascending ? STATEMENT_SANDBOX_OLDEST
							  : STATEMENT_SANDBOX_NEWEST);
	unsigned int count = 0;
	int r;
	sqlite3_bind_int64(q, 1, f->states ? f->states : ALIVE);
	sqlite3_bind_int64(q, 2, f->started_after_us);
	store_bind_text(q, 3, f->template);
	store_bind_text(q, 4, f->metadata);
	sqlite3_bind_int64(q, 5, f->after_us);
	store_bind_text(q, 6, f->after_id);
	sqlite3_bind_int64(q, 7, (int64_t)f->limit + 1);
	*ret_more = false;
	while ((r = store_step(s, q, err)) == 1) {
		if (count++ == f->limit) {
			*ret_more = true;
			sqlite3_reset(q);
			return 0;
		}
		read_record(q, &record);
		fn(ctx, &record);
	}
	return r;
}

int record_end_all(struct store *s, const char *reason, struct error *err)
{
	sqlite3_stmt *q = store_statement(s, STATEMENT_SANDBOX_ORPHANS);
	sqlite3_bind_int(q, 1, SANDBOX_ENDED);
	sqlite3_bind_int64(q, 2, store_now_us());
	store_bind_text(q, 3, reason);
	int r = store_run(s, q, err);
	return r < 0 ? r : sqlite3_changes(s->db);
}

int record_prune(struct store *s, int64_t before_us, unsigned int keep,
		 void (*fn)(void *ctx, const char *id), void *ctx, struct error *err)
{
	sqlite3_stmt *q = store_statement(s, STATEMENT_SANDBOX_PRUNE);
	int r;
	sqlite3_bind_int64(q, 1, before_us);
	sqlite3_bind_int64(q, 2, keep);
	while ((r = store_step(s, q, err)) == 1)
		fn(ctx, (const char *)sqlite3_column_text(q, 0));
	return r;
}
