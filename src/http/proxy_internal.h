/* Between the files of the reverse proxy. */
#pragma once

#include "base/buffer.h"
#include "codec/chunked.h"
#include "codec/http1.h"
#include "http/exchange_internal.h"
#include "http/proxy.h"
#include "http/server_internal.h"
#include "http/sock.h"

enum proxy_state {
	PROXY_HEAD,   /* waiting for the response's head */
	PROXY_BODY,   /* in its body */
	PROXY_TUNNEL, /* bytes both ways */
	PROXY_OVER,
};

struct proxy {
	struct sock sock;	 /* the upstream */
	struct http_exchange *x; /* NULL = over */
	struct http_server *server;
	enum proxy_state state;
	struct server_deadline deadline;
	struct http_proxy_options options;
	uint64_t to_upstream, from_upstream;

	bool upgrade; /* the upstream was asked to change protocols */
	bool request_chunked;
	size_t owed; /* bytes taken from the client, credit not yet given back */

	struct buffer in; /* the response's head, as far as it is there */
	struct http1_scan scan;
	struct chunked chunks;
	bool chunked, until_close;
	uint64_t left;
};

#define PROXY_CREDIT  65536
#define PROXY_BACKLOG 262144 /* bytes queued on one side before the other waits */

/* Sends the request's head, and starts its body. */
void proxy_send_request(struct proxy *p);
/* Bytes of the upstream. */
void proxy_response_data(struct proxy *p, const uint8_t *data, size_t size);
void proxy_response_eof(struct proxy *p);
/* Bytes both ways from now on; the exchange is upgraded. */
void proxy_begin_tunnel(struct proxy *p, const char *protocol);
/* The upstream's bytes to the client, with back pressure. */
void proxy_to_client(struct proxy *p, const uint8_t *data, size_t size);
void proxy_to_upstream(struct proxy *p, const uv_buf_t *pieces, unsigned count);
/* Gives the client credit for what the upstream has taken. */
void proxy_return_credit(struct proxy *p);
/* The upstream failed: 502 (or another status), or the response is cut. */
void proxy_fail(struct proxy *p, int status, const char *why);
/* The response is complete. */
void proxy_finish(struct proxy *p);
