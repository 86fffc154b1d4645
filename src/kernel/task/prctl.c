/*
 * prctl(2).
 *
 * Three kinds of options: those about credentials and names are virtual and answered here; those
 * that only touch the calling thread's or process's own state on the host, through registers
 * alone, go on to the host (CALL_CONTINUE), some mirrored here; everything else is EINVAL, as a
 * kernel without the feature answers.
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/prctl.h>
#include <linux/securebits.h>
#include <string.h>

#include "base/util.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/core/call.h"
#include "kernel/core/user.h"
#include "kernel/task/cred.h"
#include "kernel/task/task.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

#define CAP(n) (1ull << (n))

static bool zero_from(const struct call *c, int first)
{
	for (int i = first; i < 5; i++)
		if (c->args[i])
			return false;
	return true;
}

static long write_int(struct call *c, uint32_t value)
{
	return user_write_u32(c->task, CALL_ARG_PTR(c, 1), value);
}

/* ---- names ---- */
static long set_name(struct call *c)
{
	char name[TASK_COMM_LEN] = { 0 };
	ssize_t n = user_string(c->task, name, sizeof(name), CALL_ARG_PTR(c, 1));

	if (n == -ENAMETOOLONG) /* longer names are cut */
		n = user_read_some(c->task, name, CALL_ARG_PTR(c, 1), sizeof(name) - 1);
	if (n < 0)
		return -EFAULT;
	name[sizeof(name) - 1] = 0;
	memset(c->task->comm, 0, sizeof(c->task->comm));
	memcpy(c->task->comm, name, strlen(name));
	return 0;
}

static long get_name(struct call *c)
{
	return user_write(c->task, CALL_ARG_PTR(c, 1), c->task->comm, TASK_COMM_LEN);
}

/* ---- process flags ---- */
static long set_pdeathsig(struct call *c)
{
	if (c->args[1] > 64)
		return -EINVAL;
	c->task->proc->pdeath_signal = (int)c->args[1];
	return CALL_CONTINUE;
}

static long get_pdeathsig(struct call *c)
{
	return write_int(c, (uint32_t)c->task->proc->pdeath_signal);
}

static long get_dumpable(struct call *c)
{
	return c->task->proc->dumpable;
}

static long set_dumpable(struct call *c)
{
	if (c->args[1] > 1)
		return -EINVAL;
	c->task->proc->dumpable = c->args[1];
	return 0;
}

static long set_subreaper(struct call *c)
{
	c->task->proc->child_subreaper = c->args[1] != 0;
	return CALL_CONTINUE;
}

static long get_subreaper(struct call *c)
{
	return write_int(c, c->task->proc->child_subreaper);
}

/* ---- credentials ---- */

/* A private copy to edit; the caller gives it to task_set_cred(). */
static struct cred *edit_cred(struct call *c)
{
	return cred_copy(c->task->cred);
}

static long get_keepcaps(struct call *c)
{
	return !!(c->task->cred->securebits & SECBIT_KEEP_CAPS);
}

static long set_keepcaps(struct call *c)
{
	if (c->args[1] > 1)
		return -EINVAL;
	if (c->task->cred->securebits & SECBIT_KEEP_CAPS_LOCKED)
		return -EPERM;
	struct cred *new = edit_cred(c);
	if (!new)
		return -ENOMEM;
	new->securebits &= ~(uint32_t)SECBIT_KEEP_CAPS;
	if (c->args[1])
		new->securebits |= SECBIT_KEEP_CAPS;
	task_set_cred(c->task, new);
	return 0;
}

static long get_securebits(struct call *c)
{
	return c->task->cred->securebits;
}

static long set_securebits(struct call *c)
{
	const struct cred *old = c->task->cred;
	uint64_t bits = c->args[1];
	uint64_t locks = old->securebits & SECURE_ALL_LOCKS;

	if (((locks >> 1) & (old->securebits ^ bits)) || (locks & ~bits) ||
	    (bits & ~(uint64_t)(SECURE_ALL_LOCKS | SECURE_ALL_BITS)) ||
	    !cred_capable(old, CAP_SETPCAP))
		return -EPERM;
	struct cred *new = edit_cred(c);
	if (!new)
		return -ENOMEM;
	new->securebits = (uint32_t)bits;
	task_set_cred(c->task, new);
	return 0;
}

static long capbset_read(struct call *c)
{
	if (c->args[1] > CRED_CAP_LAST)
		return -EINVAL;
	return !!(c->task->cred->cap_bounding & CAP(c->args[1]));
}

static long capbset_drop(struct call *c)
{
	if (!cred_capable(c->task->cred, CAP_SETPCAP))
		return -EPERM;
	if (c->args[1] > CRED_CAP_LAST)
		return -EINVAL;
	struct cred *new = edit_cred(c);
	if (!new)
		return -ENOMEM;
	new->cap_bounding &= ~CAP(c->args[1]);
	task_set_cred(c->task, new);
	return 0;
}

