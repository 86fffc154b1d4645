/* `hotcell snapshot create|list|delete` and `hotcell fork`: the files of a sandbox, kept or used again. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/util.h"
#include "client/clean.h"
#include "client/table.h"
#include "client/target.h"
#include "codec/url.h"

#define SNAPSHOT_ID_MAX 256

static const char *text(const json_t *o, const char *name)
{
	const char *s = json_string_value(json_object_get(o, name));
	return s ? s : "";
}

/* POST of a running sandbox. */
static int ask(struct client_options *o, const char *id, const char *what, json_t *body,
	       json_t **ret, struct error *err)
{
	char full[24], path[64];

	int r = client_find(o, id, "running", full, err);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "/sandboxes/%s/%s", full, what);
	return call(&o->endpoint, "POST", path, body, ret, err);
}

/* Of the server, so nothing that a terminal would obey. */
static void print_id(const json_t *o, const char *name)
{
	char shown[SNAPSHOT_ID_MAX];

	snprintf(shown, sizeof(shown), "%s", text(o, name));
	clean_text(shown);
	printf("%s\n", shown);
}

/* ---- snapshot ---- */

static int create(struct client_options *o)
{
	json_t *body = json_object(), *made = NULL;
	struct error err;

	if (o->name)
		json_object_set_new(body, "name", json_string(o->name));
	int r = ask(o, o->arguments[0], "snapshots", body, &made, &err);
	json_decref(body);
	if (r < 0)
		return client_fail(&err);
	if (o->json)
		print_json(made, JSON_INDENT(2));
	else
		print_id(made, "snapshotID");
	json_decref(made);
	return 0;
}

static void add_row(struct table *t, const json_t *x)
{
	char age[32], size[16];

	if (!table_row(t))
		return;
	format_span(age, sizeof(age), (double)time(NULL) - parse_time(text(x, "createdAt")));
	format_bytes(size, sizeof(size),
		     (double)json_integer_value(json_object_get(x, "sizeBytes")));
	table_set(t, 0, "%s", text(x, "snapshotID"));
	table_set(t, 1, "%s", age);
	table_set(t, 2, "%s", size);
	table_set(t, 3, "%s", text(x, "sandboxID"));
}

static int list(struct client_options *o)
{
	static const char *const heads[] = { "SNAPSHOT", "AGE", "SIZE", "SANDBOX" };
	char id[24] = "", query[64];
	struct table t;
	struct error err;
	json_t *rows = NULL, *x;
	size_t i;

	int r = o->count ? client_find(o, o->arguments[0], "running,paused,ended", id, &err) : 0;
	snprintf(query, sizeof(query), "/snapshots?sandboxID=%s", id);
	if (r == 0)
		r = client_pages(o, query, &rows, &err);
	if (r < 0)
		return client_fail(&err);
	if (o->json) {
		print_json(rows, JSON_INDENT(2));
	} else {
		table_init(&t, heads, ARRAY_SIZE(heads));
		json_array_foreach(rows, i, x) add_row(&t, x);
		table_print(&t);
		table_fini(&t);
	}
	json_decref(rows);
	return 0;
}

static int delete_one(struct client_options *o, const char *id, struct error *err)
{
	char encoded[SNAPSHOT_ID_MAX * 3 + 1], path[sizeof(encoded) + 16];

	if (!*id || strlen(id) >= SNAPSHOT_ID_MAX)
		return error_set(err, 0, "'%.60s' is not the id of a snapshot", id);
	url_encode(id, strlen(id), encoded);
	snprintf(path, sizeof(path), "/templates/%s", encoded);
	return call(&o->endpoint, "DELETE", path, NULL, NULL, err);
}

static int delete_all(struct client_options *o)
{
	json_t *gone = json_array();
	struct error err;
	int status = 0;

	for (int i = 0; i < o->count; i++) {
		if (delete_one(o, o->arguments[i], &err) < 0)
			status = client_fail(&err);
		else if (o->json)
			json_array_append_new(gone, json_string(o->arguments[i]));
		else
			printf("%s\n", o->arguments[i]);
	}
	if (o->json)
		print_json(gone, 0);
	json_decref(gone);
	return status;
}

