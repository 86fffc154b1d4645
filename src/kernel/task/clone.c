/*
 * clone, fork, vfork: what the child gets is set aside before the host makes it. See birth.h.
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>

#include "kernel/abi/syscalls.h"
#include "kernel/control/reboot.h"
#include "kernel/core/arena.h"
#include "kernel/core/limits.h"
#include "kernel/fs/file.h"
#include "kernel/fs/vfs.h"
#include "kernel/host/proc.h"
#include "kernel/host/process.h"
#include "kernel/task/birth.h"
#include "kernel/task/birth_internal.h"
#include "kernel/task/life.h"

#define CLONE_NAMESPACES                                                                           \
	(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |  \
	 CLONE_NEWCGROUP | CLONE_NEWTIME)

static struct pending_clone *pending_new(struct task *t, uint64_t flags)
{
	struct pending_clone *p = knew(struct pending_clone);

	if (!p)
		return NULL;
	list_init(&p->link);
	p->parent = t;
	p->thread = flags & CLONE_THREAD;
	p->sibling = flags & CLONE_PARENT;
	p->exit_signal = (int)(flags & CSIGNAL);
	p->process = process_get(t->proc);
	p->files = flags & CLONE_FILES ? fdtable_get(t->files) : fdtable_copy(t->files);
	p->fs = flags & CLONE_FS ? fs_context_get(t->fs) : fs_context_copy(t->fs);
	p->cred = cred_get(t->cred);
	memcpy(p->comm, t->comm, sizeof(p->comm));
	if (!p->files || !p->fs) {
		pending_free(p);
		return NULL;
	}
	list_add_tail(&t->proc->pending_clones, &p->link);
	t->proc->cloned |= !p->thread;
	return p;
}

static uint64_t tasks_of_user(uint32_t uid)
{
	struct process *proc;
	struct pending_clone *p;
	uint64_t count = 0;

	list_for_each(proc, process_list(), all_link) {
		struct task *t = process_leader(proc);

		if (t && t->cred->uid == uid)
			count += 1 + proc->thread_charges;
		list_for_each(p, &proc->pending_clones, link)
			count += p->cred->uid == uid;
	}
	return count;
}

/* RLIMIT_NPROC. Counting is for those below the number of all tasks, which is known. */
static bool user_may_clone(const struct task *t)
{
	uint64_t limit = task_rlimit(t, RLIMIT_NPROC);

	return limit_used(LIMIT_PIDS) < limit || t->cred->uid == 0 ||
	       cred_capable(t->cred, CAP_SYS_RESOURCE) || cred_capable(t->cred, CAP_SYS_ADMIN) ||
	       tasks_of_user(t->cred->uid) < limit;
}

/* Combinations that the host refuses: no record is to be made for them. */
static int check_flags(uint64_t flags)
{
	if (flags & CLONE_NAMESPACES)
		return -EPERM;
	if (flags & (CLONE_PIDFD | CLONE_INTO_CGROUP | CLONE_CLEAR_SIGHAND))
		return -EINVAL;
	if ((flags & CLONE_THREAD) && !(flags & CLONE_SIGHAND))
		return -EINVAL;
	if ((flags & CLONE_SIGHAND) && !(flags & CLONE_VM))
		return -EINVAL;
	return flags & (CLONE_PTRACE | CLONE_UNTRACED) ? -EPERM : 0;
}

/* Charges for threads that the host would not make stay until somebody counts. */
static void recount_threads(struct process *proc)
{
	int threads = host_proc_thread_count(proc->host_pid);

	if (threads > 0 && proc->thread_charges > (uint32_t)threads) {
		limit_release(LIMIT_PIDS, proc->thread_charges - (uint32_t)threads);
		proc->thread_charges = (uint32_t)threads;
	}
}

static bool charge(struct process *proc)
{
	if (limit_charge(LIMIT_PIDS, 1))
		return true;
	recount_threads(proc);
	return limit_charge(LIMIT_PIDS, 1);
}

/* The descriptors of the host suffice for one process more. */
static bool can_be_watched(void)
{
	struct process *proc;
	struct pending_clone *p;
	uint64_t count = process_count() + 1;

	if (host_process_room(limit_used(LIMIT_PIDS) + 1))
		return true;
	list_for_each(proc, process_list(), all_link)
		list_for_each(p, &proc->pending_clones, link)
			count += !p->thread;
	return host_process_room(count);
}

static long clone_call(struct task *t, uint64_t flags)
{
	const uint64_t shared = CLONE_THREAD | CLONE_FILES | CLONE_FS;
	int r = check_flags(flags);

	if (r < 0)
		return r;
	if (reboot_active() || !user_may_clone(t))
		return -EAGAIN;
	if ((!(flags & CLONE_THREAD) && !can_be_watched()) || !charge(t->proc))
		return -EAGAIN;
	if ((flags & shared) == shared) {
		t->proc->thread_charges++;
		return CALL_CONTINUE;
	}
	if (!pending_new(t, flags)) {
		limit_release(LIMIT_PIDS, 1);
		return -ENOMEM;
	}
	return CALL_CONTINUE;
}

long sys_clone(struct call *c)
{
	return clone_call(c->task, c->args[0]);
}

long sys_fork(struct call *c)
{
	return clone_call(c->task, SIGCHLD);
}

long sys_vfork(struct call *c)
{
	return clone_call(c->task, CLONE_VFORK | CLONE_VM | SIGCHLD);
}