static long cap_ambient(struct call *c)
{
	const struct cred *old = c->task->cred;
	uint64_t op = c->args[1], cap = c->args[2];

	if (op == PR_CAP_AMBIENT_CLEAR_ALL ? !zero_from(c, 2) : !zero_from(c, 3))
		return -EINVAL;
	if (op != PR_CAP_AMBIENT_CLEAR_ALL && cap > CRED_CAP_LAST)
		return -EINVAL;
	if (op == PR_CAP_AMBIENT_IS_SET)
		return !!(old->cap_ambient & CAP(cap));
	if (op != PR_CAP_AMBIENT_RAISE && op != PR_CAP_AMBIENT_LOWER &&
	    op != PR_CAP_AMBIENT_CLEAR_ALL)
		return -EINVAL;
	if (op == PR_CAP_AMBIENT_RAISE &&
	    (!(old->cap_permitted & old->cap_inheritable & CAP(cap)) ||
	     (old->securebits & SECBIT_NO_CAP_AMBIENT_RAISE)))
		return -EPERM;
	struct cred *new = edit_cred(c);
	if (!new)
		return -ENOMEM;
	if (op == PR_CAP_AMBIENT_RAISE)
		new->cap_ambient |= CAP(cap);
	else if (op == PR_CAP_AMBIENT_LOWER)
		new->cap_ambient &= ~CAP(cap);
	else
		new->cap_ambient = 0;
	task_set_cred(c->task, new);
	return 0;
}

static long set_no_new_privs(struct call *c)
{
	if (c->args[1] != 1 || !zero_from(c, 2))
		return -EINVAL;
	if (c->task->cred->no_new_privs)
		return 0;
	struct cred *new = edit_cred(c);
	if (!new)
		return -ENOMEM;
	new->no_new_privs = true;
	task_set_cred(c->task, new);
	return 0;
}

static long get_no_new_privs(struct call *c)
{
	return zero_from(c, 1) ? c->task->cred->no_new_privs : -EINVAL;
}

/* ---- the rest ---- */

/* Own timers and memory, in registers only. */
static long to_host(struct call *c)
{
	(void)c;
	return CALL_CONTINUE;
}

static long answer_zero(struct call *c)
{
	(void)c;
	return 0;
}

static long set_timing(struct call *c)
{
	return c->args[1] == PR_TIMING_STATISTICAL ? 0 : -EINVAL;
}

static long set_mm(struct call *c)
{
	(void)c;
	return -EPERM; /* takes CAP_SYS_RESOURCE, and the host's picture of the process is ours */
}

/* Names of anonymous memory are for humans reading maps: accepted, not shown. */
static long set_vma(struct call *c)
{
	return c->args[1] == 0 ? 0 : -EINVAL;
}

static const struct {
	int option;
	long (*handler)(struct call *c);
} options[] = {
	{ PR_SET_PDEATHSIG, set_pdeathsig },
	{ PR_GET_PDEATHSIG, get_pdeathsig },
	{ PR_GET_DUMPABLE, get_dumpable },
	{ PR_SET_DUMPABLE, set_dumpable },
	{ PR_GET_KEEPCAPS, get_keepcaps },
	{ PR_SET_KEEPCAPS, set_keepcaps },
	{ PR_GET_TIMING, answer_zero },
	{ PR_SET_TIMING, set_timing },
	{ PR_SET_NAME, set_name },
	{ PR_GET_NAME, get_name },
	{ PR_GET_SECCOMP, answer_zero },
	{ PR_CAPBSET_READ, capbset_read },
	{ PR_CAPBSET_DROP, capbset_drop },
	{ PR_GET_SECUREBITS, get_securebits },
	{ PR_SET_SECUREBITS, set_securebits },
	{ PR_SET_TIMERSLACK, to_host },
	{ PR_GET_TIMERSLACK, to_host },
	{ PR_TASK_PERF_EVENTS_DISABLE, answer_zero },
	{ PR_TASK_PERF_EVENTS_ENABLE, answer_zero },
	{ PR_SET_MM, set_mm },
	{ PR_SET_CHILD_SUBREAPER, set_subreaper },
	{ PR_GET_CHILD_SUBREAPER, get_subreaper },
	{ PR_SET_NO_NEW_PRIVS, set_no_new_privs },
	{ PR_GET_NO_NEW_PRIVS, get_no_new_privs },
	{ PR_SET_THP_DISABLE, to_host },
	{ PR_GET_THP_DISABLE, to_host },
	{ PR_CAP_AMBIENT, cap_ambient },
	{ PR_SET_VMA, set_vma },
};

long sys_prctl(struct call *c)
{
	int option = (int)c->args[0];

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (options[i].option == option)
			return options[i].handler(c);
	return -EINVAL;
}
