/*
 * The tables of tasks and processes.
 *
 * A process enters the tables when its first thread is bound (task/birth.c) and leaves them when
 * the host reports its death; a zombie that the guest has not waited for is the host's business.
 * Resources go earlier, at exit_group (process_exit), so that what a parent sees after wait(2) -
 * pipes at their end, locks free, ports closed - is exact.
 */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/core/clock.h"
#include "kernel/core/limits.h"
#include "kernel/core/sandbox.h"
#include "kernel/fs/file.h"
#include "kernel/fs/signalfd/signalfd.h"
#include "kernel/fs/tty/tty.h"
#include "kernel/fs/vfs.h"
#include "kernel/host/process.h"
#include "kernel/host/tag.h"
#include "kernel/mm/shm.h"
#include "kernel/sysv/sysv.h"
#include "kernel/task/birth.h"
#include "kernel/task/exec.h"
#include "kernel/task/family.h"
#include "kernel/task/life.h"

#define HASH_SIZE 256

struct task_state {
	struct list processes;
	uint32_t next_tag;
	struct list tasks_by_host[HASH_SIZE];
	struct list processes_by_host[HASH_SIZE];
	uint32_t process_count, thread_count;
	uint64_t processes_total;
};

static struct task_state *state;

int task_init(void)
{
	state = arena_root(ROOT_TASK, sizeof(*state));
	if (!state)
		return -ENOMEM;
	if (state->processes.next)
		return 0;
	list_init(&state->processes);
	for (int i = 0; i < HASH_SIZE; i++) {
		list_init(&state->tasks_by_host[i]);
		list_init(&state->processes_by_host[i]);
	}
	return 0;
}

static uint32_t hash(int tid)
{
	return (uint32_t)tid & (HASH_SIZE - 1);
}

/* ---- look-up ---- */

struct task *task_find_host(int host_tid)
{
	struct task *t;

	list_for_each(t, &state->tasks_by_host[hash(host_tid)], hash_link) {
		if (t->host_tid == host_tid)
			return t;
	}
	return NULL;
}

struct process *process_find_host(int host_pid)
{
	struct process *p;

	list_for_each(p, &state->processes_by_host[hash(host_pid)], hash_link) {
		if (p->host_pid == host_pid)
			return p;
	}
	return NULL;
}

struct process *process_find(int pid)
{
	struct process *p;

	list_for_each(p, &state->processes, all_link) {
		if (p->pid == pid)
			return p;
	}
	return NULL;
}

struct task *task_find(int tid)
{
	struct process *p = process_find(tid);
	struct task *t = p ? process_leader(p) : NULL;

	if (t && t->tid == tid)
		return t;
	list_for_each(p, &state->processes, all_link) {
		list_for_each(t, &p->threads, sibling) {
			if (t->tid == tid)
				return t;
		}
	}
	return NULL;
}

struct task *process_leader(struct process *p)
{
	struct task *t, *any = NULL;

	list_for_each(t, &p->threads, sibling) {
		if (t->tid == p->pid)
			return t;
		any = any ? any : t;
	}
	return any;
}

struct list *process_list(void)
{
	return &state->processes;
}

uint32_t process_count(void)
{
	return state->process_count;
}

uint32_t thread_count(void)
{
	return state->thread_count;
}

uint64_t process_total(void)
{
	return state->processes_total;
}

/* ---- making and unmaking ---- */

struct process *process_new(int host_pid, int pid)
{
	struct process *p = knew(struct process);

	if (!p)
		return NULL;
	list_init(&p->threads);
	list_init(&p->pending_clones);
	list_init(&p->attachments);
	p->refs = 1;
	p->host_pid = host_pid;
	p->pid = pid;
	p->pidfd = -EBADF;
	p->dumpable = true;
	p->start_ns = clock_boot();
	p->tag = ++state->next_tag;
	if (host_tag_set(host_pid, p->tag) < 0) {
		kfree(p); /* its children could not be told from its parent's: it cannot go on */
		return NULL;
	}
	list_add_tail(&state->processes, &p->all_link);
	list_add_tail(&state->processes_by_host[hash(host_pid)], &p->hash_link);
	state->process_count++;
	state->processes_total++;
	return p;
}

struct process *process_get(struct process *p)
{
	p->refs++;
	return p;
}

void process_put(struct process *p)
{
	if (!p || --p->refs)
		return;
	path_put(&p->exe);
	kfree(p->script_args);
	kfree(p);
}

