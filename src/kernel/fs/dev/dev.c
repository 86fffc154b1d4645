/*
 * Theory of operation
 *
 * A device node is an inode of any file system with a number. Opening one leads here, and the
 * number (not the name, not the file system) chooses the operations. Guests may make nodes with
 * mknod(2); numbers that are not in the table have no device behind them (ENXIO).
 *
 * The memory devices of mem(4), null(4), full(4) and random(4) are below; terminals are in fs/tty.
 * random and urandom are the same generator: the host's, which is seeded before we run.
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/random.h>
#include <sys/sysmacros.h>

#include "kernel/core/arena.h"
#include "kernel/core/user.h"
#include "kernel/fs/dev/dev.h"
#include "kernel/fs/ops.h"
#include "kernel/fs/tty/tty.h"
#include "kernel/host/random.h"
#include "kernel/task/task.h"

#define PTS_MAJOR 136u
#define RANDOM_CHUNK 65536u
#define RANDOM_POOL_BITS 256u

struct devfs_root {
	uint8_t random[RANDOM_CHUNK];
};

struct device {
	unsigned major_nr, minor_nr;
	enum file_ops_id ops;
	int (*open)(struct call *c, struct inode *inode, struct file *file);
};

static const struct device devices[] = {
	{ 1, 3, FOPS_DEV_NULL, NULL },
	{ 1, 5, FOPS_DEV_ZERO, NULL },
	{ 1, 7, FOPS_DEV_FULL, NULL },
	{ 1, 8, FOPS_DEV_RANDOM, NULL },
	{ 1, 9, FOPS_DEV_RANDOM, NULL },
	{ 5, 0, FOPS_TTY, tty_open_current },
	{ 5, 2, FOPS_PTMX, tty_open_master },
};

int dev_open(struct call *c, struct inode *inode, struct file *file)
{
	unsigned major_nr = major(inode->rdev), minor_nr = minor(inode->rdev);

	if (!S_ISCHR(inode->mode))
		return -ENXIO;
	if (major_nr == PTS_MAJOR)
		return tty_open_slave(c, inode, file);
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		const struct device *d = &devices[i];

		if (d->major_nr != major_nr || d->minor_nr != minor_nr)
			continue;
		if (d->open)
			return d->open(c, inode, file);
		file->ops = (uint8_t)d->ops;
		return 0;
	}
	return -ENXIO;
}

/* Takes everything without looking at it. */
static ssize_t discard(struct file *f, struct uio *u, uint64_t *pos)
{
	size_t n = u->resid;

	(void)f, (void)pos;
	u->resid = 0;
	return (ssize_t)n;
}

static ssize_t read_nothing(struct file *f, struct uio *u, uint64_t *pos)
{
	(void)f, (void)u, (void)pos;
	return 0;
}

static ssize_t read_zeros(struct file *f, struct uio *u, uint64_t *pos)
{
	(void)f, (void)pos;
	return uio_put_zero(u, u->resid);
}

static ssize_t write_full(struct file *f, struct uio *u, uint64_t *pos)
{
	(void)f, (void)pos;
	return u->resid ? -ENOSPC : 0;
}

/* The position of these devices is always 0, and any seek is fine. */
static int64_t seek_null(struct file *f, int64_t offset, int whence)
{
	(void)offset, (void)whence;
	f->pos = 0;
	return 0;
}

static ssize_t read_random(struct file *f, struct uio *u, uint64_t *pos)
{
	struct devfs_root *root = arena_root(ROOT_DEVFS, sizeof(*root));
	size_t left = u->resid, done = 0;

	(void)f, (void)pos;
	if (!root)
		return -ENOMEM;
	while (left) {
		size_t size = MIN(left, sizeof(root->random));
		ssize_t n = host_random(root->random, size);

		if (n == 0)
			n = uio_put(u, root->random, size);
		if (n <= 0)
			return done ? (ssize_t)done : n;
		done += (size_t)n;
		left -= (size_t)n;
		if ((size_t)n < size)
			break;
	}
	return (ssize_t)done;
}

static long ioctl_random(struct call *c, struct file *f, uint32_t cmd, uint64_t arg)
{
	(void)f;
	switch (cmd) {
	case RNDGETENTCNT:
		return user_write_u32(c->task, uaddr(arg), RANDOM_POOL_BITS);
	case RNDADDTOENTCNT:
	case RNDADDENTROPY:
	case RNDZAPENTCNT:
	case RNDCLEARPOOL:
	case RNDRESEEDCRNG:
		/* The generator is the host's: there is nothing to add to for a guest. */
		return cred_capable(c->task->cred, CAP_SYS_ADMIN) ? 0 : -EPERM;
	default:
		return -EINVAL;
	}
}

const struct file_ops null_file_ops = {
	.name = "null",
	.read = read_nothing,
	.write = discard,
	.lseek = seek_null,
};

const struct file_ops zero_file_ops = {
	.name = "zero",
	.read = read_zeros,
	.write = discard,
	.lseek = seek_null,
};

const struct file_ops full_file_ops = {
	.name = "full",
	.read = read_zeros,
	.write = write_full,
	.lseek = seek_null,
};

const struct file_ops random_file_ops = {
	.name = "random",
	.read = read_random,
	.write = discard,
	.lseek = seek_null,
	.ioctl = ioctl_random,
};
