/* The control plane of E2B: REST and JSON, authenticated by X-API-Key. */
#pragma once

#include <stddef.h>

#include "http/server.h"

extern const struct http_route e2b_routes[];
extern const size_t e2b_route_count;
