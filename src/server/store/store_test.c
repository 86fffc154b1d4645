/* Keys, records, templates, secrets, volumes, and what another process does meanwhile. */
#include "check.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "base/util.h"
#include "server/store/keys.h"
#include "server/store/records.h"
#include "server/store/secrets.h"
#include "server/store/store.h"
#include "server/store/templates.h"
#include "server/store/volumes.h"

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

static void open_it(void)
{
	must(store_open_database(path, &s, &err));
}

static void make(void)
{
	char folder[256];
	CHECK(getcwd(folder, sizeof(folder) - 32));
	strcat(folder, "/database-XXXXXX");
	CHECK(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/db", folder);
	open_it();
}

static const struct key_limits none = { 0, 0, 0, 0 };

TEST(keys)
{
	char text[KEY_TEXT_SIZE], other[KEY_TEXT_SIZE];
	struct key k, found;
	const struct key_limits limits = { 3, 4, 5000, 6 };
	make();
	must(key_add(s, "one", &limits, text, &k, &err));
	CHECK_EQ(strlen(text), 44);
	CHECK(strncmp(text, "e2b_", 4) == 0 && strspn(text + 4, "0123456789abcdef") == 40);
	CHECK(!strstr(k.mask, text));
	CHECK_EQ(key_add(s, "one", &none, other, &found, &err), -EEXIST);
	CHECK_EQ(key_add(s, "", &none, other, &found, &err), -EINVAL);
	CHECK_EQ(key_add(s, "a\nb", &none, other, &found, &err), -EINVAL);
	CHECK_EQ(key_check(s, text, &found), 0);
	CHECK_EQ(found.id, k.id);
	CHECK_EQ(found.limits.memory_mb, 5000);
	text[10] = text[10] == 'a' ? 'b' : 'a';
	CHECK_EQ(key_check(s, text, &found), -ENOENT);
	CHECK_EQ(key_check(s, "", &found), -ENOENT);
	must(key_revoke(s, k.uuid, &err));
	CHECK_EQ(key_revoke(s, "one", &err), -ENOENT);
	must(key_add(s, "one", &none, other, &found, &err)); /* the name is free again */
	store_close_database(s);
	open_it();
	CHECK_EQ(key_check(s, other, &found), 0);
	store_close_database(s);
}

TEST(keys_of_another_process)
{
	char text[KEY_TEXT_SIZE];
	struct key k, found;
	struct store *second;
	make();
	CHECK_EQ(key_check(s, "e2b_0", &found), -ENOENT);
	must(store_open_database(path, &second, &err));
	must(key_add(second, "late", &none, text, &k, &err));
	CHECK_EQ(key_check(s, text, &found), 0);
	must(key_revoke(second, "late", &err));
	CHECK_EQ(key_check(s, text, &found), -ENOENT);
	store_close_database(second);
	store_close_database(s);
}

TEST(the_key_is_not_in_the_file)
{
	char text[KEY_TEXT_SIZE], name[520];
	static char bytes[1 << 20];
	struct key k;
	make();
	must(key_add(s, "one", &none, text, &k, &err));
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%s%s", path, i ? "-wal" : "");
		int fd = open(name, O_RDONLY);
		ssize_t n = read(fd, bytes, sizeof(bytes));
		CHECK(n > 0);
		CHECK(!memmem(bytes, (size_t)n, text + 4, 40));
		close(fd);
	}
	store_close_database(s);
}

/* ---- records ---- */

static char metadata_a[] = "{\"user\":\"a\",\"n\":\"1\"}", metadata_b[] = "{\"user\":\"b\"}";
static char tricky[] = "{\"it's \\\"x\\\"\":\"%_\\u00e9\"}";

static void insert(const char *id, int64_t started, char *metadata, enum sandbox_state state)
{
	struct sandbox_record r = { .state = state,
				    .started_us = started,
				    .end_us = started + 10,
				    .cpu_count = 2,
				    .memory_mb = 512,
				    .metadata = metadata,
				    .allow_internet = -1 };
	snprintf(r.id, sizeof(r.id), "%s", id);
	snprintf(r.template_id, sizeof(r.template_id), "base");
	if (state == SANDBOX_ENDED)
		r.ended_us = started + 5;
	must(record_insert(s, &r, &err));
}

static char listed[256];

static void on_record(void *ctx, const struct sandbox_record *r)
{
	strncat(listed, r->id, sizeof(listed) - strlen(listed) - 1);
	strncat(listed, " ", sizeof(listed) - strlen(listed) - 1);
}

static bool list(const struct sandbox_filter *f)
{
	bool more;
	listed[0] = '\0';
	must(record_list(s, f, on_record, NULL, &more, &err));
	return more;
}

