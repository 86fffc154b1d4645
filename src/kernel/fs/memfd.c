/*
 * memfd_create(2): a regular file of the tree file system without a name. One that can be sealed has
 * a memfd of the host for its pages, so that seals are the host's: it refuses writes and size
 * changes, and it alone knows whether a writable shared mapping exists when F_SEAL_WRITE is asked
 * for (EBUSY). All others are ordinary files, which cost no descriptor and lie in the bounded store.
 */
#include "kernel/fs/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <string.h>

#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/tree/tree.h"
#include "kernel/fs/vfs.h"
#include "kernel/host/host_file.h"
#include "kernel/task/task.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#endif
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010u
#endif
#define MFD_KNOWN (MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL | MFD_EXEC)
#define MEMFD_NAME_MAX 249
#define MEMFD_PREFIX "/memfd:"

struct memfd_state {
	struct mount *mnt;
};

static struct mount *memfd_mount(void)
{
	static const struct tree_options o = { .magic = TMPFS_MAGIC_NUMBER, .root_mode = 0700 };
	struct memfd_state *state = arena_root(ROOT_TREEFS, sizeof(*state));
	struct superblock *sb;

	if (state && !state->mnt && tree_sb_new(&o, &sb) == 0)
		state->mnt = mount_internal(sb, 0);
	return state ? state->mnt : NULL;
}

static int make_file(struct task *t, const char *name, unsigned flags, struct file **ret)
{
	struct mount *m = memfd_mount();
	uint32_t mode = (flags & MFD_NOEXEC_SEAL) ? 0666 : 0777;
	struct inode *inode;

	if (!m)
		return -ENOMEM;
	uint32_t uid = t->cred->fsuid, gid = t->cred->fsgid;
	int err = (flags & (MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL)) ?
			  tree_memfd_new(m->sb, flags & ~MFD_CLOEXEC, uid, gid, mode, &inode) :
			  tree_file_new(m->sb, mode, uid, gid, &inode);
	if (err < 0)
		return err;
	struct dentry *d = dentry_anon(inode, name);
	if (d)
		d->unlinked = true; /* shown as "/memfd:name (deleted)" */
	*ret = d ? file_new(FOPS_TREE, (struct path){ m, d }, inode, O_RDWR) : NULL;
	inode_put(inode);
	if (d)
		dentry_put(d);
	return *ret ? 0 : d ? -ENFILE : -ENOMEM;
}

long sys_memfd_create(struct call *c)
{
	char name[sizeof(MEMFD_PREFIX) + MEMFD_NAME_MAX + 1] = MEMFD_PREFIX;
	const size_t prefix = sizeof(MEMFD_PREFIX) - 1;
	unsigned flags = (unsigned)c->args[1];
	struct file *f;

	/* Huge pages are a resource of the host: as on a kernel without them. */
	if ((flags & ~MFD_KNOWN) || (flags & (MFD_EXEC | MFD_NOEXEC_SEAL)) == (MFD_EXEC | MFD_NOEXEC_SEAL))
		return -EINVAL;
	ssize_t n = user_string(c->task, name + prefix, MEMFD_NAME_MAX + 1, CALL_ARG_PTR(c, 0));
	if (n < 0)
		return n == -ENAMETOOLONG ? -EINVAL : n;
	int err = make_file(c->task, name, flags, &f);
	return err < 0 ? err : fd_return(c, f, flags & MFD_CLOEXEC);
}

long memfd_fcntl(struct file *f, unsigned cmd, uint64_t arg)
{
	struct host_ref *ref = f->inode ? tree_memfd_ref(f->inode) : NULL;

	if (!ref) {
		/* Plain tmpfs files carry F_SEAL_SEAL; other file systems have no seals. */
		if (!f->inode || f->inode->sb->magic != TMPFS_MAGIC_NUMBER ||
		    !S_ISREG(f->inode->mode) || f->inode->ops != IOPS_TREE)
			return -EINVAL;
		return cmd == F_GET_SEALS ? F_SEAL_SEAL : -EPERM;
	}
	if (cmd == F_GET_SEALS)
		return host_get_seals(ref);
	if (!file_writable(f))
		return -EPERM;
	return host_add_seals(ref, (unsigned)arg);
}
