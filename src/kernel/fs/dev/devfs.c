/*
 * /dev: an ordinary writable tree, filled at start with the nodes that programs expect in a
 * container. No console, no disks, no kernel memory.
 */
#include <errno.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include "kernel/fs/dev/dev.h"
#include "kernel/fs/tree/tree.h"
#include "kernel/fs/tty/tty.h"
#include "kernel/fs/vfs.h"

struct node {
	const char *name;
	uint32_t mode;
	unsigned major_nr, minor_nr;
	const char *target; /* of a symlink */
};

static const struct node nodes[] = {
	{ "null", S_IFCHR | 0666, 1, 3, NULL },
	{ "zero", S_IFCHR | 0666, 1, 5, NULL },
	{ "full", S_IFCHR | 0666, 1, 7, NULL },
	{ "random", S_IFCHR | 0666, 1, 8, NULL },
	{ "urandom", S_IFCHR | 0666, 1, 9, NULL },
	{ "tty", S_IFCHR | 0666, 5, 0, NULL },
	{ "pts", S_IFDIR | 0755, 0, 0, NULL },
	{ "shm", S_IFDIR | 01777, 0, 0, NULL },
	{ "ptmx", S_IFLNK, 0, 0, "pts/ptmx" },
	{ "fd", S_IFLNK, 0, 0, "/proc/self/fd" },
	{ "stdin", S_IFLNK, 0, 0, "/proc/self/fd/0" },
	{ "stdout", S_IFLNK, 0, 0, "/proc/self/fd/1" },
	{ "stderr", S_IFLNK, 0, 0, "/proc/self/fd/2" },
};

static int add_node(struct superblock *sb, const struct node *n)
{
	struct inode *dir = sb->root->inode;
	uint32_t rdev = (uint32_t)makedev(n->major_nr, n->minor_nr);
	struct dentry *child;
	int err;

	if (n->target)
		return tree_add_symlink(dir, n->name, n->target);
	if (S_ISDIR(n->mode))
		return tree_add_dir(dir, n->name, n->mode & 07777, 0, 0, NULL);
	err = dentry_lookup(NULL, sb->root, (struct qstr){ n->name, (uint16_t)strlen(n->name) },
			    &child);
	if (err < 0)
		return err;
	err = inode_ops(dir)->mknod(dir, child, n->mode, 0, 0, rdev);
	dentry_put(child);
	return err;
}

int devfs_mount(void)
{
	const struct tree_options options = { .magic = TMPFS_MAGIC_NUMBER, .root_mode = 0755 };
	struct superblock *sb;
	int err = tree_sb_new(&options, &sb);

	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(nodes); i++)
		err = add_node(sb, &nodes[i]);
	if (err == 0)
		err = mount_add(sb, "/dev", MS_NOSUID, "tmpfs");
	return err < 0 ? err : devpts_mount();
}
