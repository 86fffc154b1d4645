/*
 * A client's connection. It lives from accept to the socket's `closed`; in between the protocol
 * decides. Memory of an idle one is this structure and nothing else.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http/conn_internal.h"
#include "http/exchange_internal.h"
#include "http/server_internal.h"
#include "http/tls.h"

static struct http_conn *of(struct sock *s)
{
	return list_entry(s, struct http_conn, sock);
}

void conn_close(struct http_conn *c)
{
	sock_close(&c->sock);
}

void conn_set_deadline(struct http_conn *c, uint32_t ms)
{
	c->deadline_ms = ms ? uv_now(c->server->loop) + ms : 0;
}

uint32_t conn_idle_ms(const struct http_conn *c)
{
	uint32_t own = c->origin ? c->origin->idle_timeout_ms : 0;
	return own ? own : c->server->limits.idle_timeout_ms;
}

bool conn_account(struct http_conn *c)
{
	if (!c->origin || !c->origin->account)
		return true;
	size_t now = c->body_held + sock_unsent(&c->sock), before = c->held;
	c->held = now > HTTP_HELD_BYTES ? now : 0;
	return c->held == before ||
	       c->origin->account(c->origin_ctx, (ssize_t)c->held - (ssize_t)before);
}

void conn_sweep(struct http_conn *c, uint64_t now_ms)
{
	if (c->sock.closing)
		return;
	bool stalled = sock_stalled_ms(&c->sock) >= c->server->limits.stall_timeout_ms;
	if (!stalled && (c->deadline_ms == 0 || now_ms < c->deadline_ms))
		return;
	c->deadline_ms = 0;
	if (c->protocol)
		c->protocol->expired(c, stalled);
	else
		conn_close(c);
}

void conn_drain(struct http_conn *c)
{
	c->draining = true;
	if (c->protocol)
		c->protocol->drain(c);
	else
		conn_close(c);
}

/* ---- events of the socket ---- */

static void start_protocol(struct http_conn *c, const struct http_protocol *protocol)
{
	c->protocol = protocol;
	if (protocol->open(c) < 0) {
		c->protocol = NULL;
		conn_close(c);
	}
}

/* HTTP/2 without TLS begins with a request that HTTP/1.1 does not have. */
static void choose_protocol(struct http_conn *c, const uint8_t *data, size_t size)
{
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	c->spoke = true;
	if (!c->sock.tls && !c->origin && size >= sizeof(preface) - 1 &&
	    memcmp(data, preface, sizeof(preface) - 1) == 0)
		start_protocol(c, &http2_protocol);
}

static void on_data(struct sock *s, const uint8_t *data, size_t size)
{
	struct http_conn *c = of(s);
	if (!c->spoke)
		choose_protocol(c, data, size);
	if (c->protocol)
		c->protocol->input(c, data, size);
}

static void on_eof(struct sock *s)
{
	struct http_conn *c = of(s);
	if (c->protocol)
		c->protocol->eof(c);
	else
		conn_close(c);
}

static void on_written(struct sock *s)
{
	struct http_conn *c = of(s);
	(void)conn_account(c);
	if (c->protocol)
		c->protocol->run(c);
}

static void on_secure(struct sock *s)
{
	struct http_conn *c = of(s);
	bool h2 = tls_is_h2(s->tls);
	c->secure = true;
	start_protocol(c, h2 ? &http2_protocol : &http1_protocol);
}

static void on_closed(struct sock *s)
{
	struct http_conn *c = of(s);
	struct http_server *server = c->server;
	bool adopted = c->origin != NULL;
	if (c->protocol)
		c->protocol->closed(c);
	list_del(&c->ready);
	list_del(&c->link);
	server_uncount_address(server, c->address);
	if (c->held)
		(void)c->origin->account(c->origin_ctx, -(ssize_t)c->held);
	if (adopted)
		c->origin->closed(c->origin_ctx);
	free(c);
	server_conn_closed(server, adopted);
}

static const struct sock_events events = {
	.data = on_data,
	.eof = on_eof,
	.written = on_written,
	.secure = on_secure,
	.closed = on_closed,
};

