/*
 * Memory accounting without a control group.
 *
 * Guests allocate natively, so nothing tells us when they do: the meter looks every now and then,
 * a timer. It is a substitute with a delay, not a wall: a program can exceed the limit for
 * the length of one interval.
 *
 *   1. Bound: the sum of anonymous and shared-memory pages and of page tables of all processes
 *      (/proc/PID/status). Pages that processes share after fork count several times, so this is
 *      never too low. Page tables, because reading a page here and there takes nothing else.
 *   2. Only when the bound exceeds the limit: the proportional share (Pss) of each process, which
 *      adds up to the truth but costs a walk over the page tables.
 * Above the limit by (2) the sandbox ends, with a reason that names the option. Data of files in the
 * private layer is counted by --disk.
 *
 * The interval follows what goes on: short when memory grows or the limit is near, up to a second
 * when nothing changes, and never so short that measuring takes more than a twentieth of the time.
 */
#include "kernel/task/meter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/core/clock.h"
#include "kernel/core/limits.h"
#include "kernel/core/sandbox.h"
#include "kernel/core/timer.h"
#include "kernel/host/proc.h"
#include "kernel/task/task.h"

#define INTERVAL_MIN_NS (20 * NSEC_PER_MSEC)
#define INTERVAL_MAX_NS NSEC_PER_SEC
#define COST_FACTOR 20 /* one part measuring, nineteen parts working */
#define STATUS_MAX 4096

struct meter {
	struct timer timer;
	uint64_t interval_ns;
	uint64_t bound; /* at the last look */
};

static struct meter *meter;

/* "Name:   123 kB" in a file of such lines, in bytes; 0 when it is not there. */
static uint64_t field(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) * KIB(1) : 0;
}

/* The sum of up to three fields over all processes. */
static uint64_t add_up(const char *file, const char *const names[3])
{
	char text[STATUS_MAX];
	uint64_t sum = 0;
	struct process *p;

	list_for_each(p, process_list(), all_link) {
		if (p->state != PROCESS_ALIVE)
			continue;
		ssize_t n = host_proc_read(p->host_pid, file, text, sizeof(text) - 1);
		if (n <= 0)
			continue;
		text[n] = '\0';
		for (int i = 0; i < 3 && names[i]; i++)
			sum += field(text, names[i]);
	}
	return sum;
}

static void enforce(uint64_t limit)
{
	static const char *const shares[3] = { "\nPss_Anon:", "\nPss_Shmem:" };
	static const char *const tables[3] = { "\nVmPTE:" };
	char reason[128];
	uint64_t used = add_up("smaps_rollup", shares) + add_up("status", tables);

	limit_set_used(LIMIT_MEMORY, used);
	if (used <= limit)
		return;
	snprintf(reason, sizeof(reason), "memory limit of %" PRIu64 " MiB reached (--memory changes it)",
		 limit / MIB(1));
	sandbox_end(SANDBOX_LIMIT, reason);
}

void sandbox_timer_fired(struct timer *t)
{
	uint64_t began = clock_mono();
	uint64_t limit = limit_value(LIMIT_MEMORY);
	static const char *const pages[3] = { "\nRssAnon:", "\nRssShmem:", "\nVmPTE:" };
	uint64_t bound = add_up("status", pages);

	if (bound > limit)
		enforce(limit);
	else
		limit_set_used(LIMIT_MEMORY, bound);
	uint64_t now = clock_mono();
	bool quiet = bound <= meter->bound && bound < limit / 2;
	uint64_t next = quiet ? MIN(meter->interval_ns * 2, INTERVAL_MAX_NS) : INTERVAL_MIN_NS;
	meter->bound = bound;
	meter->interval_ns = MAX(next, (now - began) * COST_FACTOR);
	(void)timer_arm(t, TIMER_SANDBOX, now + meter->interval_ns);
}

int meter_start(void)
{
	meter = arena_root(ROOT_METER, sizeof(*meter));
	if (!meter)
		return -ENOMEM;
	meter->interval_ns = INTERVAL_MIN_NS;
	return timer_arm(&meter->timer, TIMER_SANDBOX, clock_mono() + INTERVAL_MIN_NS);
}
