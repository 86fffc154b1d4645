/* Boot time: like the monotonic clock, but it goes on while the machine sleeps, and no step of the
 * wall clock moves it. */
#pragma once

#include <stdint.h>
#include <time.h>

#include "base/util.h"

static inline uint64_t clock_boot_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}
