/* Every statement of the store, prepared once. */
#pragma once

#include "server/store/templates.h"

#define SANDBOX_COLUMNS                                                                            \
	"id, template_id, alias, key_id, state, started_us, end_us, ended_us, reason, cpu_count, "  \
	"memory_mb, disk_mb, metadata, env, network, allow_internet, secure, access_token, "        \
	"traffic_token, pause_on_timeout, pause_keeps_memory, auto_resume, volumes"

#define SANDBOX_FILTER                                                                             \
	" FROM sandboxes WHERE (?1 >> state) & 1 AND started_us >= ?2"                              \
	" AND (?3 IS NULL OR template_id = ?3 OR template_id IN"                                    \
	"  (SELECT template_id FROM template_names WHERE name = lower(?3)"                          \
	"   OR name = '" TEAM_SLUG "/' || lower(?3)))"                                              \
	" AND (?4 IS NULL OR NOT EXISTS (SELECT 1 FROM json_each(?4) f WHERE NOT EXISTS"            \
	"  (SELECT 1 FROM json_each(sandboxes.metadata) m"                                          \
	"   WHERE m.key = f.key AND m.value = f.value)))"

#define TEMPLATE_COLUMNS                                                                           \
	"id, build_id, is_public, builtin, cpu_count, memory_mb, disk_mb, created_us, updated_us, " \
	"last_spawned_us, spawn_count, build_count, status"

#define SNAPSHOT_COLUMNS                                                                           \
	"build_id, template_id, base, sandbox_id, cpu_count, memory_mb, disk_mb, size, created_us"

#define KEY_COLUMNS                                                                                \
	"id, uuid, name, mask, max_sandboxes, max_cpus, max_memory_mb, max_creates, created_us, "   \
	"last_used_us, revoked_us, hash"

