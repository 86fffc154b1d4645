/*
 * The server under test of the scripts in tests/web: every behaviour of src/http behind a path.
 *
 * Usage: http-server [NAME=NUMBER...] [tls=CERTIFICATE,KEY] [unix=PATH]
 *
 * Prints "PORT TLS_PORT". Ends when standard input does; SIGTERM drains, SIGHUP reads the
 * certificate again.
 */
#include <arpa/inet.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/util.h"
#include "http/exchange.h"
#include "http/proxy.h"
#include "http/server.h"

static uv_loop_t *loop;
static struct http_server *server;
static const char *certificate, *key;
static struct {
	unsigned closed, ended, last_status, tunnels;
	uint64_t to_upstream, from_upstream;
} seen;

static uint64_t number(struct http_exchange *x, const char *name, uint64_t otherwise)
{
	const char *text = http_query_param(x, name);
	return text ? strtoull(text, NULL, 10) : otherwise;
}

static void on_close(struct http_exchange *x, void *ctx)
{
	(void)x;
	(void)ctx;
	seen.closed++;
}

/* ---- whole responses ---- */

static void hello(struct http_exchange *x)
{
	http_respond(x, 200, "text/plain", "hello\n", 6);
}

static void status(struct http_exchange *x)
{
	http_respond(x, (int)number(x, "code", 200), NULL, NULL, 0);
}

static void show(struct http_exchange *x)
{
	const char *name, *value, *wanted = http_query_param(x, "name");
	json_t *fields = json_array();
	for (size_t i = 0; http_header_at(x, i, &name, &value); i++)
		json_array_append_new(fields, json_pack("[ss]", name, value));
	json_t *all = json_pack("{ss,ss,ss,ss,sb,ss?,ss?,ss?,so}", "method", http_method(x), "path",
				http_path(x), "query", http_query(x), "host", http_host(x), "tls",
				http_is_tls(x), "id", http_param(x, "id"), "rest",
				http_param(x, "rest"), "name", wanted, "fields", fields);
	http_set(x, "x-split", "a\r\nb: c");
	http_respond_json(x, 200, all);
	json_decref(all);
}

static void statistics(struct http_exchange *x)
{
	struct http_counts counts;
	http_server_counts(server, &counts);
	json_t *all =
		json_pack("{sI,sI,sI,si,si,si,si,sI,sI}", "connections",
			  (json_int_t)counts.connections, "accepted", (json_int_t)counts.accepted,
			  "refused", (json_int_t)counts.refused, "closed", seen.closed, "ended",
			  seen.ended, "last", seen.last_status, "tunnels", seen.tunnels, "to",
			  (json_int_t)seen.to_upstream, "from", (json_int_t)seen.from_upstream);
	http_respond_json(x, 200, all);
	json_decref(all);
}

static void echo_whole(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size)
{
	(void)ctx;
	http_respond(x, 200, "application/octet-stream", data, size);
}

static void echo(struct http_exchange *x)
{
	http_body_collect(x, number(x, "max", MIB(16)), echo_whole, NULL);
}

static void never(struct http_exchange *x)
{
	http_on_close(x, on_close, NULL);
}

static void aborted(struct http_exchange *x)
{
	if (number(x, "start", 0)) {
		http_start(x, 200, "text/plain", UINT64_MAX);
		http_send(x, "some", 4);
	}
	http_abort(x);
}

/* ---- bodies counted as they come ---- */

struct upload {
	uint64_t size, credit;
	uv_timer_t timer;
	struct http_exchange *x;
};

static void count_piece(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size,
			bool last, int error)
{
	struct upload *u = ctx;
	char text[64];
	(void)data;
	u->size += size;
	if (error < 0) {
		http_error(x, 400, "body error %d after %llu", error, (unsigned long long)u->size);
	} else if (last) {
		int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)u->size);
		http_respond(x, 200, "text/plain", text, (size_t)n);
	} else {
		http_body_grant(x, size);
	}
}

static void count(struct http_exchange *x)
{
	struct upload *u = http_alloc(x, sizeof(*u));
	/* Without any it would wait for ever, and hostile.py garbles numbers. */
	http_body_read(x, count_piece, u, MAX(number(x, "credit", 65536), 1));
}

/* ---- streamed responses ---- */

struct download {
	uint64_t left, piece;
	bool open;
};

static void produce(struct http_exchange *x, void *ctx)
{
	static uint8_t data[1 << 18];
	struct download *d = ctx;
	while (d->left && http_unsent(x) < 1 << 20) {
		size_t n = (size_t)MIN(d->left, MIN(d->piece, sizeof(data)));
		memset(data, 'a' + (int)(d->left % 26), n);
		d->left -= n;
		if (!http_send(x, data, n))
			return;
	}
	if (!d->left && !d->open) {
		http_on_drain(x, 0, NULL, NULL);
		http_finish(x);
	}
}

static void stream(struct http_exchange *x)
{
	struct download *d = http_alloc(x, sizeof(*d));
	d->left = number(x, "size", 100);
	d->piece = MAX(number(x, "piece", 65536), 1);
	d->open = number(x, "open", 0);
	http_on_close(x, on_close, NULL);
	http_start(x, 200, "text/plain", number(x, "length", UINT64_MAX));
	http_on_drain(x, 1 << 19, produce, d);
}

/* What comes goes out at once, both ways open. */
static void duplex_piece(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size,
			 bool last, int error)
{
	(void)ctx;
	if (error < 0) {
		http_abort(x);
		return;
	}
	http_send(x, data, size);
	if (last)
		http_finish(x);
	else
		http_body_grant(x, size);
}

static void duplex(struct http_exchange *x)
{
	http_start(x, 200, "application/octet-stream", UINT64_MAX);
	http_body_read(x, duplex_piece, NULL, 65536);
}

