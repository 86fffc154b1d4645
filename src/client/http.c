#include "client/http.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"
#include "base/util.h"
#include "codec/http1.h"

#define FIELDS_MAX  100
#define ANSWER_MAX  (64u << 20)
#define INTERIM_MAX 10

/* ---- where ---- */

int endpoint_parse(struct endpoint *e, const char *url, struct error *err)
{
	const char *at = strstr(url, "://");

	e->tls = strncmp(url, "https://", 8) == 0;
	for (const char *u = url; *u; u++) {
		if ((unsigned char)*u <= ' ' || *u == 0x7f)
			at = NULL;
	}
	if (!at || (!e->tls && strncmp(url, "http://", 7) != 0))
		return error_set(err, 0, "'%.200s' is not an http:// or https:// URL", url);
	at += 3;
	bool bracket = *at == '[';
	size_t size = bracket ? strcspn(at, "]") : strcspn(at, ":/");
	const char *host = at + bracket;
	at += size + bracket;
	size -= bracket;
	if (size == 0 || size >= sizeof(e->host))
		return error_set(err, 0, "'%.200s' has no host name", url);
	memcpy(e->host, host, size);
	e->host[size] = '\0';
	snprintf(e->port, sizeof(e->port), "%s", e->tls ? "443" : "80");
	if (*at == ':') {
		size = strcspn(at + 1, "/");
		if (size == 0 || size >= sizeof(e->port))
			return error_set(err, 0, "'%.200s' has no proper port", url);
		memcpy(e->port, at + 1, size);
		e->port[size] = '\0';
		at += size + 1;
	}
	size = strlen(at);
	while (size > 0 && at[size - 1] == '/')
		size--;
	if (size >= sizeof(e->prefix))
		return error_set(err, 0, "'%.200s' is too long", url);
	memcpy(e->prefix, at, size);
	e->prefix[size] = '\0';
	return 0;
}

/* ---- the connection ---- */

static int tls_start(struct connection *c, struct error *err)
{
	const struct endpoint *e = c->endpoint;
	/* A macro of OpenSSL's casts the const away where compilers see it. */
	char *host = (char *)(uintptr_t)e->host;
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	SSL *ssl = NULL;

	c->ssl_context = context;
	if (!context || SSL_CTX_set_default_verify_paths(context) != 1 ||
	    (e->ca_file && SSL_CTX_load_verify_locations(context, e->ca_file, NULL) != 1))
		return error_set(err, 0, "read the certificates to trust (%s)",
				 e->ca_file ? e->ca_file : "the system's");
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
	c->ssl = ssl = SSL_new(context);
	if (!ssl || SSL_set1_host(ssl, e->host) != 1 || SSL_set_tlsext_host_name(ssl, host) != 1 ||
	    SSL_set_fd(ssl, c->fd) != 1)
		return error_set(err, ENOMEM, "TLS");
	if (SSL_connect(ssl) == 1)
		return 0;
	long why = SSL_get_verify_result(ssl);
	return error_set(err, 0, "TLS with %s: %s (--ca FILE names an authority to trust)", e->host,
			 why != X509_V_OK ? X509_verify_cert_error_string(why)
					  : ERR_reason_error_string(ERR_peek_last_error()));
}

/* Names below "localhost" are this machine (RFC 6761), also where the resolver does not know them. */
static const char *place(const char *host)
{
	static const char below[] = ".localhost";
	size_t size = strlen(host), tail = sizeof(below) - 1;

	return size > tail && strcmp(host + size - tail, below) == 0 ? "localhost" : host;
}

static int connect_any(const struct endpoint *e, struct error *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list, *a;
	int fd = -1, one = 1, r = getaddrinfo(place(e->host), e->port, &hints, &list);

	if (r != 0)
		return error_set(err, 0, "look up %s: %s", e->host, gai_strerror(r));
	for (a = list; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
		if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) < 0) {
			int saved = errno;
			close(fd);
			errno = saved;
			fd = -1;
		}
	}
	freeaddrinfo(list);
	if (fd < 0)
		return error_set(err, errno, "connect to %s port %s (is `hotcell serve` running?)",
				 e->host, e->port);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static int open_connection(struct connection *c, const struct endpoint *e, struct error *err)
{
	signal(SIGPIPE, SIG_IGN);
	c->endpoint = e;
	c->at = c->end = 0;
	c->fd = connect_any(e, err);
	if (c->fd < 0)
		return c->fd;
	int r = e->tls ? tls_start(c, err) : 0;
	if (r < 0)
		connection_close(c);
	return r;
}

