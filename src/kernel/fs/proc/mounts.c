/*
 * /proc/PID/{mounts,mountinfo,mountstats} and /proc/filesystems: what is mounted where, as seen
 * from the root directory of the process.
 */
#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>

#include "kernel/fs/proc/proc_internal.h"

/* Names of file systems as statfs magic and programs like df expect them. */
static const char *type_name(const struct mount *m)
{
	switch ((enum fs_type)m->sb->fs_type) {
	case FS_TREE:
		return m->sb->magic == TMPFS_MAGIC ? "tmpfs" : "overlay";
	case FS_HOST:
		return "ext4";
	case FS_PROC:
		return "proc";
	case FS_SYS:
		return m->sb->magic == CGROUP2_SUPER_MAGIC ? "cgroup2" : "sysfs";
	case FS_DEV:
		return "tmpfs";
	case FS_DEVPTS:
		return "devpts";
	default:
		return "none";
	}
}

static void show_options(struct seq *s, unsigned long flags)
{
	seq_text(s, flags & MS_RDONLY ? "ro" : "rw");
	if (flags & MS_NOSUID)
		seq_text(s, ",nosuid");
	if (flags & MS_NODEV)
		seq_text(s, ",nodev");
	if (flags & MS_NOEXEC)
		seq_text(s, ",noexec");
	seq_text(s, ",relatime");
}

/* Where the process sees the mount; false when it is outside its root. */
static bool mount_point(const struct proc_ctx *x, struct mount *m, char *dst, size_t capacity)
{
	struct path root = x->task && x->task->fs ? x->task->fs->root : root_path();
	ssize_t n = path_format((struct path){ m, m->root }, root, dst, capacity);

	return n > 0 && dst[0] == '/';
}

static const char *source_of(const struct mount *m)
{
	return m->source ? m->source : type_name(m);
}

int proc_pid_mounts(struct seq *s, const struct proc_ctx *x)
{
	char where[PATH_MAX_BYTES];
	struct mount *m;

	list_for_each(m, mount_list(), link) {
		if (!mount_point(x, m, where, sizeof(where)))
			continue;
		seq_escaped(s, source_of(m));
		seq_text(s, " ");
		seq_escaped(s, where);
		seq_printf(s, " %s ", type_name(m));
		show_options(s, m->flags | (m->sb->read_only ? MS_RDONLY : 0));
		seq_text(s, " 0 0\n");
	}
	return 0;
}

int proc_pid_mountinfo(struct seq *s, const struct proc_ctx *x)
{
	char where[PATH_MAX_BYTES];
	struct mount *m;

	list_for_each(m, mount_list(), link) {
		if (!mount_point(x, m, where, sizeof(where)))
			continue;
		int parent = m->mountpoint.mnt ? m->mountpoint.mnt->id : 1;
		seq_printf(s, "%d %d %u:%u / ", m->id, parent, major(m->sb->dev),
			   minor(m->sb->dev));
		seq_escaped(s, where);
		seq_text(s, " ");
		show_options(s, m->flags);
		seq_printf(s, " - %s ", type_name(m));
		seq_escaped(s, source_of(m));
		seq_text(s, m->sb->read_only ? " ro\n" : " rw\n");
	}
	return 0;
}

int proc_pid_mountstats(struct seq *s, const struct proc_ctx *x)
{
	char where[PATH_MAX_BYTES];
	struct mount *m;

	list_for_each(m, mount_list(), link) {
		if (!mount_point(x, m, where, sizeof(where)))
			continue;
		seq_text(s, "device ");
		seq_escaped(s, source_of(m));
		seq_text(s, " mounted on ");
		seq_escaped(s, where);
		seq_printf(s, " with fstype %s\n", type_name(m));
	}
	return 0;
}

int proc_filesystems(struct seq *s, const struct proc_ctx *x)
{
	(void)x;
	seq_text(s, "nodev\tsysfs\nnodev\ttmpfs\nnodev\tproc\nnodev\tcgroup2\nnodev\tdevtmpfs\n"
		    "nodev\tsockfs\nnodev\tpipefs\nnodev\tdevpts\n\text4\nnodev\toverlay\n");
	return 0;
}
