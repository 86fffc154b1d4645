/*
 * capget(2) and capset(2): the capability sets of threads, in all three header versions.
 */
#include <errno.h>
#include <linux/capability.h>

#include "kernel/abi/syscalls.h"
#include "kernel/core/call.h"
#include "kernel/core/user.h"
#include "kernel/task/cred.h"
#include "kernel/task/task.h"

/* Words per set, 0 for an unknown version: then the preferred one is written back. */
static int read_header(struct call *c, struct __user_cap_header_struct *header, unsigned *ret_words)
{
	struct task *t = c->task;

	*ret_words = 0;
	if (user_read(t, header, CALL_ARG_PTR(c, 0), sizeof(*header)))
		return -EFAULT;
	switch (header->version) {
	case _LINUX_CAPABILITY_VERSION_1:
		*ret_words = 1;
		return 0;
	case _LINUX_CAPABILITY_VERSION_2:
	case _LINUX_CAPABILITY_VERSION_3:
		*ret_words = 2;
		return 0;
	default:
		if (user_write_u32(t, CALL_ARG_PTR(c, 0), _LINUX_CAPABILITY_VERSION_3))
			return -EFAULT;
		return -EINVAL;
	}
}

long sys_capget(struct call *c)
{
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct data[2];
	unsigned words;
	int error = read_header(c, &header, &words);

	if (!c->args[1]) /* a probe for the version */
		return error == -EINVAL ? 0 : error;
	if (error)
		return error;
	if (header.pid < 0)
		return -EINVAL;
	struct task *t = header.pid ? task_find(header.pid) : c->task;
	if (!t)
		return -ESRCH;
	for (unsigned i = 0; i < 2; i++) {
		data[i].effective = (uint32_t)(t->cred->cap_effective >> (32 * i));
		data[i].permitted = (uint32_t)(t->cred->cap_permitted >> (32 * i));
		data[i].inheritable = (uint32_t)(t->cred->cap_inheritable >> (32 * i));
	}
	return user_write(c->task, CALL_ARG_PTR(c, 1), data, words * sizeof(data[0]));
}

long sys_capset(struct call *c)
{
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct data[2] = { 0 };
	uint64_t effective, permitted, inheritable;
	const struct cred *old = c->task->cred;
	unsigned words;
	int error = read_header(c, &header, &words);

	if (error)
		return error;
	if (header.pid && header.pid != c->task->tid)
		return -EPERM;
	if (user_read(c->task, data, CALL_ARG_PTR(c, 1), words * sizeof(data[0])))
		return -EFAULT;
	effective = (data[0].effective | (uint64_t)data[1].effective << 32) & CRED_CAP_ALL;
	permitted = (data[0].permitted | (uint64_t)data[1].permitted << 32) & CRED_CAP_ALL;
	inheritable = (data[0].inheritable | (uint64_t)data[1].inheritable << 32) & CRED_CAP_ALL;

	if (!cred_capable(old, CAP_SETPCAP) &&
	    (inheritable & ~(old->cap_inheritable | old->cap_permitted)))
		return -EPERM;
	if (inheritable & ~(old->cap_inheritable | old->cap_bounding))
		return -EPERM;
	if ((permitted & ~old->cap_permitted) || (effective & ~permitted))
		return -EPERM;
	struct cred *new = cred_copy(old);
	if (!new)
		return -ENOMEM;
	new->cap_effective = effective;
	new->cap_permitted = permitted;
	new->cap_inheritable = inheritable;
	new->cap_ambient &= permitted & inheritable;
	task_set_cred(c->task, new);
	return 0;
}
