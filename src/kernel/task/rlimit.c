/*
 * getrlimit, setrlimit, prlimit64.
 *
 * Limits are virtual: process->rlimits is what a guest sees and what the kernel enforces on
 * descriptors, file sizes, locks, queues. Those that concern natively executed calls (address
 * space, data, stack, CPU time, locked memory, pending signals) are the host's to enforce, so
 * their soft values are given to the host process as well. Only the soft ones: the host's hard
 * limits stay as the jail set them, because a virtual hard limit may be raised again by a
 * privileged guest while the host's never could be.
 *
 * Deviation: RLIMIT_CORE is never passed on. A host core dump of a guest would run the host's
 * core handler on guest-controlled memory; the jail switches dumps off for good.
 */
#include "kernel/task/rlimit.h"

#include <errno.h>
#include <linux/capability.h>

#include "base/util.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/call.h"
#include "kernel/core/limits.h"
#include "kernel/core/user.h"
#include "kernel/host/sched.h"
#include "kernel/task/cred.h"
#include "kernel/task/task.h"

#define NOFILE_MAX 1048576u /* /proc/sys/fs/nr_open */

const struct rlimit_name rlimit_names[RLIM_NLIMITS] = {
	[RLIMIT_CPU] = { "Max cpu time", "seconds" },
	[RLIMIT_FSIZE] = { "Max file size", "bytes" },
	[RLIMIT_DATA] = { "Max data size", "bytes" },
	[RLIMIT_STACK] = { "Max stack size", "bytes" },
	[RLIMIT_CORE] = { "Max core file size", "bytes" },
	[RLIMIT_RSS] = { "Max resident set", "bytes" },
	[RLIMIT_NPROC] = { "Max processes", "processes" },
	[RLIMIT_NOFILE] = { "Max open files", "files" },
	[RLIMIT_MEMLOCK] = { "Max locked memory", "bytes" },
	[RLIMIT_AS] = { "Max address space", "bytes" },
	[RLIMIT_LOCKS] = { "Max file locks", "locks" },
	[RLIMIT_SIGPENDING] = { "Max pending signals", "signals" },
	[RLIMIT_MSGQUEUE] = { "Max msgqueue size", "bytes" },
	[RLIMIT_NICE] = { "Max nice priority", "" },
	[RLIMIT_RTPRIO] = { "Max realtime priority", "" },
	[RLIMIT_RTTIME] = { "Max realtime timeout", "us" },
};

void rlimits_init(struct rlimit *dst)
{
	uint64_t pids = limit_value(LIMIT_PIDS);

	for (int i = 0; i < RLIM_NLIMITS; i++)
		dst[i] = (struct rlimit){ RLIM_INFINITY, RLIM_INFINITY };
	dst[RLIMIT_STACK].rlim_cur = MIB(8);
	dst[RLIMIT_CORE].rlim_cur = 0;
	dst[RLIMIT_NPROC] = (struct rlimit){ pids, pids };
	dst[RLIMIT_NOFILE] = (struct rlimit){ 1024, NOFILE_MAX };
	dst[RLIMIT_MEMLOCK] = (struct rlimit){ MIB(8), MIB(8) };
	dst[RLIMIT_SIGPENDING] = (struct rlimit){ pids, pids };
	dst[RLIMIT_MSGQUEUE] = (struct rlimit){ 819200, 819200 };
	dst[RLIMIT_NICE] = (struct rlimit){ 0, 0 };
	dst[RLIMIT_RTPRIO] = (struct rlimit){ 0, 0 };
}

static bool enforced_by_host(int resource)
{
	switch (resource) {
	case RLIMIT_CPU:
	case RLIMIT_DATA:
	case RLIMIT_STACK:
	case RLIMIT_AS:
	case RLIMIT_MEMLOCK:
	case RLIMIT_SIGPENDING:
		return true;
	default:
		return false;
	}
}

/*
 * Only soft limits go to the host, because a hard one that was lowered there could never be raised
 * again by the sandbox's root. CPU time is the exception: the host kills at the hard limit.
 */
static void apply(const struct process *p, int resource)
{
	const struct rlimit *l = &p->rlimits[resource];

	if (resource == RLIMIT_CPU && host_set_limit(p->host_pid, resource, l) == 0)
		return;
	host_set_soft_limit(p->host_pid, resource, l->rlim_cur);
}

static long check_new(const struct cred *cred, const struct rlimit *old, int resource,
		      struct rlimit *new)
{
	if (new->rlim_cur > new->rlim_max)
		return -EINVAL;
	if (resource == RLIMIT_NOFILE && new->rlim_max > NOFILE_MAX)
		return -EPERM;
	if (new->rlim_max > old->rlim_max && !cred_capable(cred, CAP_SYS_RESOURCE))
		return -EPERM;
	if (resource == RLIMIT_CPU && new->rlim_cur == 0)
		new->rlim_cur = 1; /* 0 would mean "no limit" to the host's accounting */
	return 0;
}

static long set_limit(struct call *c, struct process *p, int resource, struct rlimit *new)
{
	long error = check_new(c->task->cred, &p->rlimits[resource], resource, new);
	if (error)
		return error;
	p->rlimits[resource] = *new;
	if (enforced_by_host(resource))
		apply(p, resource);
	return 0;
}

long sys_getrlimit(struct call *c)
{
	unsigned resource = (unsigned)c->args[0];

	if (resource >= RLIM_NLIMITS)
		return -EINVAL;
	return user_write(c->task, CALL_ARG_PTR(c, 1), &c->task->proc->rlimits[resource],
			  sizeof(struct rlimit));
}

long sys_setrlimit(struct call *c)
{
	unsigned resource = (unsigned)c->args[0];
	struct rlimit new;

	if (resource >= RLIM_NLIMITS)
		return -EINVAL;
	if (user_read(c->task, &new, CALL_ARG_PTR(c, 1), sizeof(new)))
		return -EFAULT;
	return set_limit(c, c->task->proc, (int)resource, &new);
}

/* Whose limits? Same user and group in every respect, or CAP_SYS_RESOURCE. */
static bool may_set_limits_of(const struct cred *c, const struct cred *t)
{
	if (c->uid == t->uid && c->uid == t->euid && c->uid == t->suid && c->gid == t->gid &&
	    c->gid == t->egid && c->gid == t->sgid)
		return true;
	return cred_capable(c, CAP_SYS_RESOURCE);
}

long sys_prlimit64(struct call *c)
{
	int pid = (int)c->args[0];
	unsigned resource = (unsigned)c->args[1];
	struct task *t = pid ? task_find(pid) : c->task;
	struct rlimit new, old;

	if (resource >= RLIM_NLIMITS)
		return -EINVAL;
	if (c->args[2] && user_read(c->task, &new, CALL_ARG_PTR(c, 2), sizeof(new)))
		return -EFAULT;
	if (!t)
		return -ESRCH;
	if (t->proc != c->task->proc && !may_set_limits_of(c->task->cred, t->cred))
		return -EPERM;
	if (c->args[2] && t->proc->pid == 1)
		return -EPERM; /* pid 1 is the sandbox's machinery and stays able to work */
	old = t->proc->rlimits[resource];
	if (c->args[2]) {
		long error = set_limit(c, t->proc, (int)resource, &new);
		if (error)
			return error;
	}
	if (c->args[3] && user_write(c->task, CALL_ARG_PTR(c, 3), &old, sizeof(old)))
		return -EFAULT;
	return 0;
}
