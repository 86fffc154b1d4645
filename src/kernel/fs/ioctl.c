/*
 * ioctl(2): the commands that every descriptor knows, then the object's own. Cloning of extents is
 * EOPNOTSUPP, so that cp falls back to copying.
 */
#include <asm/ioctls.h>
#include <errno.h>
#include <linux/fiemap.h>
#include <linux/fs.h>

#include "kernel/abi/syscalls.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/flags.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/task.h"

static long set_flag(struct call *c, struct file *f, uint32_t flag)
{
	uint32_t on;
	if (user_read_u32(c->task, &on, CALL_ARG_PTR(c, 2)) < 0)
		return -EFAULT;
	return file_set_flags(f, on ? f->flags | flag : f->flags & ~flag);
}

static long unread_bytes(struct call *c, struct file *f)
{
	struct kstat st;
	int r = vfs_stat(c->task, f->path, &st);
	if (r < 0)
		return r;
	uint64_t left = st.size > f->pos ? st.size - f->pos : 0;
	return user_write_u32(c->task, CALL_ARG_PTR(c, 2), (uint32_t)left);
}

static long file_ioctl(struct call *c, struct file *f, uint32_t cmd)
{
	bool regular = S_ISREG(f->inode->mode);
	switch (cmd) {
	case FIONREAD:
		if (regular)
			return unread_bytes(c, f);
		break;
	case FIGETBSZ:
		if (regular || S_ISDIR(f->inode->mode))
			return user_write_u32(c->task, CALL_ARG_PTR(c, 2), 4096);
		break;
	case FICLONE:
	case FICLONERANGE:
	case FIDEDUPERANGE:
	case FS_IOC_FIEMAP:
		if (regular)
			return -EOPNOTSUPP;
		break;
	default:
		break;
	}
	const struct file_ops *ops = file_ops(f);
	return ops->ioctl ? ops->ioctl(c, f, cmd, c->args[2]) : -ENOTTY;
}

long sys_ioctl(struct call *c)
{
	int fd = (int)c->args[0];
	uint32_t cmd = (uint32_t)c->args[1];
	struct file *f = call_file(c, fd);
	struct fd_entry *e = fd_entry(c->task, fd);
	if (!f || (f->flags & O_PATH))
		return -EBADF;
	switch (cmd) {
	case FIOCLEX:
	case FIONCLEX:
		if (e)
			e->cloexec = cmd == FIOCLEX;
		return 0;
	case FIONBIO:
		return set_flag(c, f, O_NONBLOCK);
	case FIOASYNC:
		return set_flag(c, f, O_ASYNC);
	default:
		return file_ioctl(c, f, cmd);
	}
}
