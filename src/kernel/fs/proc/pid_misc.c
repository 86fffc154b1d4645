/*
 * The small files of /proc/PID: limits, io, cgroup, oom_*, id maps and other facts that are the
 * same for every process of a sandbox.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/fs/proc/proc_internal.h"
#include "kernel/host/proc.h"
#include "kernel/task/rlimit.h"

#define OOM_ADJ_MIN (-17)
#define OOM_ADJ_MAX 15
#define OOM_SCORE_ADJ_MAX 1000

static void show_limit(struct seq *s, rlim_t value)
{
	if (value == RLIM_INFINITY)
		seq_printf(s, "%-20s ", "unlimited");
	else
		seq_printf(s, "%-20" PRIu64 " ", (uint64_t)value);
}

int proc_pid_limits(struct seq *s, const struct proc_ctx *x)
{
	seq_printf(s, "%-25s %-20s %-20s %-10s\n", "Limit", "Soft Limit", "Hard Limit", "Units");
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		seq_printf(s, "%-25s ", rlimit_names[i].name);
		show_limit(s, x->proc->rlimits[i].rlim_cur);
		show_limit(s, x->proc->rlimits[i].rlim_max);
		seq_printf(s, "%-10s\n", rlimit_names[i].unit);
	}
	return 0;
}

/* I/O is served by the kernel process, so the host's counters of the guest say nothing. */
int proc_pid_io(struct seq *s, const struct proc_ctx *x)
{
	uint64_t calls = 0;
	struct task *t;

	list_for_each(t, &x->proc->threads, sibling)
		calls += t->call_count;
	seq_printf(s, "rchar: 0\nwchar: 0\nsyscr: %" PRIu64 "\nsyscw: 0\nread_bytes: 0\n"
		      "write_bytes: 0\ncancelled_write_bytes: 0\n", calls);
	return 0;
}

int proc_pid_cgroup(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_text(s, "0::/\n");
	return 0;
}

/* loginuid and sessionid: no audit session. */
int proc_pid_unset_id(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_text(s, "4294967295");
	return 0;
}

int proc_pid_zero(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_text(s, "0\n");
	return 0;
}

int proc_pid_wchan(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_text(s, "0");
	return 0;
}

/* ---- out of memory: remembered, without effect on whom the host would kill ---- */
int proc_pid_oom_score_adj(struct seq *s, const struct proc_ctx *x)
{
	seq_printf(s, "%d\n", x->proc->oom_score_adj);
	return 0;
}

int proc_pid_oom_adj(struct seq *s, const struct proc_ctx *x)
{
	int value = x->proc->oom_score_adj;

	seq_printf(s, "%d\n", value == OOM_SCORE_ADJ_MAX ? OOM_ADJ_MAX :
			      value * -OOM_ADJ_MIN / OOM_SCORE_ADJ_MAX);
	return 0;
}

static int parse_int(const char *text, int min, int max, int *ret)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (end == text || (*end && *end != '\n'))
		return -EINVAL;
	if (value < min || value > max)
		return -EINVAL;
	*ret = (int)value;
	return 0;
}

static int set_oom_score_adj(const struct proc_ctx *x, int value)
{
	if (value < x->proc->oom_score_adj && value < 0 && x->reader &&
	    !cred_capable(x->reader->cred, CAP_SYS_RESOURCE))
		return -EACCES;
	x->proc->oom_score_adj = (int16_t)value;
	return 0;
}

int proc_pid_oom_score_adj_write(const struct proc_ctx *x, const char *text, size_t size)
{
	int value, error;

	(void)size;
	error = parse_int(text, -OOM_SCORE_ADJ_MAX, OOM_SCORE_ADJ_MAX, &value);
	return error ? error : set_oom_score_adj(x, value);
}

int proc_pid_oom_adj_write(const struct proc_ctx *x, const char *text, size_t size)
{
	int value, error;

	(void)size;
	error = parse_int(text, OOM_ADJ_MIN, OOM_ADJ_MAX, &value);
	if (error)
		return error;
	return set_oom_score_adj(x, value == OOM_ADJ_MAX ? OOM_SCORE_ADJ_MAX :
				    value * OOM_SCORE_ADJ_MAX / -OOM_ADJ_MIN);
}

/* ---- user namespace: the initial one ---- */
int proc_pid_id_map(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_printf(s, "%10u %10u %10u\n", 0u, 0u, UINT32_MAX);
	return 0;
}

int proc_pid_setgroups(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_text(s, "allow\n");
	return 0;
}

int proc_pid_personality(struct seq *s, const struct proc_ctx *x)
{
	seq_printf(s, "%08x\n", x->proc->personality);
	return 0;
}

int proc_pid_coredump_filter(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_text(s, "00000033\n");
	return 0;
}

int proc_pid_timerslack(struct seq *s, const struct proc_ctx *x)
{
	char text[32];
	ssize_t n = x->task ? host_proc_read(x->task->host_tid, "timerslack_ns", text,
					     sizeof(text) - 1) : 0;

	if (n > 0)
		seq_bytes(s, text, (size_t)n);
	else
		seq_text(s, "50000\n");
	return 0;
}

/* Security labels: no security module answers EINVAL. */
int proc_pid_attr(struct seq *s, const struct proc_ctx *x)
{
	(void)s;
	(void)x;
	return -EINVAL;
}

int proc_write_ignored(const struct proc_ctx *x, const char *text, size_t size)
{
	(void)x;
	(void)text;
	(void)size;
	return 0;
}

int proc_write_refused(const struct proc_ctx *x, const char *text, size_t size)
{
	(void)x;
	(void)text;
	(void)size;
	return -EPERM;
}
