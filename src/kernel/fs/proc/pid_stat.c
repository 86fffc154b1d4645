/*
 * /proc/PID/{stat,statm,status,schedstat,sched}: numbers of the host's own files about the task
 * (memory, times, signals), with everything that is virtual put in place: names, ids, credentials,
 * terminal, start time.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/core/clock.h"
#include "kernel/fs/file.h"
#include "kernel/fs/proc/proc_internal.h"
#include "kernel/host/proc.h"
#include "kernel/task/cred.h"
#include "kernel/fs/tty/tty.h"
#include "kernel/task/family.h"

#define CLOCK_TICKS_NS 10000000ul /* 100 a second */
#define STAT_FIELDS 52

static int host_tid(const struct proc_ctx *x)
{
	if (!x->task)
		return x->proc->host_pid;
	return x->key.thread ? x->task->host_tid : x->proc->host_pid;
}

/* Whole text of a host file in `dst`, "" when it cannot be had. */
static size_t read_host(const struct proc_ctx *x, const char *name, char *dst, size_t capacity)
{
	ssize_t n = host_proc_read(host_tid(x), name, dst, capacity - 1);

	dst[n > 0 ? n : 0] = 0;
	return n > 0 ? (size_t)n : 0;
}

static char guest_state(const struct proc_ctx *x, char host)
{
	if (!x->task || x->proc->state == PROCESS_ZOMBIE)
		return 'Z';
	/* A ptrace stop is how we answer some calls; the guest is just waiting. */
	return host == 't' || !host ? 'S' : host;
}

static const char *comm_of(const struct proc_ctx *x)
{
	return x->task ? x->task->comm : x->proc->end_comm;
}

static uint64_t start_ticks(const struct proc_ctx *x)
{
	uint64_t start = x->task && x->key.thread ? x->task->start_ns : x->proc->start_ns;
	return start / CLOCK_TICKS_NS;
}

/* Fields of stat, by their numbers in proc(5), that are replaced. */
enum {
	STAT_STATE = 3,
	STAT_PPID = 4,
	STAT_PGRP = 5,
	STAT_SESSION = 6,
	STAT_TTY = 7,
	STAT_TPGID = 8,
	STAT_START_TIME = 22,
	STAT_RSSLIM = 25,
	STAT_START_CODE = 26,
	STAT_END_CODE = 27,
	STAT_START_STACK = 28,
	STAT_ESP = 29,
	STAT_EIP = 30,
	STAT_WCHAN = 35,
	STAT_EXIT_SIGNAL = 38,
	STAT_START_DATA = 45,
	STAT_END_DATA = 46,
	STAT_ARG_START = 48,
	STAT_ENV_END = 51,
	STAT_EXIT_CODE = 52,
};

static void fill_ids(const struct proc_ctx *x, int64_t *values, bool *set)
{
	const struct process *p = x->proc;
	int tty = 0, tpgid = -1;

	tty_proc_stat(p, &tty, &tpgid);
	const int64_t ids[] = { process_parent_now(x->proc), p->pgid, p->sid, tty, tpgid };
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		values[STAT_PPID + i] = ids[i];
		set[STAT_PPID + i] = true;
	}
	values[STAT_EXIT_SIGNAL] = p->exit_signal ? p->exit_signal : SIGCHLD;
	set[STAT_EXIT_SIGNAL] = true;
}

static void fill_addresses(const struct proc_ctx *x, bool *set)
{
	static const uint8_t hidden[] = { STAT_START_CODE, STAT_END_CODE, STAT_START_STACK, STAT_ESP,
					  STAT_EIP, STAT_WCHAN, STAT_START_DATA, STAT_END_DATA };
	bool may = proc_may_inspect(x) == 0;

	/* The host's are those of the loader stub, not of the program. */
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
		set[hidden[i]] = true;
	for (int i = STAT_ARG_START; i <= STAT_ENV_END; i++)
		set[i] = !may;
	set[STAT_EXIT_CODE] = true; /* 0 as long as the process lives */
}

int proc_pid_stat(struct seq *s, const struct proc_ctx *x)
{
	int64_t values[STAT_FIELDS + 1] = { 0 };
	bool set[STAT_FIELDS + 1] = { false };
	char text[1024];
	const char *p = NULL;

	if (read_host(x, "stat", text, sizeof(text)))
		p = strrchr(text, ')');
	p = p && p[1] == ' ' ? p + 2 : "";
	fill_ids(x, values, set);
	fill_addresses(x, set);
	seq_printf(s, "%u (%s) %c", x->key.pid, comm_of(x), guest_state(x, *p));
	for (int field = STAT_STATE; field <= STAT_FIELDS; field++) {
		size_t length = strcspn(p, " \n");
		if (field == STAT_START_TIME)
			seq_printf(s, " %" PRIu64, start_ticks(x));
		else if (field == STAT_RSSLIM)
			seq_printf(s, " %" PRIu64, (uint64_t)x->proc->rlimits[RLIMIT_RSS].rlim_cur);
		else if (field != STAT_STATE && set[field])
			seq_printf(s, " %" PRId64, values[field]);
		else if (field != STAT_STATE)
			seq_printf(s, " %.*s", length ? (int)length : 1, length ? p : "0");
		p += length;
		if (*p == ' ')
			p++;
	}
	seq_text(s, "\n");
	return 0;
}

