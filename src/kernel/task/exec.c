/*
 * execve(2).
 *
 * The host must do the parts only it does well - end sibling threads, reset signal handlers, build
 * a new address space and stack - but must never resolve a guest's path. So:
 *
 *   1. prepare: the path is resolved in the sandbox's own file system, permissions and formats are
 *      checked, scripts are followed to their interpreter; refusals happen here with Linux's errno.
 *   2. the thread is made to repeat its call with the path register pointing to the stub's name:
 *      the only executable below the guests' host root. The filter lets that through. argv and envp
 *      are not ours to check, the host copies them.
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

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "kernel/abi/stub.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/elf.h"
#include "kernel/task/exec_internal.h"
#include "kernel/task/life.h"

void exec_free(struct exec *e)
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

int exec_open(struct call *c, int dirfd, const char *name, unsigned flags, struct file **ret)
{
	struct path p;
	int r = path_lookup(c->task, dirfd, name, flags, &p);

	if (r < 0)
		return r;
	r = open_program(c, p, ret);
	path_put(&p);
	return r;
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
	r = exec_open(c, AT_FDCWD, e->image.interp, LOOKUP_FOLLOW, &e->interp);
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
	r = exec_open(c, dirfd, name, lookup, &e->program);
	if (r < 0)
		return r;
	if (dirfd == AT_FDCWD || name[0] == '/')
		snprintf(shown, sizeof(shown), "%s", name);
	else
		snprintf(shown, sizeof(shown), "/dev/fd/%d%s%s", dirfd, n ? "/" : "", name);
	r = exec_set_name(e, shown);
	if (r < 0)
		return -ENAMETOOLONG;
	const char *base = strrchr(name, '/');
	snprintf(e->comm, sizeof(e->comm), "%.15s", base ? base + 1 : name);
	r = exec_follow_scripts(c, e, shown);
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
	return exec_call(c, AT_FDCWD, 0, 0);
}

long sys_execveat(struct call *c)
{
	int flags = (int)c->args[4];

	if (flags & ~(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
		return -EINVAL;
	return exec_call(c, (int)c->args[0], 1, flags);
}
