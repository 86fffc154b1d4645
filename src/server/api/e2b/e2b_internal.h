/* Shared by the handlers of the control plane. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "http/exchange.h"
#include "server/api/args.h"
#include "server/api/e2b/auth.h"
#include "server/api/pending.h"
#include "server/api/reply.h"
#include "server/sandbox/sandbox.h"
#include "server/server.h"
#include "server/store/keys.h"

/* What the SDKs switch features by: everything up to here is there. */
#define ENVD_VERSION "0.6.13"
#define CLIENT_ID    "hotcell"
#define BODY_MAX     (1u << 20)
#define PAGE_MAX     100
/* What a request may ask for; the server's own limit is timeout_max. */
#define TIMEOUT_MAX_S (366 * 86400)

/* The living sandbox of "{id}"; NULL: answered with 404. */
struct sandbox *sandbox_of(struct http_exchange *x);
void no_such_sandbox(struct http_exchange *x, const char *id);

/* JSON forms of a sandbox (reference: 2.2). Not NULL but when out of memory. */
json_t *sandbox_json(const struct sandbox *s);
json_t *listed_json(const struct sandbox_record *r);
json_t *detail_json(const struct sandbox_record *r);
/* JSON text that the database holds, or an empty object. */
json_t *text_json(const char *text);

/* The members that set a network policy, validated (reference: 2.4). NULL when there are none, or
 * failed. Free with free(). */
char *network_args(struct args *a, json_t *network, bool secure);

/* Query "limit" (1..100) ; 0 = answered with 400. */
unsigned int query_limit(struct http_exchange *x);
/* An integer of the query; false: answered with 400. */
bool query_integer(struct http_exchange *x, const char *name, int64_t fallback, int64_t *ret);

void e2b_create_v1(struct http_exchange *x);
void e2b_create_v2(struct http_exchange *x);
void e2b_connect_v1(struct http_exchange *x);
void e2b_connect_v2(struct http_exchange *x);
void e2b_resume(struct http_exchange *x);
void e2b_list_v1(struct http_exchange *x);
void e2b_list_v2(struct http_exchange *x);
void e2b_get(struct http_exchange *x);
void e2b_kill(struct http_exchange *x);
void e2b_timeout(struct http_exchange *x);
void e2b_refresh(struct http_exchange *x);
void e2b_pause(struct http_exchange *x);
void e2b_network(struct http_exchange *x);
void e2b_snapshot_list(struct http_exchange *x);
void e2b_snapshot_take(struct http_exchange *x);
void e2b_fork(struct http_exchange *x);
void e2b_no_builds(struct http_exchange *x);
void e2b_metrics(struct http_exchange *x);
void e2b_metrics_all(struct http_exchange *x);
void e2b_logs_v1(struct http_exchange *x);
void e2b_logs_v2(struct http_exchange *x);
void e2b_template_alias(struct http_exchange *x);
void e2b_template_list(struct http_exchange *x);
void e2b_template_list_v2(struct http_exchange *x);
void e2b_template_get(struct http_exchange *x);
void e2b_template_delete(struct http_exchange *x);
void e2b_template_patch_v1(struct http_exchange *x);
void e2b_template_patch_v2(struct http_exchange *x);
void e2b_template_tags(struct http_exchange *x);
void e2b_tag_add(struct http_exchange *x);
void e2b_tag_remove(struct http_exchange *x);
void e2b_secret_list(struct http_exchange *x);
void e2b_secret_add(struct http_exchange *x);
void e2b_secret_get(struct http_exchange *x);
void e2b_secret_update(struct http_exchange *x);
void e2b_secret_delete(struct http_exchange *x);
void e2b_volume_list(struct http_exchange *x);
void e2b_volume_add(struct http_exchange *x);
void e2b_volume_get(struct http_exchange *x);
void e2b_volume_delete(struct http_exchange *x);
void e2b_teams(struct http_exchange *x);
void e2b_key_list(struct http_exchange *x);
void e2b_key_add(struct http_exchange *x);
void e2b_key_delete(struct http_exchange *x);
void e2b_health(struct http_exchange *x);
