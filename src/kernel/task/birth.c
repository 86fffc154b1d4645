#include "kernel/fs/tty/tty.h"
#include "kernel/task/birth.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>

#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/core/limits.h"
#include "kernel/fs/file.h"
#include "kernel/fs/vfs.h"
#include "kernel/host/proc.h"
#include "kernel/mm/shm.h"
#include "kernel/task/task.h"
#include "kernel/task/life.h"

/* A clone whose child has not been seen. */
struct pending_clone {
	struct list link; /* process.pending_clones of the parent, or orphans */
	struct task *parent; /* NULL once the parent thread is gone */
	int parent_host_pid;
	bool thread;
	int exit_signal;
	struct fdtable *files;
	struct fs_context *fs;
	struct cred *cred;
	struct process *process; /* the parent's, to inherit from; referenced */
	char comm[TASK_COMM_LEN];
};

#define CLONE_NAMESPACES                                                                           \
	(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |  \
	 CLONE_NEWCGROUP | CLONE_NEWTIME)

static void pending_free(struct pending_clone *p)
{
	list_del(&p->link);
	fdtable_put(p->files, NULL);
	fs_context_put(p->fs);
	cred_put(p->cred);
	process_put(p->process);
	kfree(p);
}

/* ---- the call ---- */

static struct pending_clone *pending_new(struct task *t, uint64_t flags)
{
	struct pending_clone *p = knew(struct pending_clone);

	if (!p)
		return NULL;
	list_init(&p->link);
	p->parent = t;
	p->parent_host_pid = t->proc->host_pid;
	p->thread = flags & CLONE_THREAD;
	p->exit_signal = (int)(flags & CSIGNAL);
	p->process = process_get(t->proc);
	p->files = flags & CLONE_FILES ? fdtable_get(t->files) : fdtable_copy(t->files);
	p->fs = flags & CLONE_FS ? fs_context_get(t->fs) : fs_context_copy(t->fs);
	p->cred = cred_get(t->cred);
	memcpy(p->comm, t->comm, sizeof(p->comm));
	if (!p->files || !p->fs) {
		pending_free(p);
		return NULL;
	}
	list_add_tail(&t->proc->pending_clones, &p->link);
	return p;
}

static uint64_t tasks_of_user(uint32_t uid)
{
	struct process *proc;
	struct pending_clone *p;
	uint64_t count = 0;

	list_for_each(proc, process_list(), all_link) {
		struct task *t = process_leader(proc);

		if (t && t->cred->uid == uid)
			count += 1 + proc->thread_charges;
		list_for_each(p, &proc->pending_clones, link)
			count += p->cred->uid == uid;
	}
	list_for_each(p, task_orphan_clones(), link)
		count += p->cred->uid == uid;
	return count;
}

/* RLIMIT_NPROC. Counting is for those below the number of all tasks, which is known. */
static bool user_may_clone(const struct task *t)
{
	uint64_t limit = task_rlimit(t, RLIMIT_NPROC);

	return limit_used(LIMIT_PIDS) < limit || t->cred->uid == 0 ||
	       cred_capable(t->cred, CAP_SYS_RESOURCE) || cred_capable(t->cred, CAP_SYS_ADMIN) ||
	       tasks_of_user(t->cred->uid) < limit;
}

static long clone_call(struct task *t, uint64_t flags)
{
	const uint64_t shared = CLONE_THREAD | CLONE_FILES | CLONE_FS;

	if (flags & CLONE_NAMESPACES)
		return -EPERM;
	if (flags & (CLONE_PIDFD | CLONE_INTO_CGROUP | CLONE_CLEAR_SIGHAND))
		return -EINVAL;
	if (flags & (CLONE_PTRACE | CLONE_UNTRACED))
		return -EPERM;
	if (!user_may_clone(t) || !limit_charge(LIMIT_PIDS, 1))
		return -EAGAIN;
	/* The record of an earlier clone of this thread whose child never showed up is stale now:
	 * birth_resolve() has looked for it before this call was served. */
	if ((flags & shared) == shared) {
		t->proc->thread_charges++;
		return CALL_CONTINUE;
	}
	if (!pending_new(t, flags)) {
		limit_release(LIMIT_PIDS, 1);
		return -ENOMEM;
	}
	return CALL_CONTINUE;
}

long sys_clone(struct call *c)
{
	return clone_call(c->task, c->args[0]);
}

long sys_fork(struct call *c)
{
	return clone_call(c->task, SIGCHLD);
}

long sys_vfork(struct call *c)
{
	return clone_call(c->task, CLONE_VFORK | CLONE_VM | SIGCHLD);
}

/* ---- binding ---- */

static struct process *child_process(struct pending_clone *p, int host_pid, int pid)
{
	struct process *child = process_new(host_pid, pid);
	struct process *parent = p->process;