int proc_pid_statm(struct seq *s, const struct proc_ctx *x)
{
	char text[256];

	if (read_host(x, "statm", text, sizeof(text)))
		seq_text(s, text);
	else
		seq_text(s, "0 0 0 0 0 0 0\n");
	return 0;
}

/* ---- status ---- */
static const char *state_name(char state)
{
	switch (state) {
	case 'R':
		return "R (running)";
	case 'D':
		return "D (disk sleep)";
	case 'T':
		return "T (stopped)";
	case 'Z':
		return "Z (zombie)";
	case 'X':
		return "X (dead)";
	default:
		return "S (sleeping)";
	}
}

/* Copies the host's lines whose names start with one of the words. */
static void copy_lines(struct seq *s, const char *text, const char *const *words)
{
	for (const char *line = text; *line; ) {
		const char *end = strchr(line, '\n');
		if (!end)
			return;
		for (const char *const *w = words; *w; w++)
			if (!strncmp(line, *w, strlen(*w))) {
				seq_bytes(s, line, (size_t)(end - line) + 1);
				break;
			}
		line = end + 1;
	}
}

static char host_state(const char *status)
{
	const char *p = strstr(status, "\nState:\t");
	return p ? p[8] : 0;
}

static void show_identity(struct seq *s, const struct proc_ctx *x, char state)
{
	const struct process *p = x->proc;
	const struct cred *c = x->task ? x->task->cred : NULL;
	int tid = (int)x->key.pid;

	seq_printf(s, "Name:\t%s\n", comm_of(x));
	if (x->task && x->task->fs)
		seq_printf(s, "Umask:\t%04o\n", x->task->fs->umask);
	seq_printf(s, "State:\t%s\nTgid:\t%d\nNgid:\t0\nPid:\t%d\nPPid:\t%d\nTracerPid:\t0\n",
		   state_name(state), p->pid, tid, process_parent_now(x->proc));
	if (c)
		seq_printf(s, "Uid:\t%u\t%u\t%u\t%u\nGid:\t%u\t%u\t%u\t%u\n", c->uid, c->euid,
			   c->suid, c->fsuid, c->gid, c->egid, c->sgid, c->fsgid);
	else
		seq_printf(s, "Uid:\t%u\t%u\t%u\t%u\nGid:\t%u\t%u\t%u\t%u\n", p->end_uid,
			   p->end_uid, p->end_uid, p->end_uid, p->end_gid, p->end_gid, p->end_gid,
			   p->end_gid);
	seq_printf(s, "FDSize:\t%u\nGroups:\t", x->task && x->task->files ?
		   x->task->files->capacity : 0);
	for (uint32_t i = 0; c && i < c->group_count; i++)
		seq_printf(s, "%u ", c->groups[i]);
	seq_printf(s, "\nNStgid:\t%d\nNSpid:\t%d\nNSpgid:\t%d\nNSsid:\t%d\nKthread:\t0\n", p->pid,
		   tid, p->pgid, p->sid);
}

static void show_caps(struct seq *s, const struct proc_ctx *x)
{
	static const struct cred nobody;
	const struct cred *c = x->task ? x->task->cred : &nobody;

	seq_printf(s,
		   "CapInh:\t%016" PRIx64 "\nCapPrm:\t%016" PRIx64 "\nCapEff:\t%016" PRIx64
		   "\nCapBnd:\t%016" PRIx64 "\nCapAmb:\t%016" PRIx64 "\nNoNewPrivs:\t%d\n",
		   c->cap_inheritable, c->cap_permitted, c->cap_effective, c->cap_bounding,
		   c->cap_ambient, c->no_new_privs);
	seq_text(s, "Seccomp:\t0\nSeccomp_filters:\t0\nSpeculation_Store_Bypass:\tthread vulnerable\n"
		    "SpeculationIndirectBranch:\tconditional enabled\n");
}

int proc_pid_status(struct seq *s, const struct proc_ctx *x)
{
	static const char *const memory[] = { "Vm", "Rss", "HugetlbPages:", "CoreDumping:",
					      "THP_enabled:", "Threads:", NULL };
	static const char *const signals[] = { "SigQ:", "SigPnd:", "ShdPnd:", "SigBlk:", "SigIgn:",
					       "SigCgt:", NULL };
	static const char *const rest[] = { "Cpus_allowed", "Mems_allowed", "voluntary_ctxt",
					    "nonvoluntary_ctxt", NULL };
	char text[4096];

	read_host(x, "status", text, sizeof(text));
	show_identity(s, x, guest_state(x, host_state(text)));
	copy_lines(s, text, memory);
	copy_lines(s, text, signals);
	show_caps(s, x);
	copy_lines(s, text, rest);
	return 0;
}

int proc_pid_schedstat(struct seq *s, const struct proc_ctx *x)
{
	char text[256];

	seq_text(s, read_host(x, "schedstat", text, sizeof(text)) ? text : "0 0 0\n");
	return 0;
}

int proc_pid_sched(struct seq *s, const struct proc_ctx *x)
{
	seq_printf(s, "%s (%u, #threads: %u)\n", comm_of(x), x->key.pid, x->proc->thread_count);
	seq_text(s, "-------------------------------------------------------------------\n"
		    "policy                                       :                    0\n"
		    "prio                                         :                  120\n");
	return 0;
}
