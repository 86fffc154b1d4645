/*
 * What the files of the code interpreter share.
 *
 *   struct sandbox ──► struct interpreter ──► struct context ──► struct driver
 *                                                 │ running ──► struct execution ──► exchange
 *                                                 │ waiting: executions, first come first served
 *                                                 └ starters: requests that wait for the driver
 */
#pragma once

#include <jansson.h>
#include <uv.h>

#include "base/list.h"
#include "http/exchange.h"
#include "interpreter/language.h"
#include "interpreter/stream.h"
#include "server/interpreter/driver.h"
#include "server/observe/counters.h"
#include "server/sandbox/sandbox.h"

/* Of one sandbox. Made with the first request for it. */
struct interpreter {
	struct sandbox *sandbox;
	struct list contexts; /* in the order of their creation */
	unsigned int context_count;
	size_t waiting_bytes;	     /* of requests that run or wait */
	struct stream_budget budget; /* JSON that is held, and output that clients have not taken */
	uint64_t oom_kills;	     /* of the sandbox, as far as is known */
};

struct context {
	struct list link;
	struct interpreter *interpreter;
	char id[37];
	char *cwd; /* as asked for */
	struct language_name name;
	struct language language; /* may point into `name` */
	bool is_default;	  /* of its language */
	bool kept;		  /* stays when its driver cannot be started */
	struct driver *driver;	  /* NULL: the next execution starts one */
	struct execution *running;
	struct list waiting;
	unsigned int waiting_count;
	struct list starters;
	unsigned int starter_count;
};

#define INTERPRETER_CWD "/home/user" /* where a context is that was not told otherwise */

/* ---- interpreter.c: contexts of a sandbox ---- */

/* NULL: out of memory. */
struct interpreter *interpreter_of(struct sandbox *s);
/* NULL: there are too many, or no memory. The language must be one that language_find() accepts. */
struct context *context_new(struct interpreter *in, const char *language, const char *cwd);
/* Whoever waits for it must have been answered. */
void context_free(struct context *c);
struct context *context_find(struct interpreter *in, const char *id);
/* The one that executions in this language without a context get; made if it is not there. NULL as above. */
struct context *context_default(struct interpreter *in, const char *language);
/* {"id", "language", "cwd"}; NULL: out of memory. */
json_t *context_json(const struct context *c);

/* ---- context.c: what happens to one ---- */

/* Takes an execution, which has not been started. */
void context_submit(struct context *c, struct execution *e);
/* It is not wanted any more; to be freed by the caller. */
void context_withdraw(struct context *c, struct execution *e);
/* Its client has taken what there was. */
void context_drained(struct context *c, struct execution *e);
void context_keep_alive(struct context *c, struct execution *e);
/* Starts its driver, and answers this request when that is ready (200, with `value` or null) or failed (500).
 * restart: the one that it has is ended first. */
void context_start(struct context *c, struct http_exchange *x, bool restart);
/* Ends everything of it, and frees it. */
void context_remove(struct context *c);
/* Its driver is this one, which is ready. */
void context_adopt(struct context *c, struct driver *d);
/* Starts its driver, for whoever will need it. The context must be one that is kept. */
void context_warm(struct context *c);

/* ---- warm.c ---- */

/* The driver that waits in the sandbox for its default context; NULL = there is none. */
struct driver *warm_take(struct sandbox *s);

/* ---- execution.c: one request for /execute ---- */

struct execution {
	struct list link; /* in context.waiting; unlinked while it runs */
	struct context *context;
	struct http_exchange *x;
	struct sandbox_attachment attachment;
	uv_timer_t *timer;
	json_t *request; /* holds code and variables */
	const char *code;
	size_t code_size;
	const json_t *variables; /* NULL = none */
	size_t bytes;		 /* counted in waiting_bytes */
	size_t unsent;		 /* counted in the budget */
	uint64_t begun_ns, sent_ns;
	bool answered; /* a line was sent */
	bool tried;    /* by a driver that was gone before it began */
};

/* Begins the response. Takes over the reference to the request, also on failure (NULL: no memory). */
struct execution *execution_new(struct context *c, struct http_exchange *x, json_t *request,
				size_t bytes);
void execution_send(struct execution *e, const char *data, size_t size);
/* Its client does not take what there is. */
bool execution_full(const struct execution *e);
/* The end of the response; frees it. */
void execution_finish(struct execution *e, enum execution_outcome outcome);
/* Likewise, with an error line before. */
void execution_fail(struct execution *e, const char *name, const char *value,
		    enum execution_outcome outcome);

/* ---- starter.c: requests that wait for a driver ---- */

/* Frees it when the client leaves or the sandbox stops. NULL value = null. False: answered 503. */
bool starter_add(struct context *c, struct http_exchange *x, bool wants_context);
void starters_answer(struct context *c);
void starters_fail(struct context *c, const char *text);

/* ---- memory.c ---- */

/* Finds out how often the host killed something of the sandbox for want of memory, and tells drivers that
 * wait for it whether that was the reason. False: it cannot be known. */
bool memory_ask(struct interpreter *in);

/* ---- service.c ---- */

/* Errors are plain text here. */
__attribute__((format(printf, 3, 4))) void reply_plain(struct http_exchange *x, int status,
						       const char *format, ...);
