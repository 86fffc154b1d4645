/* Metrics and logs of a sandbox. */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "server/api/e2b/e2b_internal.h"
#include "server/observe/logs.h"
#include "server/observe/samples.h"

#define US_PER_SEC  1000000
#define LOG_LINES   1000
#define IDS_MAX	    100

/* ---- metrics ---- */

static json_t *sample_json(const struct sample *m)
{
	json_t *o = json_pack("{s:I, s:i, s:f, s:I, s:I, s:I, s:I, s:I}", "timestampUnix",
			      (json_int_t)(m->at_us / US_PER_SEC), "cpuCount", (int)m->cpu_count,
			      "cpuUsedPct", (double)m->cpu_used_percent, "memUsed",
			      (json_int_t)m->memory_used, "memTotal", (json_int_t)m->memory_total,
			      "memCache", (json_int_t)m->memory_cache, "diskUsed",
			      (json_int_t)m->disk_used, "diskTotal", (json_int_t)m->disk_total);
	if (o)
		reply_set_time(o, "timestamp", m->at_us);
	return o;
}

static void add_sample(void *ctx, const struct sample *m)
{
	json_array_append_new(ctx, sample_json(m));
}

void e2b_metrics(struct http_exchange *x)
{
	int64_t from, to;

	if (!authorized(x, NULL))
		return;
	struct sandbox *s = sandbox_of(x);
	if (!s || !query_integer(x, "start", 0, &from) ||
	    !query_integer(x, "end", INT64_MAX / US_PER_SEC - 1, &to))
		return;
	int64_t limit = INT64_MAX / US_PER_SEC - 1;
	if (from < 0 || to < from) {
		http_error(x, 400, "start must not be negative nor behind end");
		return;
	}
	json_t *rows = json_array();
	samples_each(s, MIN(from, limit) * US_PER_SEC,
		     MIN(to, limit) * US_PER_SEC + US_PER_SEC - 1, add_sample, rows);
	reply_json(x, 200, rows);
}

void e2b_metrics_all(struct http_exchange *x)
{
	const char *ids = http_query_param(x, "sandbox_ids");
	char *copy, *save = NULL;
	unsigned int count = 0;

	if (!authorized(x, NULL))
		return;
	if (!ids || !*ids || !(copy = strdup(ids))) {
		http_error(x, 400, "sandbox_ids is required");
		return;
	}
	json_t *found = json_object();
	for (char *id = strtok_r(copy, ",", &save); id && count < IDS_MAX;
	     id = strtok_r(NULL, ",", &save), count++) {
		struct sandbox *s = sandbox_find(http_context(x), id);
		struct sample m;
		if (s && samples_last(s, &m) == 0)
			json_object_set_new(found, id, sample_json(&m));
	}
	free(copy);
	reply_json(x, 200, json_pack("{s:o}", "sandboxes", found));
}

/* ---- logs ---- */

struct log_lists {
	json_t *lines;	 /* {timestamp, line}: NULL = not wanted */
	json_t *entries; /* {timestamp, level, message, fields} */
	bool numbered;	 /* entries with their sequence */
};

static json_t *line_json(const struct log_entry *e)
{
	json_t *line = text_json(e->fields);

	json_object_set_new(line, "level", json_string(log_level_name(e->level)));
	json_object_set_new(line, "logger", json_string(e->logger));
	json_object_set_new(line, "message", reply_text(e->message));
	char *text = json_dumps(line, JSON_COMPACT);
	json_decref(line);
	json_t *o = json_pack("{s:s}", "line", text ? text : "{}");
	free(text);
	return o;
}

/* Values of "fields" are strings in the protocol. */
static json_t *fields_json(const struct log_entry *e)
{
	json_t *fields = text_json(e->fields), *value;
	const char *key;
	void *tmp;

	json_object_foreach_safe(fields, tmp, key, value) {
		char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY);
		if (text)
			json_object_set_new(fields, key, json_string(text));
		free(text);
	}
	json_object_set_new(fields, "logger", json_string(e->logger));
	return fields;
}

