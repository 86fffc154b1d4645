/*
 * execve(2).
 *
 * The host must do the parts only it does well - end sibling threads, reset signal handlers, build
 * a new address space and stack - but must never resolve a guest's path. So:
 *
 *   1. prepare: the path is resolved in the sandbox's own file system, permissions and formats are
 *      checked, scripts are followed to their interpreter; refusals happen here with Linux's errno.
 *   2. the thread is made to repeat its call with the path register pointing to the stub's name:
 *      the only executable below the guests' host root. argv and envp are not ours to check, the
 *      host copies them.
 *   3. load: the stub, running as the new image, asks for its plan. This is the point of no
 *      return, where descriptors close, credentials change and sibling records go. It maps the
 *      segments from descriptors installed for it, and jumps.
 *
 * The host may refuse in 2 (bad argv, too long), and the guest then goes on in its old image with
 * an exec prepared, perhaps of a set-user-id program. Any guest code can make the stub's call, so 3
 * must know whether the image is new: the stub has two names, each exec takes the one that the
 * process does not run, and the host's /proc/PID/exe tells which it runs now.
 *
 * Between 2 and 3 other threads may run; the record is the process's and a later exec replaces it.
 */
#include "kernel/task/exec.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/personality.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "base/util.h"
#include "kernel/abi/stub.h"
#include "kernel/abi/syscalls.h"
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
#include "kernel/task/life.h"
#include "kernel/task/script.h"

#define SCRIPT_DEPTH_MAX 5

#define PIE_BASE 0x555555554000ull
#define INTERP_BASE 0x7b0000000000ull
#define ASLR_BITS 28

struct exec {
	struct task *by; /* the thread that prepared; NULL when it is gone */
	struct file *program, *interp;
	struct elf_image image, interp_image;
	struct cred *cred; /* of the new image */
	bool secure;
	uint32_t insert_count;
	uint32_t strings_size;
	char comm[TASK_COMM_LEN];
	/* AT_EXECFN, then the strings that replace argv[0] of a script. */
	char strings[STUB_STRINGS_MAX];
};

static void exec_free(struct exec *e)
{
	if (!e)
		return;
	if (e->program)
		file_put(e->program);
	if (e->interp)
		file_put(e->interp);
	cred_put(e->cred);
	kfree(e);
}

void exec_abort(struct process *p)
{
	exec_free(p->exec);
	p->exec = NULL;
}

void exec_thread_gone(struct task *t)
{
	struct exec *e = t->proc->exec;

	if (e && e->by == t)
		e->by = NULL;
}

void exec_settle(struct task *t, int nr)
{
	struct exec *e = t->proc->exec;

	if (e && e->by == t && nr != STUB_CALL_NR)
		exec_abort(t->proc);
}

/* ---- prepare ---- */

/* Opens a program for the kernel's own reading, after the checks of execve. */
static int open_program(struct call *c, struct path p, struct file **ret)
{
	struct inode *inode = p.dentry->inode;
	struct file *f;
	int r;

	if (S_ISLNK(inode->mode))
		return -ELOOP;
	if (!S_ISREG(inode->mode) || (p.mnt->flags & MS_NOEXEC))
		return -EACCES;
	r = path_permission(c->task, p, X_OK);
	if (r < 0)
		return r;
	if (inode->write_count > 0)
		return -ETXTBSY;
	f = file_new(FOPS_NONE, p, inode, O_RDONLY);
	if (!f)
		return -ENFILE;
	r = inode_ops(inode)->open ? inode_ops(inode)->open(c, inode, f) : -EACCES;
	if (r == 0 && (!file_ops(f)->read || !file_ops(f)->mmap))
		r = -EACCES;
	if (r < 0) {
		file_put(f);
		return r;
	}
	*ret = f;
	return 0;
}

static int open_by_name(struct call *c, int dirfd, const char *name, unsigned flags,
			struct file **ret)
{
	struct path p;
	int r = path_lookup(c->task, dirfd, name, flags, &p);

	if (r < 0)
		return r;
	r = open_program(c, p, ret);
	path_put(&p);
	return r;
}

static int append(struct exec *e, const char *s)
{
	size_t size = strlen(s) + 1;

	if (size > sizeof(e->strings) - e->strings_size)
		return -ENOEXEC;
	memcpy(e->strings + e->strings_size, s, size);
	e->strings_size += (uint32_t)size;
	return 0;
}

