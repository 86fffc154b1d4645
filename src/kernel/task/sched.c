/*
 * Scheduling: nice values, policies, CPU masks, I/O priorities.
 *
 * Reading is native where the call's answer is in the caller's own pid namespace (see
 * abi/syscalls.def). Changes come here, because who may change whom depends on the virtual users;
 * what is allowed is then done to the host thread. A sandbox has no real-time rights.
 */
#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>

#include "base/util.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/call.h"
#include "kernel/core/user.h"
#include "kernel/host/sched.h"
#include "kernel/task/cred.h"
#include "kernel/task/task.h"

#define CPU_MASK_BYTES 1024

/* Layout of struct sched_attr as first published (sched_setattr(2)). */
struct sched_attr_0 {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};
_Static_assert(sizeof(struct sched_attr_0) == 48, "SCHED_ATTR_SIZE_VER0");

#define ATTR_RESET_ON_FORK 1ull

static struct task *target(struct call *c, int tid)
{
	return tid ? task_find(tid) : c->task;
}

/* The rule of sched_setscheduler(2), setpriority(2) and sched_setaffinity(2). */
static bool may_schedule(const struct cred *c, const struct cred *t)
{
	return c->euid == t->uid || c->euid == t->euid || cred_capable(c, CAP_SYS_NICE);
}

/* ---- nice ---- */
static long set_one_nice(struct call *c, struct task *t, int nice)
{
	int now = 0;

	if (!may_schedule(c->task->cred, t->cred))
		return -EPERM;
	long error = host_get_nice(t->host_tid, &now);
	if (error)
		return error;
	/* RLIMIT_NICE counts from 20: a limit of 25 allows nice -5. */
	if (nice < now && (uint64_t)(20 - nice) > task_rlimit(t, RLIMIT_NICE) &&
	    !cred_capable(c->task->cred, CAP_SYS_NICE))
		return -EACCES;
	return host_set_nice(t->host_tid, nice);
}

static bool is_selected(struct call *c, int which, unsigned who, struct process *p, struct task *t)
{
	if (which == PRIO_PGRP)
		return p->pgid == (who ? (int)who : c->task->proc->pgid);
	return t->cred->uid == (who ? who : c->task->cred->uid);
}

/* Runs over the threads that (which, who) names: sets, or finds the lowest nice value. */
static long for_selected(struct call *c, int which, unsigned who, bool set, int nice)
{
	long result = -ESRCH;
	struct process *p;
	struct task *t;

	list_for_each(p, process_list(), all_link)
		list_for_each(t, &p->threads, sibling) {
			int value = 0;
			if (!is_selected(c, which, who, p, t))
				continue;
			if (set) {
				long error = set_one_nice(c, t, nice);
				if (error || result == -ESRCH)
					result = error;
			} else if (!host_get_nice(t->host_tid, &value)) {
				result = MAX(result, 20 - value);
			}
		}
	return result;
}

long sys_getpriority(struct call *c)
{
	int which = (int)c->args[0], value = 0;

	if (which < PRIO_PROCESS || which > PRIO_USER)
		return -EINVAL;
	if (which != PRIO_PROCESS)
		return for_selected(c, which, (unsigned)c->args[1], false, 0);
	struct task *t = target(c, (int)c->args[1]);
	if (!t)
		return -ESRCH;
	long error = host_get_nice(t->host_tid, &value);
	return error ? error : 20 - value;
}

long sys_setpriority(struct call *c)
{
	int which = (int)c->args[0];
	int nice = MAX(MIN((int)c->args[2], 19), -20);

	if (which < PRIO_PROCESS || which > PRIO_USER)
		return -EINVAL;
	if (which != PRIO_PROCESS)
		return for_selected(c, which, (unsigned)c->args[1], true, nice);
	struct task *t = target(c, (int)c->args[1]);
	return t ? set_one_nice(c, t, nice) : -ESRCH;
}

/* ---- policies ---- */
static long set_policy(struct call *c, struct task *t, int policy, int priority)
{
	bool reset_on_fork = policy & SCHED_RESET_ON_FORK;
	int plain = policy & ~SCHED_RESET_ON_FORK;

	switch (plain) {
	case SCHED_OTHER:
	case SCHED_BATCH:
	case SCHED_IDLE:
		if (priority != 0)
			return -EINVAL;
		if (!may_schedule(c->task->cred, t->cred))
			return -EPERM;
		return host_set_policy(t->host_tid,
				       plain | (reset_on_fork ? SCHED_RESET_ON_FORK : 0));
	case SCHED_FIFO:
	case SCHED_RR:
		if (priority < 1 || priority > 99)
			return -EINVAL;
		return -EPERM;
	case SCHED_DEADLINE:
		return -EPERM;
	default:
		return -EINVAL;
	}
}

