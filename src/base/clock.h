/* Monotonic time of the host side, in nanoseconds. */
#pragma once

#include <stdint.h>
#include <time.h>

#include "base/util.h"

static inline uint64_t clock_now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}
