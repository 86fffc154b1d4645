#include "server/start/key_verb.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/options.h"
#include "base/util.h"
#include "server/config/config.h"
#include "server/start/start.h"
#include "server/store/keys.h"
#include "server/store/store.h"

struct key_options {
	const char *config, *data_dir;
	uint64_t sandboxes, cpus, memory_bytes, creates;
	int json, help;
};

#define AT(member) offsetof(struct key_options, member)

/* clang-format off */
static const struct option_spec specs[] = {
	{ .name = "sandboxes", .kind = OPTION_COUNT, .offset = AT(sandboxes), .metavar = "N",
	  .shown = "no limit", .max = UINT32_MAX, .help = "add: sandboxes at the same time" },
	{ .name = "cpus", .kind = OPTION_COUNT, .offset = AT(cpus), .metavar = "N",
	  .shown = "no limit", .max = UINT32_MAX, .help = "add: CPUs of its sandboxes together" },
	{ .name = "memory", .kind = OPTION_SIZE, .offset = AT(memory_bytes), .metavar = "SIZE",
	  .shown = "no limit", .help = "add: memory of its sandboxes together" },
	{ .name = "creates-per-second", .kind = OPTION_COUNT, .offset = AT(creates), .metavar = "N",
	  .shown = "no limit", .max = UINT32_MAX, .help = "add: how fast it may create" },
	{ .name = "config", .letter = 'c', .kind = OPTION_TEXT, .offset = AT(config),
	  .metavar = "FILE", .shown = "as the server", .help = "the server's configuration file" },
	{ .name = "data-dir", .letter = 'd', .kind = OPTION_TEXT, .offset = AT(data_dir),
	  .metavar = "DIR", .shown = "as the server", .help = "the server's data directory" },
	{ .name = "json", .kind = OPTION_FLAG, .offset = AT(json), .value = 1, .help = "print JSON" },
	{ .name = "help", .letter = 'h', .kind = OPTION_FLAG, .offset = AT(help), .value = 1,
	  .help = "this text" },
};
/* clang-format on */

static void help(void)
{
	printf("Usage: hotcell key add [OPTIONS] NAME     make a key; it is shown once\n"
	       "       hotcell key list [OPTIONS]\n"
	       "       hotcell key revoke [OPTIONS] NAME  effective at once\n\n");
	options_help(specs, ARRAY_SIZE(specs));
}

static int complain(const struct error *err)
{
	fprintf(stderr, "hotcell: %s\n", err->message);
	return 1;
}

/* The database belongs to the server's user; root becomes it, so that no file becomes root's. */
static int open_store(const struct key_options *o, struct store **ret, struct error *err)
{
	char data[] = "--data-dir", file[] = "--config", path[512];
	char *argv[5] = { NULL };
	int argc = 0;
	struct config *c;
	struct stat st;
	if (o->config) {
		argv[argc++] = file;
		argv[argc++] = (char *)(uintptr_t)o->config;
	}
	if (o->data_dir) {
		argv[argc++] = data;
		argv[argc++] = (char *)(uintptr_t)o->data_dir;
	}
	int r = config_load(argc, argv, &c, err);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s/hotcell.db", c->data_dir);
	config_free(c);
	if (stat(path, &st) < 0)
		return error_set(err, errno, "%.400s (the server makes it when it starts first)",
				 path);
	if (geteuid() == 0) {
		const struct start_owner owner = { st.st_uid, st.st_gid };
		r = st.st_uid == 0 ? 0 : start_drop_rights(&owner, err);
	}
	return r < 0 ? r : store_open_database(path, ret, err);
}

/* ---- printing ---- */

static void format_time(int64_t us, char *ret, size_t size)
{
	time_t t = (time_t)(us / 1000000);
	struct tm tm;
	gmtime_r(&t, &tm);
	strftime(ret, size, "%Y-%m-%dT%H:%M:%SZ", &tm);
	if (us == 0)
		snprintf(ret, size, "-");
}

static json_t *key_json(const struct key *k, const char *text)
{
	json_t *j = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "id", k->uuid,
			      "name", k->name, "mask", k->mask, "sandboxes",
			      (json_int_t)k->limits.sandboxes, "cpus", (json_int_t)k->limits.cpus,
			      "memory_mb", (json_int_t)k->limits.memory_mb, "creates_per_second",
			      (json_int_t)k->limits.creates_per_second, "created_us",
			      (json_int_t)k->created_us, "last_used_us",
			      (json_int_t)k->last_used_us, "revoked_us", (json_int_t)k->revoked_us);
	if (j && text)
		json_object_set_new(j, "key", json_string(text));
	return j;
}

