/*
 * The HTTP server.
 *
 *	listener -> conn -> [tls] -> h1 | h2 -> exchange -> intercept | route -> handler | proxy
 *
 * One thread, one loop. Every callback of a handler comes from the loop, never from inside a function
 * that the handler calls. What must happen "soon" (a reader was set, a response is complete and the
 * next request waits) puts the connection on the list `ready`, which a timer of zero runs in the next
 * turn of the loop.
 *
 * Timeouts are not timers of their own: a connection has one deadline, and all are looked at every
 * quarter of a second. That costs nothing per request and nothing for who is idle.
 *
 * Memory: an idle connection is one structure. Input lies in one buffer that all share, and only what
 * cannot be consumed at once is kept, up to limits (limits.h). Output is queued by handlers, who
 * wait by http_unsent().
 *
 * References: RFC 9110, 9112, 9113, 8441; docs/server.md.
 */
#include "http/server.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/util.h"
#include "http/conn_internal.h"
#include "http/server_internal.h"
#include "http/tls.h"

#define ADDRESSES_MAX 65536

const char *server_date(struct http_server *s)
{
	int64_t now = time(NULL);
	if (now != s->date_time) {
		s->date_time = now;
		http_date_format(now, s->date);
	}
	return s->date;
}

/* ---- addresses ---- */

static bool address_bytes(const struct sockaddr *address, uint8_t ret[16])
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)address;
	memset(ret, 0, 16);
	if (address->sa_family == AF_INET)
		memcpy(ret, &v4->sin_addr, 4);
	else if (address->sa_family == AF_INET6)
		memcpy(ret, &v6->sin6_addr, 8); /* a network of 64 bits is one customer */
	return address->sa_family == AF_INET || address->sa_family == AF_INET6;
}

int server_count_address(struct http_server *s, const struct sockaddr *address,
			 struct address_count **ret)
{
	uint8_t bytes[16];
	*ret = NULL;
	if (!address_bytes(address, bytes))
		return 0;
	struct address_count *a = map_find(&s->addresses, bytes, sizeof(bytes));
	if (a && a->count >= s->limits.connections_per_address)
		return -EMFILE;
	if (!a) {
		a = calloc(1, sizeof(*a));
		if (!a)
			return -ENOMEM;
		memcpy(a->address, bytes, sizeof(bytes));
		int r = map_insert(&s->addresses, a->address, sizeof(a->address), a);
		if (r < 0) {
			free(a);
			return r;
		}
	}
	a->count++;
	*ret = a;
	return 0;
}

void server_uncount_address(struct http_server *s, struct address_count *a)
{
	if (!a || --a->count)
		return;
	map_remove(&s->addresses, a->address, sizeof(a->address));
	free(a);
}

/* ---- timers ---- */

static void on_sweep(uv_timer_t *timer)
{
	struct http_server *s = timer->data;
	uint64_t now = uv_now(s->loop);
	struct http_conn *c, *next;
	list_for_each_safe(c, next, &s->conns, link)
		conn_sweep(c, now);
	/* One that ends itself removes only itself. */
	struct server_deadline *d, *next_d;
	list_for_each_safe(d, next_d, &s->deadlines, link)
		d->sweep(d, now);
}

static void on_soon(uv_timer_t *timer)
{
	struct http_server *s = timer->data;
	struct list now;
	list_init(&now);
	list_splice_tail(&now, &s->ready);
	/* Who becomes ready again meanwhile waits for the next turn. */
	while (!list_empty(&now)) {
		struct http_conn *c = list_first(&now, struct http_conn, ready);
		list_del(&c->ready);
		if (!c->sock.closing && c->protocol)
			c->protocol->run(c);
	}
}

void conn_schedule(struct http_conn *c)
{
	struct http_server *s = c->server;
	if (list_linked(&c->ready) || c->sock.closing)
		return;
	if (list_empty(&s->ready))
		(void)uv_timer_start(&s->soon, on_soon, 0, 0);
	list_add_tail(&s->ready, &c->ready);
}

/* ---- life ---- */

static uint32_t or_default(uint32_t v, uint32_t standard)
{
	return v ? v : standard;
}

