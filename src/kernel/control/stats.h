/* Figures about the sandbox, for STATS_REPLY and DIED. */
#pragma once

#include <stdint.h>

struct wire_stats;

void stats_collect(struct wire_stats *ret);
/* Time from the start of the kernel process to READY. */
void stats_set_start(uint64_t ns);
