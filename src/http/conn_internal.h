/* A client's connection: its socket, its protocol, its deadlines. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/list.h"
#include "codec/chunked.h"
#include "codec/http1.h"
#include "http/sock.h"

struct http_conn;
struct http_exchange;
struct http_origin;
struct http_server;

/* HTTP/1.1 or HTTP/2. */
struct http_protocol {
	/* 0 or -ENOMEM. */
	int (*open)(struct http_conn *c);
	void (*input)(struct http_conn *c, const uint8_t *data, size_t size);
	void (*eof)(struct http_conn *c);
	/* From the loop: after output was written, or after conn_schedule(). */
	void (*run)(struct http_conn *c);
	/* The deadline has passed, or nothing was written for too long (stalled). */
	void (*expired)(struct http_conn *c, bool stalled);
	/* No new requests; close when what runs is answered. */
	void (*drain)(struct http_conn *c);
	/* The socket is gone: exchanges are lost, memory is freed. */
	void (*closed)(struct http_conn *c);
};

enum h1_state {
	H1_HEAD,    /* waiting for a request, or in its head */
	H1_BODY,    /* in its body */
	H1_DONE,    /* behind it; the exchange is being answered */
	H1_DISCARD, /* in the body of a request that was answered */
	H1_TUNNEL,  /* upgraded: bytes */
	H1_LINGER,  /* the end was sent; input is thrown away */
};

struct h1 {
	enum h1_state state;
	struct buffer in; /* arrived, not consumed */
	struct http1_scan scan;
	struct chunked chunks;
	struct http_exchange *x;
	uint64_t left; /* of a body with a length */
	uint64_t discarded;
	int body_error;
	int minor;
	bool chunked;	  /* the request's body */
	bool out_chunked; /* the response's */
	bool expect_continue;
	bool running; /* in consume(): it goes on by itself */
	bool in_head; /* the deadline is that of a head */
	bool close_wanted;
	bool held;	   /* the next request waits: for the others' turn, or for output to be taken */
	unsigned requests; /* begun in this turn */
};

struct http_conn {
	struct sock sock;
	struct http_server *server;
	struct list link;		      /* all connections of the server */
	struct list ready;		      /* those to be run */
	const struct http_protocol *protocol; /* NULL during the TLS handshake */
	struct h1 h1;
	struct h2 *h2;
	struct address_count *address; /* NULL = not counted */
	const struct http_origin *origin; /* NULL = from a listener */
	void *origin_ctx;
	size_t held, body_held; /* as its origin knows; of that, bodies being collected */
	uint64_t deadline_ms;	       /* on the loop's clock; 0 = none */
	bool draining;
	bool spoke; /* the client has sent something */
	bool secure; /* TLS */
	char peer[56];
};

extern const struct http_protocol http1_protocol, http2_protocol;

/* Takes a connection from the listener. */
void conn_accept(struct http_server *s, uv_stream_t *listener, bool tls);
/* Closes at once; the rest follows from the loop. */
void conn_close(struct http_conn *c);
/* Tells the origin what it holds now. False: too much. */
bool conn_account(struct http_conn *c);
/* protocol->run() is called soon, from the loop. */
void conn_schedule(struct http_conn *c);
/* How long it may have no request. */
uint32_t conn_idle_ms(const struct http_conn *c);
/* From now; 0 = none. */
void conn_set_deadline(struct http_conn *c, uint32_t ms);
/* Looks at deadline and stall; called every HTTP_SWEEP_MS. */
void conn_sweep(struct http_conn *c, uint64_t now_ms);
void conn_drain(struct http_conn *c);
