/* `hotcell ps`, `hotcell top`, `hotcell kill`: what there is, what it uses, and its end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "base/util.h"
#include "client/table.h"
#include "client/target.h"

#define IDS_MAX 100 /* of one question */

static const char *text(const json_t *o, const char *name)
{
	const char *s = json_string_value(json_object_get(o, name));
	return s ? s : "";
}

/* ---- ps ---- */

static void add_sandbox(struct table *t, const json_t *s, bool all)
{
	char age[32], left[32] = "-", memory[16];
	double now = (double)time(NULL), end = parse_time(text(s, "endAt"));
	const char *state = text(s, "state");

	if (!table_row(t))
		return;
	format_span(age, sizeof(age), now - parse_time(text(s, "startedAt")));
	if (strcmp(state, "running") == 0)
		format_span(left, sizeof(left), end - now);
	format_bytes(memory, sizeof(memory),
		     (double)json_integer_value(json_object_get(s, "memoryMB")) * (double)MIB(1));
	table_set(t, 0, "%s", text(s, "sandboxID"));
	table_set(t, 1, "%s", *text(s, "alias") ? text(s, "alias") : text(s, "templateID"));
	table_set(t, 2, "%s", state);
	table_set(t, 3, "%s", age);
	table_set(t, 4, "%s", left);
	table_set(t, 5, "%d", (int)json_integer_value(json_object_get(s, "cpuCount")));
	table_set(t, 6, "%s", memory);
	if (all)
		table_set(t, 7, "%s", text(s, "reason"));
}

static int run_ps(struct client_options *o)
{
	static const char *const heads[] = { "SANDBOX", "TEMPLATE", "STATE",  "AGE",
					     "LEFT",	"CPUS",	    "MEMORY", "REASON" };
	struct table t;
	struct error err;
	json_t *list, *s;
	size_t i;

	if (client_list(o, o->all ? "running,paused,ended" : "running,paused", &list, &err) < 0)
		return client_fail(&err);
	if (o->json) {
		print_json(list, JSON_INDENT(2));
	} else {
		table_init(&t, heads, o->all ? 8 : 7);
		json_array_foreach(list, i, s) add_sandbox(&t, s, o->all);
		table_print(&t);
		table_fini(&t);
	}
	json_decref(list);
	return 0;
}

static const struct option_spec ps_options[] = {
	CLIENT_COMMON,
	CLIENT_JSON,
	{ .name = "all",
	  .letter = 'a',
	  .kind = OPTION_FLAG,
	  .offset = offsetof(struct client_options, all),
	  .value = 1,
	  .help = "those that have ended, too, with the reason" },
};

const struct client_verb verb_ps = {
	"ps",
	"[OPTIONS]",
	"Lists the sandboxes of the server.",
	ps_options,
	ARRAY_SIZE(ps_options),
	0,
	0,
	run_ps,
	false,
	0,
	false,
};

/* ---- top ---- */

static int read_usage(struct client_options *o, json_t **ret_list, json_t **ret_usage,
		      struct error *err)
{
	char path[IDS_MAX * 24 + 64];
	json_t *list, *s;
	size_t i;

	int r = client_list(o, "running", &list, err);
	if (r < 0)
		return r;
	*ret_list = list;
	*ret_usage = json_object();
	for (size_t first = 0; first < json_array_size(list) && r == 0; first += IDS_MAX) {
		struct text t = TEXT_INIT(path);
		json_t *answer = NULL;
		text_printf(&t, "/sandboxes/metrics?sandbox_ids=");
		json_array_foreach(list, i, s)
		{
			if (i >= first && i < first + IDS_MAX)
				text_printf(&t, "%s%s", i > first ? "," : "", text(s, "sandboxID"));
		}
		r = call(&o->endpoint, "GET", path, NULL, &answer, err);
		json_object_update(*ret_usage, json_object_get(answer, "sandboxes"));
		json_decref(answer);
	}
	return r;
}

static double number(const json_t *o, const char *name)
{
	return json_number_value(json_object_get(o, name));
}