static void set_limits(struct http_server *s, const struct http_limits *given)
{
	struct http_limits l = given ? *given : (struct http_limits){ 0 };
	s->limits = (struct http_limits){
		.head_bytes = or_default(l.head_bytes, HTTP_HEAD_BYTES),
		.head_fields = or_default(l.head_fields, HTTP_HEAD_FIELDS),
		.head_timeout_ms = or_default(l.head_timeout_ms, HTTP_HEAD_TIMEOUT_MS),
		.idle_timeout_ms = or_default(l.idle_timeout_ms, HTTP_IDLE_TIMEOUT_MS),
		.stall_timeout_ms = or_default(l.stall_timeout_ms, HTTP_STALL_TIMEOUT_MS),
		.connections = or_default(l.connections, HTTP_CONNECTIONS),
		.connections_per_address =
			or_default(l.connections_per_address, HTTP_CONNECTIONS_PER_ADDRESS),
		.streams_per_connection =
			or_default(l.streams_per_connection, HTTP_STREAMS_PER_CONNECTION),
	};
}

/* When the last handle and the last connection are gone. */
static void free_if_over(struct http_server *s)
{
	if (!s->closing || s->handles || !list_empty(&s->conns))
		return;
	tls_context_free(s->tls);
	map_fini(&s->addresses);
	free(s->fields);
	free(s->head_text);
	free(s);
}

void server_handle_closed(struct http_server *s)
{
	s->handles--;
	free_if_over(s);
}

static void on_timer_closed(uv_handle_t *handle)
{
	server_handle_closed(handle->data);
}

static int start_timers(struct http_server *s)
{
	int r = uv_timer_init(s->loop, &s->sweep);
	if (r == 0)
		r = uv_timer_init(s->loop, &s->soon);
	if (r < 0)
		return r;
	s->sweep.data = s->soon.data = s;
	s->handles = 2;
	r = uv_timer_start(&s->sweep, on_sweep, HTTP_SWEEP_MS, HTTP_SWEEP_MS);
	uv_unref((uv_handle_t *)&s->sweep);
	return r;
}

int http_server_new(uv_loop_t *loop, const struct http_route *routes, size_t route_count,
		    const struct http_hooks *hooks, const struct http_limits *limits, void *context,
		    struct http_server **ret, struct error *err)
{
	struct http_server *s = calloc(1, sizeof(*s));
	if (!s)
		return error_set(err, ENOMEM, "HTTP server");
	s->loop = loop;
	s->routes = routes;
	s->route_count = route_count;
	s->hooks = hooks ? *hooks : (struct http_hooks){ 0 };
	s->context = context;
	set_limits(s, limits);
	list_init(&s->listeners);
	list_init(&s->conns);
	list_init(&s->ready);
	list_init(&s->deadlines);
	map_init(&s->addresses, ADDRESSES_MAX);
	/* A client that closed is an error of a write, not the end of the process. */
	(void)signal(SIGPIPE, SIG_IGN);
	s->fields = calloc(s->limits.head_fields, sizeof(*s->fields));
	s->head_room = KIB(64);
	s->head_text = malloc(s->head_room);
	int r = s->fields && s->head_text ? start_timers(s) : -ENOMEM;
	if (r < 0) {
		free(s->fields);
		free(s->head_text);
		free(s);
		return error_set(err, -r, "HTTP server");
	}
	*ret = s;
	return 0;
}

void http_server_free(struct http_server *s)
{
	if (!s || s->closing)
		return;
	s->closing = true;
	server_close_listeners(s);
	struct http_conn *c;
	list_for_each(c, &s->conns, link)
		conn_close(c);
	uv_close((uv_handle_t *)&s->sweep, on_timer_closed);
	uv_close((uv_handle_t *)&s->soon, on_timer_closed);
}

/* ---- drain ---- */

static void drained_if_empty(struct http_server *s)
{
	void (*done)(void *) = s->drained;
	if (!s->draining || !done || !list_empty(&s->conns))
		return;
	s->drained = NULL;
	done(s->drained_ctx);
}

void server_conn_closed(struct http_server *s, bool adopted)
{
	(*(adopted ? &s->counts.adopted : &s->counts.connections))--;
	drained_if_empty(s);
	free_if_over(s);
}

void http_server_drain(struct http_server *s, void (*done)(void *ctx), void *ctx)
{
	s->draining = true;
	s->drained = done;
	s->drained_ctx = ctx;
	server_close_listeners(s);
	struct http_conn *c, *next;
	list_for_each_safe(c, next, &s->conns, link)
		conn_drain(c);
	drained_if_empty(s);
}

int http_server_tls(struct http_server *s, const char *certificate, const char *key,
		    struct error *err)
{
	struct tls_context *fresh;
	int r = tls_context_new(certificate, key, &fresh, err);
	if (r < 0)
		return r;
	tls_context_free(s->tls);
	s->tls = fresh;
	return 0;
}

void http_server_counts(const struct http_server *s, struct http_counts *ret)
{
	*ret = s->counts;
}
