#include "server/routes.h"

#include "base/util.h"
#include "server/observe/observe.h"

static void health(struct http_exchange *x)
{
	http_respond(x, 204, NULL, NULL, 0);
}

static const struct http_route routes[] = {
	{ "GET", "/health", health, NULL },
	{ "GET", "/metrics", observe_metrics, NULL },
};

const struct http_route *server_routes(size_t *ret_count)
{
	*ret_count = ARRAY_SIZE(routes);
	return routes;
}

bool server_intercept(struct http_exchange *x)
{
	return false;
}

int server_parts_start(struct server *server, struct error *err)
{
	return 0;
}
