/* Watching: samples, logs on disk, what is kept of ended sandboxes, GET /metrics. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct server;
struct sandbox;
struct http_exchange;

/* Makes the directory of the logs, starts the timers. After sandboxes_start(). */
int observe_start(struct server *server, struct error *err);
/* Writes what is unwritten. NULL is fine. */
void observe_free(struct server *server);
/* What belongs to a sandbox that is about to be freed. */
void observe_forget(struct sandbox *s);

/* http_hooks.ended: counts a request. */
void observe_request(struct http_exchange *x, const char *label, int status, uint64_t duration_ns);
/* GET /metrics: Prometheus text. */
void observe_metrics(struct http_exchange *x);