static void add_entry(void *ctx, const struct log_entry *e)
{
	struct log_lists *l = ctx;
	json_t *entry = json_pack("{s:s, s:o, s:o}", "level", log_level_name(e->level), "message",
				  reply_text(e->message), "fields", fields_json(e));

	if (entry && l->numbered)
		json_object_set_new(entry, "sequence", json_integer((json_int_t)e->sequence));
	if (entry) {
		reply_set_time(entry, "timestamp", e->at_us);
		json_array_append_new(l->entries, entry);
	}
	json_t *line = l->lines ? line_json(e) : NULL;
	if (line) {
		reply_set_time(line, "timestamp", e->at_us);
		json_array_append_new(l->lines, line);
	}
}

static int read_logs(struct http_exchange *x, const struct log_query *q, struct log_lists *l)
{
	const char *id = http_param(x, "id");
	int r = logs_each(http_context(x), id, q, add_entry, l);

	if (r < 0)
		no_such_sandbox(x, id);
	return r;
}

/* start in milliseconds. */
void e2b_logs_v1(struct http_exchange *x)
{
	struct log_query q = { .to_us = INT64_MAX };
	int64_t start, limit;

	if (!authorized(x, NULL) || !query_integer(x, "start", 0, &start) ||
	    !query_integer(x, "limit", LOG_LINES, &limit))
		return;
	if (start < 0 || start > INT64_MAX / 1000 || limit < 0) {
		http_error(x, 400, "start and limit must not be negative");
		return;
	}
	q.from_us = start * 1000;
	q.limit = (unsigned int)MIN(limit, LOG_LINES);
	struct log_lists l = { .lines = json_array(), .entries = json_array() };
	if (read_logs(x, &q, &l) == 0) {
		reply_json(x, 200, json_pack("{s:O, s:O}", "logs", l.lines, "logEntries", l.entries));
	}
	json_decref(l.lines);
	json_decref(l.entries);
}

static bool read_level(struct http_exchange *x, enum log_level *ret)
{
	const char *text = http_query_param(x, "level");

	*ret = LOG_DEBUG;
	if (!text || !*text)
		return true;
	for (enum log_level l = LOG_DEBUG; l <= LOG_ERROR; l++) {
		if (strcmp(log_level_name(l), text) == 0) {
			*ret = l;
			return true;
		}
	}
	http_error(x, 400, "level must be debug, info, warn or error");
	return false;
}

/* Our own cursor, which is exact: the sequence of the entry that was seen last. */
static bool read_after(struct http_exchange *x, struct log_query *q, bool *ret_numbered)
{
	const char *text = http_query_param(x, "after");
	int64_t after;

	*ret_numbered = text && *text;
	if (!query_integer(x, "after", 0, &after))
		return false;
	q->after_sequence = (uint64_t)after;
	if (after < 0)
		http_error(x, 400, "after must not be negative");
	return after >= 0;
}

/* cursor: milliseconds since the epoch. */
void e2b_logs_v2(struct http_exchange *x)
{
	struct log_query q = { .from_us = INT64_MIN, .to_us = INT64_MAX };
	const char *direction = http_query_param(x, "direction");
	struct log_lists l = { NULL, NULL, false };
	int64_t cursor, limit;

	if (!authorized(x, NULL) || !query_integer(x, "cursor", -1, &cursor) ||
	    !query_integer(x, "limit", LOG_LINES, &limit) || !read_level(x, &q.level) ||
	    !read_after(x, &q, &l.numbered))
		return;
	q.backward = direction && strcmp(direction, "backward") == 0;
	q.search = http_query_param(x, "search");
	q.limit = (unsigned int)MAX(0, MIN(limit, LOG_LINES));
	if (cursor >= 0 && cursor < INT64_MAX / 1000 - 1) {
		if (q.backward)
			q.to_us = cursor * 1000 + 999;
		else
			q.from_us = cursor * 1000;
	}
	l.entries = json_array();
	if (read_logs(x, &q, &l) == 0)
		reply_json(x, 200, json_pack("{s:O}", "logs", l.entries));
	json_decref(l.entries);
}
