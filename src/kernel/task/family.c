/*
 * Zombies, present parents, unseen threads.
 *
 * wait(2) and re-parenting are native, so nobody tells the kernel when a zombie is reaped or a child
 * gets a new parent. Both are looked up on the host when somebody asks, which only /proc does. A dead
 * process leaves the tables of task.c and waits here, in a bounded list, until the host has forgotten
 * it.
 */
#include "kernel/task/family.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/host/proc.h"
#include "kernel/task/birth.h"
#include "kernel/task/cred.h"
#include "kernel/task/life.h"

#define ZOMBIES_MAX 256u
#define THREADS_MAX 4096

struct family {
	struct list zombies; /* oldest first */
	uint32_t count;
};

static struct family *family;
static int tids[THREADS_MAX]; /* scratch */

static bool ready(void)
{
	if (!family)
		family = arena_root(ROOT_FAMILY, sizeof(*family));
	if (family && !family->zombies.next)
		list_init(&family->zombies);
	return family;
}

static void drop(struct process *p)
{
	list_del(&p->all_link);
	family->count--;
	process_put(p);
}

static bool is_reaped(const struct process *p)
{
	char state = host_proc_state(p->host_pid);
	return state != 'Z' && state != 'X';
}

/* Forgets the zombies that have been reaped. */
static void purge(void)
{
	struct process *p, *next;

	list_for_each_safe(p, next, &family->zombies, all_link) {
		if (is_reaped(p))
			drop(p);
	}
}

void process_note_end(struct process *p)
{
	struct task *t = process_leader(p);

	if (!t || !t->cred)
		return;
	memcpy(p->end_comm, t->comm, sizeof(p->end_comm));
	p->end_uid = t->cred->euid;
	p->end_gid = t->cred->egid;
}

void zombie_add(struct process *p)
{
	if (!ready())
		return;
	if (family->count >= ZOMBIES_MAX)
		purge();
	if (family->count >= ZOMBIES_MAX)
		drop(list_first(&family->zombies, struct process, all_link));
	list_add_tail(&family->zombies, &process_get(p)->all_link);
	family->count++;
}

static struct process *zombie_find(int guest_pid)
{
	struct process *p, *next;

	if (!ready())
		return NULL;
	/* The host is asked about this one only, not about hundreds each time. */
	list_for_each_safe(p, next, &family->zombies, all_link) {
		if (p->pid != guest_pid)
			continue;
		if (!is_reaped(p))
			return p;
		drop(p);
	}
	return NULL;
}

struct list *zombie_list(void)
{
	static struct list none;

	list_init(&none);
	if (!ready())
		return &none;
	purge();
	return &family->zombies;
}

struct process *process_find_any(int guest_pid)
{
	struct process *p = process_find(guest_pid);
	return p ? p : zombie_find(guest_pid);
}

bool process_is_there(struct process *p)
{
	return process_find_any(p->pid) == p;
}

char process_state_now(struct process *p)
{
	return host_proc_state(p->host_pid);
}

int process_parent_now(struct process *p)
{
	int host_pid, host_ppid, tid, pid;

	if (p->pid == 1)
		return 0;
	if (host_proc_ids(p->host_pid, &host_pid, &host_ppid, &tid, &pid) < 0)
		return p->ppid;
	struct process *parent = process_find_host(host_ppid);
	return parent ? parent->pid : 1;
}

void process_find_threads(struct process *p)
{
	int n = host_proc_threads(p->host_pid, tids, THREADS_MAX);

	for (int i = 0; i < n; i++) {
		if (task_find_host(tids[i]))
			continue;
		char state = host_proc_state(tids[i]);
		if (state && state != 'Z' && state != 'X') /* a leader stays listed when it has ended */
			task_of_notification(tids[i]);
	}
}
