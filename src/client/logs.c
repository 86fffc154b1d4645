/* `hotcell logs`: what commands printed, and events of the sandbox's life. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "client/client.h"
#include "client/table.h"

#define FOLLOW_MS 400

static void print_entry(const struct client_options *o, json_t *e)
{
	const char *message = json_string_value(json_object_get(e, "message"));
	const char *at = json_string_value(json_object_get(e, "timestamp"));
	json_t *fields = json_object_get(e, "fields");
	const char *stream = json_string_value(json_object_get(fields, "stream"));
	const char *logger = json_string_value(json_object_get(fields, "logger"));

	if (o->json) {
		json_dumpf(e, stdout, JSON_COMPACT);
		putchar('\n');
		return;
	}
	printf("%.19s  %-7s  ", at ? at : "", stream ? stream : logger ? logger : "");
	for (const char *s = message ? message : ""; *s; s++)
		putchar((unsigned char)*s < ' ' && *s != '\t' ? '?' : *s);
	putchar('\n');
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

	json_array_foreach(p->seen, i, old) {
		if (json_equal(old, e))
			return false;
	}
	return true;
}

static int show(struct client_options *o, const char *id, struct position *p, struct error *err)
{
	char path[160];
	json_t *answer = NULL, *e;
	size_t i;

	snprintf(path, sizeof(path), "/v2/sandboxes/%s/logs?limit=1000&direction=forward&cursor=%lld",
		 id, (long long)p->ms);
	int r = call(&o->endpoint, "GET", path, NULL, &answer, err);
	json_array_foreach(json_object_get(answer, "logs"), i, e) {
		const char *at = json_string_value(json_object_get(e, "timestamp"));
		int64_t ms = (int64_t)(parse_time(at) * 1000);
		if (!is_new(p, e))
			continue;
		print_entry(o, e);
		if (ms > p->ms) {
			json_array_clear(p->seen);
			p->ms = ms;
		}
		json_array_append(p->seen, e);
	}
	json_decref(answer);
	fflush(stdout);
	return r;
}

static int run_logs(struct client_options *o)
{
	struct position p = { .seen = json_array() };
	struct timespec pause = { .tv_nsec = FOLLOW_MS * (long)NSEC_PER_MSEC };
	struct error err;
	char id[24];
	int r = client_find(o, o->arguments[0], id, &err);

	while (r == 0 && (r = show(o, id, &p, &err)) == 0 && o->follow)
		nanosleep(&pause, NULL);
	json_decref(p.seen);
	return r < 0 ? client_fail(&err) : 0;
}

static const struct option_spec logs_options[] = {
	CLIENT_COMMON,
	{ .name = "follow",
	  .letter = 'f',
	  .kind = OPTION_FLAG,
	  .offset = offsetof(struct client_options, follow),
	  .value = 1,
	  .help = "go on with what comes" },
};

const struct client_verb verb_logs = {
	"logs", "[OPTIONS] SANDBOX", "Shows the log of a sandbox, also of one that has ended.",
	logs_options, ARRAY_SIZE(logs_options), 1, 1, run_logs, false,
};
