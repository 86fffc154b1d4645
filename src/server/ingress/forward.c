/*
 * To a port of the guest: the settings of the sandbox decide who may, then the application kernel is
 * asked to dial, then the proxy takes over. A server that is just starting gets a few tries.
 */
#include <errno.h>
#include <jansson.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "http/proxy.h"
#include "server/api/reply.h"
#include "server/ingress/ingress.h"
#include "server/runtime/runtime.h"
#include "server/sandbox/sandbox.h"
#include "server/server.h"

#define TRIES	      4
#define RETRY_MS      100
#define HOST_MAX      300

struct passage {
	struct http_exchange *x;
	struct sandbox *sandbox;
	struct sandbox_attachment attachment;
	uint16_t port;
	unsigned int tries;
	uint32_t request; /* the dial; it lasts as long as the connection */
	int fd;		  /* ours, until the proxy has it */
	int cut_fd;	  /* the same socket, to be shut down when the sandbox goes */
	uv_timer_t *retry;
	bool proxied, tls;
	bool tunnel; /* bytes, not HTTP */
	char host[HOST_MAX]; /* "" = as the client sent it */
};

static void free_timer(uv_handle_t *h)
{
	free(h);
}

static void passage_free(struct passage *p)
{
	sandbox_detach(&p->attachment);
	if (p->request && p->sandbox->runtime)
		runtime_cancel(p->sandbox->runtime, p->request);
	cleanup_close(&p->fd);
	cleanup_close(&p->cut_fd);
	if (p->retry)
		uv_close((uv_handle_t *)p->retry, free_timer);
	free(p);
}

static struct http_exchange *release(struct passage *p)
{
	struct http_exchange *x = p->x;

	http_on_close(x, NULL, NULL);
	passage_free(p);
	return x;
}

static void client_left(struct http_exchange *x, void *ctx)
{
	passage_free(ctx);
}

/* A proxied connection sees its end; what still waits is cut. */
static void sandbox_gone(struct sandbox_attachment *a)
{
	struct passage *p = container_of(a, struct passage, attachment);

	if (p->proxied)
		shutdown(p->cut_fd, SHUT_RDWR);
	else
		http_abort(release(p));
}

static void proxy_done(void *ctx, uint64_t to_upstream, uint64_t from_upstream)
{
	passage_free(ctx);
}

static void start_tunnel(struct passage *p)
{
	http_on_close(p->x, NULL, NULL);
	p->proxied = true;
	http_tunnel(p->x, take_fd(&p->fd), INGRESS_TUNNEL, proxy_done, p);
}

static void start_proxy(struct passage *p)
{
	static const char *const strip[] = { "e2b-sandbox-id", "e2b-sandbox-port",
					     "e2b-traffic-access-token", "x-access-token", NULL };
	struct http_proxy_options options = { .host = p->host[0] ? p->host : NULL,
					      .tls = p->tls,
					      .strip = strip,
					      .done = proxy_done,
					      .ctx = p };

	http_on_close(p->x, NULL, NULL);
	p->proxied = true;
	http_proxy(p->x, take_fd(&p->fd), &options);
}

/* ---- dialling ---- */

static void dial(struct passage *p);

static void dial_again(uv_timer_t *h)
{
	dial(h->data);
}

static void try_later(struct passage *p)
{
	if (!p->retry) {
		p->retry = calloc(1, sizeof(*p->retry));
		if (!p->retry) {
			http_error(release(p), 503, "out of memory");
			return;
		}
		uv_timer_init(p->sandbox->server->loop, p->retry);
		p->retry->data = p;
	}
	uv_timer_start(p->retry, dial_again, RETRY_MS, 0);
}

