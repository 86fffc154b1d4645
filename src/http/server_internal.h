/* The server as its connections and exchanges see it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/list.h"
#include "base/map.h"
#include "codec/http1.h"
#include "codec/httpdate.h"
#include "http/limits.h"
#include "http/server.h"
#include "http/sock.h"

struct http_conn;
struct tls_context;

struct http_listener {
	union {
		uv_handle_t handle;
		uv_stream_t stream;
		uv_tcp_t tcp;
		uv_pipe_t pipe;
	} uv;
	struct list link;
	struct http_server *server;
	bool tls;
	char path[108]; /* of a unix socket, removed at the end; "" = none */
};

/* Looked at every HTTP_SWEEP_MS. */
struct server_deadline {
	struct list link;
	uint64_t at_ms; /* on the loop's clock; 0 = none */
	void (*sweep)(struct server_deadline *d, uint64_t now_ms);
};

/* How many connections an address has. */
struct address_count {
	uint8_t address[16];
	uint32_t count;
};

struct http_server {
	uv_loop_t *loop;
	uv_timer_t sweep; /* timeouts */
	uv_timer_t soon;  /* connections to be run: fires in the next turn of the loop */
	unsigned handles; /* open handles of the two above and the listeners */
	const struct http_route *routes;
	size_t route_count;
	struct http_hooks hooks;
	struct http_limits limits;
	void *context;
	struct tls_context *tls;
	struct list listeners, conns, ready, deadlines;
	struct map addresses;
	struct http_counts counts;
	bool draining, closing;
	void (*drained)(void *ctx);
	void *drained_ctx;

	/* Scratch memory of whoever runs: nothing of it lives across a call into a handler. */
	struct sock_buffers buffers;
	struct http1_field *fields;
	char *head_text;
	size_t head_room;
	int64_t date_time;
	char date[HTTP_DATE_SIZE];
};

/* "date" for a response of now. */
const char *server_date(struct http_server *s);
/* Intercepts, finds the route, calls its handler; or answers 404, 405. */
void server_route(struct http_exchange *x);
/* A connection is gone. */
void server_conn_closed(struct http_server *s, bool adopted);
/* -EMFILE: there are too many from that address. *ret NULL: not counted (unix). */
int server_count_address(struct http_server *s, const struct sockaddr *address,
			 struct address_count **ret);
void server_uncount_address(struct http_server *s, struct address_count *a);
/* No new connections. */
void server_close_listeners(struct http_server *s);
/* The listener's handle is gone. */
void server_handle_closed(struct http_server *s);
