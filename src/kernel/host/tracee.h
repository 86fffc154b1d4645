/*
 * A guest thread held by ptrace for a moment, to change what its current system call is.
 *
 * A thread that waits in a seccomp notification is interrupted by PTRACE_INTERRUPT with the call
 * set to restart. Changing the saved registers then changes what restarts; cancelling the restart
 * (orig_rax = -1) makes it return with the rax we set.
 *
 * While the thread executes calls for us (tracee_run) all its signals are blocked, so that none is
 * delivered in the middle; its own mask is back when it is let go.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/user.h>

struct tracee {
	int pid, tid;
	struct user_regs_struct regs; /* as they were at the stop */
	uint64_t sigmask;	      /* the thread's own, while `masked` */
	bool masked;
};

int tracee_init(void);

/*
 * Stops thread `tid` of process `pid`, which must be inside system call `nr`, about to restart. 0;
 * -EINTR: a signal came in between, the thread goes its own way (handler, restart, death); -ESRCH:
 * gone; -EBUSY: the process is in the middle of its end, the thread is where it was.
 */
int tracee_stop(struct tracee *t, int pid, int tid, long nr);
/* Makes the restarted call another one; then lets go. 0 or -ESRCH. */
int tracee_become(struct tracee *t, long nr, const uint64_t args[6]);
/* Returns `result` from the original call; then lets go. 0 or -ESRCH. */
int tracee_finish(struct tracee *t, long result, const uint64_t args[6]);
/* Runs a system call in the stopped thread, which stays stopped: finish with tracee_finish(). `site`:
 * address of a system call instruction in the guest, 0 = the one that it stopped in. -ESRCH: gone, or not finished in time; it has been let go. */
long tracee_run(struct tracee *t, uint64_t site, long nr, const uint64_t args[6]);
/* Looks after threads that could not be let go at once. True: some are left, ask again soon. */
bool tracee_settle(void);
