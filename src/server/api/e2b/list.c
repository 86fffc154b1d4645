/*
 * Lists of sandboxes, page by page. The cursor is URL-safe base64 of "start__id__order": a page
 * begins behind the row that the page before ended with, whatever was made or ended meanwhile.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/base64.h"
#include "codec/url.h"
#include "server/api/e2b/e2b_internal.h"
#include "codec/time.h"

#define METADATA_QUERY_MAX 8192

struct page {
	json_t *rows;
	int64_t last_us;
	char last_id[SANDBOX_ID_SIZE];
};

static void add_row(void *ctx, const struct sandbox_record *r)
{
	struct page *p = ctx;

	json_array_append_new(p->rows, listed_json(r));
	p->last_us = r->started_us;
	snprintf(p->last_id, sizeof(p->last_id), "%s", r->id);
}

/* Terminated, into a buffer of METADATA_QUERY_MAX. */
static bool decode(const char *s, size_t size, char *out)
{
	ssize_t n = size < METADATA_QUERY_MAX ? url_decode(s, size, true, out) : -E2BIG;

	out[n < 0 ? 0 : n] = '\0';
	return n >= 0;
}

/* "key=value&key=value", each half encoded once more: JSON text, NULL = malformed. */
static char *parse_metadata(const char *text)
{
	static char pairs[METADATA_QUERY_MAX];
	char *save = NULL;
	json_t *o = json_object();
	bool ok = decode(text, strlen(text), pairs);

	for (char *pair = ok ? strtok_r(pairs, "&", &save) : NULL; pair && ok;
	     pair = strtok_r(NULL, "&", &save)) {
		char *value = strchr(pair, '=');
		ok = value && !strchr(value + 1, '=');
		if (!ok)
			break;
		*value++ = '\0';
		ok = decode(pair, strlen(pair), pair) && decode(value, strlen(value), value) &&
		     json_object_set_new(o, pair, json_string(value)) == 0;
	}
	char *out = ok ? json_dumps(o, JSON_COMPACT) : NULL;
	json_decref(o);
	return out;
}

static bool read_states(struct http_exchange *x, const char *text, uint32_t *ret)
{
	static const struct {
		const char *name;
		uint32_t bits;
	} states[] = {
		{ "running", 1u << SANDBOX_RUNNING | 1u << SANDBOX_RESUMING },
		{ "paused", 1u << SANDBOX_PAUSED | 1u << SANDBOX_PAUSING },
		{ "ended", 1u << SANDBOX_ENDED },
	};
	char names[64], *save = NULL;

	snprintf(names, sizeof(names), "%s", text);
	for (char *name = strtok_r(names, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		uint32_t bits = 0;
		for (size_t i = 0; i < 3; i++)
			bits |= strcmp(states[i].name, name) == 0 ? states[i].bits : 0;
		if (!bits) {
			http_error(x, 400, "state must be running, paused or ended");
			return false;
		}
		*ret |= bits;
	}
	return true;
}

static bool read_cursor(struct http_exchange *x, const char *token, struct sandbox_filter *f)
{
	char text[128], order[8] = "";
	int64_t us;
	ssize_t n = strlen(token) < sizeof(text) ? base64_decode(token, strlen(token), text) : -1;

	if (n > 0) {
		text[n] = '\0';
		if (sscanf(text, "%" SCNd64 "__%23[a-z0-9]__%4[a-z]", &us, f->after_id, order) == 3 &&
		    strcmp(order, f->ascending ? "asc" : "desc") == 0) {
			f->after_us = us;
			return true;
		}
	}
	http_error(x, 400, "nextToken is not one of this list's");
	return false;
}

static void set_cursor(struct http_exchange *x, const struct page *p, bool ascending)
{
	char text[128], token[192];

	int n = snprintf(text, sizeof(text), "%" PRId64 "__%s__%s", p->last_us, p->last_id,
			 ascending ? "asc" : "desc");
	base64_encode_url(text, (size_t)n, token);
	http_set(x, "x-next-token", token);
}

/* False: answered. f->metadata is to be freed. */
static bool read_filter(struct http_exchange *x, struct sandbox_filter *f)
{
	const char *states = http_query_param(x, "state");
	const char *order = http_query_param(x, "order");
	const char *after = http_query_param(x, "startedAfter");
	const char *metadata = http_query_param(x, "metadata");
	const char *token = http_query_param(x, "nextToken");

	f->started_after_us = INT64_MIN;
	f->template = http_query_param(x, "template");
	f->limit = query_limit(x);
	if (f->limit == 0 || (states && !read_states(x, states, &f->states)))
		return false;
	if (order && strcmp(order, "asc") != 0 && strcmp(order, "desc") != 0) {
		http_error(x, 400, "order must be asc or desc");
		return false;
	}
	f->ascending = order && strcmp(order, "asc") == 0;
	if (after && time_parse(after, &f->started_after_us) < 0) {
		http_error(x, 400, "startedAfter must be a time as in RFC 3339");
		return false;
	}
	if (token && *token && !read_cursor(x, token, f))
		return false;
	f->metadata = metadata && *metadata ? parse_metadata(metadata) : NULL;
	if (metadata && *metadata && !f->metadata) {
		http_error(x, 400, "metadata must be key=value pairs, encoded");
		return false;
	}
	return true;
}

static void set_total(struct http_exchange *x, const struct sandbox_filter *f)
{
	char total[16];

	if (f->states && !(f->states & 1u << SANDBOX_RUNNING))
		return;
	snprintf(total, sizeof(total), "%u", sandbox_count(http_context(x), SANDBOX_RUNNING));
	http_set(x, "x-total-running", total);
}

static void reply_page(struct http_exchange *x, const struct sandbox_filter *f)
{
	struct page page = { .rows = json_array() };
	struct error err;
	bool more;

	if (sandbox_list(http_context(x), f, add_row, &page, &more, &err) < 0) {
		json_decref(page.rows);
		reply_failure(x, &err, 0);
		return;
	}
	set_total(x, f);
	if (more)
		set_cursor(x, &page, f->ascending);
	reply_json(x, 200, page.rows);
}

void e2b_list_v2(struct http_exchange *x)
{
	struct sandbox_filter f = { 0 };

	if (authorized(x, NULL) && read_filter(x, &f))
		reply_page(x, &f);
	free((void *)(uintptr_t)f.metadata);
}

/* The old form: what runs, all of it. */
void e2b_list_v1(struct http_exchange *x)
{
	const char *metadata = http_query_param(x, "metadata");
	struct sandbox_filter f = { .started_after_us = INT64_MIN,
				    .limit = 10000,
				    .states = 1u << SANDBOX_RUNNING | 1u << SANDBOX_RESUMING };

	if (!authorized(x, NULL))
		return;
	f.metadata = metadata && *metadata ? parse_metadata(metadata) : NULL;
	if (metadata && *metadata && !f.metadata)
		http_error(x, 400, "metadata must be key=value pairs, encoded");
	else
		reply_page(x, &f);
	free((void *)(uintptr_t)f.metadata);
}
