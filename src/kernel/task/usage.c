/*
 * What the sandbox uses: memory, CPU time, load averages.
 *
 * Memory comes from the accounting behind LIMIT_MEMORY where that exists, else from adding up the
 * private pages of the processes. CPU time is the sum over the live processes and the children they
 * waited for, which is everything that ever ran once orphans are reaped by pid 1.
 *
 * Load averages are kept as Linux keeps them (exponentially damped, a sample every five seconds),
 * but lazily: whoever asks pays for the sample, and an idle sandbox has no timer.
 */
#include "kernel/task/usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/core/clock.h"
#include "kernel/core/limits.h"
#include "kernel/host/proc.h"
#include "kernel/task/task.h"
#include "kernel/task/uts.h"

#define TICK_NS (NSEC_PER_SEC / 100)
#define PROCESSES_MAX 512 /* looked at when CPU times are added up */
#define LOAD_ONE (1u << 11)
#define LOAD_INTERVAL_NS (5 * NSEC_PER_SEC)
#define LOAD_STEPS_MAX 360   /* half an hour: everything has decayed by then */
#define LOAD_THREADS_MAX 256 /* looked at in one sample */
#define RSS_PROCESSES_MAX 256

/* ---- memory ---- */

/* Private resident bytes of a process: "size resident shared ..." in pages. */
static uint64_t private_bytes(struct process *p)
{
	char text[128];
	unsigned long size = 0, resident = 0, shared = 0;
	ssize_t n = host_proc_read(p->host_pid, "statm", text, sizeof(text) - 1);

	if (n <= 0)
		return 0;
	text[n] = 0;
	if (sscanf(text, "%lu %lu %lu", &size, &resident, &shared) != 3 || shared > resident)
		return 0;
	return (uint64_t)(resident - shared) * PAGE_SIZE;
}

void memory_info(struct memory_info *ret)
{
	uint64_t used = limit_used(LIMIT_MEMORY);
	unsigned seen = 0;
	struct process *p;

	if (!used) { /* nobody measures: add up */
		list_for_each(p, process_list(), all_link) {
			if (p->state == PROCESS_ALIVE)
				used += private_bytes(p);
			if (++seen == RSS_PROCESSES_MAX)
				break;
		}
	}
	uint64_t total = limit_value(LIMIT_MEMORY);
	if (total == LIMIT_NONE)
		total = GIB(64);
	ret->total = ALIGN_DOWN(total, (uint64_t)PAGE_SIZE);
	ret->used = MIN(used, ret->total);
	ret->free = ret->total - ret->used;
	ret->shared = 0;
	ret->cached = 0;
}

/* ---- CPU time ---- */

/* Adds a process with the children it has waited for: fields 14 to 17 of stat. */
static void add_process(struct process *p, struct cpu_times *times)
{
	char text[512];
	ssize_t n = host_proc_read(p->host_pid, "stat", text, sizeof(text) - 1);

	if (n <= 0)
		return;
	text[n] = 0;
	char *at = strrchr(text, ')');
	if (!at || at[1] != ' ')
		return;
	times->running += at[2] == 'R';
	at += 2;
	for (int field = 3; field < 14 && at; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	if (!at)
		return;
	uint64_t values[4];
	for (int i = 0; i < 4; i++)
		values[i] = strtoull(at, &at, 10);
	times->user += values[0] + values[2];
	times->system += values[1] + values[3];
}

void cpu_times(struct cpu_times *ret)
{
	unsigned seen = 0;
	struct process *p;

	*ret = (struct cpu_times){ 0 };
	list_for_each(p, process_list(), all_link) {
		add_process(p, ret);
		if (++seen == PROCESSES_MAX)
			break;
	}
	uint64_t total = clock_boot() / TICK_NS * cpu_count();
	uint64_t used = ret->user + ret->system;
	ret->idle = total > used ? total - used : 0;
}

/* ---- load ---- */
static bool thread_is_running(struct task *t)
{
	char text[256];
	ssize_t n = host_proc_read(t->host_tid, "stat", text, sizeof(text) - 1);

	if (n <= 0)
		return false;
	text[n] = 0;
	const char *p = strrchr(text, ')'); /* the name may contain anything */
	return p && p[1] == ' ' && (p[2] == 'R' || p[2] == 'D');
}

static uint64_t count_running(void)
{
	uint64_t running = 0, seen = 0;
	struct process *p;
	struct task *t;

	list_for_each(p, process_list(), all_link)
		list_for_each(t, &p->threads, sibling) {
			if (seen++ == LOAD_THREADS_MAX)
				return running;
			running += thread_is_running(t);
		}
	return running;
}

void load_sample(void)
{
	static const uint64_t damping[3] = { 1884, 2014, 2037 }; /* e^(-5s/1,5,15min) */
	struct uts *u = uts();
	uint64_t now = clock_boot();
	uint64_t steps = (now - u->load_sampled_ns) / LOAD_INTERVAL_NS;

	if (!steps)
		return;
	u->load_sampled_ns = now;
	uint64_t running = count_running() * LOAD_ONE;
	for (uint64_t s = 0; s < MIN(steps, (uint64_t)LOAD_STEPS_MAX); s++)
		for (int i = 0; i < 3; i++)
			u->load[i] = (u->load[i] * damping[i] +
					  running * (LOAD_ONE - damping[i])) / LOAD_ONE;
}
