#include "launch/cpus.h"

#include <errno.h>
#include <unistd.h>

int cpus_pin(struct cpus_pin *pin, uint64_t milli)
{
	cpu_set_t some;
	int want = milli > CPU_SETSIZE * 1000ull ? CPU_SETSIZE : (int)((milli + 999) / 1000);
	pin->pinned = false;
	if (sched_getaffinity(0, sizeof(pin->before), &pin->before) < 0)
		return -errno;
	int have = CPU_COUNT(&pin->before);
	if (want >= have)
		return 0;
	/* Sandboxes spread over the processors by pid. */
	int skip = (int)(getpid() % have);
	CPU_ZERO(&some);
	for (int turn = 0, cpu = 0; CPU_COUNT(&some) < want && turn < 2 * CPU_SETSIZE; turn++) {
		cpu = turn % CPU_SETSIZE;
		if (!CPU_ISSET(cpu, &pin->before))
			continue;
		if (skip > 0)
			skip--;
		else
			CPU_SET(cpu, &some);
	}
	if (sched_setaffinity(0, sizeof(some), &some) < 0)
		return -errno;
	pin->pinned = true;
	return 0;
}

void cpus_unpin(const struct cpus_pin *pin)
{
	if (pin->pinned)
		(void)sched_setaffinity(0, sizeof(pin->before), &pin->before);
}