/* Puts the script's interpreter line in front: {interpreter, [argument,] script} + the rest. */
static int prepend_script(struct exec *e, const char *interp, const char *arg, const char *script)
{
	uint32_t keep_at = (uint32_t)strlen(e->strings) + 1; /* behind AT_EXECFN */
	uint32_t old_count = e->insert_count;
	static char rest[STUB_STRINGS_MAX];
	uint32_t rest_size;
	int r;

	if (old_count) /* the old argv[0], this script's own name, is replaced */
		keep_at += (uint32_t)strlen(e->strings + keep_at) + 1;
	rest_size = e->strings_size - keep_at;
	memcpy(rest, e->strings + keep_at, rest_size);
	e->strings_size = (uint32_t)strlen(e->strings) + 1;
	r = append(e, interp);
	if (r == 0 && arg)
		r = append(e, arg);
	if (r == 0)
		r = append(e, script);
	if (r < 0 || rest_size > sizeof(e->strings) - e->strings_size)
		return -ENOEXEC;
	memcpy(e->strings + e->strings_size, rest, rest_size);
	e->strings_size += rest_size;
	e->insert_count = 2 + (arg ? 1 : 0) + (old_count ? old_count - 1 : 0);
	return e->insert_count <= STUB_INSERT_MAX ? 0 : -ENOEXEC;
}

/* Follows scripts until there is an image. `name` is the path as AT_EXECFN shows it. */
static int follow_scripts(struct call *c, struct exec *e, const char *name)
{
	char line[SCRIPT_LINE_MAX + 1];
	char script[PATH_MAX_BYTES + 32];

	snprintf(script, sizeof(script), "%s", name);
	for (int depth = 0;; depth++) {
		char *interp, *arg;
		int r = script_parse(e->program, line, &interp, &arg);
		if (r <= 0)
			return r;
		if (depth >= SCRIPT_DEPTH_MAX)
			return -ELOOP;
		r = prepend_script(e, interp, arg, script);
		if (r < 0)
			return r;
		file_put(e->program);
		e->program = NULL;
		r = open_by_name(c, AT_FDCWD, interp, LOOKUP_FOLLOW, &e->program);
		if (r < 0)
			return r;
		snprintf(script, sizeof(script), "%s", interp);
	}
}

/* Set-id bits and capabilities of the program: credentials(7), capabilities(7). */
static int prepare_cred(struct task *t, struct exec *e)
{
	struct inode *inode = e->program->inode;
	struct cred_exec file = { .mode = inode->mode,
				  .uid = inode->uid,
				  .gid = inode->gid,
				  .nosuid = e->program->path.mnt->flags & MS_NOSUID };
	char caps[64];
	ssize_t n = file.nosuid || !inode_ops(inode)->getxattr ? -ENODATA :
		    inode_ops(inode)->getxattr(inode, "security.capability", caps, sizeof(caps));

	if (n > 0) {
		file.file_caps = caps;
		file.file_caps_size = (size_t)n;
	}
	return cred_for_exec(t->cred, &file, &e->cred, &e->secure);
}

static int prepare_images(struct call *c, struct exec *e)
{
	int r = elf_read(e->program, &e->image);

	if (r < 0)
		return r;
	if (!e->image.interp[0])
		return 0;
	r = open_by_name(c, AT_FDCWD, e->image.interp, LOOKUP_FOLLOW, &e->interp);
	if (r < 0)
		return r;
	r = elf_read(e->interp, &e->interp_image);
	if (r == -ENOEXEC)
		r = -ELIBBAD;
	return r;
}

static int prepare(struct call *c, struct exec *e, int dirfd, struct uaddr at, int flags)
{
	unsigned lookup = flags & AT_SYMLINK_NOFOLLOW ? 0 : LOOKUP_FOLLOW;
	static char name[PATH_MAX_BYTES], shown[PATH_MAX_BYTES + 32]; /* one exec at a time */
	ssize_t n = user_string(c->task, name, sizeof(name), at);
	int r;

	if (n < 0)
		return (int)n;
	if (n == 0 && !(flags & AT_EMPTY_PATH))
		return -ENOENT;
	if (n == 0)
		lookup |= LOOKUP_EMPTY;
	r = open_by_name(c, dirfd, name, lookup, &e->program);
	if (r < 0)
		return r;
	if (dirfd == AT_FDCWD || name[0] == '/')
		snprintf(shown, sizeof(shown), "%s", name);
	else
		snprintf(shown, sizeof(shown), "/dev/fd/%d%s%s", dirfd, n ? "/" : "", name);
	r = append(e, shown);
	if (r < 0)
		return -ENAMETOOLONG;
	const char *base = strrchr(name, '/');
	snprintf(e->comm, sizeof(e->comm), "%.15s", base ? base + 1 : name);
	r = follow_scripts(c, e, shown);
	if (r < 0)
		return r;
	r = prepare_images(c, e);
	return r < 0 ? r : prepare_cred(c->task, e);
}

