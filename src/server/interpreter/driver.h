/*
 * A driver: one process in a sandbox that keeps the state of a context and speaks the protocol of
 * docs/interpreter.md. Not a process that envd knows. It is the guest's: nothing that it does can do
 * more than end it.
 *
 *     driver_start --> loading --ready--> idle <--execute/done--> executing
 *                         | failed          +----------gone----------+
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "interpreter/language.h"

typedef struct uv_loop_s uv_loop_t;
struct driver;
struct runtime;
struct sandbox;
struct stream_budget;

/* Called from the loop only, never from inside the functions below, but `output`. */
struct driver_events {
	void (*ready)(void *ctx);
	/* It cannot work: the name of an error, and a sentence. Last call. */
	void (*failed)(void *ctx, const char *name, const char *text);
	/* Bytes of the response to the execution; lines may come in pieces. */
	void (*output)(void *ctx, const char *data, size_t size);
	/* The execution has ended, its last line was given to `output`. */
	void (*done)(void *ctx);
	/* It was gone before it said anything about the execution: true = that is taken back, to be tried
	 * again, and gets no error. `gone` follows. */
	bool (*unheard)(void *ctx);
	/* The process is gone, once it was ready. An execution has got its error and its last line. Last call. */
	void (*gone)(void *ctx);
	/* A SIGKILL ended it that was not ours. True: driver_explain() follows, before that nothing else. */
	bool (*killed)(void *ctx);
	/* The sandbox stands still: time limits wait. */
	bool (*frozen)(void *ctx);
};

struct driver_spec {
	const struct language *language; /* only read during the call */
	const char *cwd;		 /* "" = the user's home */
	const json_t *environment;	 /* object of strings */
	struct stream_budget *budget;	 /* outlives it; NULL = one of its own */
};

/* What a driver's process has: that of all processes of the sandbox (NULL: of one that is not known yet),
 * but PATH, so that programs are found whatever the code is to see. NULL: out of memory. */
json_t *driver_environment(const struct sandbox *s);
/* 0 or -errno, then nothing is called. */
int driver_start(uv_loop_t *loop, struct runtime *rt, const struct driver_spec *spec,
		 const struct driver_events *events, void *ctx, struct driver **ret);
void driver_set_owner(struct driver *d, const struct driver_events *events, void *ctx);
/* Kills it and what it started, if it lives. No event any more. NULL is fine. */
void driver_free(struct driver *d);

/* Idle: an execution may begin. */
bool driver_is_ready(const struct driver *d);
bool driver_is_executing(const struct driver *d);

/* Variables of the context from now on; their names must be without '='. What the driver does not take is
 * an end of it like any other. */
void driver_set_variables(struct driver *d, const json_t *variables);
/* Only when it is ready. variables: for this execution only, may be NULL. False: it has just ended, which
 * will be told. */
bool driver_execute(struct driver *d, const char *code, size_t size, const json_t *variables);
/* Nobody wants the execution any more: SIGINT, again, SIGKILL, until it ends. */
void driver_interrupt(struct driver *d);
/* Ends the execution under way with this error; to be followed by driver_free(). */
void driver_end(struct driver *d, const char *name, const char *value);
bool driver_is_asking(const struct driver *d);
/* Why it was killed: a better error than its own, or NULL. */
void driver_explain(struct driver *d, const char *name, const char *text);
/* A line that says nothing, unless one is half written. */
void driver_keepalive(struct driver *d);
/* Whoever takes the output is full: nothing more is read. */
void driver_pause(struct driver *d, bool pause);
