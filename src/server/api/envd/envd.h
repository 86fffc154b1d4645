/* The services inside a sandbox (port 49983), answered by the daemon: processes, files, watches. */
#pragma once

#include <stdbool.h>

#include "http/exchange.h"

struct sandbox;

#define ENVD_PORT 49983

/* Takes the exchange; `s` is running. */
void envd_handle(struct http_exchange *x, struct sandbox *s);
/* The exchange is for a file, and its signature is this sandbox's (expired or not). */
bool envd_signed_for(struct http_exchange *x, const struct sandbox *s);
/* The exchange carries the access token, or the sandbox has none. */
bool envd_has_token(const struct http_exchange *x, const struct sandbox *s);
/* Likewise; answers 401 if not. */
bool envd_authorized(struct http_exchange *x, struct sandbox *s);