static const struct {
	const char *name;
	int min_arguments, max_arguments; /* max -1 = any */
	int (*run)(struct client_options *o);
} deeds[] = {
	{ "create", 1, 1, create },
	{ "list", 0, 1, list },
	{ "delete", 1, -1, delete_all },
};

static const struct option_spec snapshot_options[] = {
	CLIENT_COMMON,
	CLIENT_JSON,
	{ .name = "name",
	  .letter = 'n',
	  .kind = OPTION_TEXT,
	  .offset = offsetof(struct client_options, name),
	  .metavar = "NAME[:TAG]",
	  .help = "of create: what it is called; replaces one of that name" },
};

static int usage(void)
{
	fprintf(stderr, "Usage: hotcell snapshot %s\n(hotcell snapshot --help tells more)\n",
		verb_snapshot.usage);
	return 2;
}

static int run_snapshot(struct client_options *o)
{
	const char *word = o->arguments[0];
	struct error err;
	size_t i = 0;

	while (i < ARRAY_SIZE(deeds) && strcmp(deeds[i].name, word) != 0)
		i++;
	o->count--;
	o->arguments++;
	if (i == ARRAY_SIZE(deeds) || o->count < deeds[i].min_arguments ||
	    (deeds[i].max_arguments >= 0 && o->count > deeds[i].max_arguments))
		return usage();
	if (client_find_server(o, &err) < 0)
		return client_fail(&err);
	return deeds[i].run(o);
}

const struct client_verb verb_snapshot = {
	"snapshot",
	"create|list|delete [OPTIONS] [SANDBOX | SNAPSHOT...]",
	"Keeps the files of a running sandbox as a template, lists what is kept, deletes it.\n"
	"No processes are in a snapshot: a sandbox made from one starts with its files.",
	snapshot_options,
	ARRAY_SIZE(snapshot_options),
	1,
	-1,
	run_snapshot,
	true,
	0,
	false,
};

/* ---- fork ---- */

static int print_forks(struct client_options *o, const json_t *rows)
{
	const json_t *row;
	struct error err;
	size_t i;
	int status = 0;

	json_array_foreach(rows, i, row)
	{
		const json_t *made = json_object_get(row, "sandbox");
		if (made && !o->json)
			print_id(made, "sandboxID");
		if (made)
			continue;
		error_set(&err, 0, "%.400s", text(json_object_get(row, "error"), "message"));
		status = client_fail(&err);
	}
	return status;
}

static int run_fork(struct client_options *o)
{
	json_t *body = json_pack("{s:I, s:I}", "count", (json_int_t)o->fork_count, "timeout",
				 (json_int_t)(o->timeout_ns / NSEC_PER_SEC));
	json_t *rows = NULL;
	struct error err;

	int r = ask(o, o->arguments[0], "fork", body, &rows, &err);
	json_decref(body);
	if (r < 0)
		return client_fail(&err);
	int status = print_forks(o, rows);
	if (o->json)
		print_json(rows, JSON_INDENT(2));
	json_decref(rows);
	return status;
}

static const struct option_spec fork_options[] = {
	CLIENT_COMMON,
	CLIENT_JSON,
	{ .name = "count",
	  .letter = 'n',
	  .kind = OPTION_COUNT,
	  .offset = offsetof(struct client_options, fork_count),
	  .metavar = "N",
	  .initial = "1",
	  .min = 1,
	  .max = 100,
	  .help = "how many" },
	{ .name = "timeout",
	  .letter = 't',
	  .kind = OPTION_DURATION,
	  .offset = offsetof(struct client_options, timeout_ns),
	  .metavar = "TIME",
	  .initial = "5m",
	  .min = NSEC_PER_SEC,
	  .help = "how long they live" },
};

const struct client_verb verb_fork = {
	"fork",
	"[OPTIONS] SANDBOX",
	"Makes sandboxes with the files of a running one, and nothing running in them.",
	fork_options,
	ARRAY_SIZE(fork_options),
	1,
	1,
	run_fork,
	false,
	0,
	false,
};
