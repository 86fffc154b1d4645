/*
 * Answers that the host accepted and the thread did not get.
 *
 * The host's SECCOMP_IOCTL_NOTIF_SEND succeeds while the notification is on its list. A thread that
 * a signal woke takes its notification off the list a moment later, under a lock: when our answer
 * gets that lock first it is accepted, and ignored, for the thread has its mind made up. The call
 * is interrupted, and what we believe done (bytes taken from a pipe) is done for nobody. It takes a
 * busy host and some hundred thousand calls under signals to see it once.
 *
 * The handler's return shows registers that say EINTR behind the call, or that it is about to be
 * repeated. Had the answer arrived, they would say the result. But the same registers come from
 * another call that the program made at the same place with the same arguments (a loop that reads)
 * and that a signal took away before we received it. The numbers of notifications settle that: the
 * host counts them up as threads make them, and hands them out in that order, so each number
 * that we never saw is a call we know nothing about. None missed since the answer: no such call,
 * and the answer was lost. Some missed: no telling whose they were; then the host's word stands,
 * and crossfire.c sees to it that it is not asked often.
 *
 * Not seen here is a thread that was stopped and continued at that moment, without a handler.
 */
#include "kernel/task/past.h"

#include <errno.h>
#include <string.h>

void past_begin(struct past *p, int nr, uint64_t ip, const uint64_t args[6])
{
	p->newest = (uint8_t)((p->newest + 1) % PAST_MAX);
	struct past_call *c = &p->calls[p->newest];
	c->nr = nr;
	c->answered = false;
	c->ip = ip;
	memcpy(c->args, args, sizeof(c->args));
}

void past_answered(struct past *p, long result, uint64_t missed)
{
	struct past_call *c = &p->calls[p->newest];

	c->answered = true;
	c->result = result;
	c->missed = missed;
}

static bool belongs(const struct past_call *c, const struct past_registers *r)
{
	bool failed = r->ip == c->ip && (long)r->rax == -EINTR;
	bool repeats = r->ip == c->ip - SYSCALL_INSTRUCTION_SIZE && r->rax == (uint64_t)c->nr;

	return c->ip && (failed || repeats) && memcmp(c->args, r->args, sizeof(c->args)) == 0;
}

enum past_verdict past_take(struct past *p, const struct past_registers *r, uint64_t missed,
			    struct past_call *ret)
{
	for (unsigned i = 0; i < PAST_MAX; i++) {
		struct past_call *c = &p->calls[(p->newest + PAST_MAX - i) % PAST_MAX];
		if (!belongs(c, r))
			continue;
		/* Only the newest can be the interrupted one. */
		if (!c->answered)
			return PAST_NONE;
		*ret = *c;
		c->answered = false;
		return c->missed == missed ? PAST_UNHEARD : PAST_UNSURE;
	}
	return PAST_NONE;
}
