/*
 * --cpus without a cpu control group: the sandbox is pinned to that many processors, fractions
 * rounded up. A process inherits its processors, so the launcher narrows its own set, starts the
 * kernel process, and widens it again.
 */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

struct cpus_pin {
	bool pinned;
	cpu_set_t before;
};

/* 0, or -errno; nothing changes when the set is that small already. */
int cpus_pin(struct cpus_pin *pin, uint64_t milli);
void cpus_unpin(const struct cpus_pin *pin);
