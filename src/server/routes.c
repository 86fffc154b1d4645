#include "server/routes.h"

#include <assert.h>
#include <string.h>

#include "base/util.h"
#include "server/api/e2b/e2b.h"
#include "server/api/envd/watchers.h"
#include "server/api/native/native.h"
#include "server/ingress/ingress.h"
#include "server/ingress/inside.h"
#include "server/interpreter/interpreter.h"
#include "server/observe/observe.h"
#include "server/process/process.h"
#include "server/sandbox/pool.h"
#include "server/sandbox/sandbox.h"
#include "server/server.h"

#define ROUTES_MAX 128

static const struct http_route own[] = {
	{ "GET", "/metrics", observe_metrics, NULL },
};

const struct http_route *server_routes(size_t *ret_count)
{
	static struct http_route all[ROUTES_MAX];
	const struct {
		const struct http_route *routes;
		size_t count;
	} parts[] = { { own, ARRAY_SIZE(own) },
		      { e2b_routes, e2b_route_count },
		      { native_routes, native_route_count } };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		assert(n + parts[i].count <= ROUTES_MAX);
		memcpy(all + n, parts[i].routes, parts[i].count * sizeof(own[0]));
		n += parts[i].count;
	}
	*ret_count = n;
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
	sandboxes_on_gone(server, interpreter_gone);
	inside_start();
	server->inside = &inside_service;
	sandboxes_set_recipe(server, POOL_CODE, &interpreter_recipe);
	return 0;
}
