/* Figures about the sandbox, for STATS_REPLY and DIED. */
#pragma once

#include <stdint.h>

struct wire_stats;

/* What there is to count exists from now on; before, statistics are zero. */
void stats_enable(void);
void stats_collect(struct wire_stats *ret);
/* Time from the start of the kernel process to READY. */
void stats_set_start(uint64_t ns);
