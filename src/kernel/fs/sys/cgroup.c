/*
 * /sys/fs/cgroup: one control group, the sandbox itself, in the form of version 2. Language
 * runtimes size heaps and thread pools by these files; the numbers are the sandbox's limits.
 */
#include <inttypes.h>

#include "kernel/core/limits.h"
#include "kernel/fs/sys/sys_internal.h"
#include "kernel/task/task.h"
#include "kernel/task/usage.h"

#define PERIOD_US 100000ul

static void show_limit(struct seq *s, enum limit l)
{
	uint64_t value = limit_value(l);

	if (value == LIMIT_NONE)
		seq_text(s, "max\n");
	else
		seq_printf(s, "%" PRIu64 "\n", value);
}

int sys_cgroup_procs(struct seq *s, uint32_t cpu)
{
	struct process *p;

	(void)cpu;
	list_for_each(p, process_list(), all_link)
		if (p->state == PROCESS_ALIVE)
			seq_printf(s, "%d\n", p->pid);
	return 0;
}

int sys_cgroup_threads(struct seq *s, uint32_t cpu)
{
	struct process *p;
	struct task *t;

	(void)cpu;
	list_for_each(p, process_list(), all_link)
		list_for_each(t, &p->threads, sibling)
			seq_printf(s, "%d\n", t->tid);
	return 0;
}

int sys_cpu_max(struct seq *s, uint32_t cpu)
{
	uint64_t milli = limit_value(LIMIT_CPU_MILLI);

	(void)cpu;
	if (milli == LIMIT_NONE)
		seq_printf(s, "max %lu\n", PERIOD_US);
	else
		seq_printf(s, "%" PRIu64 " %lu\n", milli * (PERIOD_US / 1000), PERIOD_US);
	return 0;
}

int sys_cpu_stat(struct seq *s, uint32_t cpu)
{
	struct cpu_times times;

	(void)cpu;
	cpu_times(&times);
	uint64_t user = times.user * 10000, system = times.system * 10000;
	seq_printf(s, "usage_usec %" PRIu64 "\nuser_usec %" PRIu64 "\nsystem_usec %" PRIu64 "\n",
		   user + system, user, system);
	seq_text(s, "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\nnr_bursts 0\nburst_usec 0\n");
	return 0;
}

int sys_memory_max(struct seq *s, uint32_t cpu)
{
	(void)cpu;
	show_limit(s, LIMIT_MEMORY);
	return 0;
}

int sys_memory_current(struct seq *s, uint32_t cpu)
{
	struct memory_info m;

	(void)cpu;
	memory_info(&m);
	seq_printf(s, "%" PRIu64 "\n", m.used);
	return 0;
}

int sys_memory_peak(struct seq *s, uint32_t cpu)
{
	struct memory_info m;

	(void)cpu;
	memory_info(&m);
	seq_printf(s, "%" PRIu64 "\n", MAX(m.used, limit_peak(LIMIT_MEMORY)));
	return 0;
}

int sys_memory_stat(struct seq *s, uint32_t cpu)
{
	struct memory_info m;

	(void)cpu;
	memory_info(&m);
	seq_printf(s, "anon %" PRIu64 "\nfile 0\nkernel 0\nkernel_stack 0\npagetables 0\nsock 0\n"
		      "shmem 0\nfile_mapped 0\nfile_dirty 0\nfile_writeback 0\ninactive_anon 0\n"
		      "active_anon %" PRIu64 "\ninactive_file 0\nactive_file 0\nunevictable 0\n"
		      "slab_reclaimable 0\nslab_unreclaimable 0\nslab 0\npgfault 0\npgmajfault 0\n",
		   m.used, m.used);
	return 0;
}

int sys_pids_max(struct seq *s, uint32_t cpu)
{
	(void)cpu;
	show_limit(s, LIMIT_PIDS);
	return 0;
}

int sys_pids_current(struct seq *s, uint32_t cpu)
{
	(void)cpu;
	seq_printf(s, "%u\n", thread_count());
	return 0;
}
