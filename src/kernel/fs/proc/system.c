/*
 * The system files of /proc. They describe the sandbox: its memory limit is the memory, its CPU
 * share the processors, its processes the load. Nothing of the host's state is passed on.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "kernel/core/clock.h"
#include "kernel/core/limits.h"
#include "kernel/fs/locks.h"
#include "kernel/fs/proc/proc_internal.h"
#include "kernel/mm/shm.h"
#include "kernel/sysv/sysv.h"
#include "kernel/task/usage.h"
#include "kernel/task/uts.h"

#define TICK_NS (NSEC_PER_SEC / 100)

/* ---- memory ---- */
static void show_kib(struct seq *s, const char *name, uint64_t bytes)
{
	char label[40];

	snprintf(label, sizeof(label), "%s:", name);
	seq_printf(s, "%-15s %8" PRIu64 " kB\n", label, bytes >> 10);
}

int proc_meminfo(struct seq *s, const struct proc_ctx *x)
{
	struct memory_info m;

	(void)x;
	memory_info(&m);
	const struct {
		const char *name;
		uint64_t bytes;
	} rows[] = {
		{ "MemTotal", m.total },      { "MemFree", m.free },
		{ "MemAvailable", m.free },   { "Buffers", 0 },
		{ "Cached", m.cached },	      { "SwapCached", 0 },
		{ "Active", m.used },	      { "Inactive", m.cached },
		{ "Active(anon)", m.used },   { "Inactive(anon)", 0 },
		{ "Active(file)", 0 },	      { "Inactive(file)", m.cached },
		{ "Unevictable", 0 },	      { "Mlocked", 0 },
		{ "SwapTotal", 0 },	      { "SwapFree", 0 },
		{ "Dirty", 0 },		      { "Writeback", 0 },
		{ "AnonPages", m.used },      { "Mapped", 0 },
		{ "Shmem", m.shared },	      { "KReclaimable", 0 },
		{ "Slab", 0 },		      { "SReclaimable", 0 },
		{ "SUnreclaim", 0 },	      { "KernelStack", 0 },
		{ "PageTables", 0 },	      { "NFS_Unstable", 0 },
		{ "Bounce", 0 },	      { "WritebackTmp", 0 },
		{ "CommitLimit", m.total },   { "Committed_AS", m.used },
		{ "VmallocTotal", 34359738367ull << 10 },
		{ "VmallocUsed", 0 },	      { "VmallocChunk", 0 },
		{ "AnonHugePages", 0 },
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		show_kib(s, rows[i].name, rows[i].bytes);
	seq_text(s, "HugePages_Total:       0\nHugePages_Free:        0\nHugePages_Rsvd:        0\n"
		    "HugePages_Surp:        0\n");
	show_kib(s, "Hugepagesize", MIB(2));
	show_kib(s, "Hugetlb", 0);
	return 0;
}

int proc_vmstat(struct seq *s, const struct proc_ctx *x)
{
	struct memory_info m;

	(void)x;
	memory_info(&m);
	seq_printf(s,
		   "nr_free_pages %" PRIu64 "\nnr_inactive_anon 0\nnr_active_anon %" PRIu64
		   "\nnr_inactive_file 0\nnr_active_file 0\nnr_anon_pages %" PRIu64
		   "\nnr_mapped 0\nnr_file_pages 0\nnr_dirty 0\nnr_writeback 0\nnr_shmem 0\n",
		   m.free / 4096, m.used / 4096, m.used / 4096);
	seq_text(s, "pgpgin 0\npgpgout 0\npswpin 0\npswpout 0\npgfree 0\npgfault 0\npgmajfault 0\n"
		    "oom_kill 0\n");
	return 0;
}

int proc_swaps(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_text(s, "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n");
	return 0;
}

/* ---- CPU time ---- */
static void show_cpu(struct seq *s, const char *name, const struct cpu_times *t, uint32_t divide)
{
	seq_printf(s, "%s %" PRIu64 " 0 %" PRIu64 " %" PRIu64 " 0 0 0 0 0 0\n", name,
		   t->user / divide, t->system / divide, t->idle / divide);
}

static int64_t boot_time_s(void)
{
	return (clock_real() - (int64_t)clock_boot()) / (int64_t)NSEC_PER_SEC;
}

int proc_stat(struct seq *s, const struct proc_ctx *x)
{
	struct cpu_times times;
	uint32_t cpus = cpu_count();

	(void)x;
	cpu_times(&times);
	show_cpu(s, "cpu ", &times, 1);
	for (uint32_t i = 0; i < cpus; i++) {
		char name[16];
		snprintf(name, sizeof(name), "cpu%u", i);
		show_cpu(s, name, &times, cpus);
	}
	seq_printf(s, "intr 0\nctxt 0\nbtime %" PRId64 "\nprocesses %u\nprocs_running %u\n"
		      "procs_blocked 0\nsoftirq 0 0 0 0 0 0 0 0 0 0 0\n", boot_time_s(),
		   thread_count(), MAX(times.running, 1u));
	return 0;
}

int proc_uptime(struct seq *s, const struct proc_ctx *x)
{
	struct cpu_times times;
	uint64_t now = clock_boot() / TICK_NS;

	(void)x;
	cpu_times(&times);
	seq_printf(s, "%" PRIu64 ".%02" PRIu64 " %" PRIu64 ".%02" PRIu64 "\n", now / 100, now % 100,
		   times.idle / 100, times.idle % 100);
	return 0;
}

int proc_loadavg(struct seq *s, const struct proc_ctx *x)
{
	struct cpu_times times;
	int last_pid = 1;
	struct process *p;

	(void)x;
	load_sample();
	cpu_times(&times);
	for (int i = 0; i < 3; i++) {
		uint64_t load = uts()->load[i] + 10; /* rounds as the kernel does */
		seq_printf(s, "%" PRIu64 ".%02" PRIu64 " ", load >> 11, ((load & 2047) * 100) >> 11);
	}
	list_for_each(p, process_list(), all_link)
		last_pid = MAX(last_pid, p->pid);
	seq_printf(s, "%u/%u %d\n", MAX(times.running, 1u), thread_count(), last_pid);
	return 0;
}

/* ---- the machine ---- */
int proc_version(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_printf(s, "Linux version %s (hotcell@localhost) (cc) %s\n", uts()->release,
		   uts()->version);
	return 0;
}

int proc_devices(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_text(s, "Character devices:\n  1 mem\n  5 /dev/tty\n  5 /dev/console\n  5 /dev/ptmx\n"
		    " 10 misc\n136 pts\n\nBlock devices:\n");
	return 0;
}

int proc_misc(struct seq *s, const struct proc_ctx *x)
{
	(void)s;
	(void)x;
	return 0;
}

int proc_partitions(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_text(s, "major minor  #blocks  name\n\n");
	return 0;
}

int proc_cgroups(struct seq *s, const struct proc_ctx *x)
{
	static const char *const names[] = { "cpuset", "cpu", "cpuacct", "memory", "pids" };

	(void)x;
	seq_text(s, "#subsys_name\thierarchy\tnum_cgroups\tenabled\n");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		seq_printf(s, "%s\t0\t1\t1\n", names[i]);
	return 0;
}

int proc_interrupts(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_text(s, "           ");
	for (uint32_t i = 0; i < cpu_count(); i++)
		seq_printf(s, "CPU%-8u", i);
	seq_text(s, "\n");
	return 0;
}

int proc_cmdline(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_text(s, "root=overlay rw\n");
	return 0;
}

/* ---- locks ---- */
struct lock_lister {
	struct seq *s;
	unsigned number;
};

static void show_lock(void *ctx, const char *kind, bool write, int pid, const struct inode *inode,
		      uint64_t start, uint64_t end)
{
	struct lock_lister *l = ctx;
	char last[24] = "EOF";

	if (end < INT64_MAX)
		snprintf(last, sizeof(last), "%" PRIu64, end);
	seq_printf(l->s, "%u: %-6s ADVISORY  %s %d %02x:%02x:%" PRIu64 " %" PRIu64 " %s\n",
		   ++l->number, kind, write ? "WRITE" : "READ ", pid, major(inode->sb->dev),
		   minor(inode->sb->dev), inode->ino, start, last);
}

int proc_locks(struct seq *s, const struct proc_ctx *x)
{
	struct lock_lister l = { s, 0 };

	(void)x;
	locks_visit(&l, show_lock);
	return 0;
}

int proc_empty(struct seq *s, const struct proc_ctx *x)
{
	(void)s;
	(void)x;
	return 0;
}

/* ---- System V IPC ---- */
int proc_sysvipc_shm(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_text(s, "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  "
		    "cuid  cgid      atime      dtime      ctime                   rss                  "
		    "swap\n");
	shm_show(s);
	return 0;
}

int proc_sysvipc_sem(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_text(s, "       key      semid perms      nsems   uid   gid  cuid  cgid      otime      "
		    "ctime\n");
	sysv_show_sem(s);
	return 0;
}

int proc_sysvipc_msg(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_text(s, "       key      msqid perms      cbytes       qnum lspid lrpid   uid   gid  cuid  "
		    "cgid      stime      rtime      ctime\n");
	sysv_show_msg(s);
	return 0;
}
