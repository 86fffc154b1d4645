/*
 * /proc/PID/cmdline, environ and comm. Arguments and environment are in the process's own memory,
 * where the host's execve put them and where a program may have changed them on purpose
 * (setproctitle): the host's files show them.
 */
#include <errno.h>
#include <string.h>

#include "kernel/fs/proc/proc_internal.h"
#include "kernel/host/proc.h"

/* Appends a whole file of the host about the process. */
static void copy_host(struct seq *s, const struct proc_ctx *x, const char *name)
{
	char chunk[4096];
	ssize_t n;
	int fd = host_proc_open(x->task->host_tid, name);

	if (fd < 0)
		return;
	while (!s->error && s->size < SEQ_MAX_BYTES &&
	       (n = host_proc_next(fd, chunk, sizeof(chunk))) > 0)
		seq_bytes(s, chunk, (size_t)n);
	host_proc_close(fd);
}

int proc_pid_cmdline(struct seq *s, const struct proc_ctx *x)
{
	const struct process *p = x->proc;

	if (!x->task) /* a zombie has given its memory back */
		return 0;
	copy_host(s, x, "cmdline");
	if (!p->script_args_size || !s->size)
		return 0;
	/* The host was given the script's name as argv[0]: the interpreter's line replaces it. */
	size_t skip = strnlen(s->data, s->size);
	skip = MIN(skip + 1, s->size);
	size_t rest = s->size - skip;
	seq_bytes(s, p->script_args, p->script_args_size); /* makes room */
	if (s->error)
		return 0;
	memmove(s->data + p->script_args_size, s->data + skip, rest);
	memcpy(s->data, p->script_args, p->script_args_size);
	s->size = p->script_args_size + rest;
	return 0;
}

int proc_pid_environ(struct seq *s, const struct proc_ctx *x)
{
	if (x->task)
		copy_host(s, x, "environ");
	return 0;
}

int proc_pid_comm(struct seq *s, const struct proc_ctx *x)
{
	seq_printf(s, "%.15s\n", x->task ? x->task->comm : x->proc->end_comm);
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
