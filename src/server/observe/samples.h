/* What a sandbox used, every 5 seconds, kept for an hour. */
#pragma once

#include <stdint.h>

struct sandbox;

struct sample {
	int64_t at_us; /* since the epoch */
	uint32_t cpu_count;
	float cpu_used_percent; /* of one CPU: 200 = two busy CPUs */
	uint64_t memory_used, memory_total, memory_cache; /* bytes */
	uint64_t disk_used, disk_total;
};

/* In the order of time, those with from_us <= at_us <= to_us. */
void samples_each(const struct sandbox *s, int64_t from_us, int64_t to_us,
		  void (*fn)(void *ctx, const struct sample *x), void *ctx);
/* The newest one; 0, or -ENOENT when there is none yet. */
int samples_last(const struct sandbox *s, struct sample *ret);