/* clang-format off */
#define STATEMENTS(X) \
	X(BEGIN, "BEGIN IMMEDIATE") \
	X(COMMIT, "COMMIT") \
	X(ROLLBACK, "ROLLBACK") \
	X(DATA_VERSION, "PRAGMA data_version") \
	X(START, "UPDATE starts SET count = count + 1, last_us = ?1") \
	\
	X(KEY_INSERT, "INSERT INTO keys (uuid, name, mask, hash, max_sandboxes, max_cpus, max_memory_mb," \
		" max_creates, created_us) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)") \
	X(KEY_LIST, "SELECT " KEY_COLUMNS " FROM keys ORDER BY id") \
	X(KEY_USED, "UPDATE keys SET last_used_us = ?2 WHERE id = ?1") \
	X(KEY_REVOKE, "UPDATE keys SET revoked_us = ?2 WHERE (name = ?1 OR uuid = ?1) AND revoked_us = 0") \
	\
	X(SANDBOX_INSERT, "INSERT INTO sandboxes (" SANDBOX_COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5, ?6," \
		" ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)") \
	X(SANDBOX_GET, "SELECT " SANDBOX_COLUMNS " FROM sandboxes WHERE id = ?1") \
	X(SANDBOX_STATE, "UPDATE sandboxes SET state = ?2, end_us = ?3, ended_us = ?4, reason = ?5" \
		" WHERE id = ?1") \
	X(SANDBOX_NETWORK, "UPDATE sandboxes SET network = ?2, allow_internet = ?3 WHERE id = ?1") \
	X(SANDBOX_ORPHANS, "UPDATE sandboxes SET state = ?1, ended_us = ?2, reason = ?3 WHERE state <> ?1") \
	X(SANDBOX_PRUNE, "DELETE FROM sandboxes WHERE ended_us > 0 AND (ended_us < ?1 OR id IN" \
		" (SELECT id FROM sandboxes WHERE ended_us > 0 ORDER BY ended_us DESC LIMIT -1 OFFSET ?2))" \
		" RETURNING id") \
	X(SANDBOX_NEWEST, "SELECT " SANDBOX_COLUMNS SANDBOX_FILTER \
		" AND (?6 = '' OR (started_us, id) < (?5, ?6)) ORDER BY started_us DESC, id DESC LIMIT ?7") \
	X(SANDBOX_OLDEST, "SELECT " SANDBOX_COLUMNS SANDBOX_FILTER \
		" AND (?6 = '' OR (started_us, id) > (?5, ?6)) ORDER BY started_us, id LIMIT ?7") \
	\
	X(TEMPLATE_BUILTIN, "INSERT INTO templates (id, build_id, is_public, builtin, cpu_count, memory_mb," \
		" disk_mb, created_us, updated_us, status) VALUES (?1, ?2, 1, 1, ?3, ?4, ?5, ?6, ?6, 'ready')" \
		" ON CONFLICT (id) DO UPDATE SET cpu_count = ?3, memory_mb = ?4, disk_mb = ?5") \
	X(TEMPLATE_GET, "SELECT " TEMPLATE_COLUMNS " FROM templates WHERE id = ?1 OR id =" \
		" (SELECT template_id FROM template_names WHERE name = ?1 OR name = '" TEAM_SLUG "/' || ?1)") \
	X(TEMPLATE_LIST, "SELECT " TEMPLATE_COLUMNS " FROM templates WHERE id NOT IN" \
		" (SELECT template_id FROM snapshots) ORDER BY created_us, id") \
	X(TEMPLATE_INSERT, "INSERT INTO templates (id, build_id, is_public, builtin, cpu_count, memory_mb," \
		" disk_mb, created_us, updated_us, build_count, status)" \
		" VALUES (?1, ?2, 0, 0, ?3, ?4, ?5, ?6, ?6, 0, 'ready')") \
	X(TEMPLATE_BUILT, "UPDATE templates SET build_id = ?2, cpu_count = ?3, memory_mb = ?4, disk_mb = ?5," \
		" updated_us = ?6, build_count = build_count + 1 WHERE id = ?1") \
	X(TEMPLATE_NEWEST, "UPDATE templates SET build_id = (SELECT build_id FROM template_tags" \
		" WHERE template_id = id ORDER BY created_us DESC LIMIT 1) WHERE builtin = 0" \
		" AND build_id NOT IN (SELECT build_id FROM template_tags)") \
	X(TEMPLATE_EMPTY, "DELETE FROM templates WHERE builtin = 0" \
		" AND id NOT IN (SELECT template_id FROM template_tags)") \
	X(TEMPLATE_DELETE, "DELETE FROM templates WHERE id = ?1") \
	X(TEMPLATE_PUBLIC, "UPDATE templates SET is_public = ?2, updated_us = ?3 WHERE id = ?1") \
	X(TEMPLATE_SPAWNED, "UPDATE templates SET spawn_count = spawn_count + 1, last_spawned_us = ?2" \
		" WHERE id = ?1") \
	X(TEMPLATE_IN_USE, "SELECT 1 FROM sandboxes WHERE template_id = ?1 AND ended_us = 0 LIMIT 1") \
	X(TEMPLATE_NAME_ADD, "INSERT OR IGNORE INTO template_names VALUES (?1, ?2)") \
	X(TEMPLATE_NAMES, "SELECT name FROM template_names WHERE template_id = ?1 ORDER BY name") \
	X(TEMPLATE_TAG_SET, "INSERT INTO template_tags VALUES (?1, ?2, ?3, ?4)" \
		" ON CONFLICT (template_id, tag) DO UPDATE SET build_id = ?3, created_us = ?4") \
	X(TEMPLATE_TAG_KEEP, "INSERT OR IGNORE INTO template_tags VALUES (?1, ?2, ?3, ?4)") \
	X(TEMPLATE_TAG_GET, "SELECT build_id FROM template_tags WHERE template_id = ?1 AND tag = ?2") \
	X(TEMPLATE_TAG_NEWEST, "SELECT build_id FROM template_tags WHERE template_id = ?1" \
		" ORDER BY created_us DESC, tag LIMIT 1") \
	X(TEMPLATE_TAG_DELETE, "DELETE FROM template_tags WHERE template_id = ?1 AND tag = ?2") \
	X(TEMPLATE_TAGS, "SELECT tag, build_id, created_us FROM template_tags WHERE template_id = ?1" \
		" ORDER BY created_us DESC, tag") \
	\
	X(SNAPSHOT_INSERT, "INSERT INTO snapshots VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)") \
	X(SNAPSHOT_GET, "SELECT " SNAPSHOT_COLUMNS " FROM snapshots WHERE build_id = ?1") \
	X(SNAPSHOT_ENV, "SELECT env FROM snapshots WHERE build_id = ?1") \
	X(SNAPSHOT_BUILDS, "SELECT " SNAPSHOT_COLUMNS " FROM snapshots" \
		" WHERE ?1 IS NULL OR template_id = ?1 ORDER BY created_us DESC, build_id") \
	X(SNAPSHOT_TOTALS, "SELECT count(*), coalesce(sum(size), 0) FROM snapshots") \
	X(SNAPSHOT_UNTAG, "DELETE FROM template_tags WHERE build_id = ?1") \
	X(SNAPSHOT_REAP, "DELETE FROM snapshots WHERE build_id NOT IN (SELECT build_id FROM template_tags)" \
		" RETURNING build_id, size") \
	X(SNAPSHOT_LIST, "SELECT s.template_id, g.tag, n.name, s.created_us, s.size, s.sandbox_id" \
		" FROM snapshots s JOIN template_tags g ON g.build_id = s.build_id" \
		" LEFT JOIN template_names n ON n.template_id = s.template_id" \
		" WHERE (?1 IS NULL OR s.sandbox_id = ?1)" \
		" AND (?2 IS NULL OR s.template_id = ?2 OR n.name = ?2 OR n.name = '" TEAM_SLUG "/' || ?2)" \
		" AND (?3 IS NULL OR g.tag = ?3)" \
		" AND (?5 = '' OR (s.created_us, s.template_id, g.tag) < (?4, ?5, ?6))" \
		" ORDER BY s.created_us DESC, s.template_id DESC, g.tag DESC LIMIT ?7") \
	\
	X(SECRET_INSERT, "INSERT INTO secrets VALUES (?1, ?2, 1, ?3, ?4, ?5, ?5)") \
	X(SECRET_LIST, "SELECT id, name, version, metadata, created_us, updated_us FROM secrets" \
		" WHERE name > ?1 ORDER BY name LIMIT ?2") \
	X(SECRET_GET, "SELECT id, name, version, metadata, created_us, updated_us FROM secrets" \
		" WHERE name = ?1 OR id = ?1") \
	X(SECRET_UPDATE, "UPDATE secrets SET version = version + 1, value = coalesce(?2, value)," \
		" metadata = coalesce(?3, metadata), updated_us = ?4 WHERE name = ?1 OR id = ?1") \
	X(SECRET_DELETE, "DELETE FROM secrets WHERE name = ?1 OR id = ?1") \
	\
	X(VOLUME_INSERT, "INSERT INTO volumes VALUES (?1, ?2, ?3, ?4)") \
	X(VOLUME_LIST, "SELECT id, name, token, created_us FROM volumes ORDER BY created_us, id") \
	X(VOLUME_GET, "SELECT id, name, token, created_us FROM volumes WHERE id = ?1") \
	X(VOLUME_FIND, "SELECT id, name, token, created_us FROM volumes WHERE name = ?1") \
	X(VOLUME_DELETE, "DELETE FROM volumes WHERE id = ?1")
/* clang-format on */

enum statement {
#define X(name, sql) STATEMENT_##name,
	STATEMENTS(X)
#undef X
		STATEMENT_COUNT
};
