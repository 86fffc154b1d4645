#include "kernel/task/birth.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "kernel/core/arena.h"
#include "kernel/core/limits.h"
#include "kernel/fs/file.h"
#include "kernel/fs/tty/tty.h"
#include "kernel/fs/vfs.h"
#include "kernel/host/numbers.h"
#include "kernel/host/proc.h"
#include "kernel/host/process.h"
#include "kernel/host/tag.h"
#include "kernel/mm/shm.h"
#include "kernel/task/birth_internal.h"
#include "kernel/task/life.h"
#include "kernel/task/task.h"

void pending_free(struct pending_clone *p)
{
	list_del(&p->link);
	fdtable_put(p->files, NULL);
	fs_context_put(p->fs);
	cred_put(p->cred);
	process_put(p->process);
	kfree(p);
}

/* ---- binding ---- */

static struct process *child_process(struct pending_clone *p, int host_pid, int pid)
{
	struct process *child = process_new(host_pid, pid);
	struct process *parent = p->process;

	if (!child)
		return NULL;
	child->ppid = p->sibling ? parent->ppid : parent->pid;
	child->by_init = parent->pid == 1;
	child->pgid = parent->pgid;
	child->sid = parent->sid;
	child->host_image = parent->host_image;
	child->dumpable = parent->dumpable;
	child->exit_signal = p->exit_signal;
	child->exe = path_get(parent->exe);
	child->arg_start = parent->arg_start;
	child->arg_end = parent->arg_end;
	child->env_start = parent->env_start;
	child->env_end = parent->env_end;
	child->personality = parent->personality;
	child->oom_score_adj = parent->oom_score_adj;
	if (parent->script_args)
		child->script_args = kmemdup0(parent->script_args, parent->script_args_size);
	if (child->script_args)
		child->script_args_size = parent->script_args_size;
	memcpy(child->aux, parent->aux, sizeof(child->aux));
	memcpy(child->rlimits, parent->rlimits, sizeof(child->rlimits));
	shm_fork(child, parent);
	tty_fork(child, parent);
	return child;
}

/* The new task gets what was made for it when it was cloned. */
static void inherit(struct task *t, struct pending_clone *p)
{
	t->files = p->files;
	t->fs = p->fs;
	t->cred = p->cred;
	p->files = NULL;
	p->fs = NULL;
	p->cred = NULL;
}

/* Makes the task of a child process from its record, which is used up. */
static struct task *bind_process(struct pending_clone *p, int host_pid, int pid)
{
	struct process *proc = child_process(p, host_pid, pid);
	struct task *t = proc ? task_new(proc, host_pid, pid) : NULL;

	if (t) {
		inherit(t, p);
		memcpy(t->comm, p->comm, sizeof(t->comm));
	} else {
		/* No memory: the record of what it owns is used up, it would run with nothing. */
		host_signal_process(host_pid, SIGKILL);
		if (proc) {
			process_exit(proc); /* what it inherited */
			process_free(proc);
		}
		limit_release(LIMIT_PIDS, 1);
	}
	/* Gone already, or it would end unnoticed. */
	if (t && process_watch(proc) < 0) {
		host_signal_process(host_pid, SIGKILL);
		process_died(host_pid);
		t = NULL;
	}
	pending_free(p);
	return t;
}

static struct task *bind_thread(struct process *proc, int host_tid, int tid)
{
	struct task *sibling = process_leader(proc);
	struct pending_clone *p;
	struct task *t;

	if (!sibling)
		return NULL;
	t = task_new(proc, host_tid, tid);
	if (!t)
		return NULL;
	memcpy(t->comm, sibling->comm, sizeof(t->comm));
	list_for_each(p, &proc->pending_clones, link) {
		if (!p->thread)
			continue;
		inherit(t, p);
		pending_free(p);
		proc->thread_charges++;
		return t;
	}
	t->files = fdtable_get(sibling->files);
	t->fs = fs_context_get(sibling->fs);
	t->cred = cred_get(sibling->cred);
	return t;
}

#define CHILDREN_MAX 32768
static int children[CHILDREN_MAX]; /* scratch */

static bool is_child_of_thread(const struct pending_clone *p, int host_pid)
{
	int *pids = children;
	int n = p->parent ? host_proc_children(p->process->host_pid, p->parent->host_tid, pids,
					       CHILDREN_MAX)
			  : 0;

	for (int i = 0; i < n; i++) {
		if (pids[i] == host_pid)
			return true;
	}
	return false;
}

/* Who cloned the process `host_pid`, whoever its parent is now. */
static struct process *cloned_by(int host_pid)
{
	struct process *p;
	uint32_t tag;

	if (host_tag_get(host_pid, &tag) < 0)
		return NULL;
	list_for_each(p, process_list(), all_link) {
		if (p->tag == tag)
			return p;
	}
	return NULL;
}

/* Which of the parent's records belongs to its new child? Several threads may be cloning. */
static struct pending_clone *match(struct process *parent, int host_pid)
{
	struct pending_clone *p, *first = NULL;
	int count = 0;

	list_for_each(p, &parent->pending_clones, link) {
		if (p->thread)
			continue;
		first = first ? first : p;
		count++;
	}
	if (count <= 1)
		return first;
	list_for_each(p, &parent->pending_clones, link) {
		if (!p->thread && is_child_of_thread(p, host_pid))
			return p;
	}
	return first;
}

