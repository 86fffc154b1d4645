/* Every file of /sys, once. Row 0 is the root. */
#include <inttypes.h>
#include <string.h>

#include "kernel/fs/sys/sys_internal.h"
#include "kernel/task/usage.h"
#include "kernel/task/uts.h"

/* ---- processors: "0-3", or "0" for one ---- */
static int show_range(struct seq *s, uint32_t cpu)
{
	uint32_t n = cpu_count();

	(void)cpu;
	if (n == 1)
		seq_text(s, "0\n");
	else
		seq_printf(s, "0-%u\n", n - 1);
	return 0;
}

static int show_kernel_max(struct seq *s, uint32_t cpu)
{
	(void)cpu;
	seq_printf(s, "%u\n", cpu_count() - 1);
	return 0;
}

static int show_cpu(struct seq *s, uint32_t cpu)
{
	seq_printf(s, "%u\n", cpu);
	return 0;
}

/* Masks are words of 32 bits in hexadecimal, the highest first. */
static void show_mask(struct seq *s, uint32_t first, uint32_t count)
{
	uint32_t words = (cpu_count() + 31) / 32;

	for (uint32_t w = words; w-- > 0; ) {
		uint32_t bits = 0;
		for (uint32_t b = 0; b < 32; b++)
			if (w * 32 + b >= first && w * 32 + b < first + count)
				bits |= 1u << b;
		if (w == words - 1 && words == 1)
			seq_printf(s, "%x", bits);
		else
			seq_printf(s, "%08x", bits);
		seq_text(s, w ? "," : "\n");
	}
}

static int show_all_mask(struct seq *s, uint32_t cpu)
{
	(void)cpu;
	show_mask(s, 0, cpu_count());
	return 0;
}

static int show_own_mask(struct seq *s, uint32_t cpu)
{
	show_mask(s, cpu, 1);
	return 0;
}

static int show_node_meminfo(struct seq *s, uint32_t cpu)
{
	struct memory_info m;

	(void)cpu;
	memory_info(&m);
	seq_printf(s, "Node 0 MemTotal:       %8" PRIu64 " kB\nNode 0 MemFree:        %8" PRIu64
		      " kB\nNode 0 MemUsed:        %8" PRIu64 " kB\n",
		   m.total >> 10, m.free >> 10, m.used >> 10);
	return 0;
}

#define DIR(p) { .path = p, .mode = S_IFDIR | 0755 }
#define VALUE(p, v) { .path = p, .mode = S_IFREG | 0444, .value = v }
#define SHOW(p, f) { .path = p, .mode = S_IFREG | 0444, .show = f }

#define CPU "devices/system/cpu"
#define TOPOLOGY CPU "/cpu%/topology"
#define NODE "devices/system/node"
#define THP "kernel/mm/transparent_hugepage"
#define LO "class/net/lo"
#define CG "fs/cgroup"

