/*
 * Finding the sandbox of a request (reference: 1.5 and 3.4):
 *
 *  1. both headers E2b-Sandbox-Id and E2b-Sandbox-Port, when the host is this server itself;
 *  2. a host name "port-id.domain";
 *  3. a signed URL of a file, which names no sandbox: the one whose token signed it;
 *  4. anything else is the control plane's.
 *
 * A sandbox that is not there, or paused and not to be woken, answers 502 like a dead one.
 */
#include "server/ingress/ingress.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "codec/authority.h"
#include "server/api/envd/envd.h"
#include "server/api/pending.h"
#include "server/api/reply.h"
#include "server/interpreter/interpreter.h"
#include "server/sandbox/sandbox.h"
#include "server/server.h"

/* ---- waking ---- */

struct waking {
	struct http_exchange *x; /* NULL: the client left */
	uint16_t port;
};

static void dispatch(struct http_exchange *x, struct sandbox *s, uint16_t port);

static void client_left(struct http_exchange *x, void *ctx)
{
	struct waking *w = ctx;
	w->x = NULL;
}

static void woken(void *ctx, struct sandbox *s, const struct error *err, unsigned int retry)
{
	struct waking *w = ctx;
	struct http_exchange *x = w->x;
	uint16_t port = w->port;

	free(w);
	if (!x)
		return;
	http_on_close(x, NULL, NULL);
	if (err && err->code != EALREADY)
		reply_failure(x, err, retry);
	else
		dispatch(x, s, port);
}

static const struct ingress_service *service_of(uint16_t port)
{
	for (unsigned int i = 0; i < ingress_service_count; i++) {
		if (ingress_services[i].port == port)
			return &ingress_services[i];
	}
	return NULL;
}

static void wake(struct http_exchange *x, struct sandbox *s, uint16_t port)
{
	const struct ingress_service *service = service_of(port);
	struct waking *w;

	if (service && service->may_wake && !service->may_wake(x, s))
		return;
	w = calloc(1, sizeof(*w));
	if (!w) {
		http_error(x, 503, "out of memory");
		return;
	}
	*w = (struct waking){ x, port };
	http_on_close(x, client_left, w);
	sandbox_resume(s, 0, true, woken, w);
}

/* ---- dispatch ---- */

static void dispatch(struct http_exchange *x, struct sandbox *s, uint16_t port)
{
	const struct ingress_service *service = service_of(port);

	if (service)
		service->handle(x, s);
	else
		ingress_forward(x, s, port);
}

static void enter(struct http_exchange *x, const char *id, uint16_t port)
{
	struct sandbox *s = sandbox_find(http_context(x), id);
	enum sandbox_state state = s ? s->record.state : SANDBOX_ENDED;

	if (state == SANDBOX_RUNNING)
		dispatch(x, s, port);
	else if (s && s->record.auto_resume &&
		 (state == SANDBOX_PAUSED || state == SANDBOX_PAUSING || state == SANDBOX_RESUMING))
		wake(x, s, port);
	else {
		reply_cors(x);
		reply_no_sandbox(x, id);
	}
}

/* ---- which ---- */

/* This server itself, and not a name that says a sandbox. */
static bool host_is_ours(const struct http_exchange *x, const char *host)
{
	const struct server *server = http_context(x);
	size_t size = authority_name_size(host, strlen(host));
	char name[256], wanted[300];
	unsigned char address[16];

	if (host[0] == '[' || size >= sizeof(name))
		return host[0] == '[';
	memcpy(name, host, size);
	name[size] = '\0';
	if (strcmp(name, "localhost") == 0 || inet_pton(AF_INET, name, address) == 1)
		return true;
	if (!server->domain)
		return false;
	size_t domain = authority_name_size(server->domain, strlen(server->domain));
	snprintf(wanted, sizeof(wanted), "sandbox.%.*s", (int)domain, server->domain);
	return strcmp(name, wanted) == 0 ||
	       (strlen(name) == domain && strncmp(name, server->domain, domain) == 0);
}

/* "1" to "65535"; 0 = not a port. */
static uint16_t parse_port(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	return *text >= '0' && *text <= '9' && *end == '\0' && n <= UINT16_MAX ? (uint16_t)n : 0;
}

/* True: taken. */
static bool by_headers(struct http_exchange *x)
{
	const char *id = http_header(x, "e2b-sandbox-id");
	const char *port_text = http_header(x, "e2b-sandbox-port");

	if (!id && !port_text)
		return false;
	uint16_t port = port_text ? parse_port(port_text) : 0;
	if (id && port) {
		enter(x, id, port);
		return true;
	}
	reply_cors(x);
	http_error(x, 400, "E2b-Sandbox-Id and E2b-Sandbox-Port belong together");
	return true;
}

struct signed_search {
	struct http_exchange *x;
	char id[SANDBOX_ID_SIZE];
};

static void try_signature(void *ctx, struct sandbox *s)
{
	struct signed_search *search = ctx;

	if (!search->id[0] && envd_signed_for(search->x, s))
		snprintf(search->id, sizeof(search->id), "%s", s->record.id);
}

static bool by_signature(struct http_exchange *x)
{
	struct signed_search search = { .x = x };

	if (strcmp(http_path(x), "/files") != 0)
		return false;
	if (http_query_param(x, "signature"))
		sandbox_each(http_context(x), try_signature, &search);
	if (search.id[0]) {
		enter(x, search.id, ENVD_PORT);
		return true;
	}
	reply_cors(x);
	http_error(x, 401, http_query_param(x, "signature") ? "invalid signature"
							     : "no sandbox and no signature");
	return true;
}

bool ingress_intercept(struct http_exchange *x)
{
	const char *host = http_host(x);
	struct port_host named;

	if (host_is_ours(x, host)) {
		if (by_headers(x))
			return true;
	} else if (port_host_parse(host, &named)) {
		enter(x, named.id, named.port);
		return true;
	} else if (by_headers(x)) { /* a name we do not know, e.g. of a proxy in front of us */
		return true;
	}
	if (strcmp(http_method(x), "OPTIONS") == 0) {
		reply_preflight(x);
		return true;
	}
	return by_signature(x);
}

/* ---- services ---- */

/* Not even a health check wakes a sandbox without proof. */
static bool envd_may_wake(struct http_exchange *x, struct sandbox *s)
{
	return envd_signed_for(x, s) || envd_authorized(x, s);
}

const struct ingress_service ingress_services[] = {
	{ ENVD_PORT, envd_handle, envd_may_wake },
	{ INTERPRETER_PORT, interpreter_handle, interpreter_may_wake },
};
const unsigned int ingress_service_count = ARRAY_SIZE(ingress_services);
