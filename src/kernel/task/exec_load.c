/*
 * The last part of execve(2): the stub runs as the new image and asks what to load. See exec.c.
 */
#include <elf.h>
#include <errno.h>
#include <linux/personality.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "base/util.h"
#include "kernel/abi/stub.h"
#include "kernel/control/spawn.h"
#include "kernel/core/arena.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/vfs.h"
#include "kernel/host/notify.h"
#include "kernel/host/proc.h"
#include "kernel/host/random.h"
#include "kernel/mm/mmap.h"
#include "kernel/mm/shm.h"
#include "kernel/task/elf.h"
#include "kernel/task/exec.h"
#include "kernel/task/exec_internal.h"
#include "kernel/task/life.h"

#define PIE_BASE 0x555555554000ull
#define INTERP_BASE 0x7b0000000000ull
#define ASLR_BITS 28

static uint64_t random_base(uint64_t base, uint64_t align, bool randomize)
{
	uint64_t r = 0;

	if (randomize)
		host_random(&r, sizeof(r));
	r &= (1ull << ASLR_BITS) - 1;
	return ALIGN_UP(base + r * PAGE_SIZE, align);
}

static int place(struct stub_plan *plan, const struct elf_image *image, uint64_t base, int fd)
{
	for (uint32_t i = 0; i < image->segment_count; i++) {
		struct stub_segment *s = &plan->segments[plan->segment_count++];
		*s = image->segments[i];
		s->address += base;
		if (s->zero_to) {
			s->zero_from += base;
			s->zero_to += base;
		}
		s->fd = s->fd < 0 ? -1 : fd;
	}
	return 0;
}

/* Puts a file where the stub maps it from; with the last one the stub goes on. */
static int inject(struct call *c, struct file *f, int number, bool last)
{
	int host_fd, r = file_ops(f)->mmap(f, false, &host_fd);

	if (r < 0)
		return r;
	mmap_note(host_fd, f->path);
	return last ? host_notify_reply_fd(c->id, host_fd, number) :
		      host_notify_add_fd(c->id, host_fd, number);
}

static void fill_plan(struct stub_plan *plan, const struct exec *e, const struct process *p)
{
	bool randomize = !(p->personality & ADDR_NO_RANDOMIZE);
	const struct elf_image *m = &e->image;
	uint64_t base = 0, interp_base = 0;

	if (m->type == ET_DYN)
		base = random_base(PIE_BASE, m->align, randomize) - m->low;
	place(plan, m, base, 0);
	plan->entry = plan->at_entry = m->entry + base;
	if (e->interp) {
		interp_base = random_base(INTERP_BASE, e->interp_image.align, randomize) -
			      e->interp_image.low;
		place(plan, &e->interp_image, interp_base, 1);
		plan->entry = e->interp_image.entry + interp_base;
		plan->at_base = interp_base;
	}
	plan->fd_count = e->interp ? 2 : 1;
	plan->at_phdr = m->phdr ? m->phdr + base : 0;
	plan->at_phent = sizeof(Elf64_Phdr);
	plan->at_phnum = m->phnum;
	plan->at_uid = e->cred->uid;
	plan->at_euid = e->cred->euid;
	plan->at_gid = e->cred->gid;
	plan->at_egid = e->cred->egid;
	plan->at_secure = e->secure;
	plan->forget_death_signal = e->secure && p->pdeath_signal;
	plan->stack_prot = m->exec_stack ? PROT_EXEC : 0;
	plan->insert_count = e->insert_count;
	plan->strings_size = e->strings_size;
	memcpy(plan->strings, e->strings, e->strings_size);
	memcpy(plan->comm, e->comm, sizeof(plan->comm));
}

static void remember_script(struct process *p, const struct exec *e)
{
	size_t skip = strlen(e->strings) + 1;

	kfree(p->script_args);
	p->script_args = NULL;
	p->script_args_size = 0;
	if (e->insert_count) {
		p->script_args = kmemdup0(e->strings + skip, e->strings_size - skip);
		p->script_args_size = p->script_args ? e->strings_size - (uint32_t)skip : 0;
	}
}

