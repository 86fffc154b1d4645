/*
 * One request and its response, whatever carried it: HTTP/1.1 or HTTP/2, with or without TLS.
 * Handlers and the proxy see nothing else of src/http.
 *
 * Life: the router calls the route's handler with a complete request head. The handler answers at
 * once or later, from any callback of the same loop, and ends the exchange exactly once with
 * http_respond(), http_finish() or http_abort(). When the client goes away first, the function of
 * http_on_close() is called and the exchange is gone when it returns. Strings of the request live as
 * long as the exchange.
 *
 * Back pressure: request bytes arrive only against credit (http_body_grant); response bytes are
 * queued, and http_unsent() / http_on_drain() tell when to produce more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_exchange;
typedef struct json_t json_t;

/* ---- the request ---- */

const char *http_method(const struct http_exchange *x); /* "GET" */
const char *http_path(const struct http_exchange *x);	/* as sent, percent-encoded, no query */
const char *http_query(const struct http_exchange *x);	/* as sent, "" if none */
/* Host (:authority), validated, lower-cased, with the port if it had one. */
const char *http_host(const struct http_exchange *x);
bool http_is_tls(const struct http_exchange *x);
/* First field of that (lower-case) name, NULL if absent. */
const char *http_header(const struct http_exchange *x, const char *name);
/* The i-th field in the order of arrival; false behind the last. Hop-by-hop fields are not there. */
bool http_header_at(const struct http_exchange *x, size_t i, const char **ret_name,
		    const char **ret_value);
/* "{id}" of the route's pattern, percent-decoded; NULL = no such name. */
const char *http_param(const struct http_exchange *x, const char *name);
/* Decoded value ("+" is a space) of the first such field of the query; NULL = absent. */
const char *http_query_param(struct http_exchange *x, const char *name);
/* Raw value of that field, still encoded. */
const char *http_query_raw(struct http_exchange *x, const char *name);
/* Peer as text, for logs and limits: "127.0.0.1:4711" or "unix". */
const char *http_peer(const struct http_exchange *x);
/* What http_server_new() was given. */
void *http_context(const struct http_exchange *x);

/* Piece of memory that lives as long as the exchange; NULL = out of memory. */
void *http_alloc(struct http_exchange *x, size_t size);

/* ---- the request's body ---- */

/* last: no more comes (size may be 0). error < 0: the body is malformed or cut (last is true). */
typedef void (*http_body_fn)(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size,
			     bool last, int error);
/*
 * Starts delivery, with `credit` bytes granted; fn is called from the loop, not from in here. The
 * content is decoded from its transfer coding. -EBADMSG: malformed; -ECONNRESET: cut.
 */
void http_body_read(struct http_exchange *x, http_body_fn fn, void *ctx, size_t credit);
/* The consumer has room for so many bytes more. */
void http_body_grant(struct http_exchange *x, size_t bytes);
/* Length as announced, UINT64_MAX if not. */
uint64_t http_body_length(const struct http_exchange *x);
/*
 * The whole body in memory, then `fn` once with it (NUL-terminated behind `size`), not before this
 * returns; it is freed when fn returns. Longer than `max`:
 * answers 413 by itself and calls nothing; malformed or cut: likewise 400.
 */
typedef void (*http_whole_fn)(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size);
void http_body_collect(struct http_exchange *x, size_t max, http_whole_fn fn, void *ctx);

/* ---- the response ---- */

/*
 * A field of the response head, before it is sent; replaces one of the same name. Name lower-case,
 * a constant; the value is copied, and bytes that no field may hold become spaces. Framing
 * (content-length, connection, ...) and date are not set by handlers.
 */
void http_set(struct http_exchange *x, const char *name, const char *value);
/* One more of that name (set-cookie). Both strings are copied. */
void http_add(struct http_exchange *x, const char *name, const char *value);
/* The whole response; ends the exchange. data NULL = empty. Content-Length is always sent but for 204. */
void http_respond(struct http_exchange *x, int status, const char *content_type, const void *data,
		  size_t size);
void http_respond_json(struct http_exchange *x, int status, const json_t *value);
/* {"code": status, "message": ...}: the form of every error of the server. */
__attribute__((format(printf, 3, 4))) void http_error(struct http_exchange *x, int status,
						      const char *format, ...);

/* Head of a streamed response; length UINT64_MAX = not known. The head is sent at once. */
void http_start(struct http_exchange *x, int status, const char *content_type, uint64_t length);
/*
 * Sends or queues a copy, at once. Never ends the exchange itself: false means that the connection is
 * broken, the bytes are dropped, and http_on_close() follows from the loop.
 */
bool http_send(struct http_exchange *x, const void *data, size_t size);
size_t http_unsent(const struct http_exchange *x);
/*
 * fn is called from the loop when http_unsent() is below `below`: once after this call, and once
 * after each http_send() that follows. NULL = no more.
 */
typedef void (*http_event_fn)(struct http_exchange *x, void *ctx);
void http_on_drain(struct http_exchange *x, size_t below, http_event_fn fn, void *ctx);
/* Ends the response properly; one that is shorter than its length is aborted. */
void http_finish(struct http_exchange *x);
/* Drops it: closes the TCP connection (HTTP/1.1) or resets the stream (HTTP/2). */
void http_abort(struct http_exchange *x);
/*
 * The client went away, or stalled too long, before the response was complete. The exchange is still
 * readable in fn, and gone when it returns; what fn tries to send goes nowhere.
 *
 * A client that only closes its sending side cannot be told from one that is gone. It gets its response
 * if that is started within the stall timeout and has a length; streams without one end at once.
 */
void http_on_close(struct http_exchange *x, http_event_fn fn, void *ctx);
bool http_started(const struct http_exchange *x);
