/*
 * The schema, as the list of steps that made it. PRAGMA user_version counts the steps that a file has
 * seen; a newer program runs the rest. A step that was released is never changed.
 */
#include <stdio.h>

#include "base/util.h"
#include "server/store/store_internal.h"

/* clang-format off */
static const char *const steps[] = {
	"CREATE TABLE keys ("
	"  id INTEGER PRIMARY KEY,"
	"  uuid TEXT NOT NULL UNIQUE,"
	"  name TEXT NOT NULL,"
	"  mask TEXT NOT NULL,"
	"  hash BLOB NOT NULL UNIQUE,"
	"  max_sandboxes INTEGER NOT NULL,"
	"  max_cpus INTEGER NOT NULL,"
	"  max_memory_mb INTEGER NOT NULL,"
	"  max_creates INTEGER NOT NULL,"
	"  created_us INTEGER NOT NULL,"
	"  last_used_us INTEGER NOT NULL DEFAULT 0,"
	"  revoked_us INTEGER NOT NULL DEFAULT 0"
	") STRICT;"
	"CREATE UNIQUE INDEX keys_by_name ON keys (name) WHERE revoked_us = 0;"

	"CREATE TABLE sandboxes ("
	"  id TEXT PRIMARY KEY,"
	"  template_id TEXT NOT NULL,"
	"  alias TEXT,"
	"  key_id INTEGER NOT NULL,"
	"  state INTEGER NOT NULL,"
	"  started_us INTEGER NOT NULL,"
	"  end_us INTEGER NOT NULL,"
	"  ended_us INTEGER NOT NULL DEFAULT 0,"
	"  reason TEXT,"
	"  cpu_count INTEGER NOT NULL,"
	"  memory_mb INTEGER NOT NULL,"
	"  disk_mb INTEGER NOT NULL,"
	"  metadata TEXT,"
	"  env TEXT,"
	"  network TEXT,"
	"  allow_internet INTEGER NOT NULL,"
	"  secure INTEGER NOT NULL,"
	"  access_token TEXT NOT NULL,"
	"  traffic_token TEXT NOT NULL,"
	"  pause_on_timeout INTEGER NOT NULL,"
	"  pause_keeps_memory INTEGER NOT NULL,"
	"  auto_resume INTEGER NOT NULL,"
	"  volumes TEXT"
	") STRICT, WITHOUT ROWID;"
	"CREATE INDEX sandboxes_by_start ON sandboxes (started_us, id);"
	"CREATE INDEX sandboxes_by_end ON sandboxes (ended_us) WHERE ended_us > 0;"

	"CREATE TABLE templates ("
	"  id TEXT PRIMARY KEY,"
	"  build_id TEXT NOT NULL,"
	"  is_public INTEGER NOT NULL,"
	"  builtin INTEGER NOT NULL,"
	"  cpu_count INTEGER NOT NULL,"
	"  memory_mb INTEGER NOT NULL,"
	"  disk_mb INTEGER NOT NULL,"
	"  created_us INTEGER NOT NULL,"
	"  updated_us INTEGER NOT NULL,"
	"  last_spawned_us INTEGER NOT NULL DEFAULT 0,"
	"  spawn_count INTEGER NOT NULL DEFAULT 0,"
	"  build_count INTEGER NOT NULL DEFAULT 1,"
	"  status TEXT NOT NULL"
	") STRICT;"
	"CREATE TABLE template_names ("
	"  name TEXT PRIMARY KEY,"
	"  template_id TEXT NOT NULL REFERENCES templates (id) ON DELETE CASCADE"
	") STRICT, WITHOUT ROWID;"
	"CREATE INDEX template_names_by_template ON template_names (template_id);"
	"CREATE TABLE template_tags ("
	"  template_id TEXT NOT NULL REFERENCES templates (id) ON DELETE CASCADE,"
	"  tag TEXT NOT NULL,"
	"  build_id TEXT NOT NULL,"
	"  created_us INTEGER NOT NULL,"
	"  PRIMARY KEY (template_id, tag)"
	") STRICT, WITHOUT ROWID;"

	"CREATE TABLE secrets ("
	"  id TEXT PRIMARY KEY,"
	"  name TEXT NOT NULL UNIQUE,"
	"  version INTEGER NOT NULL,"
	"  value TEXT NOT NULL,"
	"  metadata TEXT NOT NULL,"
	"  created_us INTEGER NOT NULL,"
	"  updated_us INTEGER NOT NULL"
	") STRICT;"

	"CREATE TABLE volumes ("
	"  id TEXT PRIMARY KEY,"
	"  name TEXT NOT NULL UNIQUE,"
	"  token TEXT NOT NULL,"
	"  created_us INTEGER NOT NULL"
	") STRICT;"

	"CREATE TABLE starts ("
	"  id INTEGER PRIMARY KEY CHECK (id = 1),"
	"  count INTEGER NOT NULL,"
	"  last_us INTEGER NOT NULL"
	") STRICT;"
	"INSERT INTO starts VALUES (1, 0, 0);",

	/* Builds of templates that are snapshots; one that no tag points to any more is deleted. */
	"CREATE TABLE snapshots ("
	"  build_id TEXT PRIMARY KEY,"
	"  template_id TEXT NOT NULL,"
	"  base TEXT NOT NULL,"
	"  sandbox_id TEXT NOT NULL,"
	"  cpu_count INTEGER NOT NULL,"
	"  memory_mb INTEGER NOT NULL,"
	"  disk_mb INTEGER NOT NULL,"
	"  env TEXT,"
	"  size INTEGER NOT NULL,"
	"  created_us INTEGER NOT NULL"
	") STRICT, WITHOUT ROWID;"
	"CREATE INDEX snapshots_by_template ON snapshots (template_id);"
	"CREATE INDEX snapshots_by_time ON snapshots (created_us);"
	"CREATE INDEX template_tags_by_build ON template_tags (build_id);",
};
/* clang-format on */

static int read_version(struct store *s, int *ret, struct error *err)
{
	sqlite3_stmt *q = NULL;
	if (sqlite3_prepare_v2(s->db, "PRAGMA user_version", -1, &q, NULL) != SQLITE_OK ||
	    sqlite3_step(q) != SQLITE_ROW) {
		sqlite3_finalize(q);
		return store_failure(s, "read", err);
	}
	*ret = sqlite3_column_int(q, 0);
	sqlite3_finalize(q);
	return 0;
}

static int run_step(struct store *s, int version, struct error *err)
{
	char pragma[64];
	snprintf(pragma, sizeof(pragma), "PRAGMA user_version = %d", version + 1);
	int r = store_begin(s, err);
	if (r < 0)
		return r;
	if (sqlite3_exec(s->db, steps[version], NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_exec(s->db, pragma, NULL, NULL, NULL) != SQLITE_OK)
		r = store_failure(s, "bring up to date", err);
	return store_end(s, r, err);
}

int store_migrate(struct store *s, struct error *err)
{
	int version = 0;
	int r = read_version(s, &version, err);
	if (r < 0)
		return r;
	if (version > (int)ARRAY_SIZE(steps))
		return error_set(
			err, 0,
			"database %s was made by a newer Hotcell (schema %d, this one knows %d): "
			"use that version, or another data_dir",
			s->path, version, (int)ARRAY_SIZE(steps));
	for (; version < (int)ARRAY_SIZE(steps) && r == 0; version++)
		r = run_step(s, version, err);
	return r;
}