static void dialled(void *ctx, const struct runtime_answer *a)
{
	struct passage *p = ctx;

	if (p->proxied)
		p->request = a->error ? 0 : p->request; /* the connection's own end */
	else if (!a->error && p->tunnel)
		start_tunnel(p);
	else if (!a->error)
		start_proxy(p);
	else if (a->error == ECONNREFUSED && ++p->tries < TRIES) {
		p->request = 0;
		cleanup_close(&p->fd);
		cleanup_close(&p->cut_fd);
		p->fd = p->cut_fd = -EBADF;
		try_later(p);
	} else {
		char id[SANDBOX_ID_SIZE];
		unsigned int port = p->port;
		p->request = 0;
		snprintf(id, sizeof(id), "%s", p->sandbox->record.id);
		reply_closed_port(release(p), id, port);
	}
}

static void dial(struct passage *p)
{
	uint8_t bytes[8];
	struct wire_out out = { bytes, 0, sizeof(bytes), false };
	int ends[2];

	if (!p->sandbox->runtime ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0) {
		http_error(release(p), 503, "no connection to the sandbox: %s",
			   strerrordesc_np(errno));
		return;
	}
	AUTO_CLOSE int far = ends[1];
	p->fd = ends[0];
	p->cut_fd = dup(ends[0]);
	wire_put_u32(&out, p->port);
	uint32_t request = runtime_call(p->sandbox->runtime, WIRE_DIAL, &out, far, dialled, p);
	if (request)
		p->request = request;
}

/* ---- settings ---- */

static bool token_valid(struct http_exchange *x, const struct sandbox *s)
{
	const char *token = http_header(x, "e2b-traffic-access-token");
	size_t n = strlen(s->record.traffic_token);

	return n == 0 || (token && strlen(token) == n &&
			  CRYPTO_memcmp(token, s->record.traffic_token, n) == 0);
}

bool ingress_allowed(struct http_exchange *x, const struct sandbox *s)
{
	if (token_valid(x, s))
		return true;
	reply_cors(x);
	reply_json(x, 403,
		   json_pack("{s:s, s:s, s:i}", "sandboxId", s->record.id, "message",
			     "this sandbox takes no public traffic: send its traffic "
			     "access token as E2b-Traffic-Access-Token",
			     "code", 403));
	return false;
}

/* "${PORT}" in the name is the port. */
static void mask_host(struct passage *p, const char *mask)
{
	const char *at = strstr(mask, "${PORT}");

	if (at)
		snprintf(p->host, sizeof(p->host), "%.*s%u%.200s", (int)MIN(at - mask, 90), mask,
			 p->port, at + strlen("${PORT}"));
	else
		snprintf(p->host, sizeof(p->host), "%.255s", mask);
}

static void read_settings(struct passage *p)
{
	json_t *network = p->sandbox->record.network
				  ? json_loads(p->sandbox->record.network, 0, NULL)
				  : NULL;
	const char *mask = json_string_value(json_object_get(network, "maskRequestHost"));
	json_t *v;
	size_t i;

	if (mask)
		mask_host(p, mask);
	json_array_foreach(json_object_get(network, "httpsPorts"), i, v)
		p->tls = p->tls || json_integer_value(v) == p->port;
	json_decref(network);
}

static struct passage *passage_new(struct http_exchange *x, struct sandbox *s, uint16_t port)
{
	struct passage *p = calloc(1, sizeof(*p));

	if (!p) {
		http_error(x, 503, "out of memory");
		return NULL;
	}
	p->x = x;
	p->sandbox = s;
	p->port = port;
	p->fd = p->cut_fd = -EBADF;
	p->attachment.gone = sandbox_gone;
	sandbox_attach(s, &p->attachment);
	http_on_close(x, client_left, p);
	return p;
}

void ingress_tunnel(struct http_exchange *x, struct sandbox *s, uint16_t port)
{
	struct passage *p = passage_new(x, s, port);

	if (!p)
		return;
	p->tunnel = true;
	dial(p);
}

void ingress_forward(struct http_exchange *x, struct sandbox *s, uint16_t port)
{
	if (!ingress_allowed(x, s))
		return;
	struct passage *p = passage_new(x, s, port);
	if (!p)
		return;
	read_settings(p);
	dial(p);
}