void connection_close(struct connection *c)
{
	if (c->ssl)
		SSL_free(c->ssl);
	if (c->ssl_context)
		SSL_CTX_free(c->ssl_context);
	if (c->fd >= 0)
		close(c->fd);
	c->ssl = c->ssl_context = NULL;
	c->fd = -1;
}

struct connection *connection_new(void)
{
	struct connection *c = calloc(1, sizeof(*c));

	if (c)
		c->fd = -1;
	return c;
}

void connection_free(struct connection *c)
{
	if (c)
		connection_close(c);
	free(c);
}

int connection_write_raw(struct connection *c, const void *data, size_t size)
{
	const uint8_t *at = data;

	while (size > 0) {
		ssize_t n = c->ssl ? SSL_write(c->ssl, at, (int)MIN(size, 1u << 20))
				   : send(c->fd, at, size, MSG_NOSIGNAL);
		if (n < 0 && !c->ssl && errno == EINTR)
			continue;
		if (n <= 0)
			return c->ssl ? -EIO : -errno;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

/* What poll() must tell is -EAGAIN, on a connection that does not block. */
static ssize_t tls_result(struct connection *c, int n)
{
	int why = n > 0 ? 0 : SSL_get_error(c->ssl, n);

	if (n > 0)
		return n;
	if (why == SSL_ERROR_ZERO_RETURN)
		return 0;
	return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? -EAGAIN : -EIO;
}

static ssize_t read_some(struct connection *c, void *data, size_t size)
{
	if (c->ssl)
		return tls_result(c, SSL_read(c->ssl, data, (int)MIN(size, 1u << 20)));
	ssize_t n = read(c->fd, data, size);
	return n < 0 ? -errno : n;
}

/* Into the buffer; 0 = the end. */
static ssize_t fill(struct connection *c)
{
	ssize_t n;

	if (c->at == c->end)
		c->at = c->end = 0;
	if (c->end == sizeof(c->buffer))
		return -EMSGSIZE;
	do {
		n = read_some(c, c->buffer + c->end, sizeof(c->buffer) - c->end);
	} while (n == -EINTR);
	if (n > 0)
		c->end += (size_t)n;
	return n;
}

ssize_t connection_read_raw(struct connection *c, void *data, size_t size)
{
	if (c->at == c->end) {
		ssize_t n = fill(c);
		if (n <= 0)
			return n;
	}
	size = MIN(size, c->end - c->at);
	memcpy(data, c->buffer + c->at, size);
	c->at += size;
	return (ssize_t)size;
}

/* ---- without waiting ---- */

void connection_set_blocking(struct connection *c, bool blocking)
{
	int flags = fcntl(c->fd, F_GETFL);

	(void)fcntl(c->fd, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
	if (c->ssl)
		SSL_set_mode(c->ssl,
			     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

ssize_t connection_try_write(struct connection *c, const void *data, size_t size)
{
	if (c->ssl)
		return tls_result(c, SSL_write(c->ssl, data, (int)MIN(size, 1u << 20)));
	ssize_t n = send(c->fd, data, size, MSG_NOSIGNAL);
	return n < 0 ? -errno : n;
}

ssize_t connection_try_read(struct connection *c, void *data, size_t size)
{
	if (c->at < c->end)
		return connection_read_raw(c, data, size);
	return read_some(c, data, size);
}

bool connection_has_data(const struct connection *c)
{
	return c->at < c->end || (c->ssl && SSL_pending(c->ssl) > 0);
}

void connection_end_output(struct connection *c)
{
	if (c->ssl)
		(void)SSL_shutdown(c->ssl);
	else
		shutdown(c->fd, SHUT_WR);
}

/* ---- requests ---- */

static bool is_stale(const struct connection *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

static int put_head(struct connection *c, const char *method, const char *path,
		    const struct header *headers, uint64_t size, struct error *err)
{
	const struct endpoint *e = c->endpoint;
	struct text t = TEXT_INIT(c->head); /* until the answer comes */
	bool v6 = strchr(e->host, ':') != NULL;

	text_printf(&t, "%s %s%s HTTP/1.1\r\nHost: %s%s%s:%s\r\nUser-Agent: hotcell\r\n", method,
		    e->prefix, path, v6 ? "[" : "", e->host, v6 ? "]" : "", e->port);
	if (e->key)
		text_printf(&t, "X-API-Key: %s\r\n", e->key);
	for (; headers && headers->name; headers++)
		text_printf(&t, "%s: %s\r\n", headers->name, headers->value);
	if (size == HTTP_CHUNKED)
		text_printf(&t, "Transfer-Encoding: chunked\r\n");
	else if (size || strcmp(method, "GET") != 0)
		text_printf(&t, "Content-Length: %llu\r\n", (unsigned long long)size);
	text_printf(&t, "\r\n");
	if (t.truncated)
		return error_set(err, E2BIG, "the request");
	int r = connection_write_raw(c, c->head, t.length);
	return r < 0 ? error_set(err, -r, "send to the server") : 0;
}

static void set_body(struct connection *c, const struct http1_response *r)
{
	c->chunked = r->framing.chunked;
	c->over =
		r->status == 204 || r->status == 304 || r->status == 101 || r->framing.length == 0;
	c->until_close = !c->chunked && r->framing.length == HTTP1_NO_LENGTH && !c->over;
	c->left = r->framing.length;
	chunked_init(&c->chunks);
}

static int read_head(struct connection *c, struct error *err)
{
	struct http1_scan scan = { 0 };
	struct http1_field fields[FIELDS_MAX];
	struct http1_response r = { .fields = { fields, FIELDS_MAX, 0 } };
	const char *why = "";
	ssize_t size;

	while ((size = http1_scan(&scan, (char *)c->buffer + c->at, c->end - c->at)) == 0) {
		ssize_t n = fill(c);
		if (n <= 0)
			return error_set(err, n < 0 ? (int)-n : ECONNRESET, "read the answer");
	}
	if (size < 0 || (size_t)size > sizeof(c->head))
		return error_set(err, EBADMSG, "the answer");
	memcpy(c->head, c->buffer + c->at, (size_t)size);
	c->at += (size_t)size;
	if (http1_parse_response(c->head, (size_t)size, &r, &why) < 0)
		return error_set(err, 0, "the server's answer is not HTTP: %s", why);
	c->status = r.status;
	c->next_token = http1_find(&r.fields, "x-next-token");
	set_body(c, &r);
	return 0;
}

int connection_answer(struct connection *c, struct error *err)
{
	int r = 0;

	for (int i = 0; i < INTERIM_MAX; i++) {
		r = read_head(c, err);
		if (r < 0 || c->status >= 200 || c->status == 101)
			return r;
	}
	return error_set(err, EBADMSG, "the answer");
}

int connection_begin(struct connection *c, const struct endpoint *e, const char *method,
		     const char *path, const struct header *headers, uint64_t size,
		     struct error *err)
{
	int r = 0;

	/* Between an answer and the next request a server has nothing to say but its end. */
	if (c->fd >= 0 && is_stale(c))
		connection_close(c);
	if (c->fd < 0)
		r = open_connection(c, e, err);
	return r < 0 ? r : put_head(c, method, path, headers, size, err);
}

int connection_request(struct connection *c, const struct endpoint *e, const char *method,
		       const char *path, const struct header *headers, const void *body,
		       size_t size, struct error *err)
{
	bool reused = c->fd >= 0;
	int r = connection_begin(c, e, method, path, headers, size, err);

	if (r == 0 && size && (r = connection_write_raw(c, body, size)) < 0)
		error_set(err, -r, "send to the server");
	if (r == 0)
		r = connection_answer(c, err);
	if (r == 0 || !reused)
		return r;
	/* The server may have closed a connection that was idle: once more, on a new one. */
	connection_close(c);
	return connection_request(c, e, method, path, headers, body, size, err);
}

/* ---- bodies ---- */

static ssize_t read_chunked(struct connection *c, void *data, size_t size)
{
	const uint8_t *piece;
	size_t piece_size = 0;

	while (piece_size == 0) {
		const uint8_t *at = c->buffer + c->at;
		size_t there = c->end - c->at;
		int r = chunked_decode(&c->chunks, &at, &there, size, &piece, &piece_size);
		c->at = c->end - there;
		if (r < 0)
			return r;
		if (piece_size)
			memcpy(data, piece, piece_size);
		if (r == 1) {
			c->over = true;
			return (ssize_t)piece_size;
		}
		if (piece_size == 0 && there == 0) {
			ssize_t n = fill(c);
			if (n <= 0)
				return n < 0 ? n : -EBADMSG;
		}
	}
	return (ssize_t)piece_size;
}

ssize_t connection_read(struct connection *c, void *data, size_t size)
{
	if (c->over || size == 0)
		return 0;
	if (c->chunked)
		return read_chunked(c, data, size);
	ssize_t n = connection_read_raw(c, data, c->until_close ? size : MIN(size, c->left));
	if (n == 0)
		return c->until_close ? 0 : -EBADMSG;
	if (n > 0 && !c->until_close) {
		c->left -= (uint64_t)n;
		c->over = c->left == 0;
	}
	return n;
}
