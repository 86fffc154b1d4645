/*
 * Life of an exchange, and the request as handlers see it.
 *
 *	new -> dispatched -> (body delivered | response sent, in any order) -> over -> freed
 *
 * It is over in one of three ways: the response is complete (carrier->end), the handler drops it
 * (carrier->abort), or the client is gone (exchange_lost). In each the carrier lets go of it first.
 * While a callback of the handler runs the memory stays (`busy`), so that the caller can see `dead`.
 */
#include "http/exchange_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "codec/url.h"
#include "http/conn_internal.h"
#include "http/server_internal.h"

struct http_exchange *exchange_new(struct http_conn *conn, const struct http_carrier *carrier)
{
	struct http_exchange *x = calloc(1, sizeof(*x));
	if (!x)
		return NULL;
	x->conn = conn;
	x->server = conn->server;
	x->carrier = carrier;
	x->start_ns = clock_now_ns();
	x->length = HTTP1_NO_LENGTH;
	x->out_length = UINT64_MAX;
	x->label = "";
	region_init(&x->region, HTTP_EXCHANGE_BYTES);
	return x;
}

int exchange_set_target(struct http_exchange *x, const char *target)
{
	const char *mark = strchr(target, '?');
	size_t size = mark ? (size_t)(mark - target) : strlen(target);
	x->path = region_text(&x->region, target, size);
	x->query = mark ? region_text(&x->region, mark + 1, strlen(mark + 1)) : "";
	return x->path && x->query ? 0 : -ENOMEM;
}

int exchange_set_fields(struct http_exchange *x, const struct http1_fields *fields)
{
	x->fields = region_alloc(&x->region, (fields->count + 1) * sizeof(*x->fields));
	if (!x->fields)
		return -ENOMEM;
	for (size_t i = 0; i < fields->count; i++)
		if (!fields->at[i].hop)
			x->fields[x->field_count++] = fields->at[i];
	return 0;
}

void exchange_free(struct http_exchange *x)
{
	x->dead = true;
	if (x->busy)
		return;
	collector_free(x->collector);
	region_fini(&x->region);
	free(x);
}

void exchange_over(struct http_exchange *x, int status)
{
	const struct http_hooks *hooks = &x->server->hooks;
	if (hooks->ended)
		hooks->ended(x, x->label, status, clock_now_ns() - x->start_ns);
	exchange_free(x);
}

void exchange_lost(struct http_exchange *x)
{
	http_event_fn fn = x->close_fn;
	x->close_fn = NULL;
	x->lost = true;
	x->busy++;
	if (fn)
		fn(x, x->close_ctx);
	x->busy--;
	exchange_over(x, x->started ? x->status : 499);
}

/* After a callback. False: it ended the exchange. */
static bool leave(struct http_exchange *x)
{
	x->busy--;
	if (!x->dead)
		return true;
	if (!x->busy)
		exchange_free(x);
	return false;
}

void exchange_dispatch(struct http_exchange *x)
{
	x->busy++;
	server_route(x);
	(void)leave(x);
}

bool exchange_deliver(struct http_exchange *x, const uint8_t *data, size_t size, bool last,
		      int error)
{
	assert(size <= x->credit && !x->body_over);
	x->credit -= size;
	x->body_over = last;
	x->busy++;
	x->body_fn(x, x->body_ctx, data, size, last, error);
	return leave(x);
}

bool exchange_run(struct http_exchange *x)
{
	if (!x->drain_armed || x->carrier->unsent(x) >= x->drain_below)
		return true;
	x->drain_armed = false;
	x->busy++;
	x->drain_fn(x, x->drain_ctx);
	return leave(x);
}

/* ---- what handlers ask ---- */

const char *http_method(const struct http_exchange *x)
{
	return x->method;
}

const char *http_path(const struct http_exchange *x)
{
	return x->path;
}

const char *http_query(const struct http_exchange *x)
{
	return x->query;
}

const char *http_host(const struct http_exchange *x)
{
	return x->host;
}

bool http_is_tls(const struct http_exchange *x)
{
	return x->conn->secure;
}

const char *http_header(const struct http_exchange *x, const char *name)
{
	for (size_t i = 0; i < x->field_count; i++)
		if (strcmp(x->fields[i].name, name) == 0)
			return x->fields[i].value;
	return NULL;
}

bool http_header_at(const struct http_exchange *x, size_t i, const char **ret_name,
		    const char **ret_value)
{
	if (i >= x->field_count)
		return false;
	*ret_name = x->fields[i].name;
	*ret_value = x->fields[i].value;
	return true;
}

const char *http_param(const struct http_exchange *x, const char *name)
{
	size_t size = strlen(name);
	for (size_t i = 0; i < x->param_count; i++)
		if (x->params[i].name_size == size && memcmp(x->params[i].name, name, size) == 0)
			return x->params[i].value;
	return NULL;
}

const char *http_query_param(struct http_exchange *x, const char *name)
{
	struct query_field f;
	if (!query_find(x->query, name, &f))
		return NULL;
	char *value = region_text(&x->region, f.value, f.value_size);
	ssize_t size = value ? url_decode(value, f.value_size, true, value) : -ENOMEM;
	if (size < 0)
		return NULL;
	value[size] = '\0';
	return value;
}

const char *http_query_raw(struct http_exchange *x, const char *name)
{
	struct query_field f;
	return query_find(x->query, name, &f) ? region_text(&x->region, f.value, f.value_size)
					      : NULL;
}

const char *http_peer(const struct http_exchange *x)
{
	return x->conn->peer;
}

void *http_context(const struct http_exchange *x)
{
	return x->server->context;
}

void *http_alloc(struct http_exchange *x, size_t size)
{
	return region_alloc(&x->region, size);
}

bool http_started(const struct http_exchange *x)
{
	return x->started;
}

uint64_t http_body_length(const struct http_exchange *x)
{
	return x->length;
}

void http_on_close(struct http_exchange *x, http_event_fn fn, void *ctx)
{
	x->close_fn = fn;
	x->close_ctx = ctx;
}

void http_on_drain(struct http_exchange *x, size_t below, http_event_fn fn, void *ctx)
{
	x->drain_fn = fn;
	x->drain_ctx = ctx;
	x->drain_below = below;
	x->drain_armed = fn != NULL;
	if (fn)
		x->carrier->wake(x);
}
