/*
 * The sandbox's limits and what is used of them. Each has a default, an option of `hotcell run`
 * and an error that names it. Counting is the kernel's own: no cgroup is needed for these.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum limit {
	LIMIT_MEMORY,	    /* bytes of guest memory (cgroup, or accounting) */
	LIMIT_PIDS,	    /* processes and threads */
	LIMIT_DISK_BYTES,   /* private layer, tmpfs, memfd: all writable file data */
	LIMIT_DISK_INODES,  /* inodes made in the private layer */
	LIMIT_FILES,	    /* open file descriptions in the sandbox */
	LIMIT_BUFFER_BYTES, /* pipe, socket and terminal buffers */
	LIMIT_CPU_MILLI,    /* thousandths of a CPU */
	LIMIT_LIFETIME_MS,
	LIMIT_ARENA_BYTES,
	LIMIT_MAX,
};

#define LIMIT_NONE UINT64_MAX /* as a value: not limited */

/* Finds or makes the counters, with default limits. Before any other function. 0 or -ENOMEM. */
int limits_init(void);

/* Takes `amount`; false (nothing taken) when that would exceed the limit. */
bool limit_charge(enum limit l, uint64_t amount);
void limit_release(enum limit l, uint64_t amount);
uint64_t limit_used(enum limit l);
uint64_t limit_peak(enum limit l);
uint64_t limit_refused(enum limit l); /* charges that did not fit */
uint64_t limit_value(enum limit l);
void limit_set(enum limit l, uint64_t value);
/* For what is measured, not charged (memory, CPU): replaces the used amount. */
void limit_set_used(enum limit l, uint64_t used);
