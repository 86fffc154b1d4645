/*
 * Listeners and routes. One server per process, on one libuv loop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "http/exchange.h"

typedef struct uv_loop_s uv_loop_t;
struct http_server;

typedef void (*http_handler)(struct http_exchange *x);

/* A pattern is literal segments and "{name}" for one segment; "{name...}" last takes the rest. */
struct http_route {
	const char *method; /* NULL = any */
	const char *pattern;
	http_handler handler;
	const char *label; /* for metrics; NULL = the pattern */
};

struct http_hooks {
	/*
	 * Called before routing with each request head: true = it has taken the exchange (ingress, the
	 * services inside a sandbox). NULL = none.
	 */
	bool (*intercept)(struct http_exchange *x);
	/* Called when an exchange has ended, for metrics and the access log. label "" = not routed. */
	void (*ended)(struct http_exchange *x, const char *label, int status, uint64_t duration_ns);
};

struct http_limits { /* 0 = the default in limits.h of this folder */
	uint32_t head_bytes, head_fields;
	uint32_t head_timeout_ms, idle_timeout_ms, stall_timeout_ms;
	uint32_t connections, connections_per_address, streams_per_connection;
};

/* Ignores SIGPIPE for the process. Routes must live as long as the server. */
int http_server_new(uv_loop_t *loop, const struct http_route *routes, size_t route_count,
		    const struct http_hooks *hooks, const struct http_limits *limits, void *context,
		    struct http_server **ret, struct error *err);
/*
 * Closes everything; running exchanges see http_on_close(). The memory goes when the loop has run
 * its closing callbacks. NULL is fine.
 */
void http_server_free(struct http_server *s);

/* "127.0.0.1:7878", "[::1]:80" or "unix:/path". *ret_port (may be NULL): the port really taken. */
int http_listen(struct http_server *s, const char *address, bool tls, uint16_t *ret_port,
		struct error *err);
/* Certificate chain and key in PEM; may be called again (SIGHUP): new connections use the new ones,
 * a failure leaves the old ones. Before the first http_listen(tls = true). */
int http_server_tls(struct http_server *s, const char *certificate, const char *key,
		    struct error *err);
/* No new connections or requests; keep-alive connections close after what runs. `done` once. */
void http_server_drain(struct http_server *s, void (*done)(void *ctx), void *ctx);

/* ---- connections that come from elsewhere than a listener ---- */

struct http_conn;

struct http_origin {
	/* Gets every request on it, instead of hooks.intercept and the routes. */
	http_handler handle;
	/* It is gone; the last call. Never from inside the two functions below. */
	void (*closed)(void *ctx);
	uint32_t idle_timeout_ms; /* 0 = that of the server */
	/*
	 * It holds so many bytes more (or less): of bodies that are being collected, and of responses that
	 * are not taken; below HTTP_HELD_BYTES it counts as nothing. False: that is too much. A response
	 * ends the connection then, a body is a 503. NULL = whatever it holds.
	 */
	bool (*account)(void *ctx, ssize_t more);
};
/*
 * Serves a connected stream socket: HTTP/1.1 only, no TLS. Not counted against the limits of
 * connections: whoever adopts bounds them. peer: for http_peer(). Owns fd unless it is NULL: no memory,
 * or the server is drained. `origin` must live as long as the connection.
 */
struct http_conn *http_adopt(struct http_server *s, int fd, const char *peer,
			     const struct http_origin *origin, void *ctx);
/* Closes it at once; `closed` follows. Again = no effect. */
void http_adopted_close(struct http_conn *c);
/* What http_adopt() was given as ctx, NULL for a request from a listener. */
void *http_adopted_by(const struct http_exchange *x);

struct http_counts {
	uint64_t connections, accepted, refused;
	uint64_t adopted; /* now */
};
void http_server_counts(const struct http_server *s, struct http_counts *ret);
