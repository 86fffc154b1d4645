/* `hotcell logs`: what commands printed, and events of the sandbox's life. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "client/clean.h"
#include "client/table.h"
#include "client/target.h"

#define FOLLOW_MS 400
#define PAGE	  1000

static void print_entry(const struct client_options *o, json_t *e)
{
	const char *message = json_string_value(json_object_get(e, "message"));
	const char *at = json_string_value(json_object_get(e, "timestamp"));
	json_t *fields = json_object_get(e, "fields");
	const char *stream = json_string_value(json_object_get(fields, "stream"));
	const char *logger = json_string_value(json_object_get(fields, "logger"));
	char head[64];

	if (o->json) {
		print_json(e, JSON_COMPACT);
		return;
	}
	snprintf(head, sizeof(head), "%.19s  %-7.20s", at ? at : "",
		 stream	  ? stream
		 : logger ? logger
			  : "");
	clean_text(head);
	char *shown = strdup(message ? message : "");
	if (shown)
		clean_text(shown);
	printf("%s  %s\n", head, shown ? shown : "");
	free(shown);
}

/* Entries may share a millisecond with those seen before: these are not shown again. */
struct position {
	int64_t ms;
	json_t *seen; /* entries of that millisecond */
};

static bool is_new(const struct position *p, json_t *e)
{
	json_t *old;
	size_t i;

	json_array_foreach(p->seen, i, old)
	{
		if (json_equal(old, e))
			return false;
	}
	return true;
}

/* One page; the number of entries that are new, 0 = that was all. */
static int show(struct client_options *o, const char *id, struct position *p, struct error *err)
{
	char path[160];
	json_t *answer = NULL, *e;
	size_t i;
	char shown_at[32] = "";
	int shown = 0;

	snprintf(path, sizeof(path), "/v2/sandboxes/%s/logs?limit=%d&direction=forward&cursor=%lld",
		 id, PAGE, (long long)p->ms);
	int r = call(&o->endpoint, "GET", path, NULL, &answer, err);
	json_array_foreach(json_object_get(answer, "logs"), i, e)
	{
		const char *at = json_string_value(json_object_get(e, "timestamp"));
		int64_t ms = (int64_t)(parse_time(at) * 1000 + 0.5 / 1000);
		snprintf(shown_at, sizeof(shown_at), "%s", at ? at : "");
		if (!is_new(p, e))
			continue;
		print_entry(o, e);
		shown++;
		if (ms > p->ms) {
			json_array_clear(p->seen);
			p->ms = ms;
		}
		json_array_append(p->seen, e);
	}
	/* A page full of one millisecond: what else it has cannot be asked for. */
	clean_text(shown_at);
	if (shown == 0 && json_array_size(json_object_get(answer, "logs")) == PAGE) {
		fprintf(stderr,
			"hotcell: of lines that came in one millisecond, no more than %d are "
			"shown (%.19s)\n",
			PAGE, shown_at);
		p->ms++;
		shown = 1;
	}
	json_decref(answer);
	return r < 0 ? r : shown;
}

/* The end of a sandbox is the end of its log. */
static bool is_alive(struct client_options *o, const char *id)
{
	char path[64];
	struct error err;

	snprintf(path, sizeof(path), "/sandboxes/%s", id);
	return call(&o->endpoint, "GET", path, NULL, NULL, &err) == 0 || err.code != 404;
}

static int run_logs(struct client_options *o)
{
	struct position p = { .seen = json_array() };
	struct timespec pause = { .tv_nsec = FOLLOW_MS * (long)NSEC_PER_MSEC };
	struct error err;
	char id[24];
	bool alive = true;
	int r = client_find(o, o->arguments[0], "running,paused,ended", id, &err);

	while (r >= 0 && alive) {
		/* Asked first: what comes between the two is still shown. */
		alive = o->follow && is_alive(o, id);
		while ((r = show(o, id, &p, &err)) > 0)
			;
		if (fflush(stdout) != 0)
			break;
		if (r == 0 && alive)
			nanosleep(&pause, NULL);
	}
	json_decref(p.seen);
	return r < 0 ? client_fail(&err) : 0;
}

static const struct option_spec logs_options[] = {
	CLIENT_COMMON,
	CLIENT_JSON,
	{ .name = "follow",
	  .letter = 'f',
	  .kind = OPTION_FLAG,
	  .offset = offsetof(struct client_options, follow),
	  .value = 1,
	  .help = "go on with what comes, until the sandbox ends" },
};

const struct client_verb verb_logs = {
	"logs",
	"[OPTIONS] SANDBOX",
	"Shows the log of a sandbox, also of one that has ended.",
	logs_options,
	ARRAY_SIZE(logs_options),
	1,
	1,
	run_logs,
	false,
	0,
};
