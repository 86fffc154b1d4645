/* What the sandbox uses of the machine: memory, CPU time, load. Measured when somebody asks. */
#pragma once

#include <stdint.h>

/* Memory as the sandbox's limits define it, in bytes. */
struct memory_info {
	uint64_t total, used, free, shared, cached;
};
void memory_info(struct memory_info *ret);

/* CPU time of all processes since the start, in hundredths of a second. */
struct cpu_times {
	uint64_t user, system, idle;
	uint32_t running; /* processes running right now */
};
void cpu_times(struct cpu_times *ret);

/* Brings uts()->load up to date. */
void load_sample(void);
