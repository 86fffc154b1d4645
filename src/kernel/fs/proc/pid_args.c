/*
 * /proc/PID/cmdline, environ and comm. Arguments and environment are read from the process's own
 * memory, where a program may have changed them on purpose (setproctitle).
 */
#include <errno.h>
#include <string.h>

#include "kernel/core/arena.h"
#include "kernel/core/user.h"
#include "kernel/fs/proc/proc_internal.h"

#define ARGS_MAX (2u << 20)

/* Appends guest memory [start, end); stops early at the first bad page. */
static void copy_range(struct seq *s, struct task *t, uint64_t start, uint64_t end)
{
	char chunk[2048];

	if (start >= end)
		return;
	end = MIN(end, start + ARGS_MAX);
	while (start < end && !s->error) {
		size_t want = (size_t)MIN(end - start, (uint64_t)sizeof(chunk));
		ssize_t n = user_read_some(t, chunk, uaddr(start), want);
		if (n <= 0)
			return;
		seq_bytes(s, chunk, (size_t)n);
		start += (uint64_t)n;
	}
}

int proc_pid_cmdline(struct seq *s, const struct proc_ctx *x)
{
	const struct process *p = x->proc;

	if (!x->task) /* a zombie has given its memory back */
		return 0;
	copy_range(s, x->task, p->arg_start, p->arg_end);
	/* A title longer than the arguments runs on into the environment, up to its first NUL. */
	if (s->size && s->data[s->size - 1] && p->env_start == p->arg_end) {
		size_t before = s->size;
		copy_range(s, x->task, p->env_start, p->env_end);
		char *end = s->size > before ? memchr(s->data + before, 0, s->size - before) : NULL;
		s->size = end ? (size_t)(end - s->data) + 1 : before;
	}
	return 0;
}

int proc_pid_environ(struct seq *s, const struct proc_ctx *x)
{
	if (x->task)
		copy_range(s, x->task, x->proc->env_start, x->proc->env_end);
	return 0;
}

int proc_pid_comm(struct seq *s, const struct proc_ctx *x)
{
	seq_printf(s, "%.15s\n", x->task ? x->task->comm : "");
	return 0;
}

int proc_pid_comm_write(const struct proc_ctx *x, const char *text, size_t size)
{
	/* Threads may rename each other, processes may not. */
	if (!x->task || (x->reader && x->reader->proc != x->proc))
		return -EINVAL;
	size_t length = strnlen(text, MIN(size, (size_t)TASK_COMM_LEN - 1));
	memset(x->task->comm, 0, TASK_COMM_LEN);
	memcpy(x->task->comm, text, length);
	return 0;
}
