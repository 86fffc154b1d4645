/* What the daemon counts about itself; GET /metrics prints it. One loop, one thread, plain numbers. */
#pragma once

#include <stdint.h>

#define HISTOGRAM_BUCKETS 14

struct histogram {
	uint64_t counts[HISTOGRAM_BUCKETS + 1]; /* the last: above all bounds */
	uint64_t count, sum_ns;
};
/* Upper bounds in ns. */
extern const uint64_t histogram_bounds[HISTOGRAM_BUCKETS];
void histogram_add(struct histogram *h, uint64_t ns);

/* How an execution of the code interpreter ended. */
enum execution_outcome {
	EXECUTION_DONE,	       /* in order, also with an error of the code */
	EXECUTION_ABANDONED,   /* the client left, or the sandbox stopped */
	EXECUTION_DIED,	       /* its process ended, or had to be ended */
	EXECUTION_NOT_STARTED, /* there is no such language, or it does not start */
	EXECUTION_ABORTED,     /* its context was restarted or removed */
	EXECUTION_OUTCOMES,
};
/* Rows of language_at(); the last one is for all others. */
#define EXECUTION_LANGUAGES 8u

struct counters {
	struct histogram create_pool, create_code_pool, create_cold;
	struct histogram first_line; /* from an execution's request to its first line */
	uint64_t executions[EXECUTION_LANGUAGES][EXECUTION_OUTCOMES];
	uint64_t contexts; /* now */
	struct histogram snapshot;   /* from its request until it can be used */
	uint64_t created, create_failed, ended;
	uint64_t snapshots_failed, forks;
	uint64_t channel_errors;
	uint64_t store_errors;
};
extern struct counters counters;
