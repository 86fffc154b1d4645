/*
 * exit and exit_group: the host ends the thread or process, then its resources go, before anything
 * else is served. Not earlier: a signal may take the call away from the notification, and its
 * handler then still runs.
 */
#include "kernel/abi/syscalls.h"
#include "kernel/core/limits.h"
#include "kernel/task/family.h"
#include "kernel/task/life.h"

long sys_exit(struct call *c)
{
	c->task->leaving = LEAVING_THREAD;
	return CALL_CONTINUE;
}

long sys_exit_group(struct call *c)
{
	c->task->leaving = LEAVING_PROCESS;
	return CALL_CONTINUE;
}

void task_left(struct task *t)
{
	struct process *p = t->proc;

	/* Others may live that have not called yet. */
	if (p->thread_count == 1 && p->thread_charges && t->leaving == LEAVING_THREAD)
		process_find_threads(p);
	if (t->leaving == LEAVING_PROCESS || p->thread_count == 1) {
		process_exit(p);
	} else if (p->thread_charges) {
		p->thread_charges--;
		limit_release(LIMIT_PIDS, 1);
	}
	task_free(t);
}