TEST(records_are_listed)
{
	struct sandbox_filter f = { .limit = 10, .started_after_us = INT64_MIN };
	const struct template_limits limits = { 1, 512, 1024 };
	make();
	must(template_keep_builtin(s, &limits, &err));
	insert("ia", 100, metadata_a, SANDBOX_RUNNING);
	insert("ib", 200, metadata_b, SANDBOX_PAUSED);
	insert("ic", 200, tricky, SANDBOX_RUNNING);
	insert("id", 300, NULL, SANDBOX_ENDED);
	CHECK(!list(&f));
	CHECK_STR(listed, "ic ib ia ");
	f.ascending = true;
	list(&f);
	CHECK_STR(listed, "ia ib ic ");
	f.limit = 2;
	CHECK(list(&f));
	CHECK_STR(listed, "ia ib ");
	f.after_us = 200;
	snprintf(f.after_id, sizeof(f.after_id), "ib");
	CHECK(!list(&f));
	CHECK_STR(listed, "ic ");
	f = (struct sandbox_filter){ .limit = 10, .started_after_us = 200 };
	list(&f);
	CHECK_STR(listed, "ic ib ");
	f.states = 1u << SANDBOX_ENDED;
	list(&f);
	CHECK_STR(listed, "id ");
	f = (struct sandbox_filter){ .limit = 10,
				     .started_after_us = INT64_MIN,
				     .template = "BASE" };
	list(&f);
	CHECK_STR(listed, "ic ib ia ");
	f.template = "other";
	list(&f);
	CHECK_STR(listed, "");
	f.template = NULL;
	f.metadata = "{\"user\":\"a\"}";
	list(&f);
	CHECK_STR(listed, "ia ");
	f.metadata = tricky;
	list(&f);
	CHECK_STR(listed, "ic ");
	f.metadata = "{\"user\":\"a\",\"n\":\"2\"}";
	list(&f);
	CHECK_STR(listed, "");
	store_close_database(s);
}

TEST(records_change_and_end)
{
	struct sandbox_record r;
	make();
	insert("ia", 100, metadata_a, SANDBOX_RUNNING);
	insert("ib", 200, NULL, SANDBOX_PAUSED);
	insert("ic", 300, NULL, SANDBOX_ENDED);
	must(record_get(s, "ia", &r, &err));
	CHECK_STR(r.metadata, metadata_a);
	CHECK(!r.reason);
	CHECK_EQ(r.allow_internet, -1);
	record_fini(&r);
	CHECK_EQ(record_get(s, "nothing", &r, &err), -ENOENT);
	store_close_database(s);
	open_it();
	CHECK_EQ(record_end_all(s, "server restarted", &err), 2);
	must(record_get(s, "ib", &r, &err));
	CHECK_STR(r.reason, "server restarted");
	CHECK_EQ(r.state, SANDBOX_ENDED);
	record_fini(&r);
	must(record_get(s, "ic", &r, &err));
	CHECK(!r.reason);
	record_fini(&r);
	store_close_database(s);
}

static void on_pruned(void *ctx, const char *id)
{
	strncat(listed, id, sizeof(listed) - strlen(listed) - 1);
}

TEST(ended_records_are_pruned)
{
	make();
	insert("ia", 100, NULL, SANDBOX_ENDED);
	insert("ib", 200, NULL, SANDBOX_ENDED);
	insert("ic", 300, NULL, SANDBOX_ENDED);
	insert("id", 1, NULL, SANDBOX_RUNNING);
	must(record_prune(s, 150, 100, on_pruned, NULL, &err));
	CHECK_STR(listed, "ia");
	listed[0] = '\0';
	must(record_prune(s, 0, 1, on_pruned, NULL, &err));
	CHECK_STR(listed, "ib");
	store_close_database(s);
}

/* ---- templates ---- */

static unsigned int count;

static void on_template(void *ctx, const struct template_record *t)
{
	count++;
}

static void on_tag(void *ctx, const struct template_tag *t)
{
	strncat(listed, t->tag, sizeof(listed) - strlen(listed) - 1);
	strncat(listed, " ", sizeof(listed) - strlen(listed) - 1);
}