static void process_unlink(struct process *p)
{
	list_del(&p->all_link);
	list_del(&p->hash_link);
	state->process_count--;
	if (p->pidfd >= 0)
		host_process_forget(p->pidfd);
	p->pidfd = -EBADF;
	p->state = PROCESS_ZOMBIE;
}

void process_free(struct process *p)
{
	process_unlink(p);
	process_put(p);
}

int process_watch(struct process *p)
{
	int fd = host_process_watch(p->host_pid);

	if (fd == -ENOSYS || fd == -EPERM)
		sandbox_end(SANDBOX_FAULT, "the host forbids pidfd_open: the end of programs cannot be "
					   "noticed (hotcell doctor says more)");
	p->pidfd = fd < 0 ? -EBADF : fd;
	return MIN(fd, 0);
}

struct task *task_new(struct process *p, int host_tid, int tid)
{
	struct task *t = knew(struct task);

	if (!t)
		return NULL;
	t->slot = knew(struct call);
	if (!t->slot) {
		kfree(t);
		return NULL;
	}
	t->slot->task = t;
	t->proc = p;
	t->host_tid = host_tid;
	t->tid = tid;
	t->start_ns = clock_boot();
	list_add_tail(&p->threads, &t->sibling);
	list_add_tail(&state->tasks_by_host[hash(host_tid)], &t->hash_link);
	p->thread_count++;
	state->thread_count++;
	return t;
}

void task_free(struct task *t)
{
	if (t->call)
		call_cancel(t->call);
	birth_thread_gone(t);
	exec_thread_gone(t);
	list_del(&t->sibling);
	list_del(&t->hash_link);
	t->proc->thread_count--;
	state->thread_count--;
	if (t->files)
		fdtable_put(t->files, t);
	if (t->fs)
		fs_context_put(t->fs);
	if (t->cred)
		cred_put(t->cred);
	kfree(t->slot);
	kfree(t);
}

void task_become_leader(struct task *t)
{
	struct process *p = t->proc;
	struct task *other, *next;

	list_for_each_safe(other, next, &p->threads, sibling) {
		if (other != t)
			task_free(other);
	}
	limit_release(LIMIT_PIDS, p->thread_charges);
	p->thread_charges = 0;
	if (t->host_tid == p->host_pid)
		return;
	list_del(&t->hash_link);
	t->host_tid = p->host_pid;
	t->tid = p->pid;
	list_add_tail(&state->tasks_by_host[hash(t->host_tid)], &t->hash_link);
}

/* ---- ends ---- */

void process_exit(struct process *p)
{
	struct task *t, *next;

	if (p->exited)
		return;
	process_note_end(p);
	p->exited = true;
	birth_process_exit(p);
	exec_abort(p);
	sysv_process_exit(p);
	shm_process_exit(p);
	list_for_each_safe(t, next, &p->threads, sibling) {
		/* The one whose exit_group this is still has to be answered. */
		if (!t->leaving)
			task_free(t);
	}
	tty_session_exit(p);
	limit_release(LIMIT_PIDS, p->thread_charges);
	p->thread_charges = 0;
}

/* Its living children are the first process's now (or a subreaper's: process_parent_now() tells), and
 * so are those that it left as zombies. */
static void leave_children(const struct process *p)
{
	struct process *child;

	list_for_each(child, &state->processes, all_link) {
		if (child->ppid == p->pid)
			child->ppid = 1;
	}
	if (p->cloned)
		sandbox_reap();
}

void process_died(int host_pid)
{
	struct process *p = process_find_host(host_pid);
	struct task *t, *next;

	if (!p)
		return;
	process_exit(p);
	list_for_each_safe(t, next, &p->threads, sibling)
		task_free(t);
	birth_process_gone(p);
	limit_release(LIMIT_PIDS, 1);
	process_unlink(p);
	leave_children(p);
	zombie_add(p);
	waitq_wake(&p->exit_waitq, 0);
	struct process *parent = process_find(p->ppid);
	/* An orphan's parent may be a subreaper, which only the host knows. */
	signalfd_kick(parent && parent->pid != 1 ? parent : NULL);
	if (p->pid == 1)
		sandbox_end(SANDBOX_FAULT, SANDBOX_INIT_KILLED);
	else if (!parent || parent->pid == 1)
		sandbox_reap();
	process_put(p);
}
