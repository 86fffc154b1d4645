/*
 * The reverse proxy: an exchange on one side, a socket to an upstream on the other.
 *
 *	HEAD -> BODY -> OVER        request bytes flow meanwhile
 *	   \-> TUNNEL -> OVER       the upstream agreed to change protocols
 *
 * Nothing is forwarded as it came: heads are parsed and written anew, bodies are framed anew. The
 * upstream is as hostile as any client: a malformed or too long head is a 502, a malformed or cut body
 * cuts the client's response. Each side stops reading while the other does not take what is
 * queued. One connection per request: "connection: close".
 *
 * The proxy lives until its socket is closed; `x` is NULL as soon as the exchange is over.
 */
#include "http/proxy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codec/authority.h"
#include "codec/token.h"
#include "http/conn_internal.h"
#include "http/proxy_internal.h"
#include "http/tls.h"

static struct proxy *of(struct sock *s)
{
	return list_entry(s, struct proxy, sock);
}

/* ---- the end ---- */

/* The exchange is the caller's to end. */
static struct http_exchange *let_go(struct proxy *p)
{
	struct http_exchange *x = p->x;
	p->x = NULL;
	p->state = PROXY_OVER;
	list_del(&p->deadline.link);
	if (x) {
		http_on_close(x, NULL, NULL);
		http_on_drain(x, 0, NULL, NULL);
	}
	sock_close(&p->sock);
	return x;
}

void proxy_finish(struct proxy *p)
{
	struct http_exchange *x = let_go(p);
	if (x)
		http_finish(x);
}

void proxy_fail(struct proxy *p, int status, const char *why)
{
	struct http_exchange *x = let_go(p);
	if (!x)
		return;
	if (http_started(x))
		http_abort(x);
	else
		http_error(x, status, "%s", why);
}

static void client_gone(struct http_exchange *x, void *ctx)
{
	(void)x;
	let_go(ctx);
}

static void on_closed(struct sock *s)
{
	struct proxy *p = of(s);
	if (p->x)
		proxy_fail(p, 502, "the connection to the port broke");
	if (p->options.done)
		p->options.done(p->options.ctx, p->to_upstream, p->from_upstream);
	buffer_fini(&p->in);
	free(p);
}

/* ---- bytes ---- */

void proxy_to_upstream(struct proxy *p, const uv_buf_t *pieces, unsigned count)
{
	(void)sock_send(&p->sock, pieces, count);
}

void proxy_return_credit(struct proxy *p)
{
	size_t owed = p->owed;
	if (!p->x || !owed || sock_unsent(&p->sock) > PROXY_BACKLOG)
		return;
	p->owed = 0;
	http_body_grant(p->x, owed);
}

static void client_took(struct http_exchange *x, void *ctx)
{
	struct proxy *p = ctx;
	if (http_unsent(x) < PROXY_BACKLOG)
		sock_read(&p->sock, true);
}

void proxy_to_client(struct proxy *p, const uint8_t *data, size_t size)
{
	p->from_upstream += size;
	(void)http_send(p->x, data, size);
	if (http_unsent(p->x) < PROXY_BACKLOG)
		return;
	sock_read(&p->sock, false);
	http_on_drain(p->x, PROXY_BACKLOG / 2, client_took, p);
}

static void on_data(struct sock *s, const uint8_t *data, size_t size)
{
	struct proxy *p = of(s);
	if (!p->x)
		return;
	/* What one read brings goes out with one write. */
	struct sock *client = &p->x->conn->sock;
	sock_cork(client);
	if (p->state == PROXY_TUNNEL)
		proxy_to_client(p, data, size);
	else
		proxy_response_data(p, data, size);
	sock_uncork(client);
}

static void on_eof(struct sock *s)
{
	struct proxy *p = of(s);
	if (p->state == PROXY_TUNNEL)
		proxy_finish(p);
	else if (p->x)
		proxy_response_eof(p);
}