TEST(templates)
{
	const struct template_limits limits = { 2, 512, 1024 }, more = { 4, 1024, 2048 };
	static const char *const tags[] = { "v1", "V2" }, *const bad[] = { "v3", "no tag" };
	struct template_record t, again;
	char build[37];
	make();
	must(template_keep_builtin(s, &limits, &err));
	CHECK_EQ(template_find(s, "base", &t), 0);
	CHECK(t.builtin && t.is_public);
	CHECK_EQ(t.name_count, 1);
	CHECK_EQ(template_find(s, "Code-Interpreter-V1:DEFAULT", &again), 0);
	CHECK_EQ(template_find(s, "base:other", &again), -ENOENT);
	CHECK_EQ(template_find(s, "ns/base", &again), -ENOENT);
	CHECK_EQ(template_find(s, "", &again), -EINVAL);
	CHECK_EQ(template_find(s, "a/b/c", &again), -EINVAL);
	CHECK_EQ(template_find(s, "a b", &again), -EINVAL);
	must(template_keep_builtin(s, &more, &err));
	CHECK_EQ(template_find(s, "base", &again), 0);
	CHECK_STR(again.build_id, t.build_id);
	CHECK_EQ(again.memory_mb, 1024);
	must(template_list(s, on_template, NULL, &err));
	CHECK_EQ(count, 2);
	CHECK_EQ(template_delete(s, "base", &err), -EPERM);
	must(template_tag_add(s, "base", tags, 2, build, &err));
	CHECK_STR(build, t.build_id);
	CHECK_EQ(template_find(s, "base:v2", &again), 0);
	CHECK_EQ(template_tag_add(s, "base", bad, 2, build, &err), -EINVAL);
	CHECK_EQ(template_find(s, "base:v3", &again), -ENOENT); /* all or nothing */
	must(template_tag_remove(s, "base", tags, 1, &err));
	CHECK_EQ(template_tag_remove(s, "base", tags, 1, &err), -ENOENT);
	must(template_tags(s, "base", on_tag, NULL, &err));
	CHECK(strstr(listed, "v2 ") && strstr(listed, "default ") && !strstr(listed, "v1"));
	insert("ia", 100, NULL, SANDBOX_RUNNING);
	CHECK_EQ(template_find(s, "base", &again), 0);
	CHECK_EQ(again.spawn_count, 1);
	store_close_database(s);
}

/* ---- secrets and volumes ---- */

static struct secret secret;

static void on_secret(void *ctx, const struct secret *x)
{
	secret = *x;
	snprintf(listed, sizeof(listed), "%s", x->metadata);
	count++;
}

TEST(secrets)
{
	make();
	must(secret_add(s, "token", "value", NULL, on_secret, NULL, &err));
	CHECK_EQ(secret.version, 1);
	CHECK(strncmp(secret.id, SECRET_ID_PREFIX, 4) == 0 && strlen(secret.id) == 40);
	CHECK_STR(listed, "{}");
	CHECK_EQ(secret_add(s, "token", "x", NULL, on_secret, NULL, &err), -EEXIST);
	must(secret_update(s, "token", NULL, "{\"a\":\"b\"}", on_secret, NULL, &err));
	CHECK_EQ(secret.version, 2);
	CHECK_STR(listed, "{\"a\":\"b\"}");
	must(secret_add(s, "another", "value", NULL, on_secret, NULL, &err));
	count = 0;
	must(secret_list(s, "another", 10, on_secret, NULL, &err));
	CHECK_EQ(count, 1);
	CHECK_STR(secret.name, "token");
	must(secret_delete(s, secret.id, &err));
	CHECK_EQ(secret_delete(s, "token", &err), -ENOENT);
	CHECK_EQ(secret_update(s, "token", "x", NULL, on_secret, NULL, &err), -ENOENT);
	store_close_database(s);
}

TEST(volumes)
{
	struct volume v, found;
	make();
	must(volume_add(s, "data", &v, &err));
	CHECK_EQ(volume_add(s, "data", &found, &err), -EEXIST);
	must(volume_get(s, v.id, &found, &err));
	CHECK_STR(found.token, v.token);
	must(volume_find(s, "data", &found, &err));
	must(volume_delete(s, v.id, &err));
	CHECK_EQ(volume_get(s, v.id, &found, &err), -ENOENT);
	store_close_database(s);
}

/* ---- the file ---- */

TEST(the_log_of_changes_is_copied_back)
{
	struct volume v;
	char name[32];
	make();
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "v%d", i);
		must(volume_add(s, name, &v, &err));
	}
	CHECK(store_log_pages(s) > 300);
	CHECK_EQ(store_checkpoint(path), 0);
	must(volume_add(s, "last", &v, &err));
	CHECK(store_log_pages(s) < 100);
	store_close_database(s);
}

TEST(what_is_wrong_is_said)
{
	struct store *other;
	int fd;
	make();
	store_close_database(s);
	fd = open(path, O_WRONLY | O_TRUNC);
	CHECK(write(fd, "this is not a database, whatever its name says", 46) == 46);
	close(fd);
	CHECK_EQ(store_open_database(path, &other, &err), -EUCLEAN);
	CHECK(strstr(err.message, path) && strstr(err.message, "restore a backup"));
	CHECK(store_open_database("/nonexistent/db", &other, &err) < 0);
	CHECK(strstr(err.message, "/nonexistent/db"));
}
CHECK_MAIN()
