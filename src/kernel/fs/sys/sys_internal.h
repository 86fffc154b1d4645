/* Inside fs/sys: the table of files. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/util.h"
#include "kernel/fs/seq.h"

/*
 * A file or directory. '%' in a path stands for the number of a processor: the row is there once
 * for each.
 */
struct sys_row {
	const char *path; /* below /sys */
	uint32_t mode;
	const char *value; /* constant contents, or: */
	int (*show)(struct seq *s, uint32_t cpu);
};

extern const struct sys_row sys_rows[];
extern const size_t sys_row_count;

/* cgroup.c */
int sys_cgroup_procs(struct seq *s, uint32_t cpu);
int sys_cgroup_threads(struct seq *s, uint32_t cpu);
int sys_cpu_max(struct seq *s, uint32_t cpu);
int sys_cpu_stat(struct seq *s, uint32_t cpu);
int sys_memory_max(struct seq *s, uint32_t cpu);
int sys_memory_current(struct seq *s, uint32_t cpu);
int sys_memory_peak(struct seq *s, uint32_t cpu);
int sys_memory_stat(struct seq *s, uint32_t cpu);
int sys_pids_max(struct seq *s, uint32_t cpu);
int sys_pids_current(struct seq *s, uint32_t cpu);
