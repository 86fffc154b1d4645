/*
 * LIST_PROCESSES: what runs, by pid. What only the host knows of a process (times, memory, state) is
 * read from its /proc, some processes per turn; a process that ended meanwhile is left out.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "kernel/control/control.h"
#include "kernel/control/op_kinds.h"
#include "kernel/control/requests.h"
#include "kernel/core/arena.h"
#include "kernel/host/proc.h"
#include "kernel/task/birth.h"
#include "kernel/task/life.h"
#include "wire/channel.h"
#include "wire/wire.h"

#define PER_STEP      16u
#define COMMAND_MAX   256u
#define PROCESS_BYTES (COMMAND_MAX + 128u) /* of one process in the message, at most */
#define PROCESSES_MAX ((WIRE_BODY_MAX - 4) / PROCESS_BYTES)
#define TICK_NS	      (NSEC_PER_SEC / 100)

struct processes_op {
	struct op op;
	uint32_t count, next, listed;
	uint8_t *body;
	uint32_t length;
	int pids[];
};

static struct processes_op *processes_of(struct op *op)
{
	return container_of(op, struct processes_op, op);
}

void processes_release(struct op *op)
{
	kfree(processes_of(op)->body);
}

/* A shell sort: libc's qsort() may take memory, and ask the host how much there is. */
static void sort(int *pids, uint32_t count)
{
	for (uint32_t gap = count / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11) {
		for (uint32_t i = gap; i < count; i++) {
			int pid = pids[i];
			uint32_t at = i;
			for (; at >= gap && pids[at - gap] > pid; at -= gap)
				pids[at] = pids[at - gap];
			pids[at] = pid;
		}
	}
}

bool processes_message(const struct message *m, struct wire_in *in)
{
	struct processes_op *l = NULL;
	struct process *p;

	if (!wire_in_end(in))
		return false;
	birth_find_all();
	uint32_t count = MIN(process_count(), PROCESSES_MAX);
	int r = op_new(OP_PROCESSES, m->header.request, sizeof(*l) + count * sizeof(int), &l);
	if (r == 0) {
		l->body = kmalloc(4 + count * PROCESS_BYTES);
		r = l->body ? 0 : -ENOMEM;
	}
	if (r < 0) {
		control_error(m->header.request, -r, WIRE_ABOUT_REQUEST, "list processes");
		op_free(l ? &l->op : NULL);
		return true;
	}
	list_for_each(p, process_list(), all_link) {
		if (l->count < count)
			l->pids[l->count++] = p->pid;
	}
	sort(l->pids, l->count);
	l->length = sizeof(uint32_t);
	op_start(&l->op);
	return true;
}

/* Fields of /proc/PID/stat behind the name, which may contain anything. */
static bool read_stat(struct process *p, char state[2], struct wire_process *ret)
{
	char text[512];
	int host_parent;
	unsigned long long user, system;
	unsigned long threads;
	long resident;
	ssize_t n = host_proc_read(p->host_pid, "stat", text, sizeof(text) - 1);

	if (n <= 0)
		return false;
	text[n] = '\0';
	const char *at = strrchr(text, ')');
	if (!at || sscanf(at,
			  ") %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d "
			  "%lu %*d %*u %*u %ld",
			  &state[0], &host_parent, &user, &system, &threads, &resident) != 6)
		return false;
	if (state[0] == 't')
		state[0] = 'S'; /* frozen; a guest cannot be traced otherwise */
	struct process *parent = process_find_host(host_parent);
	ret->parent = p->pid == 1 ? 0 : parent ? (uint32_t)parent->pid : 1;
	ret->cpu_ns = (user + system) * TICK_NS;
	ret->threads = (uint32_t)threads;
	ret->memory_bytes = (uint64_t)MAX(resident, 0l) * PAGE_SIZE;
	return true;
}

/* argv joined by spaces; a script's is the interpreter's line (task.h); without one the name. */
static void read_command(struct process *p, char dst[COMMAND_MAX + 1])
{
	struct task *t = process_leader(p);
	size_t length = 0;
	ssize_t n = host_proc_read(p->host_pid, "cmdline", dst, COMMAND_MAX);

	n = MAX(n, 0);
	if (p->script_args_size && n) {
		size_t skip = MIN(strnlen(dst, (size_t)n) + 1, (size_t)n);
		size_t first = MIN(p->script_args_size, COMMAND_MAX);
		size_t rest = MIN((size_t)n - skip, COMMAND_MAX - first);
		memmove(dst + first, dst + skip, rest);
		memcpy(dst, p->script_args, first);
		n = (ssize_t)(first + rest);
	}
	for (length = (size_t)n; length > 0 && !dst[length - 1]; length--)
		;
	for (size_t i = 0; i < length; i++)
		dst[i] = dst[i] ? dst[i] : ' ';
	dst[length] = '\0';
	if (!length)
		snprintf(dst, COMMAND_MAX, "[%.15s]", t ? t->comm : p->end_comm);
}

static void add(struct processes_op *l, struct process *p)
{
	struct wire_out o = { l->body, l->length, l->length + PROCESS_BYTES, false };
	char state[2] = "", command[COMMAND_MAX + 1];
	struct task *t = process_leader(p);
	struct wire_process w = { .pid = (uint32_t)p->pid,
				  .uid = t && t->cred ? t->cred->euid : p->end_uid,
				  .started_ms = p->start_ns / NSEC_PER_MSEC,
				  .state = state,
				  .command = command };

	if (!read_stat(p, state, &w))
		return;
	read_command(p, command);
	wire_put_process(&o, &w);
	if (o.failed)
		return;
	l->length = o.length;
	l->listed++;
}

enum op_result processes_step(struct op *op)
{
	struct processes_op *l = processes_of(op);

	for (uint32_t i = 0; i < PER_STEP && l->next < l->count; i++) {
		struct process *p = process_find(l->pids[l->next++]);
		if (p)
			add(l, p);
	}
	if (l->next < l->count)
		return OP_AGAIN;
	if (control_congested())
		return OP_CONGESTED;
	memcpy(l->body, &l->listed, sizeof(l->listed));
	control_send(WIRE_PROCESS_LIST, op->request, l->body, l->length);
	return OP_END;
}
