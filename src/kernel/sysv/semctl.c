/* semctl(2): looking at, setting and removing semaphore sets. See sem.c. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/util.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/core/call.h"
#include "kernel/core/user.h"
#include "kernel/sysv/sysv_internal.h"
#include "kernel/task/task.h"

#ifndef SEM_STAT_ANY
#define SEM_STAT_ANY 20
#endif

/* What IPC_INFO and SEM_INFO report: struct seminfo of sys/sem.h. */
static void fill_info(const struct sysv_root *root, bool usage, struct seminfo *ret)
{
	*ret = (struct seminfo){
		.semmni = IPC_OBJECTS_MAX,
		.semmns = 1024000000,
		.semmsl = SEM_PER_SET_MAX,
		.semopm = SEM_OPS_MAX,
		.semvmx = SEM_VALUE_MAX,
		.semmnu = 1024000000,
		.semmap = 1024000000,
		.semume = SEM_OPS_MAX,
		.semusz = usage ? (int)root->sems.count : 20,
		.semaem = usage ? (int)root->total_sems : SEM_VALUE_MAX,
	};
}

static long cmd_info(struct call *c, int cmd)
{
	struct sysv_root *root = sysv_root();
	struct seminfo info;

	fill_info(root, cmd == SEM_INFO, &info);
	return ipc_report(c, 3, &info, sizeof(info), ipc_highest(&root->sems));
}

static long cmd_stat(struct call *c, const struct semset *set, int cmd)
{
	struct semid_ds ds;

	if (cmd != SEM_STAT_ANY) {
		int err = ipc_permission(c->task->cred, &set->ipc, S_IRUSR);

		if (err)
			return err;
	}
	memset(&ds, 0, sizeof(ds));
	ipc_to_perm(&set->ipc, &ds.sem_perm);
	ds.sem_otime = set->otime;
	ds.sem_ctime = set->ctime;
	ds.sem_nsems = (__typeof__(ds.sem_nsems))set->count;
	return ipc_report(c, 3, &ds, sizeof(ds), cmd == IPC_STAT ? 0 : set->ipc.id);
}

static long cmd_set(struct call *c, struct semset *set)
{
	struct semid_ds ds;
	int err = ipc_read_set(c, 3, &ds, sizeof(ds), &set->ipc);

	if (err)
		return err;
	ipc_from_perm(&set->ipc, &ds.sem_perm);
	set->ctime = ipc_now();
	return 0;
}

/* Blocked calls that wait for semaphore `num` to grow, or to become zero. */
static long count_waiters(const struct semset *set, uint32_t num, bool for_zero)
{
	struct waiter *w;
	long count = 0;

	if (!waitq_active(&set->wq))
		return 0;
	list_for_each(w, &set->wq.waiters, link) {
		const struct call *c = w->kind == WAITER_CALL ? w->owner : NULL;

		count += c && c->progress == sem_wait_mark(num, for_zero);
	}
	return count;
}

static void values_changed(struct call *c, struct semset *set, int num)
{
	sem_undo_clear(set, num);
	for (uint32_t i = 0; i < set->count; i++)
		if (num < 0 || (uint32_t)num == i)
			set->sems[i].pid = c->task->proc->pid;
	set->ctime = ipc_now();
	waitq_wake(&set->wq, 0);
}

static long cmd_getall(struct call *c, const struct semset *set)
{
	uint16_t *values = scratch_buffer();

	for (uint32_t i = 0; i < set->count; i++)
		values[i] = (uint16_t)set->sems[i].value;
	return user_write(c->task, CALL_ARG_PTR(c, 3), values, set->count * sizeof(*values));
}

static long cmd_setall(struct call *c, struct semset *set)
{
	uint16_t *values = scratch_buffer();
	int err = user_read(c->task, values, CALL_ARG_PTR(c, 3), set->count * sizeof(*values));

	if (err)
		return err;
	for (uint32_t i = 0; i < set->count; i++)
		if (values[i] > SEM_VALUE_MAX)
			return -ERANGE;
	for (uint32_t i = 0; i < set->count; i++)
		set->sems[i].value = values[i];
	values_changed(c, set, -1);
	return 0;
}
_Static_assert(SEM_PER_SET_MAX * sizeof(uint16_t) <= SCRATCH_SIZE, "scratch too small");

static long cmd_setval(struct call *c, struct semset *set, uint32_t num)
{
	int value = (int)c->args[3];

	if (value < 0 || value > SEM_VALUE_MAX)
		return -ERANGE;
	if (num >= set->count)
		return -EINVAL;
	set->sems[num].value = value;
	values_changed(c, set, (int)num);
	return 0;
}

/* Commands about values: permission first, then what it is. */
static long value_command(struct call *c, struct semset *set, int cmd)
{
	uint32_t num = (uint32_t)c->args[1];
	bool sets = cmd == SETVAL || cmd == SETALL;
	int err = ipc_permission(c->task->cred, &set->ipc, sets ? S_IWUSR : S_IRUSR);

	if (err)
		return err;
	if (cmd == GETALL)
		return cmd_getall(c, set);
	if (cmd == SETALL)
		return cmd_setall(c, set);
	if (cmd == SETVAL)
		return cmd_setval(c, set, num);
	if (num >= set->count)
		return -EINVAL;
	switch (cmd) {
	case GETVAL:
		return set->sems[num].value;
	case GETPID:
		return set->sems[num].pid;
	case GETNCNT:
		return count_waiters(set, num, false);
	default:
		return count_waiters(set, num, true);
	}
}

static struct semset *find_for(const struct sysv_root *root, int id, int cmd)
{
	struct ipc_object *o;

	if (cmd != SEM_STAT && cmd != SEM_STAT_ANY)
		return sem_find(id);
	o = ipc_find_index(&root->sems, id);
	return o ? container_of(o, struct semset, ipc) : NULL;
}

long sys_semctl(struct call *c)
{
	struct sysv_root *root = sysv_root();
	int cmd = (int)c->args[2], err;
	struct semset *set;

	if (!root)
		return -ENOMEM;
	if ((int)c->args[0] < 0)
		return -EINVAL;
	if (cmd == IPC_INFO || cmd == SEM_INFO)
		return cmd_info(c, cmd);
	set = find_for(root, (int)c->args[0], cmd);
	if (!set)
		return -EINVAL;
	switch (cmd) {
	case IPC_STAT:
	case SEM_STAT:
	case SEM_STAT_ANY:
		return cmd_stat(c, set, cmd);
	case IPC_SET:
		return cmd_set(c, set);
	case IPC_RMID:
		err = ipc_owner(c->task->cred, &set->ipc);
		if (!err)
			sem_free(set);
		return err;
	case GETALL:
	case GETNCNT:
	case GETPID:
	case GETVAL:
	case GETZCNT:
	case SETALL:
	case SETVAL:
		return value_command(c, set, cmd);
	default:
		return -EINVAL;
	}
}
