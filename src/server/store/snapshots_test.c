/* Snapshots in the database: names, tags, builds, and which of them stay. */
#include "check.h"

#include <sqlite3.h>

#include "base/random.h"
#include "base/util.h"
#include "server/store/records.h"
#include "server/store/snapshots.h"
#include "server/store/store.h"
#include "server/store/templates.h"

/* Below the working directory, which the runner removes. */
static char path[512];
static struct store *s;
static struct error err;

static void must(int r)
{
	if (r < 0)
		fprintf(stderr, "# %s\n", err.message);
	CHECK(r >= 0);
}

static void make(void)
{
	const struct template_limits limits = { 2, 512, 1024 };
	char folder[256];
	CHECK(getcwd(folder, sizeof(folder) - 32));
	strcat(folder, "/snapshots-XXXXXX");
	CHECK(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/db", folder);
	must(store_open_database(path, &s, &err));
	must(template_keep_builtin(s, &limits, &err));
}

static struct snapshot_build build_of(const char *sandbox, uint64_t size)
{
	struct snapshot_build b = { .base = TEMPLATE_CODE,
				    .cpu_count = 3,
				    .memory_mb = 300,
				    .disk_mb = 3000,
				    .size = size };
	random_uuid(b.build_id);
	snprintf(b.sandbox_id, sizeof(b.sandbox_id), "%s", sandbox);
	return b;
}

static struct snapshot add(const char *name, const char *sandbox, char ret_build_id[37])
{
	struct snapshot_build b = build_of(sandbox, 10);
	struct snapshot x;
	must(snapshot_add(s, name, &b, "{\"A\":\"1\"}", &x, &err));
	if (ret_build_id)
		memcpy(ret_build_id, b.build_id, sizeof(b.build_id));
	return x;
}

static char seen[4096];

static void on_snapshot(void *ctx, const struct snapshot *x)
{
	strcat(seen, x->id);
	strcat(seen, " ");
}

static void on_reaped(void *ctx, const char *build_id, uint64_t size)
{
	CHECK_EQ(size, 10);
	strcat(seen, build_id);
	strcat(seen, " ");
}

static const char *reap(void)
{
	seen[0] = '\0';
	must(snapshot_reap(s, on_reaped, NULL, &err));
	return seen;
}

static const char *list(struct snapshot_filter f)
{
	bool more;
	seen[0] = '\0';
	if (!f.limit)
		f.limit = 100;
	must(snapshot_list(s, &f, on_snapshot, NULL, &more, &err));
	return seen;
}

TEST(one_without_a_name)
{
	struct template_record t;
	char build[37], *env = NULL;
	make();
	struct snapshot x = add(NULL, "ia", build);
	CHECK_EQ(strlen(x.template_id), 20);
	CHECK(strstr(x.id, ":default") && !x.name[0]);
	CHECK_EQ(template_find(s, x.id, &t), 0);
	CHECK(t.is_snapshot && !t.builtin && t.name_count == 0);
	CHECK_STR(t.base, TEMPLATE_CODE);
	CHECK_STR(t.build_id, build);
	CHECK_EQ(t.disk_mb, 3000);
	CHECK_EQ(template_find(s, x.template_id, &t), 0);
	must(snapshot_build_env(s, build, &env, &err));
	CHECK_STR(env, "{\"A\":\"1\"}");
	free(env);
	CHECK_EQ(template_find(s, "base", &t), 0);
	CHECK(!t.is_snapshot);
	CHECK_STR(t.base, "base");
	CHECK_STR(reap(), "");
	must(template_delete(s, x.id, &err));
	CHECK(strstr(reap(), build));
	CHECK_EQ(template_find(s, x.template_id, &t), -ENOENT);
	CHECK_EQ(template_delete(s, x.id, &err), -ENOENT);
	store_close_database(s);
}

TEST(tags_point_to_builds)
{
	struct template_record t, again;
	char first[37], second[37], third[37];
	static const char *const kept[] = { "kept" };
	make();
	struct snapshot x = add("Name", "ia", first);
	CHECK_STR(x.id, "default/name:default");
	CHECK_STR(x.name, "default/name:default");
	CHECK_STR(add("default/name:v2", "ia", second).id, "default/name:v2");
	CHECK_STR(reap(), "");
	CHECK_EQ(template_find(s, "name:v2", &t), 0);
	CHECK_STR(t.build_id, second);
	must(template_tag_add(s, "name", kept, 1, first, &err));
	CHECK_STR(add("name", "ib", third).id, x.id);
	CHECK_STR(reap(), ""); /* the first one has a tag still */
	CHECK_EQ(template_find(s, "NAME", &again), 0);
	CHECK_STR(again.id, t.id);
	CHECK_STR(again.build_id, third);
	CHECK_EQ(again.build_count, 3);
	must(template_tag_remove(s, "name", kept, 1, &err));
	CHECK(strstr(reap(), first));
	/* Without the tag "default" it is the newest build. */
	must(template_delete(s, "name:default", &err));
	CHECK(strstr(reap(), third));
	CHECK_EQ(template_find(s, "name", &t), 0);
	CHECK_STR(t.build_id, second);
	CHECK_EQ(template_find(s, "name:default", &t), -ENOENT);
	must(template_delete(s, "name", &err));
	CHECK(strstr(reap(), second));
	store_close_database(s);
}

TEST(names_that_cannot_be)
{
	char long_name[200];
	make();
	struct snapshot x = add(NULL, "ia", NULL);
	memset(long_name, 'x', sizeof(long_name));
	long_name[120] = '\0';
	CHECK_EQ(snapshot_check_name(s, "base", &err), -EEXIST);
	CHECK_EQ(snapshot_check_name(s, "default/BASE:v1", &err), -EEXIST);
	CHECK_EQ(snapshot_check_name(s, x.template_id, &err), -EEXIST);
	CHECK_EQ(snapshot_check_name(s, "other/name", &err), -EINVAL);
	CHECK_EQ(snapshot_check_name(s, "", &err), -EINVAL);
	CHECK_EQ(snapshot_check_name(s, "a/b/c", &err), -EINVAL);
	CHECK_EQ(snapshot_check_name(s, "a b", &err), -EINVAL);
	CHECK_EQ(snapshot_check_name(s, long_name, &err), -ENAMETOOLONG);
	long_name[119] = '\0';
	must(snapshot_check_name(s, long_name, &err));
	CHECK(strlen(add(long_name, "ia", NULL).id) ==
	      strlen("default/") + 119 + strlen(":default"));
	struct snapshot_build b = build_of("ia", 1);
	CHECK_EQ(snapshot_add(s, "base", &b, NULL, &x, &err), -EEXIST); /* and nothing is there */
	CHECK_EQ(snapshot_build_get(s, b.build_id, &b, &err), -ENOENT);
	store_close_database(s);
}

TEST(lists_and_pages)
{
	char want[800], page[800] = "";
	make();
	struct snapshot a = add("n", "ia", NULL), b = add(NULL, "ib", NULL),
			c = add("n:t", "ib", NULL);
	snprintf(want, sizeof(want), "%s %s %s ", c.id, b.id, a.id);
	CHECK_STR(list((struct snapshot_filter){ .limit = 0 }), want);
	CHECK_STR(list((struct snapshot_filter){ .sandbox_id = "ia" }), "default/n:default ");
	CHECK_STR(list((struct snapshot_filter){ .name = "N" }), "default/n:t default/n:default ");
	CHECK_STR(list((struct snapshot_filter){ .name = "default/n:t" }), "default/n:t ");
	CHECK_STR(list((struct snapshot_filter){ .name = "n", .sandbox_id = "ib" }),
		  "default/n:t ");
	CHECK(strstr(list((struct snapshot_filter){ .name = b.template_id }), b.id));
	CHECK_STR(list((struct snapshot_filter){ .name = "base" }), "");
	CHECK_STR(list((struct snapshot_filter){ .name = "no name" }), "");
	struct snapshot_filter f = { .limit = 1 };
	const struct snapshot *const order[] = { &c, &b, &a };
	for (unsigned int i = 0; i < 3; i++) {
		strcat(page, list(f));
		f.after_us = order[i]->created_us;
		snprintf(f.after_id, sizeof(f.after_id), "%s", order[i]->template_id);
		snprintf(f.after_tag, sizeof(f.after_tag), "%s", order[i]->tag);
	}
	CHECK_STR(page, want);
	CHECK_STR(list(f), "");
	store_close_database(s);
}

TEST(living_sandboxes_keep_it)
{
	struct sandbox_record r = { .id = "ia", .state = SANDBOX_RUNNING, .allow_internet = -1 };
	uint64_t count, bytes;
	make();
	struct snapshot x = add("n", "ib", NULL);
	memcpy(r.template_id, x.template_id, sizeof(r.template_id));
	must(record_insert(s, &r, &err));
	CHECK_EQ(template_delete(s, "n", &err), -EBUSY);
	CHECK_EQ(template_delete(s, "n:default", &err), -EBUSY);
	r.state = SANDBOX_ENDED;
	r.ended_us = 1;
	must(record_update(s, &r, &err));
	must(snapshot_totals(s, &count, &bytes, &err));
	CHECK(count == 1 && bytes == 10);
	must(template_delete(s, "n", &err));
	(void)reap();
	must(snapshot_totals(s, &count, &bytes, &err));
	CHECK(count == 0 && bytes == 0);
	store_close_database(s);
}

TEST(what_is_lost_goes)
{
	struct template_record t;
	char first[37], second[37];
	make();
	(void)add("n", "ia", first);
	(void)add("n:v2", "ia", second);
	must(snapshot_lost(s, second, &err));
	CHECK(strstr(reap(), second));
	CHECK_EQ(template_find(s, "n:v2", &t), -ENOENT);
	CHECK_EQ(template_find(s, "n", &t), 0);
	CHECK_STR(t.build_id, first);
	must(snapshot_lost(s, first, &err));
	CHECK(strstr(reap(), first));
	CHECK_EQ(template_find(s, "n", &t), -ENOENT);
	store_close_database(s);
}

/* A data directory of before there were snapshots. */
TEST(an_older_database)
{
	sqlite3 *db = NULL;
	struct template_record t;
	make();
	store_close_database(s);
	CHECK_EQ(sqlite3_open(path, &db), SQLITE_OK);
	CHECK_EQ(sqlite3_exec(db,
			      "DROP TABLE snapshots; DROP INDEX template_tags_by_build;"
			      "PRAGMA user_version = 1",
			      NULL, NULL, NULL),
		 SQLITE_OK);
	sqlite3_close(db);
	must(store_open_database(path, &s, &err));
	CHECK_EQ(template_find(s, "base", &t), 0);
	CHECK_STR(add("n", "ia", NULL).id, "default/n:default");
	store_close_database(s);
}

CHECK_MAIN()
