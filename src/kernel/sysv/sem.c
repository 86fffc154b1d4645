/*
 * System V semaphores: semget(2), semop(2). semctl(2) is in semctl.c.
 *
 * All operations of one semop() happen or none. A call that cannot proceed waits on its set's
 * queue and tries again from scratch after every change of the set; what it waits for stands in
 * call.progress, so that GETNCNT and GETZCNT can count the waiters of a semaphore without any
 * bookkeeping that an interrupted call would have to undo.
 *
 * The answer goes out before the effect (core/call.h): a call that was interrupted meanwhile has
 * done nothing.
 *
 * SEM_UNDO: one sem_undo per (process, set) adds up what to give back; sysv_process_exit() applies
 * it, clipped to the range of values. Setting values by semctl() voids adjustments.
 */
#include <errno.h>
#include <sys/stat.h>

#include "base/util.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/core/call.h"
#include "kernel/core/user.h"
#include "kernel/sysv/sysv_internal.h"
#include "kernel/task/task.h"

/* ---- sets ---- */

struct semset *sem_find(int id)
{
	struct sysv_root *root = sysv_root();
	struct ipc_object *o = root ? ipc_find(&root->sems, id) : NULL;

	return o ? container_of(o, struct semset, ipc) : NULL;
}

void sem_free(struct semset *set)
{
	struct sysv_root *root = sysv_root();
	struct sem_undo *u, *next;

	list_for_each_safe(u, next, &root->undos, link) {
		if (u->set != set)
			continue;
		list_del(&u->link);
		kfree(u);
	}
	ipc_remove(&root->sems, &set->ipc);
	root->total_sems -= set->count;
	waitq_drain(&set->wq);
	kfree(set);
}

static long sem_create(struct call *c, int32_t key, int count, uint32_t mode)
{
	struct sysv_root *root = sysv_root();
	struct semset *set;
	int err;

	if (count <= 0)
		return -EINVAL;
	set = kmalloc(sizeof(*set) + (size_t)count * sizeof(set->sems[0]));
	if (!set)
		return -ENOMEM;
	set->count = (uint32_t)count;
	set->ctime = ipc_now();
	err = ipc_add(&root->sems, &set->ipc, c->task, key, mode);
	if (err) {
		kfree(set);
		return err;
	}
	root->total_sems += set->count;
	return set->ipc.id;
}

long sys_semget(struct call *c)
{
	struct sysv_root *root = sysv_root();
	int32_t key = (int32_t)c->args[0];
	int count = (int)c->args[1];
	uint32_t flags = (uint32_t)c->args[2];
	struct ipc_object *o;
	int err;

	if (!root)
		return -ENOMEM;
	if (count < 0 || count > SEM_PER_SET_MAX)
		return -EINVAL;
	o = key == IPC_PRIVATE ? NULL : ipc_find_key(&root->sems, key);
	if (!o) {
		if (key != IPC_PRIVATE && !(flags & IPC_CREAT))
			return -ENOENT;
		return sem_create(c, key, count, flags);
	}
	if ((flags & IPC_CREAT) && (flags & IPC_EXCL))
		return -EEXIST;
	if ((uint32_t)count > container_of(o, struct semset, ipc)->count)
		return -EINVAL;
	err = ipc_permission(c->task->cred, o, flags);
	return err ? err : o->id;
}

/* ---- undo ---- */

static struct sem_undo *undo_find(const struct process *p, const struct semset *set)
{
	struct sem_undo *u;

	list_for_each(u, &sysv_root()->undos, link)
		if (u->proc == p && u->set == set)
			return u;
	return NULL;
}

static struct sem_undo *undo_make(struct process *p, struct semset *set)
{
	struct sem_undo *u = undo_find(p, set);

	if (u)
		return u;
	u = kmalloc(sizeof(*u) + set->count * sizeof(u->adjust[0]));
	if (!u)
		return NULL;
	u->proc = p;
	u->set = set;
	list_add_tail(&sysv_root()->undos, &u->link);
	return u;
}

void sem_undo_clear(struct semset *set, int num)
{
	struct sem_undo *u;

	list_for_each(u, &sysv_root()->undos, link) {
		if (u->set != set)
			continue;
		for (uint32_t i = 0; i < set->count; i++)
			if (num < 0 || (uint32_t)num == i)
				u->adjust[i] = 0;
	}
}

static void undo_apply(const struct sem_undo *u)
{
	struct semset *set = u->set;

	for (uint32_t i = 0; i < set->count; i++) {
		int value = set->sems[i].value + u->adjust[i];

		if (!u->adjust[i])
			continue;
		set->sems[i].value = MAX(0, MIN(value, SEM_VALUE_MAX));
		set->sems[i].pid = u->proc->pid;
	}
	set->otime = ipc_now();
	waitq_wake(&set->wq, 0);
}

void sysv_process_exit(struct process *p)
{
	struct sysv_root *root = sysv_root();
	struct sem_undo *u, *next;

	if (!root)
		return;
	list_for_each_safe(u, next, &root->undos, link) {
		if (u->proc != p)
			continue;
		undo_apply(u);
		list_del(&u->link);
		kfree(u);
	}
}

