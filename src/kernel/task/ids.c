/*
 * User and group ids: get*id, set*id, getgroups, setgroups.
 *
 * As on Linux these act on the calling thread alone (libraries broadcast them). Each setter works
 * on a copy of the thread's credentials, checks, lets the capabilities follow ("Effect of user ID
 * changes on capabilities" in capabilities(7)) and swaps the copy in.
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdlib.h>

#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/core/call.h"
#include "kernel/core/user.h"
#include "kernel/task/cred.h"
#include "kernel/task/task.h"

#define NO_ID UINT32_MAX
#define CAP(n) (1ull << (n))

/* Capabilities that follow the file system user id. */
#define CAPS_FS                                                                                    \
	(CAP(CAP_CHOWN) | CAP(CAP_MKNOD) | CAP(CAP_DAC_OVERRIDE) | CAP(CAP_DAC_READ_SEARCH) |       \
	 CAP(CAP_FOWNER) | CAP(CAP_FSETID) | CAP(CAP_MAC_OVERRIDE) | CAP(CAP_LINUX_IMMUTABLE))

static uint32_t arg_id(const struct call *c, int i)
{
	return (uint32_t)c->args[i];
}

static void caps_follow_uids(struct cred *new, const struct cred *old)
{
	if (new->securebits & SECBIT_NO_SETUID_FIXUP)
		return;
	bool was_root = !old->uid || !old->euid || !old->suid;
	bool is_root = !new->uid || !new->euid || !new->suid;
	if (was_root && !is_root) {
		if (!(new->securebits & SECBIT_KEEP_CAPS))
			new->cap_permitted = new->cap_effective = 0;
		new->cap_ambient = 0;
	}
	if (!old->euid && new->euid)
		new->cap_effective = 0;
	if (old->euid && !new->euid)
		new->cap_effective = new->cap_permitted;
}

static void caps_follow_fsuid(struct cred *new, const struct cred *old)
{
	if (new->securebits & SECBIT_NO_SETUID_FIXUP)
		return;
	if (!old->fsuid && new->fsuid)
		new->cap_effective &= ~CAPS_FS;
	if (old->fsuid && !new->fsuid)
		new->cap_effective |= new->cap_permitted & CAPS_FS;
}

/* Takes over `new`; a copy that is refused is dropped here. */
static long finish(struct call *c, struct cred *new, long result)
{
	if (result < 0)
		cred_put(new);
	else
		task_set_cred(c->task, new);
	return result;
}

long sys_getuid(struct call *c)
{
	return c->task->cred->uid;
}

long sys_geteuid(struct call *c)
{
	return c->task->cred->euid;
}

long sys_getgid(struct call *c)
{
	return c->task->cred->gid;
}

long sys_getegid(struct call *c)
{
	return c->task->cred->egid;
}

long sys_setuid(struct call *c)
{
	const struct cred *old = c->task->cred;
	uint32_t uid = arg_id(c, 0);

	if (uid == NO_ID)
		return -EINVAL;
	struct cred *new = cred_copy(old);
	if (!new)
		return -ENOMEM;
	if (cred_capable(old, CAP_SETUID))
		new->uid = new->suid = uid;
	else if (uid != old->uid && uid != old->suid)
		return finish(c, new, -EPERM);
	new->euid = new->fsuid = uid;
	caps_follow_uids(new, old);
	return finish(c, new, 0);
}

long sys_setgid(struct call *c)
{
	const struct cred *old = c->task->cred;
	uint32_t gid = arg_id(c, 0);

	if (gid == NO_ID)
		return -EINVAL;
	struct cred *new = cred_copy(old);
	if (!new)
		return -ENOMEM;
	if (cred_capable(old, CAP_SETGID))
		new->gid = new->sgid = gid;
	else if (gid != old->gid && gid != old->sgid)
		return finish(c, new, -EPERM);
	new->egid = new->fsgid = gid;
	return finish(c, new, 0);
}

long sys_setreuid(struct call *c)
{
	const struct cred *old = c->task->cred;
	uint32_t ruid = arg_id(c, 0), euid = arg_id(c, 1);
	bool may = cred_capable(old, CAP_SETUID);

	if (ruid != NO_ID && ruid != old->uid && ruid != old->euid && !may)
		return -EPERM;
	if (euid != NO_ID && euid != old->uid && euid != old->euid && euid != old->suid && !may)
		return -EPERM;
	struct cred *new = cred_copy(old);
	if (!new)
		return -ENOMEM;
	if (ruid != NO_ID)
		new->uid = ruid;
	if (euid != NO_ID)
		new->euid = euid;
	if (ruid != NO_ID || (euid != NO_ID && euid != old->uid))
		new->suid = new->euid;
	new->fsuid = new->euid;
	caps_follow_uids(new, old);
	return finish(c, new, 0);
}

long sys_setregid(struct call *c)
{
	const struct cred *old = c->task->cred;
	uint32_t rgid = arg_id(c, 0), egid = arg_id(c, 1);
	bool may = cred_capable(old, CAP_SETGID);

	if (rgid != NO_ID && rgid != old->gid && rgid != old->egid && !may)
		return -EPERM;
	if (egid != NO_ID && egid != old->gid && egid != old->egid && egid != old->sgid && !may)
		return -EPERM;
	struct cred *new = cred_copy(old);
	if (!new)
		return -ENOMEM;
	if (rgid != NO_ID)
		new->gid = rgid;
	if (egid != NO_ID)
		new->egid = egid;
	if (rgid != NO_ID || (egid != NO_ID && egid != old->gid))
		new->sgid = new->egid;
	new->fsgid = new->egid;
	return finish(c, new, 0);
}

