/* The reverse proxy: the request, written anew, and bytes of a tunnel. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/text.h"
#include "base/util.h"
#include "codec/base64.h"
#include "codec/http1.h"
#include "http/proxy_internal.h"

/* Fields that the proxy writes itself. */
static bool is_own(const char *name)
{
	return strcmp(name, "host") == 0 || strcmp(name, "content-length") == 0 ||
	       strcmp(name, "expect") == 0;
}

static bool is_stripped(const struct proxy *p, const char *name)
{
	for (const char *const *s = p->options.strip; s && *s; s++)
		if (strcmp(*s, name) == 0)
			return true;
	return false;
}

/* "x-my-name" as "X-My-Name": names have no case, but small servers compare them with one. */
static void put_name(struct text *t, const char *name)
{
	bool first = true;
	for (const char *s = name; *s; s++) {
		char c = first && *s >= 'a' && *s <= 'z' ? (char)(*s - 'a' + 'A') : *s;
		text_put(t, &c, 1);
		first = *s == '-';
	}
}

static void put_field(struct text *t, const char *name, const char *value)
{
	put_name(t, name);
	text_put(t, ": ", 2);
	text_put(t, value, strlen(value));
	text_put(t, "\r\n", 2);
}

/* Over HTTP/2 a WebSocket is opened without a key; HTTP/1.1 wants one. */
static void put_websocket_key(struct proxy *p, struct text *t)
{
	uint8_t key[16];
	char text[25];
	if (strcmp(p->x->method, "CONNECT") != 0 || http_header(p->x, "sec-websocket-key"))
		return;
	if (getrandom(key, sizeof(key), 0) != sizeof(key))
		return;
	base64_encode(key, sizeof(key), text);
	put_field(t, "sec-websocket-key", text);
}

static void put_framing(struct proxy *p, struct text *t)
{
	const struct http_exchange *x = p->x;
	if (p->upgrade) {
		put_websocket_key(p, t);
		text_printf(t, "Connection: Upgrade\r\nUpgrade: %s\r\n", x->upgrade);
		return;
	}
	p->request_chunked = x->length == HTTP1_NO_LENGTH;
	if (p->request_chunked)
		text_printf(t, "Transfer-Encoding: chunked\r\n");
	else if (x->length || http_header(x, "content-length"))
		text_printf(t, "Content-Length: %llu\r\n", (unsigned long long)x->length);
	text_printf(t, "Connection: close\r\n");
}

static void put_head(struct proxy *p, struct text *t)
{
	const struct http_exchange *x = p->x;
	const char *name, *value, *host = p->options.host ? p->options.host : x->host;
	bool connect = strcmp(x->method, "CONNECT") == 0;
	text_printf(t, "%s %s%s%s HTTP/1.1\r\n", connect ? "GET" : x->method, x->path,
		    *x->query ? "?" : "", x->query);
	put_field(t, "host", host);
	for (size_t i = 0; http_header_at(x, i, &name, &value); i++)
		if (!is_own(name) && !is_stripped(p, name))
			put_field(t, name, value);
	put_framing(p, t);
	text_put(t, "\r\n", 2);
}

/* ---- the body ---- */

static void on_body(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size, bool last,
		    int error)
{
	struct proxy *p = ctx;
	char head[CHUNKED_HEAD_MAX];
	(void)x;
	if (error < 0) {
		proxy_fail(p, 400, "the request body is malformed or incomplete");
		return;
	}
	p->to_upstream += size;
	p->owed += size;
	uv_buf_t pieces[4];
	unsigned count = 0;
	if (size && p->request_chunked)
		pieces[count++] = uv_buf_init(head, (unsigned)chunked_head(head, size));
	union {
		const uint8_t *in;
		char *out;
	} content = { .in = data };
	if (size)
		pieces[count++] = (uv_buf_t){ .base = content.out, .len = size };
	static char line_end[] = "\r\n", end[] = CHUNKED_END;
	if (size && p->request_chunked)
		pieces[count++] = uv_buf_init(line_end, 2);
	if (last && p->request_chunked)
		pieces[count++] = uv_buf_init(end, sizeof(end) - 1);
	if (count)
		proxy_to_upstream(p, pieces, count);
	proxy_return_credit(p);
}

void proxy_send_request(struct proxy *p)
{
	struct http_server *s = p->server;
	struct http_exchange *x = p->x;
	struct text t = { s->head_text, s->head_room, 0, false };
	p->upgrade = x->upgrade && (x->length == 0 || strcmp(x->method, "CONNECT") == 0);
	put_head(p, &t);
	if (t.truncated) {
		proxy_fail(p, 431, "the request head is too large for the port");
		return;
	}
	uv_buf_t head = uv_buf_init(s->head_text, (unsigned)t.length);
	proxy_to_upstream(p, &head, 1);
	if (!p->upgrade)
		http_body_read(x, on_body, p, PROXY_CREDIT);
}

/* ---- tunnels ---- */

static void on_tunnel_bytes(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size,
			    bool last, int error)
{
	struct proxy *p = ctx;
	union {
		const uint8_t *in;
		char *out;
	} content = { .in = data };
	uv_buf_t piece = { .base = content.out, .len = size };
	(void)x;
	if (error < 0) {
		proxy_fail(p, 502, "");
		return;
	}
	p->to_upstream += size;
	p->owed += size;
	if (size)
		proxy_to_upstream(p, &piece, 1);
	if (last)
		sock_end(&p->sock);
	proxy_return_credit(p);
}

void proxy_begin_tunnel(struct proxy *p, const char *protocol)
{
	p->state = PROXY_TUNNEL;
	exchange_upgrade(p->x, protocol);
	http_body_read(p->x, on_tunnel_bytes, p, PROXY_CREDIT);
}
