/*
 * The command's own HTTP client: one connection, blocking, HTTP/1.1, with TLS when the URL says so.
 * The server is trusted no more than anybody: its heads go through the strict parser of src/codec.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "codec/chunked.h"

/* Where the server is and who asks. */
struct endpoint {
	char host[256], port[8], prefix[256];
	bool tls;
	const char *key;     /* X-API-Key */
	const char *ca_file; /* further authority to trust, NULL = the system's */
};

/* "http://host:port[/prefix]". */
int endpoint_parse(struct endpoint *e, const char *url, struct error *err);

struct connection {
	const struct endpoint *endpoint;
	int fd;
	void *ssl, *ssl_context; /* NULL without TLS */
	char head[32768];
	uint8_t buffer[65536]; /* bytes read and not used: [at, end) */
	size_t at, end;
	int status;
	bool chunked, until_close, over;
	uint64_t left;
	struct chunked chunks;
	const char *next_token; /* X-Next-Token; NULL = none */
};

/* Not connected. NULL = out of memory. */
struct connection *connection_new(void);
void connection_free(struct connection *c);

struct header {
	const char *name, *value;
};

/*
 * Sends a request and reads the head of the answer into c->status. Connects first where c is not
 * connected, or the server has closed it. headers end with a NULL name. body may be NULL.
 */
int connection_request(struct connection *c, const struct endpoint *e, const char *method,
		       const char *path, const struct header *headers, const void *body,
		       size_t size, struct error *err);
/* Body of the answer; 0 = its end, -errno (-EBADMSG: cut or malformed). This and connection_answer()
 * give -EAGAIN where the connection does not block, and can be called again. */
ssize_t connection_read(struct connection *c, void *data, size_t size);
/* Raw bytes behind an upgrade. */
ssize_t connection_read_raw(struct connection *c, void *data, size_t size);
int connection_write_raw(struct connection *c, const void *data, size_t size);
void connection_close(struct connection *c);

/*
 * Behind an upgrade, from one thread in both directions: after connection_set_blocking(c, false),
 * -EAGAIN says that poll() on c->fd is next; 0 read is the end. While there is data that the
 * connection has read already, poll() does not tell.
 */
void connection_set_blocking(struct connection *c, bool blocking);
ssize_t connection_try_read(struct connection *c, void *data, size_t size);
ssize_t connection_try_write(struct connection *c, const void *data, size_t size);
bool connection_has_data(const struct connection *c);
void connection_end_output(struct connection *c);

#define HTTP_CHUNKED UINT64_MAX
/* For bodies that come in pieces (uploads): the head, then connection_write_raw() of `size` bytes
 * (or with HTTP_CHUNKED of chunks), then connection_answer(). */
int connection_begin(struct connection *c, const struct endpoint *e, const char *method,
		     const char *path, const struct header *headers, uint64_t size,
		     struct error *err);
int connection_answer(struct connection *c, struct error *err);

/*
 * One request of the control plane: JSON both ways. *ret (may be NULL) is the answer, or NULL when it
 * is empty. A status of 300 and more is an error with the server's own message; err->code is the
 * status then.
 */
int call(const struct endpoint *e, const char *method, const char *path, json_t *body, json_t **ret,
	 struct error *err);
/* A GET of a list: next gets the token of the page that follows, "" if none. */
int call_page(const struct endpoint *e, const char *path, json_t **ret, char *next, size_t size,
	      struct error *err);
/* The body of the answer that c has, in the same way. */
int connection_json(struct connection *c, json_t **ret, struct error *err);
/* The message of an answer that is an error. */
int answer_error(struct connection *c, struct error *err);
