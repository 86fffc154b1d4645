/* The parts of the server that speak HTTP, in one place: what is served, and what they need. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "http/server.h"

struct server;

const struct http_route *server_routes(size_t *ret_count);
/* http_hooks.intercept */
bool server_intercept(struct http_exchange *x);
/* After sandboxes_start(). */
int server_parts_start(struct server *server, struct error *err);
