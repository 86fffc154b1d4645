#include "server/api/native/native.h"

#include <stdlib.h>

#include "base/util.h"
#include "server/api/e2b/auth.h"
#include "server/ingress/ingress.h"
#include "server/sandbox/sandbox.h"

/* A TCP connection to a port of a running sandbox, for `hotcell forward`. */
static void forward(struct http_exchange *x)
{
	char *end;
	const char *id, *text = http_param(x, "port");
	unsigned long port = strtoul(text, &end, 10);

	if (!authorized(x, NULL))
		return;
	id = http_param(x, "id");
	struct sandbox *s = sandbox_find(http_context(x), id);
	if (*end || port == 0 || port > UINT16_MAX)
		http_error(x, 400, "'%.20s' is not a port", text);
	else if (!s)
		http_error(x, 404, "sandbox %.40s not found", id);
	else if (s->record.state != SANDBOX_RUNNING)
		http_error(x, 409, "sandbox %.40s is %s", id, sandbox_state_name(s->record.state));
	else
		ingress_tunnel(x, s, (uint16_t)port);
}

const struct http_route native_routes[] = {
	{ "GET", "/hotcell/sandboxes/{id}/ports/{port}", forward, NULL },
};
const size_t native_route_count = ARRAY_SIZE(native_routes);
