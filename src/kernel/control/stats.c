#include "kernel/control/stats.h"

#include <string.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/core/dispatch.h"
#include "kernel/core/limits.h"
#include "kernel/host/channel_host.h"
#include "kernel/task/life.h"
#include "kernel/task/usage.h"
#include "kernel/task/uts.h"
#include "wire/wire.h"

static uint64_t start_ns;
static bool enabled;

void stats_set_start(uint64_t ns)
{
	start_ns = ns;
}

void stats_enable(void)
{
	enabled = true;
}

void stats_collect(struct wire_stats *s)
{
	struct cpu_times times;
	struct memory_info memory;

	memset(s, 0, sizeof(*s));
	if (!enabled)
		return;
	memory_info(&memory);
	cpu_times(&times);
	s->cpu_user_ns = times.user * (NSEC_PER_SEC / 100);
	s->cpu_system_ns = times.system * (NSEC_PER_SEC / 100);
	s->calls_served = dispatch_calls_served();
	s->calls_refused = dispatch_calls_refused();
	s->kernel_cpu_ns = host_cpu_ns();
	s->arena_bytes = arena_used();
	s->memory_bytes = memory.used;
	s->memory_cache_bytes = memory.cached;
	s->memory_limit_bytes = limit_value(LIMIT_MEMORY);
	s->disk_limit_bytes = limit_value(LIMIT_DISK_BYTES);
	s->cpu_count = cpu_count();
	s->memory_peak_bytes = limit_peak(LIMIT_MEMORY);
	s->disk_bytes = limit_used(LIMIT_DISK_BYTES);
	s->disk_refused = limit_refused(LIMIT_DISK_BYTES);
	s->disk_inodes = limit_used(LIMIT_DISK_INODES);
	s->processes = process_count();
	s->processes_total = process_total();
	s->start_ns = start_ns;
	dispatch_format_refused(s->refused, sizeof(s->refused));
}
