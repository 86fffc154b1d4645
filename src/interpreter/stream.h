/*
 * From a driver's events to the lines of /execute: one JSON object per line, ASCII only. Every event
 * is checked against the rules of docs/interpreter.md; what a driver says is never trusted. Used by
 * the server and by `hotcell code`.
 *
 *     starting --ready--> idle --stream_execute()--> executing --done--> idle
 *        +--failed--> dead       any broken rule, stream_end()  --> dead
 *
 * Memory: JSON parts are held until they are complete (8 MiB at most, INTERPRETER_JSON_MAX), all other
 * text goes through as it comes. A line that was begun is always completed, whatever the driver does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INTERPRETER_JSON_MAX (8u << 20)
/* Longer texts of stdout and stderr become several lines, cut between characters. */
#define INTERPRETER_TEXT_MAX (32u << 10)

struct stream;

struct stream_events {
	void (*ready)(void *ctx);
	/* The driver cannot work; text: why, for people. Bounded, UTF-8, no control characters. */
	void (*failed)(void *ctx, const char *text);
	/* Bytes of the response; lines may come in pieces. Only while executing. */
	void (*output)(void *ctx, const char *data, size_t size);
	/* The execution has ended in order: call stream_finish() when the pipes have been read. */
	void (*done)(void *ctx);
};

/* NULL = out of memory. */
struct stream *stream_new(const struct stream_events *events, void *ctx);
void stream_free(struct stream *s); /* NULL is fine */
/* Bytes of descriptor 4. 0, or -EBADMSG / -ENOMEM: the driver must be killed, then stream_end(). */
int stream_feed(struct stream *s, const uint8_t *data, size_t size);
/* Bytes of descriptor 1 (is_stderr false) or 2. Dropped unless executing. */
void stream_print(struct stream *s, bool is_stderr, const uint8_t *data, size_t size);
/* A line is open: stream_print() must wait until it is not. */
bool stream_is_open(const struct stream *s);
/* An execution begins; `id` is what its done must say. */
void stream_execute(struct stream *s, uint64_t id);
/* Behind `done` and the last of the pipes: end_of_execution; idle again. */
void stream_finish(struct stream *s);
/*
 * The driver is gone, or must go. Completes an open line, and while executing adds an error line of
 * this name and value and end_of_execution. Dead afterwards: only stream_free() may follow.
 */
void stream_end(struct stream *s, const char *name, const char *value);
/* {"type":"keepalive"}, unless a line is open. */
void stream_keepalive(struct stream *s);
bool stream_is_ready(const struct stream *s); /* idle */
bool stream_is_executing(const struct stream *s);