/* ---- upstreams ---- */

static int dial(struct http_exchange *x)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	a.sin_port = htons((uint16_t)strtoul(http_param(x, "port"), NULL, 10));
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0)
		return fd;
	close(fd);
	http_error(x, 502, "cannot connect");
	return -1;
}

static void proxy_done(void *ctx, uint64_t to, uint64_t from)
{
	(void)ctx;
	seen.tunnels++;
	seen.to_upstream += to;
	seen.from_upstream += from;
}

static void proxy(struct http_exchange *x)
{
	static const char *const strip[] = { "x-secret", NULL };
	struct http_proxy_options options = {
		.host = http_query_param(x, "host"),
		.tls = number(x, "tls", 0),
		.strip = strip,
		.head_timeout_ms = (uint32_t)number(x, "timeout", 0),
		.done = proxy_done,
	};
	int fd = dial(x);
	if (fd >= 0)
		http_proxy(x, fd, &options);
}

static void tunnel(struct http_exchange *x)
{
	int fd = dial(x);
	if (fd >= 0)
		http_tunnel(x, fd, "test-tunnel", NULL, NULL);
}

static const struct http_route routes[] = {
	{ NULL, "/proxy/{port}/{rest...}", proxy },
	{ NULL, "/tunnel/{port}", tunnel },
	{ "GET", "/hello", hello },
	{ NULL, "/status", status },
	{ "GET", "/show", show },
	{ "POST", "/show", show },
	{ "GET", "/show/{id}", show },
	{ "GET", "/show/{id}/rest/{rest...}", show },
	{ "GET", "/statistics", statistics },
	{ "POST", "/echo", echo },
	{ "POST", "/count", count },
	{ "PUT", "/count", count },
	{ NULL, "/never", never },
	{ "GET", "/abort", aborted },
	{ "GET", "/stream", stream },
	{ "POST", "/duplex", duplex },
};

static void ended(struct http_exchange *x, const char *label, int code, uint64_t duration_ns)
{
	(void)x;
	(void)label;
	(void)duration_ns;
	seen.ended++;
	seen.last_status = (unsigned)code;
}

static const struct http_hooks hooks = { .ended = ended };

/* ---- start and end ---- */

static void on_drained(void *ctx)
{
	(void)ctx;
	http_server_free(server);
	uv_stop(loop);
}

static void on_signal(uv_signal_t *signal, int signum)
{
	struct error err;
	(void)signal;
	if (signum == SIGTERM)
		http_server_drain(server, on_drained, NULL);
	else if (http_server_tls(server, certificate, key, &err) < 0)
		fprintf(stderr, "%s\n", err.message);
}

static void watch(uv_signal_t *signal, int signum)
{
	uv_signal_init(loop, signal);
	uv_signal_start(signal, on_signal, signum);
	uv_unref((uv_handle_t *)signal);
}

static void on_stdin(uv_poll_t *poll, int result, int happened)
{
	char c;
	(void)poll;
	(void)happened;
	if (result < 0 || read(0, &c, 1) <= 0)
		exit(0);
}

static char unix_address[120];

static void set_option(char *option, struct http_limits *limits)
{
	static const char *const names[] = { "head_bytes",
					     "head_fields",
					     "head_timeout_ms",
					     "idle_timeout_ms",
					     "stall_timeout_ms",
					     "connections",
					     "connections_per_address",
					     "streams_per_connection" };
	uint32_t *const values[] = { &limits->head_bytes,
				     &limits->head_fields,
				     &limits->head_timeout_ms,
				     &limits->idle_timeout_ms,
				     &limits->stall_timeout_ms,
				     &limits->connections,
				     &limits->connections_per_address,
				     &limits->streams_per_connection };
	char *value = strchr(option, '=');
	if (!value)
		return;
	*value++ = '\0';
	if (strcmp(option, "unix") == 0)
		(void)snprintf(unix_address, sizeof(unix_address), "unix:%s", value);
	if (strcmp(option, "tls") == 0) {
		certificate = value;
		char *comma = strchr(value, ',');
		*comma = '\0';
		key = comma + 1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(option, names[i]) == 0)
			*values[i] = (uint32_t)strtoul(value, NULL, 10);
}

static int start(struct http_limits *limits, struct error *err)
{
	uint16_t port = 0, tls_port = 0;
	int r = http_server_new(loop, routes, ARRAY_SIZE(routes), &hooks, limits, NULL, &server,
				err);
	if (r == 0 && certificate)
		r = http_server_tls(server, certificate, key, err);
	if (r == 0)
		r = http_listen(server, "127.0.0.1:0", false, &port, err);
	if (r == 0 && certificate)
		r = http_listen(server, "127.0.0.1:0", true, &tls_port, err);
	if (r == 0 && unix_address[0])
		r = http_listen(server, unix_address, false, NULL, err);
	if (r == 0) {
		printf("%u %u\n", port, tls_port);
		fflush(stdout);
	}
	return r;
}

int main(int argc, char **argv)
{
	static uv_signal_t terminate, reload;
	static uv_poll_t input;
	struct http_limits limits = { 0 };
	struct error err;
	loop = uv_default_loop();
	for (int i = 1; i < argc; i++)
		set_option(argv[i], &limits);
	watch(&terminate, SIGTERM);
	watch(&reload, SIGHUP);
	if (start(&limits, &err) < 0) {
		fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	if (uv_poll_init(loop, &input, 0) == 0)
		uv_poll_start(&input, UV_READABLE, on_stdin);
	uv_run(loop, UV_RUN_DEFAULT);
	uv_run(loop, UV_RUN_NOWAIT);
	return 0;
}
