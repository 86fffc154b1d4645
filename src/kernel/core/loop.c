/*
 * One turn: run what was woken, fire what is due, wait for the host, then serve what came, deaths
 * of processes before system calls. That order is a promise: when a parent's call arrives after it
 * has waited for its child, the child's descriptors are closed already. Last a slice of what the
 * control channel asked for (control/op.h).
 */
#include "kernel/core/loop.h"

#include <sys/epoll.h>

#include "base/util.h"
#include "kernel/control/control.h"
#include "kernel/control/freeze.h"
#include "kernel/control/op.h"
#include "kernel/control/reboot.h"
#include "kernel/core/clock.h"
#include "kernel/core/dispatch.h"
#include "kernel/core/sandbox.h"
#include "kernel/core/timer.h"
#include "kernel/host/notify.h"
#include "kernel/host/poll.h"
#include "kernel/host/tracee.h"
#include "kernel/host/watch.h"
#include "kernel/task/life.h"

#define EVENTS_MAX 64
#define CALLS_PER_SLICE 4
#define TICK_NS (NSEC_PER_MSEC / 5)
#define SETTLE_NS (2 * NSEC_PER_MSEC)

/* Everything but system calls. True if the listener has one. */
static bool serve_others(const struct poll_event *events, int count)
{
	bool calls = false;

	for (int i = 0; i < count; i++) {
		const struct poll_event *e = &events[i];
		switch (e->kind) {
		case POLL_LISTENER:
			calls = true;
			/* No process uses the filter any more: pid 1 never ends by itself. */
			if ((e->events & EPOLLHUP) && !(e->events & EPOLLIN))
				sandbox_end(SANDBOX_FAULT, SANDBOX_INIT_KILLED);
			break;
		case POLL_PIDFD:
			freeze_process_died((int)e->token);
			process_died((int)e->token);
			break;
		case POLL_CONTROL:
			control_event(e->events);
			break;
		case POLL_WATCH:
			host_watch_event(e->token, e->events);
			break;
		default:
			break;
		}
	}
	return calls;
}

/* While the guests stand still, so do their calls. True: there are more to serve at once. */
static bool serve_woken(void)
{
	return !freeze_active() && dispatch_woken();
}

int loop_run(void)
{
	struct poll_event events[EVENTS_MAX];
	struct notification n;
	unsigned calls = 0;

	while (sandbox_state() == SANDBOX_RUNNING) {
		(void)serve_woken();
		uint64_t wait_ns = timer_run();
		if (serve_woken())
			wait_ns = 0;
		if (sandbox_state() != SANDBOX_RUNNING)
			break;
		if (tracee_settle())
			wait_ns = MIN(wait_ns, SETTLE_NS);
		if (freeze_tick() | reboot_tick())
			wait_ns = MIN(wait_ns, TICK_NS);
		if (op_runnable())
			wait_ns = 0;
		int count = host_poll_wait(events, EVENTS_MAX, wait_ns);
		if (count < 0)
			return count;
		clock_tick();
		bool called = serve_others(events, count) && !freeze_active() &&
			      host_notify_receive(&n) > 0;
		if (called)
			dispatch(&n);
		op_run_urgent();
		/* Busy guests get several calls for each slice of an operation. */
		calls = called ? calls + 1 : CALLS_PER_SLICE;
		if (calls >= CALLS_PER_SLICE) {
			calls = 0;
			op_run();
		}
	}
	return 0;
}
