/* The sandbox that a verb is about, and requests to what runs in it. */
#pragma once

#include "client/client.h"

#define TARGET_HEADERS_MAX 8

/* Ports that the server answers itself. */
#define TARGET_ENVD	   "49983"
#define TARGET_INTERPRETER "49999"

struct target {
	struct client_options *o;
	char id[24], token[64];
	char authorization[128]; /* Basic NAME:, "" = the default user */
	struct connection *c;	 /* for requests; connects with the first */
};

/* All rows of a list, page after page; the query has a field at least. */
int client_pages(struct client_options *o, const char *query, json_t **ret, struct error *err);
/* Everything of the server in these states ("running,paused,ended"), page after page. */
int client_list(struct client_options *o, const char *states, json_t **ret, struct error *err);
/* The full id from one that may be cut at its end, when only one of these states begins so. */
int client_find(struct client_options *o, const char *id, const char *states, char ret[24],
		struct error *err);
/* Finds a running sandbox; o->user is who acts in it. Also what has failed may be closed. */
int target_open(struct target *t, struct client_options *o, const char *id, struct error *err);
void target_close(struct target *t);
/* The headers of a request to a port of it. They point into `t`. */
void target_headers(const struct target *t, struct header h[TARGET_HEADERS_MAX], const char *port,
		    const char *type);
/* A unary call, method "filesystem.Filesystem/Stat"; takes `message`. *ret may be NULL. The code of
 * an error is the HTTP status, if there was one. */
int target_call(struct target *t, const char *method, json_t *message, json_t **ret,
		struct error *err);
