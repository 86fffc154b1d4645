/*
 * The tree of /sys.
 *
 * Like /proc nothing is stored: the inode number is the row of the table and, below
 * devices/system/cpu/cpuN, the processor. /sys/fs/cgroup is a mount of its own with the same table,
 * rooted at the row of that directory, because runtimes look for a mount of type cgroup2.
 * Everything is read-only.
 */
#include "kernel/fs/sys/sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "kernel/core/arena.h"
#include "kernel/fs/generated.h"
#include "kernel/fs/ops.h"
#include "kernel/fs/sys/sys_internal.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/uts.h"

#define CPU_SHIFT 16
#define FILE_SIZE 4096 /* what stat says of a sysfs attribute */

static uint64_t ino_of(uint32_t row, uint32_t cpu)
{
	return (uint64_t)(row + 1) | (uint64_t)cpu << CPU_SHIFT;
}

static uint32_t row_number(const struct inode *inode)
{
	return (uint32_t)(inode->ino & ((1u << CPU_SHIFT) - 1)) - 1;
}

static const struct sys_row *row_of(const struct inode *inode)
{
	return &sys_rows[row_number(inode)];
}

static uint32_t cpu_of(const struct inode *inode)
{
	return (uint32_t)(inode->ino >> CPU_SHIFT);
}

/* Compares a name with a row's, whose '%' matches the number of a processor. */
static bool name_matches(const char *pattern, struct qstr name, uint32_t *cpu)
{
	size_t fixed = strcspn(pattern, "%");
	uint32_t n = 0;

	if (!pattern[fixed])
		return fixed == name.length && !memcmp(pattern, name.name, fixed);
	if (name.length <= fixed || name.length > fixed + 4 || memcmp(pattern, name.name, fixed))
		return false;
	for (size_t i = fixed; i < name.length; i++) {
		if (name.name[i] < '0' || name.name[i] > '9' || (i > fixed && n == 0))
			return false;
		n = n * 10 + (uint32_t)(name.name[i] - '0');
	}
	*cpu = n;
	return n < cpu_count();
}

static int make_inode(struct superblock *sb, uint32_t row, uint32_t cpu, struct inode **ret)
{
	struct inode *inode = inode_new(sb, IOPS_SYS, sys_rows[row].mode);

	if (!inode)
		return -ENOMEM;
	inode->ino = ino_of(row, cpu);
	inode->nlink = S_ISDIR(inode->mode) ? 2 : 1;
	inode->size = S_ISREG(inode->mode) ? FILE_SIZE : 0;
	*ret = inode;
	return 0;
}

static int sys_lookup(struct task *task, struct inode *dir, struct dentry *parent,
		      struct qstr name, struct inode **ret)
{
	const char *path = row_of(dir)->path;

	(void)task;
	(void)parent;
	for (uint32_t i = 1; i < sys_row_count; i++) {
		uint32_t cpu = cpu_of(dir);
		const char *entry = generated_name(sys_rows[i].path, path);
		if (entry && name_matches(entry, name, &cpu))
			return make_inode(dir->sb, i, cpu, ret);
	}
	return -ENOENT;
}

static bool emit_row(uint32_t row, uint32_t cpu, const char *pattern, void *ctx, dir_emit_fn emit)
{
	uint8_t type = (uint8_t)(sys_rows[row].mode >> 12);
	size_t fixed = strcspn(pattern, "%");

	if (!pattern[fixed])
		return emit(ctx, pattern, fixed, ino_of(row, cpu), type);
	for (uint32_t n = 0; n < cpu_count(); n++) {
		char name[32];
		int length = snprintf(name, sizeof(name), "%.*s%u", (int)fixed, pattern, n);
		if (!emit(ctx, name, (size_t)length, ino_of(row, n), type))
			return false;
	}
	return true;
}

static int sys_readdir(struct task *task, struct inode *dir, struct dentry *dentry, void *ctx,
		       dir_emit_fn emit)
{
	const char *path = row_of(dir)->path;

	(void)task;
	(void)dentry;
	for (uint32_t i = 1; i < sys_row_count; i++) {
		const char *entry = generated_name(sys_rows[i].path, path);
		if (entry && !emit_row(i, cpu_of(dir), entry, ctx, emit))
			break;
	}
	return 0;
}

static int sys_open_file(struct call *c, struct inode *inode, struct file *file)
{
	(void)c;
	(void)inode;
	if (file_writable(file))
		return -EACCES;
	file->ops = FOPS_SYS;
	file->priv = NULL;
	return 0;
}

const struct inode_ops sys_inode_ops = {
	.lookup = sys_lookup,
	.readdir = sys_readdir,
	.open = sys_open_file,
};

/* ---- open files ---- */
static int generate(struct file *f, struct task *reader, struct seq *s)
{
	const struct sys_row *row = row_of(f->inode);

	(void)reader;
	if (!row->value)
		return row->show ? row->show(s, cpu_of(f->inode)) : 0;
	seq_printf(s, "%s\n", row->value);
	return 0;
}

static ssize_t sys_read_file(struct file *f, struct uio *u, uint64_t *pos)
{
	return generated_read(f, u, pos, generate);
}

const struct file_ops sys_file_ops = {
	.name = "sysfs",
	.read = sys_read_file,
	.release = generated_release,
};

/* ---- mounting ---- */
static int mount_at(uint32_t row, uint64_t magic, const char *where, const char *source)
{
	struct superblock *sb = superblock_new(FS_SYS, magic);
	struct inode *root;

	if (!sb)
		return -ENOMEM;
	sb->read_only = true;
	int error = make_inode(sb, row, 0, &root);
	if (!error)
		error = superblock_set_root(sb, root);
	return error ? error : mount_add(sb, where, MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, source);
}

int sysfs_mount(void)
{
	uint32_t row = 0;
	int error = mount_at(0, SYSFS_MAGIC, "/sys", "sysfs");

	if (error)
		return error;
	while (row < sys_row_count && strcmp(sys_rows[row].path, "fs/cgroup"))
		row++;
	return mount_at(row, CGROUP2_SUPER_MAGIC, "/sys/fs/cgroup", "cgroup");
}