	if (!child)
		return NULL;
	child->ppid = parent->pid;
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

/* Makes the task of a child process from its record, which is used up. */
static struct task *bind_process(struct pending_clone *p, int host_pid, int pid)
{
	struct process *proc = child_process(p, host_pid, pid);
	struct task *t = proc ? task_new(proc, host_pid, pid) : NULL;

	if (t) {
		t->files = p->files;
		t->fs = p->fs;
		t->cred = p->cred;
		p->files = NULL;
		p->fs = NULL;
		p->cred = NULL;
		memcpy(t->comm, p->comm, sizeof(t->comm));
		process_watch(proc);
	} else if (proc) {
		process_free(proc);
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
		t->files = p->files;
		t->fs = p->fs;
		t->cred = p->cred;
		p->files = NULL;
		p->fs = NULL;
		p->cred = NULL;
		pending_free(p);
		proc->thread_charges++;
		return t;
	}
	t->files = fdtable_get(sibling->files);
	t->fs = fs_context_get(sibling->fs);
	t->cred = cred_get(sibling->cred);
	return t;
}

#define CHILDREN_MAX 8192
static int children[CHILDREN_MAX]; /* scratch */

static bool is_child_of_thread(const struct pending_clone *p, int host_pid)
{
	int *pids = children;
	int n = p->parent ? host_proc_children(p->parent_host_pid, p->parent->host_tid, pids,
					       CHILDREN_MAX)
			  : 0;

	for (int i = 0; i < n; i++) {
		if (pids[i] == host_pid)
			return true;
	}
	return false;
}

/* Which record belongs to new process `host_pid`, child of `parent` (NULL: of nobody we know)? */
static struct pending_clone *match(struct process *parent, int host_pid)
{
	struct list *list = parent ? &parent->pending_clones : task_orphan_clones();
	struct pending_clone *p, *only = NULL;
	int count = 0;

	list_for_each(p, list, link) {
		if (p->thread)
			continue;
		only = only ? only : p;
		count++;
	}
	if (count <= 1)
		return only;
	list_for_each(p, list, link) {
		if (!p->thread && is_child_of_thread(p, host_pid))
			return p;
	}
	return only;
}

/* The parent died and the child went to another one: any record will do if it is the only one. */
static struct pending_clone *match_anywhere(int host_pid)
{
	struct process *proc;

	list_for_each(proc, process_list(), all_link) {
		struct pending_clone *p = match(proc, host_pid);
		if (p)
			return p;
	}
	return NULL;
}

static struct task *bind(int host_tid)
{
	int host_pid, host_ppid, tid, pid;
	struct process *proc, *parent;
	struct pending_clone *p;

	if (host_proc_ids(host_tid, &host_pid, &host_ppid, &tid, &pid) < 0)
		return NULL;
	proc = process_find_host(host_pid);
	if (proc)
		return bind_thread(proc, host_tid, tid);
	if (host_pid != host_tid)
		return NULL; /* a thread of a process whose leader was never seen: cannot be */
	parent = process_find_host(host_ppid);
	p = match(parent, host_pid);
	if (!p && parent)
		p = match(NULL, host_pid); /* CLONE_PARENT, or the parent died: the record is elsewhere */
	if (!p)
		p = match_anywhere(host_pid);
	return p ? bind_process(p, host_pid, pid) : NULL;
}

struct task *task_of_notification(int host_tid)
{
	struct task *t = task_find_host(host_tid);
	return t ? t : bind(host_tid);
}

void birth_resolve(struct task *t)
{
	struct pending_clone *p, *next;

	list_for_each_safe(p, next, &t->proc->pending_clones, link) {
		int *pids = children;
		int n;

		if (p->parent != t || p->thread)
			continue;
		n = host_proc_children(p->parent_host_pid, t->host_tid, pids, CHILDREN_MAX);
		for (int i = n - 1; i >= 0; i--) {
			int host_pid, host_ppid, tid, pid;
			if (task_find_host(pids[i]) ||
			    host_proc_ids(pids[i], &host_pid, &host_ppid, &tid, &pid) < 0)
				continue;
			bind_process(p, host_pid, pid);
			p = NULL;
			break;
		}
		if (p && n < CHILDREN_MAX) {
			/* The clone failed, or the child is dead and reaped. */
			limit_release(LIMIT_PIDS, 1);
			pending_free(p);
		}
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

void birth_process_gone(struct process *proc)
{
	struct pending_clone *p, *next;

	list_for_each_safe(p, next, &proc->pending_clones, link) {
		p->parent = NULL;
		if (p->thread) {
			pending_free(p);
			continue;
		}
		/* A child that lives on without having called yet. It inherits from a process that is
		 * gone, so the record keeps that alive. */
		list_del(&p->link);
		list_add_tail(task_orphan_clones(), &p->link);
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
	process_watch(proc);
	*ret = t;
	return 0;
}
