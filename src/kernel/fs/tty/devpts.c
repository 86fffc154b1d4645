/*
 * devpts: the directory of slaves. It holds `ptmx` and one character device per terminal whose
 * master is open. The inode of a slave belongs to its terminal, so that chown and chmod last; its
 * `object` points back and is cleared when the name goes.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include "kernel/fs/dev/dev.h"
#include "kernel/fs/ops.h"
#include "kernel/fs/tty/tty_internal.h"

#define DEVPTS_MAGIC_NUMBER 0x1cd1u
#define PTMX_INO 2u
#define SLAVE_INO 3u /* + index */

static struct inode *make_node(struct superblock *sb, uint32_t mode, uint64_t ino, unsigned major_nr,
			       unsigned minor_nr)
{
	struct inode *inode = inode_new(sb, IOPS_DEVPTS, mode);

	if (!inode)
		return NULL;
	inode->ino = ino;
	inode->rdev = (uint32_t)makedev(major_nr, minor_nr);
	return inode;
}

/* Made at first use: the control channel may want a terminal where nothing is mounted. */
static struct superblock *devpts_sb(void)
{
	struct tty_root *root = tty_root();
	struct superblock *sb;
	struct inode *dir;

	if (root->devpts)
		return root->devpts;
	sb = superblock_new(FS_DEVPTS, DEVPTS_MAGIC_NUMBER);
	dir = sb ? inode_new(sb, IOPS_DEVPTS, S_IFDIR | 0755) : NULL;
	if (!root->ptmx && sb)
		root->ptmx = make_node(sb, S_IFCHR | 0666, PTMX_INO, 5, 2);
	if (!dir || !root->ptmx) {
		inode_put(dir);
		kfree(sb);
		return NULL;
	}
	dir->ino = 1;
	dir->nlink = 2;
	if (superblock_set_root(sb, dir) < 0) {
		kfree(sb);
		return NULL;
	}
	sb->no_dcache = true;
	root->devpts = sb;
	return sb;
}

int devpts_mount(void)
{
	struct superblock *sb = devpts_sb();

	return sb ? mount_add(sb, "/dev/pts", MS_NOSUID | MS_NOEXEC, "devpts") : -ENOMEM;
}

int devpts_add(struct tty *t, uint32_t uid)
{
	struct superblock *sb = devpts_sb();

	if (!sb)
		return -ENOMEM;
	t->inode = make_node(sb, S_IFCHR | 0620, SLAVE_INO + t->index, TTY_SLAVE_MAJOR, t->index);
	if (!t->inode)
		return -ENOMEM;
	t->inode->uid = uid;
	t->inode->gid = TTY_GROUP;
	t->inode->object = t;
	return 0;
}

void devpts_remove(struct tty *t)
{
	struct inode *inode = t->inode;

	if (!inode)
		return;
	t->inode = NULL;
	inode->object = NULL;
	inode->nlink = 0;
	inode_put(inode);
}

static struct mount *find_mount(const struct superblock *sb)
{
	struct mount *m;

	list_for_each(m, mount_list(), link) {
		if (m->sb == sb)
			return m;
	}
	return NULL;
}

struct path devpts_path(struct tty *t)
{
	struct superblock *sb = devpts_sb();
	struct mount *mnt = sb ? find_mount(sb) : NULL;
	struct path path = { .mnt = mnt };
	struct dentry *d;
	char name[12];
	int n = snprintf(name, sizeof(name), "%u", t->index);

	if (!mnt || !t->inode)
		return (struct path){ 0 };
	if (dentry_lookup(NULL, sb->root, (struct qstr){ name, (uint16_t)n }, &d) < 0)
		return (struct path){ 0 };
	path.dentry = d;
	path = path_get(path);
	dentry_put(d);
	return path;
}

/* "0", "17": no sign, no leading zero. */
static struct tty *find_name(struct qstr name)
{
	uint32_t index = 0;

	if (!name.length || name.length > 4 || (name.length > 1 && name.name[0] == '0'))
		return NULL;
	for (unsigned i = 0; i < name.length; i++) {
		if (name.name[i] < '0' || name.name[i] > '9')
			return NULL;
		index = index * 10 + (uint32_t)(name.name[i] - '0');
	}
	return tty_find(index);
}

static int devpts_lookup(struct task *task, struct inode *dir, struct dentry *parent,
			 struct qstr name, struct inode **ret)
{
	struct tty *t;

	(void)task, (void)dir, (void)parent;
	if (name.length == 4 && !memcmp(name.name, "ptmx", 4)) {
		*ret = inode_get(tty_root()->ptmx);
		return 0;
	}
	t = find_name(name);
	if (!t || !t->inode)
		return -ENOENT;
	*ret = inode_get(t->inode);
	return 0;
}

static int devpts_readdir(struct task *task, struct inode *dir, struct dentry *dentry, void *ctx,
			  dir_emit_fn emit)
{
	struct tty_root *root = tty_root();

	(void)task, (void)dir, (void)dentry;
	if (!emit(ctx, "ptmx", 4, PTMX_INO, DT_CHR))
		return 0;
	for (unsigned i = 0; i < TTY_MAX; i++) {
		const struct tty *t = root->table[i];
		char name[12];
		int n;

		if (!t || !t->inode)
			continue;
		n = snprintf(name, sizeof(name), "%u", i);
		if (!emit(ctx, name, (size_t)n, t->inode->ino, DT_CHR))
			break;
	}
	return 0;
}

static int devpts_setattr(struct inode *inode, const struct iattr *attr)
{
	inode_set_attr(inode, attr);
	return 0;
}

static int devpts_getattr(struct task *task, struct inode *inode, struct kstat *st)
{
	(void)task;
	inode_stat(inode, st);
	st->blksize = 1024;
	return 0;
}

static int devpts_statfs(struct superblock *sb, struct statfs *ret)
{
	ret->f_type = (long)sb->magic;
	ret->f_bsize = ret->f_frsize = PAGE_SIZE;
	ret->f_namelen = NAME_MAX_BYTES;
	return 0;
}

const struct inode_ops devpts_inode_ops = {
	.lookup = devpts_lookup,
	.readdir = devpts_readdir,
	.getattr = devpts_getattr,
	.setattr = devpts_setattr,
	.open = dev_open,
	.statfs = devpts_statfs,
};

int tty_open_slave(struct call *c, struct inode *inode, struct file *file)
{
	/* A node of this number on another file system leads nowhere. */
	struct tty *t = inode->ops == IOPS_DEVPTS ? inode->object : NULL;

	return t ? tty_file_open_slave(t, c->task, file) : -EIO;
}

int tty_open_current(struct call *c, struct inode *inode, struct file *file)
{
	struct tty *t = c->task->proc->ctty;
	int err;

	(void)inode;
	if (!t)
		return -ENXIO;
	/* The lock of TIOCSPTLCK concerns names in devpts only. */
	bool locked = t->locked;
	t->locked = false;
	err = tty_file_open_slave(t, c->task, file);
	t->locked = locked;
	return err;
}

int tty_open_master(struct call *c, struct inode *inode, struct file *file)
{
	struct tty_file *tf;
	struct tty *t;
	int err = tty_new(c->task->cred->fsuid, &t);

	(void)inode;
	if (err < 0)
		return err;
	tf = tty_file_new(t, true);
	if (!tf) {
		tty_close_master(t);
		return -ENOMEM;
	}
	file->ops = FOPS_PTMX;
	file->stream = true;
	file->priv = tf;
	return 0;
}
