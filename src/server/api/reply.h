/* Answers that several interfaces share. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/error.h"
#include "http/exchange.h"

/* The status that belongs to an error. */
int reply_status(const struct error *err);
/* Answers with it, with Retry-After when retry_after_s > 0. */
void reply_failure(struct http_exchange *x, const struct error *err, unsigned int retry_after_s);
/* {"sandboxId", "message", "code": 502}: what a request for a sandbox that is not there gets. */
void reply_no_sandbox(struct http_exchange *x, const char *id);
/* 502 for a port that nobody listens on. */
void reply_closed_port(struct http_exchange *x, const char *id, unsigned int port);
/* 204. */
void reply_empty(struct http_exchange *x);
/* Takes over the reference to value. */
/* A JSON string of bytes that may be no UTF-8: those beyond ASCII are then replaced (U+FFFD). NULL: no
 * memory. */
json_t *reply_text(const char *bytes);
void reply_json(struct http_exchange *x, int status, json_t *value);
/* Fields that browsers want on every answer. */
void reply_cors(struct http_exchange *x);
/* Answers an OPTIONS request from a browser. */
void reply_preflight(struct http_exchange *x);
/* Time as RFC 3339 text under that name. */
void reply_set_time(json_t *object, const char *name, int64_t us);