/* The new image's only thread has the leader's number, but is the one that called execve. */
static void take_over(struct task *t, struct task *by)
{
	struct fdtable *files = t->files;
	struct fs_context *fs = t->fs;

	t->files = by->files;
	t->fs = by->fs;
	by->files = files;
	by->fs = fs;
}

/* A set-id program shares no working directory with who started it. */
static int unshare_fs(struct task *t)
{
	struct fs_context *own;

	if (t->fs->refs == 1)
		return 0;
	own = fs_context_copy(t->fs);
	if (!own)
		return -ENOMEM;
	fs_context_put(t->fs);
	t->fs = own;
	return 0;
}

/* The guest's view changes over to the new image. */
static int commit(struct task *t, struct exec *e, const struct stub_plan *plan)
{
	struct process *p = t->proc;

	if (e->by && e->by != t)
		take_over(t, e->by);
	task_become_leader(t);
	if (e->secure && unshare_fs(t) < 0)
		return -ENOMEM;
	if (t->files->refs > 1) {
		struct fdtable *own = fdtable_copy(t->files);
		if (!own)
			return -ENOMEM;
		fdtable_put(t->files, NULL);
		t->files = own;
	}
	fdtable_close_on_exec(t->files, t);
	task_set_cred(t, e->cred);
	e->cred = NULL;
	path_put(&p->exe);
	p->exe = path_get(e->program->path);
	p->did_exec = true;
	p->host_image = !p->host_image;
	p->execs++;
	p->dumpable = !e->secure;
	p->aux[0] = plan->at_base;
	p->aux[1] = plan->at_entry;
	memcpy(t->comm, e->comm, sizeof(t->comm));
	t->lost_count = 0;
	t->past = (struct past){ 0 };
	t->become = (struct become){ 0 };
	shm_process_exit(p);
	remember_script(p, e);
	if (p->spawn_id)
		spawn_running(p);
	p->spawn_id = 0;
	return 0;
}

/* Tells the stub what to do; with the last descriptor it goes on. */
static int answer(struct call *c, const struct exec *e, const struct stub_plan *plan)
{
	struct uaddr at = CALL_ARG_PTR(c, 1);
	/* The stub put its stack pointer first: leave that. */
	int r = user_write(c->task, uaddr_add(at, sizeof(plan->stack)), &plan->entry,
			   offsetof(struct stub_plan, strings) - sizeof(plan->stack) +
				   plan->strings_size);

	if (r == 0)
		r = inject(c, e->program, 0, !e->interp);
	if (r == 0 && e->interp)
		r = inject(c, e->interp, 1, true);
	return r;
}

/* The host has executed what exec_call() asked for. */
static bool is_new_image(const struct process *p)
{
	return host_proc_exe_end(p->host_pid) == (p->host_image ? 'x' : 'y');
}

long exec_load(struct call *c)
{
	struct process *p = c->task->proc;
	static struct stub_plan plan; /* large; one thread, one load at a time */
	struct exec *e = p->exec;
	int r = -EPERM;

	if (p->pid == 1 && !e)
		return STUB_BE_INIT;
	if (e && !is_new_image(p))
		return -EPERM; /* an exec that failed, or is still under way in another thread */
	if (e) {
		memset(&plan, 0, offsetof(struct stub_plan, strings));
		fill_plan(&plan, e, p);
		r = answer(c, e, &plan);
		/* Stopped or about to die: a call that was interrupted is restarted, or never again. */
		if (r < 0 && !host_notify_valid(c->id))
			return CALL_DONE;
		/* Last: what the stub does now concerns only itself, its next call is served after. */
		if (r == 0)
			r = commit(c->task, e, &plan);
		p->exec = NULL;
		exec_free(e);
	}
	if (r == 0)
		return CALL_DONE;
	/* Nothing to go back to: the old image is gone. */
	signal_process(p, SIGKILL);
	return r;
}
