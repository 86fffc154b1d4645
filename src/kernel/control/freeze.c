/*
 * FREEZE and THAW.
 *
 *   running --FREEZE--> freezing --all threads stand--> frozen --THAW--> thawing --all gone--> running
 *                          |
 *                          +-- not within PATIENCE_NS: ERROR --> thawing --FREEZE--> freezing
 *
 * Threads are stopped from outside (host/freezer.h), natively computing ones, too. From the first
 * moment the kernel takes no system call and answers none, so that nobody can make a new process
 * that is not one of an order already given; the tree of processes is looked through until nothing
 * new is found while everything found stands.
 *
 * A thread that waited in a call of ours is taken out of it by the stop and repeats it afterwards.
 * The call goes on as the same (core/dispatch.c, call.held): what it has moved, its deadline, its file.
 * Deadlines and timers count on while frozen; what has become due shows at once after the thaw. Calls
 * that the host executes and that cannot be repeated end with EINTR then, as after SIGSTOP and
 * SIGCONT (signal(7), "Interruption of system calls and library functions by stop signals").
 *
 * While frozen the control channel goes on: files, statistics, watches; what concerns processes is
 * kept until the thaw (SPAWN, SIGNAL but SIGKILL, INPUT); DIAL is refused with EAGAIN, and what a
 * connection has carries on as far as buffers go.
 */
#include "kernel/control/freeze.h"

#include <errno.h>

#include "base/util.h"
#include "kernel/control/control.h"
#include "kernel/control/op.h"
#include "kernel/control/reboot.h"
#include "kernel/control/requests.h"
#include "kernel/core/arena.h"
#include "kernel/core/clock.h"
#include "kernel/host/freezer.h"
#include "kernel/host/poll.h"
#include "kernel/task/task.h"
#include "wire/channel.h"

#define PATIENCE_NS	   (10 * NSEC_PER_SEC)
#define PROCESSES_PER_TURN 64u

enum freeze_phase { RUNNING, FREEZING, FROZEN, THAWING };

struct freeze {
	uint8_t phase;	  /* enum freeze_phase */
	bool for_save;	  /* a SAVE waits for it, else a FREEZE: */
	uint32_t request; /* that waits for its answer */
	uint64_t deadline;
};

static struct freeze *get(void)
{
	static struct freeze *state;

	if (!state)
		state = arena_root(ROOT_FREEZE, sizeof(*state));
	return state;
}

bool freeze_active(void)
{
	struct freeze *s = get();

	return s && (s->phase == FREEZING || s->phase == FROZEN);
}

/* Blocked calls will come again as new notifications. Parked threads wait in a call of their own. */
static void hold_calls(void)
{
	struct process *p;
	struct task *t;

	list_for_each(p, process_list(), all_link) {
		list_for_each(t, &p->threads, sibling) {
			if (t->call && !t->call->parked)
				t->call->held = true;
		}
	}
}

static void thaw(struct freeze *s)
{
	s->phase = host_freezer_thaw() ? RUNNING : THAWING;
	host_poll_listen(true);
}

/* Tells whoever waits for FREEZING: 0 or -errno. */
static void answer(struct freeze *s, int r)
{
	if (s->for_save)
		op_wake_all(OP_SAVE);
	else if (r == 0)
		control_done(s->request);
	else
		control_error(s->request, -r, WIRE_ABOUT_REQUEST, "freeze");
}

void freeze_end(void)
{
	struct freeze *s = get();

	if (!freeze_active())
		return;
	if (s->phase == FREEZING)
		answer(s, -ECANCELED);
	thaw(s);
}

static void freeze_step(struct freeze *s)
{
	int r = host_freezer_settled() ? host_freezer_scan(PROCESSES_PER_TURN) : 0;

	if (r == 0 && clock_mono() >= s->deadline)
		r = -ETIMEDOUT;
	if (r == 0)
		return;
	if (r > 0)
		s->phase = FROZEN;
	else
		thaw(s);
	answer(s, MIN(r, 0));
}

bool freeze_tick(void)
{
	struct freeze *s = get();

	if (!s)
		return false;
	if (s->phase == FREEZING)
		freeze_step(s);
	else if (s->phase == THAWING && host_freezer_thaw())
		s->phase = RUNNING;
	return s->phase == FREEZING || s->phase == THAWING;
}

void freeze_process_died(int host_pid)
{
	if (get() && get()->phase != RUNNING)
		host_freezer_process_died(host_pid);
}

static void start(struct freeze *s, bool for_save, uint32_t request)
{
	s->phase = FREEZING;
	s->for_save = for_save;
	s->request = request;
	s->deadline = clock_mono() + PATIENCE_NS;
	host_poll_listen(false);
	hold_calls();
}

int freeze_begin(void)
{
	struct freeze *s = get();

	if (!s)
		return -ENOMEM;
	if (s->phase == FREEZING || reboot_active())
		return -EBUSY;
	if (s->phase == FROZEN)
		return 0;
	start(s, true, 0);
	return 1;
}

int freeze_state(void)
{
	const struct freeze *s = get();

	return s->phase == FROZEN ? 0 : s->phase == FREEZING ? -EINPROGRESS : -ETIMEDOUT;
}

bool freeze_message(const struct message *m, struct wire_in *in)
{
	struct freeze *s = get();

	if (!wire_in_end(in))
		return false;
	if (!s || s->phase == FREEZING || reboot_active()) {
		control_error(m->header.request, s ? EBUSY : ENOMEM, WIRE_ABOUT_REQUEST, "freeze");
		return true;
	}
	if (s->phase == FROZEN) {
		control_done(m->header.request);
		return true;
	}
	start(s, false, m->header.request);
	return true;
}

bool thaw_message(const struct message *m, struct wire_in *in)
{
	if (!wire_in_end(in))
		return false;
	freeze_end();
	control_done(m->header.request);
	return true;
}
