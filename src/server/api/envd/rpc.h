/*
 * Connect RPC (connectrpc.com, protocol version 1) with the JSON codec, server side: unary calls, and
 * streams from the server. A message of a stream is an envelope: one byte of flags, the length in four
 * bytes, big-endian, then JSON.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "http/exchange.h"
#include "server/sandbox/sandbox.h"

enum rpc_code {
	RPC_OK,
	RPC_CANCELED,
	RPC_UNKNOWN,
	RPC_INVALID_ARGUMENT,
	RPC_DEADLINE_EXCEEDED,
	RPC_NOT_FOUND,
	RPC_ALREADY_EXISTS,
	RPC_PERMISSION_DENIED,
	RPC_RESOURCE_EXHAUSTED,
	RPC_FAILED_PRECONDITION,
	RPC_UNIMPLEMENTED,
	RPC_INTERNAL,
	RPC_UNAVAILABLE,
	RPC_UNAUTHENTICATED,
};

/* One call with its request; freed by the answer, or when the client leaves. */
struct rpc_call {
	struct http_exchange *x; /* NULL: the client left while an operation was going on */
	struct sandbox *sandbox; /* NULL: likewise the sandbox */
	json_t *request;
	char user[64]; /* of the Basic header; "" = the default user */
	/* Called when the client leaves or the sandbox ends; answers, which frees the call. NULL: the
	 * operation goes on, and its end answers. */
	void (*left)(struct rpc_call *c);
	void *ctx;
	struct sandbox_attachment attachment;
};

typedef void (*rpc_handler)(struct rpc_call *c);

/* Collects and parses the body, then calls the handler, which answers in the end with exactly one of
 * the next two. */
void rpc_unary(struct http_exchange *x, struct sandbox *s, rpc_handler handler);
void rpc_reply(struct rpc_call *c, json_t *message);
__attribute__((format(printf, 3, 4))) void rpc_fail(struct rpc_call *c, enum rpc_code code,
						     const char *format, ...);
/* For errors of the sandbox: errno, enum wire_about and what it is about. */
void rpc_fail_about(struct rpc_call *c, int error, uint32_t about, const char *subject);
enum rpc_code rpc_code_of(int error, uint32_t about);

/* ---- streams ---- */

enum rpc_stop { RPC_STOP_LEFT, RPC_STOP_DEADLINE, RPC_STOP_SANDBOX };

struct rpc_stream;
struct rpc_stream_ops {
	void (*open)(struct rpc_stream *st); /* the request is there: begin */
	/* No more may be sent (but after RPC_STOP_DEADLINE, where the stream then ends by itself). The
	 * stream is freed after it returns. */
	void (*stop)(struct rpc_stream *st, enum rpc_stop why);
	void (*drained)(struct rpc_stream *st); /* rpc_stream_full() has become false; may be NULL */
	const char *keepalive;			/* the message for it */
};

struct rpc_stream {
	struct http_exchange *x;
	struct sandbox *sandbox;
	const struct rpc_stream_ops *ops;
	json_t *request;
	char user[64];
	void *ctx; /* the handler's */
	struct sandbox_attachment attachment;
	struct rpc_timers *timers;
};

/* Collects the one message of the request, answers with the head, calls `open`. */
void rpc_stream_begin(struct http_exchange *x, struct sandbox *s,
		      const struct rpc_stream_ops *ops);
/* Takes over the reference to the message. */
void rpc_stream_send(struct rpc_stream *st, json_t *message);
/* Connect-Timeout-Ms, 0 = none. */
uint64_t rpc_stream_limit_ms(const struct rpc_stream *st);
bool rpc_stream_full(const struct rpc_stream *st);
/* The end of the stream; it is freed. `stop` is not called. */
void rpc_stream_end(struct rpc_stream *st);
__attribute__((format(printf, 3, 4))) void rpc_stream_fail(struct rpc_stream *st,
							    enum rpc_code code,
							    const char *format, ...);

void rpc_stream_fail_about(struct rpc_stream *st, int error, uint32_t about, const char *subject);

/* ---- members of requests ---- */

/* lowerCamelCase or snake_case; absent = NULL, "", 0, false. */
json_t *rpc_member(const json_t *object, const char *name);
const char *rpc_string(const json_t *object, const char *name);
uint32_t rpc_u32(const json_t *object, const char *name);
bool rpc_bool(const json_t *object, const char *name, bool fallback);
