#include "client/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "codec/base64.h"
#include "codec/url.h"

#define PAGE_MAX  100
#define PAGES_MAX 1000
#define ID_SIZE	  21
#define USER_MAX  64

/* The cursor is the last row's place. */
int client_pages(struct client_options *o, const char *query, json_t **ret, struct error *err)
{
	char path[1024], next[256] = "", encoded[3 * sizeof(next)] = "";
	json_t *all = json_array(), *page = NULL;
	int r = 0, pages = 0;

	do {
		snprintf(path, sizeof(path), "%s&limit=%d%s%s", query, PAGE_MAX,
			 next[0] ? "&nextToken=" : "", encoded);
		r = call_page(&o->endpoint, path, &page, next, sizeof(next), err);
		if (r == 0)
			json_array_extend(all, page);
		json_decref(page);
		page = NULL;
		url_encode(next, strlen(next), encoded);
	} while (r == 0 && next[0] && ++pages < PAGES_MAX);
	if (r < 0) {
		json_decref(all);
		return r;
	}
	*ret = all;
	return 0;
}

int client_list(struct client_options *o, const char *states, json_t **ret, struct error *err)
{
	char query[128];

	snprintf(query, sizeof(query), "/v2/sandboxes?state=%s", states);
	return client_pages(o, query, ret, err);
}

int client_find(struct client_options *o, const char *id, const char *states, char ret[24],
		struct error *err)
{
	json_t *list = NULL, *s;
	size_t i, length = strlen(id), found = 0;

	if (length == 0 || length > ID_SIZE ||
	    id[strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789")])
		return error_set(err, 0,
				 "'%.60s' is not the id of a sandbox (hotcell ps lists them)", id);
	snprintf(ret, 24, "%s", id);
	if (length == ID_SIZE)
		return 0;
	int r = client_list(o, states, &list, err);
	json_array_foreach(list, i, s)
	{
		const char *full = json_string_value(json_object_get(s, "sandboxID"));
		if (full && strlen(full) == ID_SIZE && strncmp(full, id, length) == 0) {
			memcpy(ret, full, ID_SIZE + 1);
			found++;
		}
	}
	json_decref(list);
	if (r == 0 && found != 1)
		r = error_set(err, 0, "%s sandbox begins with '%s' (hotcell ps lists them)",
			      found ? "more than one" : "no", id);
	return r;
}

static int set_user(struct target *t, struct error *err)
{
	char name[USER_MAX + 2], encoded[USER_MAX * 2];

	if (!t->o->user)
		return 0;
	if (!*t->o->user || strlen(t->o->user) > USER_MAX || strchr(t->o->user, ':'))
		return error_set(err, 0, "--user: '%.80s' is not the name of a user", t->o->user);
	int n = snprintf(name, sizeof(name), "%s:", t->o->user);
	base64_encode(name, (size_t)n, encoded);
	snprintf(t->authorization, sizeof(t->authorization), "Basic %.100s", encoded);
	return 0;
}

int target_open(struct target *t, struct client_options *o, const char *id, struct error *err)
{
	char path[64];
	json_t *detail = NULL;

	*t = (struct target){ .o = o, .c = connection_new() };
	int r = t->c ? set_user(t, err) : error_set(err, ENOMEM, "a connection");
	if (r == 0)
		r = client_find(o, id, "running,paused", t->id, err);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "/sandboxes/%s", t->id);
	r = call(&o->endpoint, "GET", path, NULL, &detail, err);
	const char *token = json_string_value(json_object_get(detail, "envdAccessToken"));
	const char *state = json_string_value(json_object_get(detail, "state"));
	if (r == 0 && token && (strlen(token) >= sizeof(t->token) || strpbrk(token, "\r\n")))
		r = error_set(err, 0, "the server's answer has no proper access token");
	else if (r == 0 && state && strcmp(state, "running") != 0)
		r = error_set(err, 0,
			      "sandbox %s is %.20s; a program that connects to it with an "
			      "SDK, or `e2b sandbox resume`, wakes it",
			      t->id, state);
	else if (r == 0)
		snprintf(t->token, sizeof(t->token), "%s", token ? token : "");
	json_decref(detail);
	return r;
}

void target_close(struct target *t)
{
	connection_free(t->c);
	t->c = NULL;
}

void target_headers(const struct target *t, struct header h[TARGET_HEADERS_MAX], const char *port,
		    const char *type)
{
	unsigned int n = 0;

	h[n++] = (struct header){ "Content-Type", type };
	h[n++] = (struct header){ "E2b-Sandbox-Id", t->id };
	h[n++] = (struct header){ "E2b-Sandbox-Port", port };
	h[n++] = (struct header){ "Connect-Protocol-Version", "1" };
	if (t->token[0])
		h[n++] = (struct header){ "X-Access-Token", t->token };
	if (t->authorization[0])
		h[n++] = (struct header){ "Authorization", t->authorization };
	h[n] = (struct header){ NULL, NULL };
}

int target_call(struct target *t, const char *method, json_t *message, json_t **ret,
		struct error *err)
{
	struct header headers[TARGET_HEADERS_MAX];
	char path[96];
	char *body = message ? json_dumps(message, JSON_COMPACT) : NULL;

	json_decref(message);
	if (!body)
		return error_set(err, 0, "a name that is not UTF-8 cannot be told to the server");
	target_headers(t, headers, TARGET_ENVD, "application/json");
	snprintf(path, sizeof(path), "/%s", method);
	int r = connection_request(t->c, &t->o->endpoint, "POST", path, headers, body, strlen(body),
				   err);
	free(body);
	return r < 0 ? r : connection_json(t->c, ret, err);
}
