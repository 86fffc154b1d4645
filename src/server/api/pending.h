/*
 * An exchange that waits for an operation of a sandbox. The client may leave meanwhile: then the
 * operation goes on and there is nobody to answer.
 */
#pragma once

#include "http/exchange.h"

struct sandbox;

struct pending {
	struct http_exchange *x; /* NULL: the client left */
	int flag;		 /* the handler's own */
};

/* NULL: out of memory, answered. */
struct pending *pending_new(struct http_exchange *x);
/* Frees it; the exchange to answer, or NULL. */
struct http_exchange *pending_end(struct pending *p);
