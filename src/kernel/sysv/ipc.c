/*
 * What semaphore sets and message queues have in common: ids, keys, permissions.
 *
 * An id is sequence * 32768 + index. The sequence grows with every object made, so the id of a
 * removed object is not found again when its index is reused: a blocked call that wakes up and
 * cannot find its object knows that it was removed (EIDRM).
 */
#include <errno.h>
#include <linux/capability.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/core/call.h"
#include "kernel/core/clock.h"
#include "kernel/core/user.h"
#include "kernel/sysv/sysv_internal.h"
#include "kernel/task/cred.h"
#include "kernel/task/task.h"

#define INDEX_BITS 15
#define SEQ_MAX (INT32_MAX >> INDEX_BITS)
#define TABLE_INITIAL 16u

struct sysv_root *sysv_root(void)
{
	static struct sysv_root *root;

	if (!root) {
		root = arena_root(ROOT_SYSV, sizeof(*root));
		if (root && !root->undos.next)
			list_init(&root->undos);
	}
	return root;
}

struct ipc_object *ipc_find_index(const struct ipc_table *t, int index)
{
	return index >= 0 && (uint32_t)index < t->capacity ? t->slots[index] : NULL;
}

struct ipc_object *ipc_find(const struct ipc_table *t, int id)
{
	struct ipc_object *o =
		id < 0 ? NULL : ipc_find_index(t, id & ((1 << INDEX_BITS) - 1));

	return o && o->id == id ? o : NULL;
}

struct ipc_object *ipc_find_key(const struct ipc_table *t, int32_t key)
{
	for (uint32_t i = 0; i < t->capacity; i++)
		if (t->slots[i] && t->slots[i]->key == key)
			return t->slots[i];
	return NULL;
}

int ipc_highest(const struct ipc_table *t)
{
	for (uint32_t i = t->capacity; i > 0; i--)
		if (t->slots[i - 1])
			return (int)i - 1;
	return 0;
}

static int table_grow(struct ipc_table *t)
{
	uint32_t capacity = t->capacity ? MIN(t->capacity * 2, IPC_OBJECTS_MAX) : TABLE_INITIAL;
	struct ipc_object **slots;

	slots = krealloc(t->slots, t->capacity * sizeof(*slots), capacity * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	t->slots = slots;
	t->capacity = capacity;
	return 0;
}

int ipc_add(struct ipc_table *t, struct ipc_object *o, const struct task *owner, int32_t key,
	    uint32_t mode)
{
	uint32_t index = 0;
	int err;

	if (t->count >= IPC_OBJECTS_MAX)
		return -ENOSPC;
	if (t->count == t->capacity) {
		err = table_grow(t);
		if (err)
			return err;
	}
	while (t->slots[index])
		index++;
	o->seq = (uint16_t)(t->next_seq++ & SEQ_MAX);
	o->id = (int)o->seq << INDEX_BITS | (int)index;
	o->key = key;
	o->uid = o->cuid = owner->cred->euid;
	o->gid = o->cgid = owner->cred->egid;
	o->mode = mode & 0777;
	t->slots[index] = o;
	t->count++;
	return 0;
}

void ipc_remove(struct ipc_table *t, struct ipc_object *o)
{
	t->slots[o->id & ((1 << INDEX_BITS) - 1)] = NULL;
	t->count--;
}

int ipc_permission(const struct cred *c, const struct ipc_object *o, uint32_t want)
{
	uint32_t granted = o->mode;

	want = (want >> 6 | want >> 3 | want) & 7;
	if (c->euid == o->uid || c->euid == o->cuid)
		granted >>= 6;
	else if (cred_in_group(c, o->gid) || cred_in_group(c, o->cgid))
		granted >>= 3;
	if ((want & ~granted) && !cred_capable(c, CAP_IPC_OWNER))
		return -EACCES;
	return 0;
}

int ipc_owner(const struct cred *c, const struct ipc_object *o)
{
	if (c->euid == o->uid || c->euid == o->cuid || cred_capable(c, CAP_SYS_ADMIN))
		return 0;
	/* The container's root has no CAP_SYS_ADMIN; uid 0 is the administrator in here. */
	return c->euid == 0 ? 0 : -EPERM;
}

void ipc_to_perm(const struct ipc_object *o, struct ipc_perm *ret)
{
	ret->__key = o->key;
	ret->uid = o->uid;
	ret->gid = o->gid;
	ret->cuid = o->cuid;
	ret->cgid = o->cgid;
	ret->mode = (__typeof__(ret->mode))o->mode;
	ret->__seq = o->seq;
}

void ipc_from_perm(struct ipc_object *o, const struct ipc_perm *perm)
{
	o->uid = perm->uid;
	o->gid = perm->gid;
	o->mode = perm->mode & 0777;
}

void sysv_clear(void)
{
	struct sysv_root *root = sysv_root();
	struct ipc_object *o;

	if (!root)
		return;
	for (uint32_t i = 0; i < root->sems.capacity; i++) {
		if ((o = ipc_find_index(&root->sems, (int)i)))
			sem_free(container_of(o, struct semset, ipc));
	}
	for (uint32_t i = 0; i < root->queues.capacity; i++) {
		if ((o = ipc_find_index(&root->queues, (int)i)))
			queue_free(container_of(o, struct queue, ipc));
	}
}

int64_t ipc_now(void)
{
	return clock_real() / (int64_t)NSEC_PER_SEC;
}

long ipc_report(struct call *c, int arg, const void *data, size_t size, long result)
{
	return user_write(c->task, CALL_ARG_PTR(c, arg), data, size) < 0 ? -EFAULT : result;
}

int ipc_read_set(struct call *c, int arg, void *ret_ds, size_t size, const struct ipc_object *o)
{
	if (user_read(c->task, ret_ds, CALL_ARG_PTR(c, arg), size) < 0)
		return -EFAULT;
	return ipc_owner(c->task->cred, o);
}
