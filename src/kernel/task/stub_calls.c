/*
 * The private call of the stub. Any guest code can make it, so each operation is tied to who may:
 * the wait and reap operations belong to pid 1, fetching to a child of pid 1 with an order pending.
 */
#include "kernel/task/stub_calls.h"

#include <errno.h>

#include "kernel/abi/stub.h"
#include "kernel/control/spawn.h"
#include "kernel/task/exec.h"
#include "kernel/task/task.h"

long stub_call(struct call *c)
{
	const struct process *p = c->task->proc;

	switch (c->args[0]) {
	case STUB_PLAN:
		return exec_load(c);
	case STUB_WAIT_ORDER:
		return p->pid == 1 ? spawn_wait_order(c) : -EPERM;
	case STUB_REAPED:
		if (p->pid != 1)
			return -EPERM;
		spawn_reaped((int)c->args[1], (int)c->args[2]);
		return 0;
	case STUB_FETCH:
		return p->by_init && !p->did_exec ? spawn_fetch(c) : -EPERM;
	case STUB_EXEC_FAILED:
		if (p->pid != 1 && (!p->by_init || p->did_exec))
			return -EPERM;
		spawn_failed((uint32_t)c->args[1], (int)c->args[2]);
		return 0;
	default:
		return -ENOSYS;
	}
}
