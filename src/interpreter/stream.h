/*
 * From a driver's events to the lines of /execute: one JSON object per line, ASCII only. Every event
 * is checked against the rules of docs/interpreter.md; what a driver says is never trusted. Used by
 * the server and by `hotcell code`.
 *
 *     starting --ready--> idle --stream_execute()--> executing --done--> finishing
 *        |                  ^                                                |
 *        |                  +------------------stream_finish()---------------+
 *        +--failed--> dead       any broken rule, stream_end()  --> dead
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part that must be held until it is complete; a longer one is left out. */
#define INTERPRETER_JSON_MAX (8u << 20)
/* Longer texts of stdout and stderr become several lines, cut between characters. */
#define INTERPRETER_TEXT_MAX (32u << 10)

struct stream;

/* What the streams of a sandbox may hold together, in bytes; with `parent`, those of all sandboxes too. */
struct stream_budget {
	size_t held, max;
	struct stream_budget *parent; /* NULL = none */
};

/* None may free the stream. */
struct stream_events {
	void (*ready)(void *ctx);
	/* The driver cannot work; text: why, for people. Bounded, printable. */
	void (*failed)(void *ctx, const char *text);
	/* Bytes of the response, while executing; lines may come in pieces. */
	void (*output)(void *ctx, const char *data, size_t size);
	/* The execution has ended in order: read the pipes empty, then call stream_finish(). */
	void (*done)(void *ctx);
};

/* The budget must outlive it. NULL = out of memory. */
struct stream *stream_new(const struct stream_events *events, void *ctx,
			  struct stream_budget *budget);
void stream_free(struct stream *s); /* NULL is fine */
/* Bytes of descriptor 4. 0, or -EBADMSG / -ENOMEM: kill the driver, then stream_end(). */
int stream_feed(struct stream *s, const uint8_t *data, size_t size);
/*
 * Bytes of descriptor 1, or 2 (is_stderr). Dropped unless executing or finishing. Not while
 * stream_is_open().
 */
void stream_print(struct stream *s, bool is_stderr, const uint8_t *data, size_t size);
/* A line has been begun and waits for more of the driver. */
bool stream_is_open(const struct stream *s);
/* An execution begins; only when stream_is_ready(). `id` is what its `done` must say. */
void stream_execute(struct stream *s, uint64_t id);
/* After `done` and the last of the pipes: end_of_execution; idle again. */
void stream_finish(struct stream *s);
/*
 * The driver is gone, or must go. Completes an open line, and while executing or finishing adds an
 * error line (name NULL = none) and end_of_execution. Only stream_free() may follow.
 */
void stream_end(struct stream *s, const char *name, const char *value);
/* {"type":"keepalive"}, unless a line is open or nothing executes. */
void stream_keepalive(struct stream *s);
bool stream_is_ready(const struct stream *s);	  /* idle */
bool stream_is_executing(const struct stream *s); /* or finishing */