static void print_json(json_t *j)
{
	json_dumpf(j, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(j);
}

static void print_limit(uint64_t v)
{
	if (v)
		printf("  %10" PRIu64, v);
	else
		printf("  %10s", "-");
}

static void print_row(void *ctx, const struct key *k)
{
	char created[32], used[32];
	format_time(k->created_us, created, sizeof(created));
	format_time(k->last_used_us, used, sizeof(used));
	printf("%-20s  %-15s", k->name, k->mask);
	print_limit(k->limits.sandboxes);
	print_limit(k->limits.cpus);
	print_limit(k->limits.memory_mb);
	print_limit(k->limits.creates_per_second);
	printf("  %-20s  %-20s%s\n", created, used, k->revoked_us ? "  revoked" : "");
}

static void collect(void *ctx, const struct key *k)
{
	json_array_append_new(ctx, key_json(k, NULL));
}

/* ---- verbs ---- */

static int add(struct store *s, const struct key_options *o, const char *name)
{
	const struct key_limits limits = { (uint32_t)o->sandboxes, (uint32_t)o->cpus,
					   o->memory_bytes >> 20, (uint32_t)o->creates };
	char text[KEY_TEXT_SIZE];
	struct key k;
	struct error err;
	int r = key_add(s, name, &limits, text, &k, &err);
	if (r == -EEXIST) {
		fprintf(stderr,
			"hotcell: there is a key '%s' already; revoke it, or choose another "
			"name\n",
			name);
		return 1;
	}
	if (r < 0)
		return complain(&err);
	if (o->json)
		print_json(key_json(&k, text));
	else
		printf("%s\n", text);
	return 0;
}

static int list(struct store *s, const struct key_options *o)
{
	json_t *all = json_array();
	struct error err;
	if (!o->json)
		printf("%-20s  %-15s  %10s  %10s  %10s  %10s  %-20s  %s\n", "NAME", "KEY",
		       "SANDBOXES", "CPUS", "MEMORY MB", "CREATES/S", "MADE", "LAST USED");
	int r = key_list(s, o->json ? collect : print_row, all, &err);
	if (r < 0)
		return complain(&err);
	if (o->json)
		print_json(all);
	else
		json_decref(all);
	return 0;
}

static int revoke_key(struct store *s, const char *name)
{
	struct error err;
	int r = key_revoke(s, name, &err);
	if (r == -ENOENT) {
		fprintf(stderr, "hotcell: there is no key '%s' (or it is revoked already)\n", name);
		return 1;
	}
	return r < 0 ? complain(&err) : 0;
}

int key_verb(int argc, char **argv)
{
	static struct key_options o;
	struct error err;
	struct store *s;
	const char *verb = argc > 0 ? argv[0] : "--help";
	bool is_list = strcmp(verb, "list") == 0, is_add = strcmp(verb, "add") == 0;
	if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0) {
		help();
		return 0;
	}
	if (!is_list && !is_add && strcmp(verb, "revoke") != 0) {
		fprintf(stderr, "hotcell: key has add, list and revoke, not '%s'\n", verb);
		return 2;
	}
	/* Options may stand before and behind the name. */
	int n = options_parse(specs, ARRAY_SIZE(specs), &o, argc - 1, argv + 1, &err);
	const char *name = n >= 0 && n < argc - 1 ? argv[1 + n] : NULL;
	int behind = 1 + n + (name != NULL);
	if (n >= 0 && behind < argc)
		n = options_parse(specs, ARRAY_SIZE(specs), &o, argc - behind, argv + behind, &err);
	if (n < 0)
		return complain(&err);
	if (o.help) {
		help();
		return 0;
	}
	if (is_list == (name != NULL) || (behind < argc && n < argc - behind)) {
		fprintf(stderr, "hotcell: key %s takes %s\n", verb,
			is_list ? "no name" : "one name");
		return 2;
	}
	if (open_store(&o, &s, &err) < 0)
		return complain(&err);
	int status = is_list ? list(s, &o) : is_add ? add(s, &o, name) : revoke_key(s, name);
	store_close_database(s);
	return status;
}