static long policy_call(struct call *c, bool keep, int policy, struct uaddr param)
{
	int tid = (int)c->args[0];
	uint32_t priority;

	if (tid < 0 || !param.v)
		return -EINVAL;
	if (user_read_u32(c->task, &priority, param))
		return -EFAULT;
	struct task *t = target(c, tid);
	if (!t)
		return -ESRCH;
	if (keep) {
		long error = host_get_policy(t->host_tid, &policy);
		if (error)
			return error;
	}
	return set_policy(c, t, policy, (int)priority);
}

long sys_sched_setparam(struct call *c)
{
	return policy_call(c, true, 0, CALL_ARG_PTR(c, 1));
}

long sys_sched_setscheduler(struct call *c)
{
	int policy = (int)c->args[1];
	return policy < 0 ? -EINVAL : policy_call(c, false, policy, CALL_ARG_PTR(c, 2));
}

long sys_sched_setattr(struct call *c)
{
	struct sched_attr_0 attr;
	int tid = (int)c->args[0];
	uint32_t size;

	if (tid < 0 || !c->args[1] || c->args[2])
		return -EINVAL;
	if (user_read_u32(c->task, &size, CALL_ARG_PTR(c, 1)))
		return -EFAULT;
	if (size == 0)
		size = sizeof(attr);
	if (size < sizeof(attr) || size > 4096) {
		user_write_u32(c->task, CALL_ARG_PTR(c, 1), sizeof(attr));
		return -E2BIG;
	}
	if (user_read(c->task, &attr, CALL_ARG_PTR(c, 1), sizeof(attr)))
		return -EFAULT;
	if (attr.flags & ~ATTR_RESET_ON_FORK)
		return -EINVAL;
	struct task *t = target(c, tid);
	if (!t)
		return -ESRCH;
	int policy = (int)attr.policy;
	if (attr.flags & ATTR_RESET_ON_FORK)
		policy |= SCHED_RESET_ON_FORK;
	long error = set_policy(c, t, policy, (int)attr.priority);
	if (error || attr.policy == SCHED_IDLE)
		return error;
	return set_one_nice(c, t, MAX(MIN(attr.nice, 19), -20));
}

long sys_sched_getattr(struct call *c)
{
	struct sched_attr_0 attr = { .size = sizeof(attr) };
	int tid = (int)c->args[0], policy = 0, nice = 0;
	uint32_t size = (uint32_t)c->args[2];

	if (tid < 0 || !c->args[1] || size < sizeof(attr) || size > 4096 || c->args[3])
		return -EINVAL;
	struct task *t = target(c, tid);
	if (!t)
		return -ESRCH;
	if (host_get_policy(t->host_tid, &policy) || host_get_nice(t->host_tid, &nice))
		return -ESRCH;
	attr.policy = (uint32_t)(policy & ~SCHED_RESET_ON_FORK);
	if (policy & SCHED_RESET_ON_FORK)
		attr.flags = ATTR_RESET_ON_FORK;
	attr.nice = nice;
	return user_write(c->task, CALL_ARG_PTR(c, 1), &attr, sizeof(attr));
}

/* ---- CPUs ---- */
long sys_sched_setaffinity(struct call *c)
{
	uint8_t mask[CPU_MASK_BYTES] = { 0 };
	uint32_t size = (uint32_t)c->args[1];
	struct task *t = target(c, (int)c->args[0]);

	if (user_read(c->task, mask, CALL_ARG_PTR(c, 2), MIN(size, (uint32_t)sizeof(mask))))
		return -EFAULT;
	if (!t)
		return -ESRCH;
	if (!may_schedule(c->task->cred, t->cred))
		return -EPERM;
	return host_set_affinity(t->host_tid, mask, sizeof(mask));
}

/* ---- I/O priority: accepted, without effect ---- */
#define IOPRIO_NORMAL 4

long sys_ioprio_get(struct call *c)
{
	unsigned which = (unsigned)c->args[0];

	if (which < 1 || which > 3)
		return -EINVAL;
	if (which == 1 && !target(c, (int)c->args[1]))
		return -ESRCH;
	return IOPRIO_NORMAL; /* class "none": follows the nice value */
}

long sys_ioprio_set(struct call *c)
{
	unsigned which = (unsigned)c->args[0];
	unsigned class = ((unsigned)c->args[2] >> 13) & 7, data = (unsigned)c->args[2] & 0x1fff;

	if (which < 1 || which > 3 || class > 3 || (class == 0 && data))
		return -EINVAL;
	if ((class == 1 || class == 2) && (data & 7) != data)
		return -EINVAL;
	if (class == 1) /* real time */
		return -EPERM;
	if (which == 1 && !target(c, (int)c->args[1]))
		return -ESRCH;
	return 0;
}
