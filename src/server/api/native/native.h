/* What only the `hotcell` command uses: below /hotcell, with an API key. */
#pragma once

#include <stddef.h>

#include "http/server.h"

extern const struct http_route native_routes[];
extern const size_t native_route_count;