static void on_written(struct sock *s)
{
	proxy_return_credit(of(s));
}

static void on_secure(struct sock *s)
{
	struct proxy *p = of(s);
	if (p->x)
		proxy_send_request(p);
}

static const struct sock_events events = {
	.data = on_data,
	.eof = on_eof,
	.written = on_written,
	.secure = on_secure,
	.closed = on_closed,
};

/* ---- time ---- */

/* An upstream that takes no bytes of a request for that long will never. */
#define STALLS 10

static void on_sweep(struct server_deadline *d, uint64_t now_ms)
{
	struct proxy *p = list_entry(d, struct proxy, deadline);
	if (p->state == PROXY_HEAD && d->at_ms && now_ms >= d->at_ms)
		proxy_fail(p, 504, "the port did not answer in time");
	else if (sock_stalled_ms(&p->sock) > (uint64_t)p->server->limits.stall_timeout_ms * STALLS)
		proxy_fail(p, 504, "the port takes no data");
}

/* ---- the beginning ---- */

static struct proxy *proxy_new(struct http_exchange *x, int fd)
{
	struct http_server *s = x->server;
	struct proxy *p = calloc(1, sizeof(*p));
	if (!p || sock_init(&p->sock, s->loop, UV_NAMED_PIPE, &s->buffers, &events) < 0) {
		free(p);
		close(fd);
		return NULL;
	}
	p->server = s;
	p->x = x;
	buffer_init(&p->in, s->limits.head_bytes);
	list_init(&p->deadline.link);
	/* From here on the socket's `closed` frees it. */
	if (sock_open(&p->sock, fd) < 0) {
		close(fd);
		p->x = NULL;
		sock_close(&p->sock);
		return NULL;
	}
	p->deadline.sweep = on_sweep;
	list_add_tail(&s->deadlines, &p->deadline.link);
	x->eof_is_close = true;
	http_on_close(x, client_gone, p);
	return p;
}

static bool start_tls(struct proxy *p)
{
	char name[256] = "";
	const char *host = p->options.host ? p->options.host : p->x->host;
	size_t size = authority_name_size(host, strlen(host));
	if (size < sizeof(name))
		memcpy(name, host, size);
	struct tls *tls = tls_new_client(name);
	if (tls)
		sock_use_tls(&p->sock, tls);
	return tls != NULL;
}

void http_proxy(struct http_exchange *x, int fd, const struct http_proxy_options *options)
{
	struct proxy *p = proxy_new(x, fd);
	if (!p) {
		if (options->done)
			options->done(options->ctx, 0, 0);
		http_error(x, 502, "cannot use the connection to the port");
		return;
	}
	p->options = *options;
	if (options->head_timeout_ms)
		p->deadline.at_ms = uv_now(p->server->loop) + options->head_timeout_ms;
	if (!options->tls)
		proxy_send_request(p);
	else if (!start_tls(p))
		proxy_fail(p, 502, "out of memory");
	if (p->x)
		sock_read(&p->sock, true);
}

void http_tunnel(struct http_exchange *x, int fd, const char *upgrade_protocol,
		 void (*done)(void *ctx, uint64_t to_upstream, uint64_t from_upstream), void *ctx)
{
	if (!x->upgrade || !text_list_has(x->upgrade, upgrade_protocol)) {
		close(fd);
		http_set(x, "upgrade", upgrade_protocol);
		http_error(x, 426, "this needs an upgrade to %s", upgrade_protocol);
		if (done)
			done(ctx, 0, 0);
		return;
	}
	struct proxy *p = proxy_new(x, fd);
	if (!p) {
		http_error(x, 502, "cannot use the connection");
		if (done)
			done(ctx, 0, 0);
		return;
	}
	p->options.done = done;
	p->options.ctx = ctx;
	proxy_begin_tunnel(p, upgrade_protocol);
	sock_read(&p->sock, true);
}
