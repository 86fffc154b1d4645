/* From a request to its handler. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/util.h"
#include "codec/url.h"
#include "http/conn_internal.h"
#include "http/exchange_internal.h"
#include "http/server_internal.h"

/* "{name}" or "{name...}" at the start of a pattern's segment; 0 = literal. */
static size_t capture_size(const char *pattern)
{
	const char *end = pattern[0] == '{' ? strchr(pattern, '}') : NULL;
	return end ? (size_t)(end - pattern) + 1 : 0;
}

/* Keeps where the value lies; it is decoded when the route is chosen. */
static bool add_param(struct http_exchange *x, const char *name, size_t name_size,
		      const char *value)
{
	if (x->param_count == HTTP_PARAMS)
		return false;
	x->params[x->param_count++] = (struct http_param){ name, name_size, value };
	return true;
}

static bool matches(struct http_exchange *x, const char *pattern)
{
	const char *path = x->path;
	x->param_count = 0;
	while (*pattern == '/' && *path == '/') {
		pattern++;
		path++;
		size_t size = strcspn(path, "/"), capture = capture_size(pattern);
		if (capture == 0) {
			size_t literal = strcspn(pattern, "/");
			if (literal != size || memcmp(pattern, path, size) != 0)
				return false;
			pattern += literal;
			path += size;
			continue;
		}
		bool rest = capture > 5 && memcmp(pattern + capture - 4, "...}", 4) == 0;
		size_t name_size = capture - 2 - (rest ? 3 : 0);
		if ((size == 0 && !rest) || !add_param(x, pattern + 1, name_size, path))
			return false;
		if (rest)
			return true;
		pattern += capture;
		path += size;
	}
	return *pattern == '\0' && *path == '\0';
}

/* Turns what add_param() kept into decoded strings. */
static int decode_params(struct http_exchange *x)
{
	for (size_t i = 0; i < x->param_count; i++) {
		struct http_param *p = &x->params[i];
		bool rest = p->name[p->name_size] == '.';
		size_t size = rest ? strlen(p->value) : strcspn(p->value, "/");
		char *value = region_text(&x->region, p->value, size);
		if (!value)
			return -ENOMEM;
		ssize_t n = url_decode(value, size, false, value);
		if (n < 0)
			return (int)n;
		value[n] = '\0';
		p->value = value;
	}
	return 0;
}

static bool method_fits(const struct http_route *r, const char *method)
{
	if (!r->method || strcmp(r->method, method) == 0)
		return true;
	return strcmp(method, "HEAD") == 0 && strcmp(r->method, "GET") == 0;
}

/* 404, or 405 with the methods that there are. */
static void not_found(struct http_exchange *x)
{
	char allowed[128];
	struct text t = TEXT_INIT(allowed);
	const struct http_server *s = x->server;
	text_printf(&t, "%s", "");
	for (size_t i = 0; i < s->route_count; i++)
		if (matches(x, s->routes[i].pattern))
			text_printf(&t, "%s%s", t.length ? ", " : "", s->routes[i].method);
	x->param_count = 0;
	if (!t.length) {
		http_error(x, 404, "no such route: %s %s", x->method, x->path);
		return;
	}
	http_set(x, "allow", allowed);
	http_error(x, 405, "method %s is not allowed for %s", x->method, x->path);
}

static void call(struct http_exchange *x, const struct http_route *r)
{
	x->label = r->label ? r->label : r->pattern;
	int e = decode_params(x);
	if (e < 0)
		http_error(x, e == -ENOMEM ? 503 : 400, "%s",
			   e == -ENOMEM ? "out of memory"
					: "malformed percent-encoding in the path");
	else
		r->handler(x);
}

void server_route(struct http_exchange *x)
{
	const struct http_server *s = x->server;
	if (x->conn->origin) {
		x->conn->origin->handle(x);
		return;
	}
	if (s->hooks.intercept && s->hooks.intercept(x))
		return;
	for (size_t i = 0; i < s->route_count; i++) {
		const struct http_route *r = &s->routes[i];
		if (!method_fits(r, x->method) || !matches(x, r->pattern))
			continue;
		call(x, r);
		return;
	}
	not_found(x);
}