static bool one_of(uint32_t id, uint32_t a, uint32_t b, uint32_t s)
{
	return id == NO_ID || id == a || id == b || id == s;
}

long sys_setresuid(struct call *c)
{
	const struct cred *old = c->task->cred;

	if (!cred_capable(old, CAP_SETUID))
		for (int i = 0; i < 3; i++)
			if (!one_of(arg_id(c, i), old->uid, old->euid, old->suid))
				return -EPERM;
	struct cred *new = cred_copy(old);
	if (!new)
		return -ENOMEM;
	if (arg_id(c, 0) != NO_ID)
		new->uid = arg_id(c, 0);
	if (arg_id(c, 1) != NO_ID)
		new->euid = arg_id(c, 1);
	if (arg_id(c, 2) != NO_ID)
		new->suid = arg_id(c, 2);
	new->fsuid = new->euid;
	caps_follow_uids(new, old);
	return finish(c, new, 0);
}

long sys_setresgid(struct call *c)
{
	const struct cred *old = c->task->cred;

	if (!cred_capable(old, CAP_SETGID))
		for (int i = 0; i < 3; i++)
			if (!one_of(arg_id(c, i), old->gid, old->egid, old->sgid))
				return -EPERM;
	struct cred *new = cred_copy(old);
	if (!new)
		return -ENOMEM;
	if (arg_id(c, 0) != NO_ID)
		new->gid = arg_id(c, 0);
	if (arg_id(c, 1) != NO_ID)
		new->egid = arg_id(c, 1);
	if (arg_id(c, 2) != NO_ID)
		new->sgid = arg_id(c, 2);
	new->fsgid = new->egid;
	return finish(c, new, 0);
}

static long write_three(struct call *c, uint32_t a, uint32_t b, uint32_t s)
{
	if (user_write_u32(c->task, CALL_ARG_PTR(c, 0), a) ||
	    user_write_u32(c->task, CALL_ARG_PTR(c, 1), b) ||
	    user_write_u32(c->task, CALL_ARG_PTR(c, 2), s))
		return -EFAULT;
	return 0;
}

long sys_getresuid(struct call *c)
{
	const struct cred *cred = c->task->cred;
	return write_three(c, cred->uid, cred->euid, cred->suid);
}

long sys_getresgid(struct call *c)
{
	const struct cred *cred = c->task->cred;
	return write_three(c, cred->gid, cred->egid, cred->sgid);
}

/* Cannot fail: the answer is always the old id, whether it was changed or not. */
long sys_setfsuid(struct call *c)
{
	const struct cred *old = c->task->cred;
	uint32_t uid = arg_id(c, 0), before = old->fsuid;

	if (uid == NO_ID || uid == before)
		return before;
	if (!one_of(uid, old->uid, old->euid, old->suid) && !cred_capable(old, CAP_SETUID))
		return before;
	struct cred *new = cred_copy(old);
	if (!new)
		return before;
	new->fsuid = uid;
	caps_follow_fsuid(new, old);
	return finish(c, new, before);
}

long sys_setfsgid(struct call *c)
{
	const struct cred *old = c->task->cred;
	uint32_t gid = arg_id(c, 0), before = old->fsgid;

	if (gid == NO_ID || gid == before)
		return before;
	if (!one_of(gid, old->gid, old->egid, old->sgid) && !cred_capable(old, CAP_SETGID))
		return before;
	struct cred *new = cred_copy(old);
	if (!new)
		return before;
	new->fsgid = gid;
	return finish(c, new, before);
}

long sys_getgroups(struct call *c)
{
	const struct cred *cred = c->task->cred;
	int size = (int)c->args[0];

	if (size < 0)
		return -EINVAL;
	if (size == 0)
		return cred->group_count;
	if ((uint32_t)size < cred->group_count)
		return -EINVAL;
	if (user_write(c->task, CALL_ARG_PTR(c, 1), cred->groups,
		       cred->group_count * sizeof(cred->groups[0])))
		return -EFAULT;
	return cred->group_count;
}

static int compare_gid(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

long sys_setgroups(struct call *c)
{
	const struct cred *old = c->task->cred;
	uint64_t count = (uint32_t)c->args[0];

	if (!cred_capable(old, CAP_SETGID))
		return -EPERM;
	if (count > CRED_GROUPS_MAX) /* /proc/sys/kernel/ngroups_max says so */
		return -EINVAL;
	struct cred *new = cred_copy(old);
	if (!new)
		return -ENOMEM;
	if (user_read(c->task, new->groups, CALL_ARG_PTR(c, 1), count * sizeof(new->groups[0])))
		return finish(c, new, -EFAULT);
	for (uint64_t i = 0; i < count; i++)
		if (new->groups[i] == NO_ID)
			return finish(c, new, -EINVAL);
	new->group_count = (uint32_t)count;
	qsort(new->groups, count, sizeof(new->groups[0]), compare_gid);
	return finish(c, new, 0);
}