static struct task *bind(int host_tid)
{
	struct host_numbers n;
	struct process *proc, *parent;
	struct pending_clone *p;

	if (host_numbers(host_tid, &n) < 0)
		return NULL;
	proc = process_find_host(n.host_pid);
	if (proc)
		return bind_thread(proc, host_tid, n.tid);
	if (n.host_pid != host_tid)
		return NULL; /* a thread of a process whose leader was never seen: cannot be */
	parent = cloned_by(n.host_pid);
	p = parent ? match(parent, n.host_pid) : NULL;
	return p ? bind_process(p, n.host_pid, n.pid) : NULL;
}

/* An exec under way may have ended the thread, and its number may belong to somebody else. */
static bool is_stale(const struct task *t)
{
	struct host_numbers n;

	if (!t->proc->exec || t->host_tid == t->proc->host_pid)
		return false;
	return host_numbers(t->host_tid, &n) < 0 || n.host_pid != t->proc->host_pid;
}

struct task *task_of_notification(int host_tid)
{
	struct task *t = task_find_host(host_tid);

	if (t && is_stale(t)) {
		task_free(t);
		t = NULL;
	}
	return t ? t : bind(host_tid);
}

/* Binds `p` to the first of these processes that is new and was cloned by `proc`. */
static bool bind_first_new(struct pending_clone *p, const struct process *proc, const int *pids, int n)
{
	for (int i = n - 1; i >= 0; i--) {
		struct host_numbers numbers;
		uint32_t tag;
		if (process_find_host(pids[i]) || host_tag_get(pids[i], &tag) < 0 ||
		    tag != proc->tag ||
		    host_numbers(pids[i], &numbers) < 0)
			continue;
		bind_process(p, numbers.host_pid, numbers.pid);
		return true;
	}
	return false;
}

/* The list of children may leave one out while others exit, and may not exist at all. */
static bool find_child(struct pending_clone *p)
{
	const struct process *proc = p->process;

	if (p->parent && !p->sibling &&
	    bind_first_new(p, proc, children,
			   host_proc_children(proc->host_pid, p->parent->host_tid, children,
					      CHILDREN_MAX)))
		return true;
	return bind_first_new(p, proc, children, host_proc_processes(children, CHILDREN_MAX));
}

static void drop(struct pending_clone *p)
{
	limit_release(LIMIT_PIDS, 1);
	pending_free(p);
}

/* `returned`: the thread is not in its clone any more. */
static void resolve(struct task *t, bool returned)
{
	struct pending_clone *p, *next;

	list_for_each_safe(p, next, &t->proc->pending_clones, link) {
		if (p->parent != t || p->thread || find_child(p))
			continue;
		if (returned) /* the clone failed, or the child is dead and reaped */
			drop(p);
	}
}

void birth_resolve(struct task *t)
{
	resolve(t, true);
}

void birth_find_all(void)
{
	struct process *proc;
	struct task *t;

	list_for_each(proc, process_list(), all_link) {
		if (list_empty(&proc->pending_clones))
			continue;
		list_for_each(t, &proc->threads, sibling)
			resolve(t, false);
	}
}

void birth_thread_gone(struct task *t)
{
	struct pending_clone *p;

	list_for_each(p, &t->proc->pending_clones, link) {
		if (p->parent == t)
			p->parent = NULL;
	}
}

struct process *birth_process_of(int host_tid)
{
	int host_pid, host_ppid, tid, pid;

	if (host_proc_ids(host_tid, &host_pid, &host_ppid, &tid, &pid) < 0)
		return NULL;
	return process_find_host(host_pid);
}

void birth_unknown_left(struct process *proc)
{
	if (!proc->thread_charges)
		return;
	proc->thread_charges--;
	limit_release(LIMIT_PIDS, 1);
}

void birth_process_exit(struct process *proc)
{
	struct pending_clone *p, *next;

	list_for_each_safe(p, next, &proc->pending_clones, link) {
		if (p->thread)
			drop(p);
	}
}

void birth_process_gone(struct process *proc)
{
	struct pending_clone *p, *next;

	list_for_each_safe(p, next, &proc->pending_clones, link) {
		if (!find_child(p))
			drop(p);
	}
}

/* pid 1 has no parent record: empty table, root and cwd at the sandbox's root, all privileges. */
int birth_init_process(int host_pid, struct task **ret)
{
	struct process *proc = process_new(host_pid, 1);
	struct task *t = proc ? task_new(proc, host_pid, 1) : NULL;

	if (!t)
		return -ENOMEM;
	proc->dumpable = true;
	proc->did_exec = true;
	rlimits_init(proc->rlimits);
	t->files = fdtable_new();
	t->fs = knew(struct fs_context);
	t->cred = cred_new(0, 0);
	if (!t->files || !t->fs || !t->cred)
		return -ENOMEM;
	t->fs->refs = 1;
	t->fs->umask = 022;
	t->fs->root = path_get(root_path());
	t->fs->cwd = path_get(root_path());
	memcpy(t->comm, "init", 5);
	*ret = t;
	return process_watch(proc);
}
