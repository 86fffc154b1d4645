/*
 * Which requests are for a sandbox, and the way to it: headers or a host name say sandbox and port.
 * The port 49983 is envd and 49999 the code interpreter, answered by the daemon; every other one is a
 * port of the guest, reached through the application kernel's loopback, whatever address the guest listens on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "http/exchange.h"

struct sandbox;

/* For http_hooks.intercept: true = taken. */
bool ingress_intercept(struct http_exchange *x);

/* It carries the traffic access token, or the sandbox has none. Answers 403 if not. */
bool ingress_allowed(struct http_exchange *x, const struct sandbox *s);

/* Sends the exchange to a port of a running sandbox, after the checks of its network settings. */
void ingress_forward(struct http_exchange *x, struct sandbox *s, uint16_t port);

/* Bytes to and from a port, for an exchange that asks to be upgraded to this protocol. The caller has
 * checked who asks. */
#define INGRESS_TUNNEL "hotcell-tcp"
void ingress_tunnel(struct http_exchange *x, struct sandbox *s, uint16_t port);

/* Services that the daemon answers itself instead of the guest. */
struct ingress_service {
	uint16_t port;
	void (*handle)(struct http_exchange *x, struct sandbox *s);
	/* Whether a paused sandbox may be woken for this request. NULL = always. */
	bool (*may_wake)(struct http_exchange *x, struct sandbox *s);
};
extern const struct ingress_service ingress_services[];
extern const unsigned int ingress_service_count;