static void add_usage(struct table *t, const json_t *s, const json_t *m)
{
	char a[16], b[16];

	if (!table_row(t))
		return;
	table_set(t, 0, "%s", text(s, "sandboxID"));
	table_set(t, 1, "%s", *text(s, "alias") ? text(s, "alias") : text(s, "templateID"));
	if (!m) {
		for (unsigned int column = 2; column < t->columns; column++)
			table_set(t, column, "-");
		return;
	}
	table_set(t, 2, "%.0f%%", number(m, "cpuUsedPct"));
	format_bytes(a, sizeof(a), number(m, "memUsed"));
	format_bytes(b, sizeof(b), number(m, "memTotal"));
	table_set(t, 3, "%s / %s", a, b);
	format_bytes(a, sizeof(a), number(m, "diskUsed"));
	format_bytes(b, sizeof(b), number(m, "diskTotal"));
	table_set(t, 4, "%s / %s", a, b);
}

static int show_top(struct client_options *o, bool clear)
{
	static const char *const heads[] = { "SANDBOX", "TEMPLATE", "CPU", "MEMORY", "DISK" };
	json_t *list = NULL, *usage = NULL, *s;
	struct table t;
	struct error err;
	size_t i;

	if (read_usage(o, &list, &usage, &err) < 0) {
		json_decref(list);
		json_decref(usage);
		return client_fail(&err);
	}
	if (o->json) {
		print_json(usage, JSON_INDENT(2));
	} else {
		table_init(&t, heads, ARRAY_SIZE(heads));
		json_array_foreach(list, i, s)
			add_usage(&t, s, json_object_get(usage, text(s, "sandboxID")));
		printf("%s", clear ? "\033[H\033[J" : "");
		table_print(&t);
		fflush(stdout);
		table_fini(&t);
	}
	json_decref(list);
	json_decref(usage);
	return 0;
}

/* On a terminal again and again, else once. */
static int run_top(struct client_options *o)
{
	bool again = isatty(STDOUT_FILENO) && !o->json;
	struct timespec pause = { .tv_sec = (time_t)(o->interval_ns / NSEC_PER_SEC),
				  .tv_nsec = (long)(o->interval_ns % NSEC_PER_SEC) };
	int status;

	while ((status = show_top(o, again)) == 0 && again)
		nanosleep(&pause, NULL);
	return status;
}

static const struct option_spec top_options[] = {
	CLIENT_COMMON,
	CLIENT_JSON,
	{ .name = "interval",
	  .letter = 'd',
	  .kind = OPTION_DURATION,
	  .offset = offsetof(struct client_options, interval_ns),
	  .metavar = "TIME",
	  .initial = "2s",
	  .min = NSEC_PER_SEC / 10,
	  .help = "between two looks, on a terminal" },
};

const struct client_verb verb_top = {
	"top",
	"[OPTIONS]",
	"Shows what the running sandboxes use.",
	top_options,
	ARRAY_SIZE(top_options),
	0,
	0,
	run_top,
	false,
	0,
	false,
};

/* ---- kill ---- */

static int run_kill(struct client_options *o)
{
	char id[24], path[64];
	json_t *ended = json_array();
	struct error err;
	int status = 0;

	for (int i = 0; i < o->count; i++) {
		int r = client_find(o, o->arguments[i], "running,paused", id, &err);
		if (r == 0) {
			snprintf(path, sizeof(path), "/sandboxes/%s", id);
			r = call(&o->endpoint, "DELETE", path, NULL, NULL, &err);
		}
		if (r < 0)
			status = client_fail(&err);
		else if (o->json)
			json_array_append_new(ended, json_string(id));
		else
			printf("%s\n", id);
	}
	if (o->json)
		print_json(ended, 0);
	json_decref(ended);
	return status;
}

static const struct option_spec kill_options[] = { CLIENT_COMMON, CLIENT_JSON };

const struct client_verb verb_kill = {
	"kill",
	"[OPTIONS] SANDBOX...",
	"Ends sandboxes.",
	kill_options,
	ARRAY_SIZE(kill_options),
	1,
	-1,
	run_kill,
	false,
	0,
	false,
};
