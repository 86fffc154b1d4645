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

struct counters {
	struct histogram create_pool, create_cold;
	uint64_t created, create_failed, ended;
	uint64_t pool_started, pool_failed;
	uint64_t channel_errors;
	uint64_t store_errors;
};
extern struct counters counters;
