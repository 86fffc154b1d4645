#include "kernel/host/freezer.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "kernel/host/proc.h"
#include "kernel/host/process.h"

#define FROZEN_MAX    40000u
#define PROCESSES_MAX 40000
#define THREADS_MAX   8192 /* of one process */
#define TID_BITS      22   /* the host's largest: PID_MAX_LIMIT */

struct frozen {
	int pid, tid;
	bool stopped;
	uint8_t signal; /* it was on its way to this one when it stopped */
};

static struct frozen frozen[FROZEN_MAX];
static uint32_t frozen_count;
static uint8_t known[1u << (TID_BITS - 3)]; /* bit per tid */

static int pids[PROCESSES_MAX], tids[THREADS_MAX]; /* scratch of the scan */
static int pid_count, pid_next;
static bool scanning, found_new;

static uint8_t *known_byte(int tid)
{
	return &known[((uint32_t)tid & ((1u << TID_BITS) - 1)) / 8];
}

static bool is_known(int tid)
{
	return *known_byte(tid) >> (tid % 8) & 1;
}

static void forget(uint32_t i)
{
	*known_byte(frozen[i].tid) &= (uint8_t) ~(1u << (frozen[i].tid % 8));
	frozen[i] = frozen[--frozen_count];
}

/* host-syscalls: ptrace wait4 */

/* A thread that cannot be had is dying, or about to be let go by tracee.c: then it is found again. */
static int stop_thread(int pid, int tid)
{
	if (is_known(tid))
		return 0;
	if (frozen_count == FROZEN_MAX)
		return -ENOMEM;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0) {
		char state = host_proc_state(tid);
		if (state && state != 'Z' && state != 'X')
			found_new = true;
		return 0;
	}
	found_new = true;
	frozen[frozen_count++] = (struct frozen){ .pid = pid, .tid = tid };
	*known_byte(tid) |= (uint8_t)(1u << (tid % 8));
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	return 0;
}

static int stop_process(int pid)
{
	int n = pid == HOST_OWN_PID ? 0 : host_proc_threads(pid, tids, THREADS_MAX), r = 0;

	if (n == THREADS_MAX)
		return -ENOMEM;
	for (int i = 0; i < n && r == 0; i++)
		r = stop_thread(pid, tids[i]);
	return r;
}

int host_freezer_scan(unsigned processes)
{
	if (!scanning) {
		pid_count = host_proc_processes(pids, PROCESSES_MAX);
		if (pid_count < 0 || pid_count == PROCESSES_MAX)
			return -ENOMEM;
		pid_next = 0;
		scanning = true;
		found_new = false;
	}
	for (; processes > 0 && pid_next < pid_count; processes--) {
		int r = stop_process(pids[pid_next++]);
		if (r < 0) {
			scanning = false;
			return r;
		}
	}
	if (pid_next < pid_count)
		return 0;
	scanning = false;
	return !found_new;
}

/* 1 = stopped, 0 = not yet, -1 = gone. */
static int look(struct frozen *f)
{
	int status, r = waitpid(f->tid, &status, __WALL | WNOHANG);

	if (r == 0)
		return 0;
	if (r < 0 || !WIFSTOPPED(status))
		return -1;
	f->stopped = true;
	f->signal = (uint8_t)(status >> 16 ? 0 : WSTOPSIG(status));
	return 1;
}

bool host_freezer_settled(void)
{
	bool settled = true;

	for (uint32_t i = frozen_count; i-- > 0;) {
		struct frozen *f = &frozen[i];
		int r = f->stopped ? 1 : look(f);
		if (r < 0)
			forget(i);
		/* The parent of a vfork waits in the host for its child, which is stopped, too. */
		else if (r == 0 && host_proc_state(f->tid) != 'D')
			settled = false;
	}
	return settled;
}

void host_freezer_process_died(int host_pid)
{
	int status;

	for (uint32_t i = frozen_count; i-- > 0;) {
		if (frozen[i].pid == host_pid) {
			waitpid(frozen[i].tid, &status, __WALL | WNOHANG);
			forget(i);
		}
	}
}

/* True: let go of, or gone. */
static bool thaw(struct frozen *f)
{
	if (!f->stopped) {
		int r = look(f);
		if (r <= 0)
			return r < 0;
	}
	if (ptrace(PTRACE_DETACH, f->tid, NULL, (void *)(intptr_t)f->signal) == 0)
		return true;
	/* Killed meanwhile: its zombie is ours to wait for, as soon as it is one. */
	f->stopped = false;
	return look(f) < 0;
}

bool host_freezer_thaw(void)
{
	scanning = false;
	for (uint32_t i = frozen_count; i-- > 0;) {
		if (thaw(&frozen[i]))
			forget(i);
	}
	return frozen_count == 0;
}
