/* `hotcell logs`: what commands printed, and events of the sandbox's life. */
#include <errno.h>
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

/* Entries are numbered; those that are missing had been dropped before they were asked for. */
static int take_entry(struct client_options *o, json_t *e, json_int_t *last, struct error *err)
{
	json_int_t number = json_integer_value(json_object_get(e, "sequence"));

	if (number <= *last)
		return error_set(err, EPROTO, "the server's answer is no log that is in order");
	if (number - *last > 1) {
		fflush(stdout);
		fprintf(stderr, "hotcell: %lld entries that were here are not kept any more\n",
			(long long)(number - *last - 1));
	}
	*last = number;
	print_entry(o, e);
	return 0;
}

/* One page behind the entry that was shown last; the number of entries. */
static int show(struct client_options *o, const char *id, json_int_t *last, struct error *err)
{
	char path[160];
	json_t *answer = NULL, *e;
	size_t i;

	snprintf(path, sizeof(path), "/v2/sandboxes/%s/logs?limit=%d&direction=forward&after=%lld",
		 id, PAGE, (long long)*last);
	int r = call(&o->endpoint, "GET", path, NULL, &answer, err);
	json_t *entries = json_object_get(answer, "logs");
	json_array_foreach(entries, i, e)
	{
		if (r >= 0)
			r = take_entry(o, e, last, err);
	}
	if (r >= 0)
		r = (int)json_array_size(entries);
	json_decref(answer);
	return r;
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
	struct timespec pause = { .tv_nsec = FOLLOW_MS * (long)NSEC_PER_MSEC };
	struct error err;
	json_int_t last = 0;
	char id[24];
	bool alive = true;
	int r = client_find(o, o->arguments[0], "running,paused,ended", id, &err);

	while (r >= 0 && alive) {
		/* Asked first: what comes between the two is still shown. */
		alive = o->follow && is_alive(o, id);
		while ((r = show(o, id, &last, &err)) > 0)
			;
		if (fflush(stdout) != 0)
			break;
		if (r == 0 && alive)
			nanosleep(&pause, NULL);
	}
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
	false,
};
