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

static int block_signals(struct tracee *t)
{
	uint64_t all = UINT64_MAX;
	void *size = (void *)sizeof(all);

	if (t->masked)
		return 0;
	if (ptrace(PTRACE_GETSIGMASK, t->tid, size, &t->sigmask) < 0 ||
	    ptrace(PTRACE_SETSIGMASK, t->tid, size, &all) < 0)
		return -ESRCH;
	t->masked = true;
	return 0;
}

static void restore_signals(struct tracee *t)
{
	if (t->masked)
		ptrace(PTRACE_SETSIGMASK, t->tid, (void *)sizeof(t->sigmask), &t->sigmask);
	t->masked = false;
}

int tracee_stop(struct tracee *t, int tid, long nr)
{
	int status;

	t->tid = tid;
	t->masked = false;
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
	restore_signals(t);
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
	restore_signals(t);
	return detach(t, 0);
}

/* Resumes until the next system call stop; SIGSTOP and the like are passed over. */
static int until_syscall_stop(struct tracee *t)
{
	int status;

	for (int tries = 0; tries < 16; tries++) {
		if (ptrace(PTRACE_SYSCALL, t->tid, NULL, NULL) < 0 ||
		    waitpid(t->tid, &status, __WALL) < 0 || !WIFSTOPPED(status))
			return -ESRCH;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			return 0;
	}
	return -ESRCH;
}

/*
 * Executes the `syscall` instruction before the saved address once more, with other registers. Not
 * by way of a restart: the host only does that once per stop, and this may run several calls.
 */
long tracee_run(struct tracee *t, long nr, const uint64_t args[6])
{
	struct user_regs_struct r = t->regs;

	r.orig_rax = (uint64_t)-1;
	r.rax = (uint64_t)nr;
	r.rip -= 2;
	set_args(&r, args);
	if (block_signals(t) < 0 || ptrace(PTRACE_SETREGS, t->tid, NULL, &r) < 0 ||
	    until_syscall_stop(t) < 0 ||
	    until_syscall_stop(t) < 0 || ptrace(PTRACE_GETREGS, t->tid, NULL, &r) < 0)
		return -ESRCH;
	return (long)r.rax;
}
