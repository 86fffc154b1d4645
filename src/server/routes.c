#include "server/routes.h"

#include <string.h>

#include "base/util.h"
#include "server/api/e2b/e2b.h"
#include "server/api/envd/watchers.h"
#include "server/ingress/ingress.h"
#include "server/observe/observe.h"
#include "server/process/process.h"
#include "server/sandbox/sandbox.h"

#define ROUTES_MAX 128

static const struct http_route own[] = {
	{ "GET", "/metrics", observe_metrics, NULL },
};

const struct http_route *server_routes(size_t *ret_count)
{
	static struct http_route all[ROUTES_MAX];
	size_t count = MIN(e2b_route_count, ROUTES_MAX - ARRAY_SIZE(own));

	memcpy(all, own, sizeof(own));
	memcpy(all + ARRAY_SIZE(own), e2b_routes, count * sizeof(own[0]));
	*ret_count = ARRAY_SIZE(own) + count;
	return all;
}

bool server_intercept(struct http_exchange *x)
{
	return ingress_intercept(x);
}

int server_parts_start(struct server *server, struct error *err)
{
	sandboxes_on_gone(server, process_table_free);
	sandboxes_on_gone(server, watchers_free);
	return 0;
}
