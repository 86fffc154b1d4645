/*
 * Clocks. Stored times are offsets from the sandbox's own start, so that a restored arena stays
 * valid on a host whose clock stands elsewhere: only `base` has to be set again.
 */
#include "kernel/core/clock.h"

#include "kernel/core/arena.h"

struct clock_state {
	uint64_t base; /* host monotonic ns when the sandbox's clock showed 0 */
};

static struct clock_state *state;
static uint64_t now; /* cached, refreshed by clock_tick() */

static uint64_t host_now(clockid_t id)
{
	struct timespec ts;
	clock_gettime(id, &ts); /* vdso: no system call */
	return ns_from_timespec(&ts);
}

int clock_init(void)
{
	state = arena_root(ROOT_CLOCK, sizeof(*state));
	if (!state)
		return -1;
	state->base = host_now(CLOCK_MONOTONIC) - NSEC_BASE;
	clock_tick();
	return 0;
}

void clock_tick(void)
{
	now = host_now(CLOCK_MONOTONIC) - state->base;
}

uint64_t clock_mono(void)
{
	return now;
}

uint64_t clock_boot(void)
{
	clock_tick();
	return now - NSEC_BASE;
}

int64_t clock_real(void)
{
	return (int64_t)host_now(CLOCK_REALTIME);
}

uint64_t clock_mono_from_guest(uint64_t guest_ns)
{
	return guest_ns > state->base ? guest_ns - state->base : 0;
}
