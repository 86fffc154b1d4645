/* Resource limits of processes (getrlimit(2)). */
#pragma once

#include <stdint.h>
#include <sys/resource.h>

struct process;

/* The limits of the first process of a sandbox: Linux's defaults, RLIM_NLIMITS entries. */
void rlimits_init(struct rlimit *dst);

/* /proc/PID/limits, in order of the resource numbers. */
struct rlimit_name {
	const char *name, *unit;
};
extern const struct rlimit_name rlimit_names[RLIM_NLIMITS];
