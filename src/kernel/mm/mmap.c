/*
 * mmap(2) of files.
 *
 * Anonymous memory never comes here: the filter lets it through. For a file the kernel checks the
 * guest's descriptor and access mode, installs the host file behind it at the same number in the
 * guest process, and lets the host execute the call as it stands. Everything that decides is in
 * registers, so nothing can change between check and use; and the installed descriptor allows
 * exactly what the guest's own allows, whoever maps it. No native call can use it for anything
 * else. It stays until the guest closes its own (fs/openclose.c lets close(2) through then).
 */
#include "kernel/mm/mmap.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/fs/file.h"
#include "kernel/fs/vfs.h"
#include "kernel/host/identity.h"
#include "kernel/mm/names.h"
#include "kernel/task/task.h"

void mmap_note(int host_fd, struct path p)
{
	uint64_t dev, ino;

	if (host_file_identity(host_fd, &dev, &ino) == 0)
		mm_note_mapping(dev, ino, p);
}

static int check(const struct call *c, const struct file *f)
{
	uint64_t prot = c->args[2], flags = c->args[3];
	bool shared = (flags & MAP_TYPE) == MAP_SHARED || (flags & MAP_TYPE) == MAP_SHARED_VALIDATE;

	if (c->args[1] == 0 || (c->args[5] & (PAGE_SIZE - 1)))
		return -EINVAL;
	if ((!shared && (flags & MAP_TYPE) != MAP_PRIVATE) || (flags & MAP_HUGETLB))
		return -EINVAL;
	if (!file_readable(f))
		return -EACCES;
	if (shared && (prot & PROT_WRITE) && !file_writable(f))
		return -EACCES;
	if ((prot & PROT_EXEC) && f->path.mnt && (f->path.mnt->flags & MS_NOEXEC))
		return -EPERM;
	return file_ops(f)->mmap || f->ops == FOPS_DEV_ZERO ? 0 : -ENODEV;
}

/* A mapping of /dev/zero is anonymous memory, private or shared. */
static long map_zero(struct call *c)
{
	uint64_t args[6];

	memcpy(args, c->args, sizeof(args));
	args[3] |= MAP_ANONYMOUS;
	args[4] = UINT64_MAX;
	args[5] = 0;
	return call_become(c, c->nr, args);
}

long sys_mmap(struct call *c)
{
	struct fd_entry *e = fd_entry(c->task, (int)c->args[4]);
	struct file *f = e ? e->file : NULL;
	uint64_t flags = c->args[3];
	bool shared, writable;
	int host_fd, r;

	if (flags & MAP_ANONYMOUS)
		return flags & MAP_HUGETLB ? -ENOMEM : -EINVAL; /* no huge page is free here, ever */
	if (!f || (f->flags & O_PATH))
		return -EBADF;
	r = check(c, f);
	if (r < 0)
		return r;
	if (f->ops == FOPS_DEV_ZERO)
		return map_zero(c);
	shared = (flags & MAP_TYPE) != MAP_PRIVATE;
	writable = shared && file_writable(f);
	if (e->injected && !e->injected_stale && (!writable || e->injected_writable))
		return CALL_CONTINUE;
	r = file_ops(f)->mmap(f, shared, &host_fd);
	if (r < 0)
		return r;
	r = call_inject_fd(c, host_fd, (int)c->args[4]);
	if (r < 0)
		return r == -ENOENT ? CALL_DEFER : -ENOMEM;
	e->injected = true;
	e->injected_stale = false;
	e->injected_writable = writable;
	mmap_note(host_fd, f->path);
	return CALL_CONTINUE;
}
