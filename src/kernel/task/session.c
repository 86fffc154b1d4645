/*
 * Process groups and sessions: executed by the host, mirrored here, because terminals and group
 * signals need them. The checks repeat Linux's (setpgid(2), setsid(2)) so that the mirror never
 * differs from the host.
 */
#include <errno.h>

#include "kernel/abi/syscalls.h"
#include "kernel/fs/tty/tty.h"
#include "kernel/task/life.h"

long sys_setsid(struct call *c)
{
	struct process *p = c->task->proc, *other;

	list_for_each(other, process_list(), all_link) {
		if (other->pgid == p->pid)
			return -EPERM;
	}
	tty_setsid(p);
	p->sid = p->pgid = p->pid;
	p->session_leader = true;
	return CALL_CONTINUE;
}

long sys_setpgid(struct call *c)
{
	struct process *self = c->task->proc;
	int pid = (int)c->args[0] ? (int)c->args[0] : self->pid;
	int pgid = (int)c->args[1] ? (int)c->args[1] : pid;
	struct process *p = process_find(pid);

	if (pgid < 0)
		return -EINVAL;
	if (!p)
		return CALL_CONTINUE; /* a child not seen yet, or nobody: the host knows */
	if (p != self) {
		if (p->ppid != self->pid)
			return -ESRCH;
		if (p->sid != self->sid)
			return -EPERM;
		if (p->did_exec)
			return -EACCES;
	}
	if (p->session_leader)
		return -EPERM;
	if (pgid != pid && !pgrp_exists(pgid, self->sid))
		return -EPERM;
	p->pgid = pgid;
	return CALL_CONTINUE;
}