/* ---- the call ---- */

static long exec_call(struct call *c, int dirfd, int path_arg, int flags)
{
	struct process *p = c->task->proc;
	struct exec *e = knew(struct exec);
	int r = e ? prepare(c, e, dirfd, CALL_ARG_PTR(c, path_arg), flags) : -ENOMEM;

	if (r < 0) {
		exec_free(e);
		return r;
	}
	exec_abort(p);
	e->by = c->task;
	p->exec = e;
	uint64_t path = STUB_PATH_ADDR + (p->host_image ? 0 : STUB_PATH_SIZE);
	const uint64_t args[6] = { path, c->args[path_arg + 1], c->args[path_arg + 2],
				   c->args[3],	   c->args[4],		  c->args[5] };
	return call_become(c, SYS_execve, args);
}

long sys_execve(struct call *c)
{
	struct process *p = c->task->proc;

	/* The first process, made by ourselves, executes the stub directly. */
	if (p->pid == 1 && !p->did_exec) {
		p->did_exec = true;
		return CALL_CONTINUE;
	}
	return exec_call(c, AT_FDCWD, 0, 0);
}

long sys_execveat(struct call *c)
{
	int flags = (int)c->args[4];

	if (flags & ~(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
		return -EINVAL;
	return exec_call(c, (int)c->args[0], 1, flags);
}

/* ---- load ---- */

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

static int inject(struct call *c, struct file *f, int number)
{
	int host_fd, r = file_ops(f)->mmap(f, false, &host_fd);

	if (r < 0)
		return r;
	mmap_note(host_fd, f->path);
	return call_inject_fd(c, host_fd, number);
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
	p->dumpable = !e->secure;
	p->aux[0] = plan->at_base;
	p->aux[1] = plan->at_entry;
	memcpy(t->comm, e->comm, sizeof(t->comm));
	t->lost_count = 0;
	shm_process_exit(p);
	remember_script(p, e);
	if (p->spawn_id)
		spawn_running(p);
	p->spawn_id = 0;
	return 0;
}

/* The commit comes last: until then a signal can take the call away, and it comes again. */
static long load(struct call *c, struct exec *e)
{
	static struct stub_plan plan; /* large; one thread, one load at a time */
	struct uaddr at = CALL_ARG_PTR(c, 1);
	int r;

	memset(&plan, 0, sizeof(plan));
	fill_plan(&plan, e, c->task->proc);
	r = inject(c, e->program, 0);
	if (r == 0 && e->interp)
		r = inject(c, e->interp, 1);
	if (r == 0) /* the stub put its stack pointer first: leave that */
		r = user_write(c->task, uaddr_add(at, sizeof(plan.stack)), &plan.entry,
			       offsetof(struct stub_plan, strings) - sizeof(plan.stack) +
				       plan.strings_size);
	return r < 0 ? r : commit(c->task, e, &plan);
}

/* The host has executed what exec_call() asked for. */
static bool is_new_image(const struct process *p)
{
	return host_proc_exe_end(p->host_pid) == (p->host_image ? 'x' : 'y');
}

long exec_load(struct call *c)
{
	struct process *p = c->task->proc;
	struct exec *e = p->exec;
	long r = -EPERM;

	if (p->pid == 1 && !e)
		return 1;
	if (e && !is_new_image(p))
		return -EPERM; /* an exec that failed, or is still under way in another thread */
	if (e) {
		r = load(c, e);
		/* Stopped or about to die: a call that was interrupted is restarted, or never again. */
		if (r < 0 && !host_notify_valid(c->id))
			return CALL_DONE;
		p->exec = NULL;
		exec_free(e);
	}
	/* Nothing to go back to: the old image is gone. */
	if (r < 0)
		signal_process(p, SIGKILL);
	return r;
}
