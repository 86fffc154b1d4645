/* The API key of a request. */
#pragma once

#include <stdbool.h>

#include "http/exchange.h"

struct key;

/* Checks X-API-Key (or a bearer token); false: answered with 401. ret may be NULL. */
bool authorized(struct http_exchange *x, struct key *ret);