const struct sys_row sys_rows[] = {
	DIR(""),
	DIR("block"),
	DIR("bus"),
	DIR("class"),
	DIR("class/net"),
	DIR(LO),
	VALUE(LO "/address", "00:00:00:00:00:00"),
	VALUE(LO "/addr_len", "6"),
	VALUE(LO "/broadcast", "00:00:00:00:00:00"),
	VALUE(LO "/carrier", "1"),
	VALUE(LO "/dormant", "0"),
	VALUE(LO "/flags", "0x9"),
	VALUE(LO "/ifindex", "1"),
	VALUE(LO "/iflink", "1"),
	VALUE(LO "/link_mode", "0"),
	VALUE(LO "/mtu", "65536"),
	VALUE(LO "/operstate", "unknown"),
	DIR(LO "/statistics"),
	VALUE(LO "/statistics/collisions", "0"),
	VALUE(LO "/statistics/multicast", "0"),
	VALUE(LO "/statistics/rx_bytes", "0"),
	VALUE(LO "/statistics/rx_dropped", "0"),
	VALUE(LO "/statistics/rx_errors", "0"),
	VALUE(LO "/statistics/rx_packets", "0"),
	VALUE(LO "/statistics/tx_bytes", "0"),
	VALUE(LO "/statistics/tx_dropped", "0"),
	VALUE(LO "/statistics/tx_errors", "0"),
	VALUE(LO "/statistics/tx_packets", "0"),
	VALUE(LO "/tx_queue_len", "1000"),
	VALUE(LO "/type", "772"),
	VALUE(LO "/uevent", "INTERFACE=lo\nIFINDEX=1"),
	DIR("dev"),
	DIR("dev/block"),
	DIR("dev/char"),
	DIR("devices"),
	DIR("devices/system"),
	DIR(CPU),
	SHOW(CPU "/kernel_max", show_kernel_max),
	VALUE(CPU "/isolated", ""),
	VALUE(CPU "/offline", ""),
	SHOW(CPU "/online", show_range),
	SHOW(CPU "/possible", show_range),
	SHOW(CPU "/present", show_range),
	DIR(CPU "/cpu%"),
	VALUE(CPU "/cpu%/online", "1"),
	DIR(TOPOLOGY),
	SHOW(TOPOLOGY "/core_cpus", show_own_mask),
	SHOW(TOPOLOGY "/core_cpus_list", show_cpu),
	SHOW(TOPOLOGY "/core_id", show_cpu),
	SHOW(TOPOLOGY "/core_siblings", show_all_mask),
	SHOW(TOPOLOGY "/core_siblings_list", show_range),
	VALUE(TOPOLOGY "/die_id", "0"),
	SHOW(TOPOLOGY "/package_cpus", show_all_mask),
	SHOW(TOPOLOGY "/package_cpus_list", show_range),
	VALUE(TOPOLOGY "/physical_package_id", "0"),
	SHOW(TOPOLOGY "/thread_siblings", show_own_mask),
	SHOW(TOPOLOGY "/thread_siblings_list", show_cpu),
	DIR(NODE),
	VALUE(NODE "/has_cpu", "0"),
	VALUE(NODE "/has_memory", "0"),
	VALUE(NODE "/has_normal_memory", "0"),
	VALUE(NODE "/online", "0"),
	VALUE(NODE "/possible", "0"),
	DIR(NODE "/node0"),
	SHOW(NODE "/node0/cpulist", show_range),
	SHOW(NODE "/node0/cpumap", show_all_mask),
	VALUE(NODE "/node0/distance", "10"),
	SHOW(NODE "/node0/meminfo", show_node_meminfo),
	DIR("firmware"),
	DIR("fs"),
	DIR(CG),
	VALUE(CG "/cgroup.controllers", "cpu memory pids"),
	VALUE(CG "/cgroup.events", "populated 1\nfrozen 0"),
	VALUE(CG "/cgroup.freeze", "0"),
	VALUE(CG "/cgroup.max.depth", "0"),
	VALUE(CG "/cgroup.max.descendants", "0"),
	SHOW(CG "/cgroup.procs", sys_cgroup_procs),
	VALUE(CG "/cgroup.stat", "nr_descendants 0\nnr_dying_descendants 0"),
	VALUE(CG "/cgroup.subtree_control", ""),
	SHOW(CG "/cgroup.threads", sys_cgroup_threads),
	VALUE(CG "/cgroup.type", "domain"),
	SHOW(CG "/cpu.max", sys_cpu_max),
	VALUE(CG "/cpu.max.burst", "0"),
	SHOW(CG "/cpu.stat", sys_cpu_stat),
	VALUE(CG "/cpu.weight", "100"),
	VALUE(CG "/cpu.weight.nice", "0"),
	SHOW(CG "/memory.current", sys_memory_current),
	VALUE(CG "/memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0"),
	VALUE(CG "/memory.high", "max"),
	VALUE(CG "/memory.low", "0"),
	SHOW(CG "/memory.max", sys_memory_max),
	VALUE(CG "/memory.min", "0"),
	VALUE(CG "/memory.oom.group", "0"),
	SHOW(CG "/memory.peak", sys_memory_peak),
	SHOW(CG "/memory.stat", sys_memory_stat),
	VALUE(CG "/memory.swap.current", "0"),
	VALUE(CG "/memory.swap.events", "high 0\nmax 0\nfail 0"),
	VALUE(CG "/memory.swap.high", "max"),
	VALUE(CG "/memory.swap.max", "0"),
	SHOW(CG "/pids.current", sys_pids_current),
	VALUE(CG "/pids.events", "max 0"),
	SHOW(CG "/pids.max", sys_pids_max),
	DIR("kernel"),
	DIR("kernel/mm"),
	DIR("kernel/mm/hugepages"),
	DIR(THP),
	VALUE(THP "/defrag", "always defer defer+madvise [madvise] never"),
	VALUE(THP "/enabled", "always [madvise] never"),
	VALUE(THP "/hpage_pmd_size", "2097152"),
	VALUE(THP "/shmem_enabled", "always within_size advise [never] deny force"),
	VALUE(THP "/use_zero_page", "1"),
	DIR("module"),
	DIR("power"),
};
const size_t sys_row_count = ARRAY_SIZE(sys_rows);
