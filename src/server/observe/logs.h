/*
 * The log of a sandbox: lines that its commands printed and events of its life, the newest of them,
 * in bounded memory; readable as long as the record of an ended sandbox is kept.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct server;
struct sandbox;

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
const char *log_level_name(enum log_level l);

struct log_entry {
	int64_t at_us;
	uint64_t sequence; /* from 1 without gaps; what is missing is not kept any more */
	enum log_level level;
	const char *logger;  /* "process", "sandbox", "envd" */
	const char *message; /* any bytes but zero */
	const char *fields;  /* JSON object: pid, stream, … */
};

/* Any bytes; split into lines by the caller. */
void log_add(struct sandbox *s, enum log_level level, const char *logger, const char *message,
	     const char *fields);

struct log_query {
	int64_t from_us, to_us; /* inclusive; INT64_MIN, INT64_MAX */
	uint64_t after_sequence; /* forward: > ; backward: < , 0 = from the end */
	bool backward;
	enum log_level level; /* this one and worse */
	const char *search;   /* substring, NULL = any */
	unsigned int limit;
};
/* By id, so that an ended sandbox can be read. -ENOENT. */
int logs_each(struct server *server, const char *sandbox_id, const struct log_query *q,
	      void (*fn)(void *ctx, const struct log_entry *e), void *ctx);
