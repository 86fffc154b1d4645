#include "kernel/host/tracee.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

/* linux/errno.h, not exported: codes by which a call asks to be restarted. */
#define ERESTARTSYS 512
#define ERESTARTNOHAND 514

static void set_args(struct user_regs_struct *r, const uint64_t a[6])
{
	r->rdi = a[0];
	r->rsi = a[1];
	r->rdx = a[2];
	r->r10 = a[3];
	r->r8 = a[4];
	r->r9 = a[5];
}

/* host-syscalls: ptrace wait4 */
static int detach(struct tracee *t, int sig)
{
	return ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(intptr_t)sig) < 0 ? -errno : 0;
}

int tracee_stop(struct tracee *t, int tid, long nr)
{
	int status;

	t->tid = tid;
	if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)PTRACE_O_TRACESYSGOOD) < 0)
		return -ESRCH;
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0 || waitpid(tid, &status, __WALL) < 0 ||
	    !WIFSTOPPED(status))
		return -ESRCH;
	if (status >> 16 != PTRACE_EVENT_STOP) {
		detach(t, WSTOPSIG(status)); /* on its way into a signal */
		return -EINTR;
	}
	if (ptrace(PTRACE_GETREGS, tid, NULL, &t->regs) < 0)
		return -ESRCH;
	long ax = (long)t->regs.rax;
	if ((long)t->regs.orig_rax != nr || (ax != -ERESTARTSYS && ax != -ERESTARTNOHAND)) {
		detach(t, 0);
		return -EINTR;
	}
	return 0;
}

int tracee_become(struct tracee *t, long nr, const uint64_t args[6])
{
	struct user_regs_struct r = t->regs;

	r.orig_rax = (uint64_t)nr;
	r.rax = (uint64_t)-ERESTARTSYS;
	set_args(&r, args);
	if (ptrace(PTRACE_SETREGS, t->tid, NULL, &r) < 0)
		return -ESRCH;
	return detach(t, 0);
}

int tracee_finish(struct tracee *t, long result, const uint64_t args[6])
{
	struct user_regs_struct r = t->regs;

	r.orig_rax = (uint64_t)-1;
	r.rax = (uint64_t)result;
	set_args(&r, args);
	if (ptrace(PTRACE_SETREGS, t->tid, NULL, &r) < 0)
		return -ESRCH;
	return detach(t, 0);
}

/* Resumes until the next system call stop; other stops (signals) are passed over: the signal stays
 * with the thread and is delivered after the detach. */
static int until_syscall_stop(struct tracee *t)
{
	int status, sig = 0;

	for (int tries = 0; tries < 16; tries++) {
		if (ptrace(PTRACE_SYSCALL, t->tid, NULL, (void *)(intptr_t)sig) < 0 ||
		    waitpid(t->tid, &status, __WALL) < 0 || !WIFSTOPPED(status))
			return -ESRCH;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			return 0;
		sig = status >> 16 ? 0 : WSTOPSIG(status);
	}
	return -ESRCH;
}

long tracee_run(struct tracee *t, long nr, const uint64_t args[6])
{
	struct user_regs_struct r = t->regs;

	r.orig_rax = (uint64_t)nr;
	r.rax = (uint64_t)-ERESTARTSYS;
	set_args(&r, args);
	if (ptrace(PTRACE_SETREGS, t->tid, NULL, &r) < 0 || until_syscall_stop(t) < 0 ||
	    until_syscall_stop(t) < 0 || ptrace(PTRACE_GETREGS, t->tid, NULL, &r) < 0)
		return -ESRCH;
	return (long)r.rax;
}