/* ---- semop ---- */

struct sem_request {
	struct call *c;
	struct semset *set;
	struct sem_undo *undo; /* NULL: no operation wants it */
	struct sembuf *ops;
	uint32_t count;
};

/* Takes back the first `count` operations. */
static void roll_back(struct sem_request *r, uint32_t count)
{
	while (count--) {
		const struct sembuf *op = &r->ops[count];

		r->set->sems[op->sem_num].value -= op->sem_op;
		if (r->undo && (op->sem_flg & SEM_UNDO))
			r->undo->adjust[op->sem_num] =
				(int16_t)(r->undo->adjust[op->sem_num] + op->sem_op);
	}
}

/* One operation: 0, -EAGAIN (would wait), -ERANGE. */
static int apply_one(struct sem_request *r, const struct sembuf *op)
{
	struct sem *sem = &r->set->sems[op->sem_num];
	int value = sem->value + op->sem_op;

	if ((!op->sem_op && sem->value) || value < 0)
		return -EAGAIN;
	if (value > SEM_VALUE_MAX)
		return -ERANGE;
	if (r->undo && (op->sem_flg & SEM_UNDO)) {
		int adjust = r->undo->adjust[op->sem_num] - op->sem_op;

		if (adjust < -SEM_VALUE_MAX - 1 || adjust > SEM_VALUE_MAX)
			return -ERANGE;
		r->undo->adjust[op->sem_num] = (int16_t)adjust;
	}
	sem->value = value;
	return 0;
}

/* All operations, or none: then *ret_failed is the one that stopped it. */
static int apply_all(struct sem_request *r, uint32_t *ret_failed)
{
	for (uint32_t i = 0; i < r->count; i++) {
		int err = apply_one(r, &r->ops[i]);

		if (err) {
			roll_back(r, i);
			*ret_failed = i;
			return err;
		}
	}
	return 0;
}

static long sem_finish(struct sem_request *r)
{
	bool changed = false;

	if (!call_reply(r->c, 0)) {
		roll_back(r, r->count);
		return CALL_DONE;
	}
	for (uint32_t i = 0; i < r->count; i++) {
		r->set->sems[r->ops[i].sem_num].pid = r->c->task->proc->pid;
		changed |= r->ops[i].sem_op != 0;
	}
	r->set->otime = ipc_now();
	if (changed)
		waitq_wake(&r->set->wq, 0);
	return CALL_DONE;
}

static long sem_run(struct sem_request *r, uint64_t timeout_ns)
{
	struct call *c = r->c;
	const struct sembuf *op;
	uint32_t failed = 0;
	int err = apply_all(r, &failed);

	if (!err)
		return sem_finish(r);
	op = &r->ops[failed];
	if (err != -EAGAIN || (op->sem_flg & IPC_NOWAIT) || c->timed_out)
		return err;
	if (timeout_ns != UINT64_MAX) {
		err = call_set_timeout(c, timeout_ns);
		if (err)
			return err;
	}
	c->progress = sem_wait_mark(op->sem_num, !op->sem_op);
	return call_block(c, &r->set->wq);
}

static int check_ops(const struct sem_request *r, bool *ret_undo)
{
	bool alters = false;

	for (uint32_t i = 0; i < r->count; i++) {
		if (r->ops[i].sem_num >= r->set->count)
			return -EFBIG;
		alters |= r->ops[i].sem_op != 0;
		*ret_undo |= (r->ops[i].sem_flg & SEM_UNDO) != 0;
	}
	return ipc_permission(r->c->task->cred, &r->set->ipc, alters ? S_IWUSR : S_IRUSR);
}

static long semop_call(struct call *c, uint64_t timeout_ns)
{
	struct sem_request r = { .c = c, .ops = scratch_buffer(), .count = (uint32_t)c->args[2] };
	bool undo = false;
	int err;

	c->no_restart = true;
	if (!r.count || (int)c->args[0] < 0)
		return -EINVAL;
	if (r.count > SEM_OPS_MAX)
		return -E2BIG;
	err = user_read(c->task, r.ops, CALL_ARG_PTR(c, 1), r.count * sizeof(r.ops[0]));
	if (err)
		return err;
	r.set = sem_find((int)c->args[0]);
	if (!r.set)
		return c->retry ? -EIDRM : -EINVAL;
	err = check_ops(&r, &undo);
	if (err)
		return err;
	if (undo) {
		r.undo = undo_make(c->task->proc, r.set);
		if (!r.undo)
			return -ENOMEM;
	}
	return sem_run(&r, timeout_ns);
}

long sys_semop(struct call *c)
{
	return semop_call(c, UINT64_MAX);
}

long sys_semtimedop(struct call *c)
{
	uint64_t timeout_ns;
	int err = user_read_timeout(c->task, &timeout_ns, CALL_ARG_PTR(c, 3));

	return err ? err : semop_call(c, timeout_ns);
}
