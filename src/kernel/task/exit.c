/* exit and exit_group: the kernel's half first, then the host ends the thread or process. */
#include "kernel/abi/syscalls.h"
#include "kernel/core/limits.h"
#include "kernel/task/life.h"

long sys_exit(struct call *c)
{
	struct task *t = c->task;
	struct process *p = t->proc;

	t->exiting = true;
	if (p->thread_count == 1) {
		process_exit(p);
	} else if (p->thread_charges) {
		p->thread_charges--;
		limit_release(LIMIT_PIDS, 1);
	}
	return CALL_CONTINUE;
}

long sys_exit_group(struct call *c)
{
	c->task->exiting = true;
	process_exit(c->task->proc);
	return CALL_CONTINUE;
}
