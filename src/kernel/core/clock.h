/*
 * The sandbox's clocks. Times stored in the arena are nanoseconds on these clocks; after a restore
 * the offset to the host's clock changes, stored values stay valid.
 */
#pragma once

#include <stdint.h>
#include <time.h>

/* The clock starts here and not at 0, so that 0 can mean "no time". */
#define NSEC_BASE 1000000000ull

int clock_init(void);

/* CLOCK_MONOTONIC of the sandbox, ns. Cached per event-loop turn: cheap to call. */
uint64_t clock_mono(void);
/* CLOCK_REALTIME, ns since the epoch. Read afresh: file times must be strictly useful to make. */
int64_t clock_real(void);
/* CLOCK_BOOTTIME of the sandbox: time since the sandbox started, for uptime and process times. */
uint64_t clock_boot(void);

/* Guests read the host's monotonic clock through the vdso: their times are converted here. */
uint64_t clock_mono_from_guest(uint64_t guest_ns);

/* Called by the event loop once per turn. */
void clock_tick(void);

static inline uint64_t ns_from_timespec(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * 1000000000ull + (uint64_t)ts->tv_nsec;
}

static inline struct timespec timespec_from_ns(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000ull),
				  .tv_nsec = (long)(ns % 1000000000ull) };
}
