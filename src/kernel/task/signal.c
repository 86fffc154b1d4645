/*
 * Signals. Delivery, masks, handlers and queues are the host's. The kernel checks who may signal
 * whom (users exist only here), lets the host do it, and raises signals of its own for terminals
 * and broken pipes.
 */
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/abi/syscalls.h"
#include "kernel/fs/signalfd/signalfd.h"
#include "kernel/host/proc.h"
#include "kernel/host/process.h"
#include "kernel/task/birth.h"
#include "kernel/task/family.h"
#include "kernel/task/life.h"

int signal_task(struct task *t, int sig)
{
	int r = host_signal_thread(t->proc->host_pid, t->host_tid, sig);
	signalfd_kick(t->proc);
	return r;
}

int signal_process(struct process *p, int sig)
{
	if (p->state == PROCESS_ZOMBIE)
		return -ESRCH;
	int r = host_signal_process(p->host_pid, sig);
	signalfd_kick(p);
	return r;
}

int signal_pgrp(int pgid, int sig)
{
	struct process *p;
	int found = -ESRCH;

	list_for_each(p, process_list(), all_link) {
		if (p->pgid == pgid && p->pid != 1) {
			signal_process(p, sig);
			found = 0;
		}
	}
	return found;
}

/* One mask line ("SigBlk:\t0000...") of /proc/TID/status; all ones when unreadable. */
static uint64_t status_mask(const char *status, const char *field)
{
	const char *at = strstr(status, field);
	return at ? strtoull(at + strlen(field), NULL, 16) : UINT64_MAX;
}

bool task_signal_blocked_or_ignored(struct task *t, int sig)
{
	char status[4096];
	ssize_t n = host_proc_read(t->host_tid, "status", status, sizeof(status) - 1);

	if (n < 0)
		return true;
	status[n] = '\0';
	uint64_t set = status_mask(status, "SigBlk:") | status_mask(status, "SigIgn:");
	return set >> (sig - 1) & 1;
}

bool pgrp_exists(int pgid, int sid)
{
	struct process *p;

	list_for_each(p, process_list(), all_link) {
		if (p->pgid == pgid && p->sid == sid)
			return true;
	}
	return false;
}

bool pgrp_is_orphaned(int pgid, int sid)
{
	struct process *p;

	list_for_each(p, process_list(), all_link) {
		if (p->pgid != pgid || p->sid != sid || p->exited)
			continue;
		struct process *parent = process_find(p->ppid);
		if (parent && parent->pid != 1 && parent->sid == sid && parent->pgid != pgid)
			return false;
	}
	return true;
}

/* ---- permissions ---- */

/* A continued session member may always be sent SIGCONT. */
static bool may_send(struct task *from, struct process *to, int sig)
{
	return process_may_signal(from->cred, to) || (sig == SIGCONT && from->proc->sid == to->sid);
}

static bool in_target(const struct process *p, const struct process *self, int pid)
{
	if (p->pid == 1)
		return false;
	if (pid == -1)
		return p != self;
	return p->pgid == (pid == 0 ? self->pgid : -pid);
}

/* Nobody is there whom the sender must not signal: then the host may choose the targets. */
static bool may_send_to_all(struct task *from)
{
	struct process *p;

	if (cred_capable(from->cred, CAP_KILL))
		return true;
	list_for_each(p, process_list(), all_link) {
		if (p->pid != 1 && !p->exited && !process_may_signal(from->cred, p))
			return false;
	}
	return true;
}

/*
 * kill(2) on a group or on everybody. Where users differ nothing is left to the host: its groups may
 * hold processes that have not called yet.
 */
static long kill_many(struct task *t, int pid, int sig)
{
	struct process *p, *next;
	int allowed = 0, denied = 0;

	if (may_send_to_all(t))
		return CALL_CONTINUE;
	birth_find_all();
	list_for_each_safe(p, next, process_list(), all_link) {
		if (!in_target(p, t->proc, pid) || p->exited)
			continue;
		if (!may_send(t, p, sig)) {
			denied++;
			continue;
		}
		allowed++;
		signal_process(p, sig);
	}
	if (allowed)
		return 0;
	return denied ? -EPERM : -ESRCH;
}

/* The process that has a thread of this number: kill(2) takes any of them. */
static struct process *target(int tid)
{
	struct process *p = process_find(tid);
	struct task *t = p ? NULL : task_find(tid);

	return p ? p : t ? t->proc : NULL;
}

static struct process *target_not_seen_yet(int tid)
{
	struct process *p;

	birth_find_all();
	list_for_each(p, process_list(), all_link)
		process_find_threads(p);
	return target(tid);
}

static long kill_one(struct task *t, int tid, int sig)
{
	struct process *p = target(tid);

	if (tid <= 0)
		return CALL_CONTINUE; /* the host's refusal */
	if (!p && !may_send_to_all(t)) {
		p = target_not_seen_yet(tid);
		if (!p)
			return process_find_any(tid) ? 0 : -ESRCH;
	}
	if (p && !p->exited && !may_send(t, p, sig))
		return -EPERM;
	if (p)
		signalfd_kick(p);
	return CALL_CONTINUE;
}

static bool is_signal(int sig)
{
	return sig >= 0 && sig <= 64;
}

long sys_kill(struct call *c)
{
	int pid = (int)c->args[0], sig = (int)c->args[1];

	if (!is_signal(sig))
		return -EINVAL;
	return pid > 0 ? kill_one(c->task, pid, sig) : kill_many(c->task, pid, sig);
}

long sys_tkill(struct call *c)
{
	return kill_one(c->task, (int)c->args[0], (int)c->args[1]);
}

long sys_tgkill(struct call *c)
{
	return kill_one(c->task, (int)c->args[1], (int)c->args[2]);
}

long sys_rt_sigqueueinfo(struct call *c)
{
	return kill_one(c->task, (int)c->args[0], (int)c->args[1]);
}

long sys_rt_tgsigqueueinfo(struct call *c)
{
	return kill_one(c->task, (int)c->args[1], (int)c->args[2]);
}
