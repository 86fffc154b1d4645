/*
 * The reverse proxy: an exchange continued to a server at the other end of a connected stream socket
 * (a port inside a sandbox). The upstream is hostile: its head is parsed as strictly as a client's,
 * and regenerated. Upgrades (WebSocket, also extended CONNECT over HTTP/2) become byte tunnels.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "http/exchange.h"

struct http_proxy_options {
	const char *host; /* Host field for the upstream; NULL = as the client sent it */
	bool tls;	  /* the upstream speaks TLS; its certificate is not verified */
	/* Fields that must not reach the upstream (lower-case), NULL-terminated; may be NULL. */
	const char *const *strip;
	uint32_t head_timeout_ms; /* until the response head; 0 = none */
	/* Called once when the exchange is over, with the bytes carried. May be NULL. */
	void (*done)(void *ctx, uint64_t to_upstream, uint64_t from_upstream);
	void *ctx;
};

/* Takes over the exchange and fd. Failures of the upstream before its head answer 502. */
void http_proxy(struct http_exchange *x, int fd, const struct http_proxy_options *options);
/* Bytes both ways without HTTP: for `hotcell forward`, a CONNECT-like upgrade. `done` (may be NULL) is
 * called once when it is over. */
void http_tunnel(struct http_exchange *x, int fd, const char *upgrade_protocol,
		 void (*done)(void *ctx, uint64_t to_upstream, uint64_t from_upstream), void *ctx);