/* ---- accept ---- */

static void name_peer(struct http_conn *c, const struct sockaddr *address)
{
	char text[INET6_ADDRSTRLEN] = "";
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)address;
	if (address->sa_family == AF_INET) {
		inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
		(void)snprintf(c->peer, sizeof(c->peer), "%s:%u", text, ntohs(v4->sin_port));
	} else if (address->sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
		(void)snprintf(c->peer, sizeof(c->peer), "[%s]:%u", text, ntohs(v6->sin6_port));
	} else {
		(void)snprintf(c->peer, sizeof(c->peer), "unix");
	}
}

/* Said to who is one too many, if he can hear it at once; nobody waits for him. */
static void refuse(struct http_conn *c, bool tls)
{
	static char text[] =
		"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n"
		"retry-after: 1\r\nconnection: close\r\n\r\n"
		"{\"code\":503,\"message\":\"too many connections\"}";
	c->server->counts.refused++;
	uv_buf_t piece = uv_buf_init(text, sizeof(text) - 1);
	if (!tls)
		(void)uv_try_write(&c->sock.uv.stream, &piece, 1);
	conn_close(c);
}

static int admit(struct http_conn *c)
{
	struct sockaddr_storage address = { .ss_family = AF_UNIX };
	int size = sizeof(address);
	if (c->sock.uv.handle.type == UV_TCP)
		(void)uv_tcp_getpeername(&c->sock.uv.tcp, (struct sockaddr *)&address, &size);
	name_peer(c, (struct sockaddr *)&address);
	if (c->server->counts.connections > c->server->limits.connections)
		return -EMFILE;
	return server_count_address(c->server, (struct sockaddr *)&address, &c->address);
}

static void begin(struct http_conn *c, bool tls)
{
	struct http_server *s = c->server;
	if (!tls) {
		start_protocol(c, &http1_protocol);
		sock_read(&c->sock, true);
		return;
	}
	struct tls *t = tls_new_server(s->tls);
	if (!t) {
		conn_close(c);
		return;
	}
	conn_set_deadline(c, s->limits.head_timeout_ms);
	sock_use_tls(&c->sock, t);
	sock_read(&c->sock, true);
}

static struct http_conn *conn_new(struct http_server *s, uv_handle_type kind)
{
	struct http_conn *c = calloc(1, sizeof(*c));
	if (!c || sock_init(&c->sock, s->loop, kind, &s->buffers, &events) < 0) {
		free(c);
		return NULL;
	}
	c->server = s;
	list_add_tail(&s->conns, &c->link);
	list_init(&c->ready);
	return c;
}

void conn_accept(struct http_server *s, uv_stream_t *listener, bool tls)
{
	struct http_conn *c = conn_new(s, listener->type == UV_TCP ? UV_TCP : UV_NAMED_PIPE);
	if (!c) /* the connection waits until the next one comes */
		return;
	s->counts.connections++;
	s->counts.accepted++;
	if (sock_accept(&c->sock, listener) < 0)
		conn_close(c);
	else if (admit(c) < 0)
		refuse(c, tls);
	else
		begin(c, tls);
}

/* ---- adoption ---- */

struct http_conn *http_adopt(struct http_server *s, int fd, const char *peer,
			     const struct http_origin *origin, void *ctx)
{
	struct http_conn *c = s->draining || s->closing ? NULL : conn_new(s, UV_NAMED_PIPE);
	if (!c)
		return NULL;
	c->origin = origin;
	c->origin_ctx = ctx;
	(void)snprintf(c->peer, sizeof(c->peer), "%s", peer);
	s->counts.adopted++;
	if (sock_open(&c->sock, fd) < 0) {
		close(fd);
		conn_close(c);
	} else {
		begin(c, false);
	}
	return c;
}

void http_adopted_close(struct http_conn *c)
{
	conn_close(c);
}

void *http_adopted_by(const struct http_exchange *x)
{
	return x->conn->origin ? x->conn->origin_ctx : NULL;
}
