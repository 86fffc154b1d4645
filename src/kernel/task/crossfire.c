/*
 * Threads whose signals leave no telling what was heard.
 *
 * Which accepted answers a signal kept from their thread is worked out from the numbers of missed
 * notifications (past.c). That is exact while one thread of the sandbox is hit by signals inside its
 * calls. When two are, a missed number may be the other one's, and "answered, then a call alike
 * that nobody saw" cannot be told from "answered, not heard": on a busy host, programs under timers
 * of half a millisecond lost a call in ten thousand signals so.
 *
 * So threads in crossfire get their answers another way: held by ptrace, which says for certain
 * whether it is still in the call (core/call.c). That costs several times as much as the plain way,
 * and happens only while two threads had signals inside their calls in the last moments, each. The
 * very first hits are not seen coming; that leaves a chance too small to meet.
 *
 * What counts as a hit is a signal in a call that we were working on or had not seen yet. One that
 * wakes a call which waits, a shell's SIGCHLD, is none: there nothing is on its way.
 */
#include "kernel/task/crossfire.h"

#include "kernel/core/clock.h"

#define MOMENT_NS 50000000ull

/* The last hit, and the last one of another thread. */
static struct hit {
	int host_tid;
	uint64_t ns;
} last, before;

void crossfire_hit(struct task *t)
{
	if (last.host_tid != t->host_tid)
		before = last;
	last = (struct hit){ t->host_tid, clock_mono() };
	t->hit_ns = last.ns;
}

bool crossfire_holds(const struct task *t)
{
	if (!t->hit_ns)
		return false;
	uint64_t others = last.host_tid == t->host_tid ? before.ns : last.ns, now = clock_mono();
	return others && now - t->hit_ns < MOMENT_NS && now - others < MOMENT_NS;
}
