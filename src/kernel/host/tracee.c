#include "kernel/host/tracee.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "kernel/core/sandbox.h"

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

/* ---- waiting for stops ---- */

/*
 * Never by a blocking waitpid(): a thread that is killed or replaced by an exec while we wait for it
 * may vanish without waking us, and what a thread does that executes a call for us is up to its
 * guest. SIGCHLD, which is blocked, wakes us; the time is bounded.
 *
 * Threads that we could not let go (dying, or not stopped in time) are strays: zombies of theirs
 * belong to us, their process cannot be waited for before we have looked at them.
 */
#define PATIENCE_MS 1000
#define STEP_MS 2
#define STRAYS_MAX 256

struct stray {
	int pid, tid;
};

static struct stray strays[STRAYS_MAX];
static int stray_count;

static sigset_t child_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	return set;
}

int tracee_init(void)
{
	sigset_t set = child_signal();
	return sigprocmask(SIG_BLOCK, &set, NULL) < 0 ? -errno : 0;
}

/* host-syscalls: ptrace wait4 rt_sigtimedwait */
static int wait_for(const struct tracee *t, int *ret_status)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000 };
	sigset_t set = child_signal();

	for (int i = 0; i < PATIENCE_MS / STEP_MS; i++) {
		int r = waitpid(t->tid, ret_status, __WALL | WNOHANG);
		if (r != 0)
			return r < 0 ? -ESRCH : 0;
		sigtimedwait(&set, NULL, &step);
	}
	return -ETIMEDOUT;
}

/* Let go of, or reaped: only then its parent sees the zombie, which may have been told before. */
static bool settle(const struct stray *s)
{
	int status, r = waitpid(s->tid, &status, __WALL | WNOHANG);

	if (r > 0 && !WIFSTOPPED(status))
		sandbox_reap();
	if (r <= 0 || !WIFSTOPPED(status))
		return r != 0;
	int sig = status >> 16 || WSTOPSIG(status) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(status);
	return ptrace(PTRACE_DETACH, s->tid, NULL, (void *)(intptr_t)sig) == 0;
}

bool tracee_settle(void)
{
	for (int i = stray_count - 1; i >= 0; i--) {
		if (settle(&strays[i]))
			strays[i] = strays[--stray_count];
	}
	return stray_count > 0;
}

static void stray_add(const struct tracee *t)
{
	if (stray_count < STRAYS_MAX)
		strays[stray_count++] = (struct stray){ t->pid, t->tid };
}

/* Attaching to a thread of a process that has a stray could wait for ever, if that is a zombie that
 * an exec in the same process waits for. */
static bool has_stray(int pid)
{
	if (stray_count)
		(void)tracee_settle();
	for (int i = 0; i < stray_count; i++) {
		if (strays[i].pid == pid)
			return true;
	}
	return false;
}

static int detach(struct tracee *t, int sig)
{
	if (ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(intptr_t)sig) == 0)
		return 0;
	stray_add(t);
	return -ESRCH;
}

/* ---- */

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

int tracee_stop(struct tracee *t, int pid, int tid, long nr)
{
	static bool worked;
	int status, r;

	*t = (struct tracee){ .pid = pid, .tid = tid };
	if (has_stray(pid))
		return -EBUSY;
	if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)PTRACE_O_TRACESYSGOOD) < 0) {
		/* A host that forbids it does so from the first time on: nothing could execute. */
		if (!worked && (errno == EPERM || errno == ENOSYS))
			sandbox_end(SANDBOX_FAULT, "the host forbids ptrace: no program can be started "
						   "(hotcell doctor says more)");
		return -ESRCH;
	}
	worked = true;
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0) {
		stray_add(t);
		return -ESRCH;
	}
	r = wait_for(t, &status);
	if (r == -ETIMEDOUT)
		stray_add(t);
	if (r < 0 || !WIFSTOPPED(status))
		return -ESRCH;
	if (status >> 16 != PTRACE_EVENT_STOP) {
		detach(t, WSTOPSIG(status)); /* on its way into a signal */
		return -EINTR;
	}
	if (ptrace(PTRACE_GETREGS, tid, NULL, &t->regs) < 0) {
		stray_add(t);
		return -ESRCH;
	}
	long ax = (long)t->regs.rax;
	if ((long)t->regs.orig_rax != nr || (ax != -ERESTARTSYS && ax != -ERESTARTNOHAND)) {
		detach(t, 0);
		return -EINTR;
	}
	return 0;
}

/* Sets the registers and lets go. */
static int leave_with(struct tracee *t, struct user_regs_struct *r)
{
	if (ptrace(PTRACE_SETREGS, t->tid, NULL, r) < 0) {
		stray_add(t);
		return -ESRCH;
	}
	restore_signals(t);
	return detach(t, 0);
}

int tracee_become(struct tracee *t, long nr, const uint64_t args[6])
{
	struct user_regs_struct r = t->regs;

	r.orig_rax = (uint64_t)nr;
	r.rax = (uint64_t)-ERESTARTSYS;
	set_args(&r, args);
	return leave_with(t, &r);
}

int tracee_finish(struct tracee *t, long result, const uint64_t args[6])
{
	struct user_regs_struct r = t->regs;

	r.orig_rax = (uint64_t)-1;
	r.rax = (uint64_t)result;
	set_args(&r, args);
	return leave_with(t, &r);
}

/* Resumes until the next system call stop; SIGSTOP and the like are passed over. */
static int until_syscall_stop(struct tracee *t)
{
	int status;

	for (int tries = 0; tries < 16; tries++) {
		if (ptrace(PTRACE_SYSCALL, t->tid, NULL, NULL) < 0)
			return -EIO;
		int r = wait_for(t, &status);
		if (r < 0)
			return r;
		if (!WIFSTOPPED(status))
			return -ESRCH;
		if (WSTOPSIG(status) == (SIGTRAP | 0x80))
			return 0;
	}
	return -EIO;
}

static int run_until_done(struct tracee *t, struct user_regs_struct *r)
{
	int err;

	if (block_signals(t) < 0 || ptrace(PTRACE_SETREGS, t->tid, NULL, r) < 0)
		return -EIO;
	err = until_syscall_stop(t);
	if (err == 0)
		err = until_syscall_stop(t);
	if (err < 0)
		return err;
	return ptrace(PTRACE_GETREGS, t->tid, NULL, r) < 0 ? -EIO : 0;
}

/*
 * Executes a `syscall` instruction, by default the one before the saved address once more, with other
 * registers. Not by way of a restart: the host only does that once per stop, and this may run several
 * calls. The
 * guest's other threads can change instruction and arguments under our hands: whoever does not come
 * back has done that, and ends.
 */
long tracee_run(struct tracee *t, uint64_t site, long nr, const uint64_t args[6])
{
	struct user_regs_struct r = t->regs;

	r.orig_rax = (uint64_t)-1;
	r.rax = (uint64_t)nr;
	r.rip = site ? site : r.rip - 2;
	set_args(&r, args);
	int err = run_until_done(t, &r);
	if (err == 0)
		return (long)r.rax;
	if (err != -ESRCH)
		stray_add(t);
	if (err == -ETIMEDOUT)
		kill(t->pid, SIGKILL);
	return -ESRCH;
}
