/*
 * Theory of operation
 *
 * The root is a tree file system without a lower directory; everything in it is made here, in the
 * arena, without asking the host. The host's programs come in as mounts: /usr is a tree over the
 * host's /usr (read-only below a private layer), /bin and /lib are symlinks or mounts as the host
 * has them. Pieces of the host's /etc and of its package database are grafts: names that are looked
 * up when somebody asks for them. So the cost of a start is some hundred small allocations.
 *
 *   /            tree (no lower)       synthetic: home, etc, tmp, var, run, ...
 *   /usr         tree over host /usr   all programs and libraries, shown as root's
 *   /etc/...     grafts                allow-list in setup_etc.c
 *   /proc /sys /dev /dev/shm           their own file systems
 *   --cow PATH   tree over PATH        shown as the sandbox user's
 *   --ro, --rw   host pass-through
 *   /opt/hotcell tree over the drivers of the code interpreter, read-only
 *
 * What a guest sees of the host is therefore: /usr, the allow-list of /etc, the list of installed
 * packages, and what the caller mounts. No host home, /var, /run, secrets or user names.
 */
#include "kernel/fs/dev/dev.h"
#include "kernel/fs/proc/procfs.h"
#include "kernel/fs/sys/sysfs.h"
#include "kernel/fs/setup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "base/util.h"
#include "kernel/fs/host/hostfs.h"
#include "kernel/fs/setup_internal.h"
#include "kernel/fs/tree/tree.h"
#include "kernel/fs/vfs.h"

enum owner { ROOT, USER };

struct dir_row {
	const char *path;
	uint16_t mode;
	uint8_t owner; /* enum owner */
};

static const struct dir_row directories[] = {
	{ "boot", 0755, ROOT },	    { "dev", 0755, ROOT },
	{ "etc", 0755, ROOT },	    { "home", 0755, ROOT },
	{ "media", 0755, ROOT },    { "mnt", 0755, ROOT },
	{ "opt", 0755, ROOT },	    { "proc", 0555, ROOT },
	{ "root", 0700, ROOT },	    { "run", 0755, ROOT },
	{ "run/lock", 01777, ROOT }, { "run/user", 0755, ROOT },
	{ "srv", 0755, ROOT },	    { "sys", 0555, ROOT },
	{ "tmp", 01777, ROOT },	    { "usr", 0755, ROOT },
	{ "work", 0755, USER },	    { "var", 0755, ROOT },
	{ "var/backups", 0755, ROOT },
	{ "var/cache", 0755, ROOT },
	{ "var/cache/apt", 0755, ROOT },
	{ "var/cache/apt/archives", 0755, ROOT },
	{ "var/cache/apt/archives/partial", 0700, ROOT },
	{ "var/lib", 0755, ROOT },
	{ "var/lib/apt", 0755, ROOT },
	{ "var/lib/apt/lists", 0755, ROOT },
	{ "var/lib/apt/lists/partial", 0700, ROOT },
	{ "var/lib/dpkg", 0755, ROOT },
	{ "var/lib/dpkg/updates", 0755, ROOT },
	{ "var/lib/misc", 0755, ROOT },
	{ "var/local", 0775, ROOT },
	{ "var/log", 0755, ROOT },
	{ "var/log/apt", 0755, ROOT },
	{ "var/mail", 0775, ROOT },
	{ "var/opt", 0755, ROOT },
	{ "var/spool", 0755, ROOT },
	{ "var/tmp", 01777, ROOT },
};

static const struct {
	const char *dir, *name, *target;
} symlinks[] = {
	{ "var", "run", "/run" },
	{ "var", "lock", "/run/lock" },
	{ "var/spool", "mail", "../mail" },
};

static int make_directories(struct inode *root, const struct fs_plan *plan)
{
	for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
		const struct dir_row *d = &directories[i];
		bool user = d->owner == USER;
		int err = tree_add_path(root, d->path, d->mode, user ? plan->uid : 0,
					user ? plan->gid : 0, NULL);
		if (err < 0)
			return err;
	}
	for (size_t i = 0; i < ARRAY_SIZE(symlinks); i++) {
		struct inode *dir;
		int err = tree_add_path(root, symlinks[i].dir, 0755, 0, 0, &dir);
		if (err == 0)
			err = tree_add_symlink(dir, symlinks[i].name, symlinks[i].target);
		if (err < 0)
			return err;
	}
	return 0;
}

static int make_homes(struct inode *root, const struct fs_plan *plan)
{
	struct inode *dir;
	char number[12];
	int err = tree_add_path(root, "root", 0700, 0, 0, &dir);

	if (err == 0)
		err = setup_dotfiles(dir, 0, 0);
	if (err == 0)
		err = tree_add_path(root, "home", 0755, 0, 0, &dir);
	if (err == 0)
		err = tree_add_dir(dir, plan->user, 0750, plan->uid, plan->gid, &dir);
	if (err == 0)
		err = setup_dotfiles(dir, plan->uid, plan->gid);
	if (err == 0)
		err = tree_add_path(root, "run/user", 0755, 0, 0, &dir);
	snprintf(number, sizeof(number), "%u", plan->uid);
	if (err == 0)
		err = tree_add_dir(dir, number, 0700, plan->uid, plan->gid, NULL);
	return err;
}

/* ---- mounts ---- */

static const char *relative(const char *guest)
{
	return guest + strspn(guest, "/");
}

static int mount_tree(const struct fs_plan *plan, const struct fs_plan_mount *m)
{
	bool system = m->kind == FS_MOUNT_SYSTEM;
	bool user = m->kind != FS_MOUNT_TEMPLATE && !system;
	struct tree_options o = {
		.magic = m->kind == FS_MOUNT_TMPFS ? TMPFS_MAGIC_NUMBER : OVERLAY_MAGIC_NUMBER,
		.uid = user ? plan->uid : 0,
		.gid = user ? plan->gid : 0,
		.root_mode = 01777,
		.has_lower = m->kind != FS_MOUNT_TMPFS,
		.lower_root = m->host_root,
	};
	unsigned long flags = m->kind == FS_MOUNT_TEMPLATE ? MS_NODEV : MS_NODEV | MS_NOSUID;
	struct superblock *sb;
	int err = tree_sb_new(&o, &sb);

	if (err < 0)
		return err;
	sb->read_only = system;
	return mount_add(sb, m->guest, flags | (system ? MS_RDONLY : 0),
			 o.has_lower ? "overlay" : "tmpfs");
}

static int mount_host(const struct fs_plan *plan, const struct fs_plan_mount *m)
{
	unsigned long flags = MS_NODEV | MS_NOSUID | (m->kind == FS_MOUNT_RO ? MS_RDONLY : 0);
	struct superblock *sb;
	int err = hostfs_sb_new(m->host_root, plan->uid, plan->gid, m->kind == FS_MOUNT_RW, &sb);

	return err < 0 ? err : mount_add(sb, m->guest, flags, "host");
}

static int make_symlink(struct inode *root, const struct fs_plan_mount *m)
{
	const char *path = relative(m->guest);
	const char *slash = strrchr(path, '/');
	char parent[PATH_MAX_BYTES];
	struct inode *dir = root;

	if (slash) {
		size_t length = (size_t)(slash - path);
		if (length >= sizeof(parent))
			return -ENAMETOOLONG;
		memcpy(parent, path, length);
		parent[length] = '\0';
		int err = tree_add_path(root, parent, 0755, 0, 0, &dir);
		if (err < 0)
			return err;
	}
	return tree_add_symlink(dir, slash ? slash + 1 : path, m->target);
}

static bool is_mount(const struct fs_plan_mount *m)
{
	return m->kind < FS_MOUNT_SYMLINK || m->kind == FS_MOUNT_SYSTEM;
}

static int apply(struct inode *root, const struct fs_plan *plan, const struct fs_plan_mount *m)
{
	switch (m->kind) {
	case FS_MOUNT_TEMPLATE:
	case FS_MOUNT_COW:
	case FS_MOUNT_TMPFS:
	case FS_MOUNT_SYSTEM:
		return mount_tree(plan, m);
	case FS_MOUNT_RO:
	case FS_MOUNT_RW:
		return mount_host(plan, m);
	case FS_MOUNT_SYMLINK:
		return make_symlink(root, m);
	case FS_MOUNT_ETC:
		return setup_etc_lower(root, m->host_root);
	case FS_MOUNT_VAR_LIB_DPKG:
		return setup_dpkg_lower(root, m->host_root);
	default:
		return -EINVAL;
	}
}

static int mount_pseudo(const char **ret_failed)
{
	static const struct tree_options shm = { .magic = TMPFS_MAGIC_NUMBER, .root_mode = 01777 };
	struct superblock *sb;
	int err = procfs_mount();

	*ret_failed = "/proc";
	if (err < 0)
		return err;
	*ret_failed = "/sys";
	err = sysfs_mount();
	if (err < 0)
		return err;
	*ret_failed = "/dev";
	err = devfs_mount();
	if (err < 0)
		return err;
	*ret_failed = "/dev/shm";
	err = tree_sb_new(&shm, &sb);
	return err < 0 ? err : mount_add(sb, "/dev/shm", MS_NODEV | MS_NOSUID, "shm");
}

static int make_root(const struct fs_plan *plan, struct inode **ret)
{
	static const struct tree_options o = { .magic = OVERLAY_MAGIC_NUMBER, .root_mode = 0755 };
	struct superblock *sb;
	int err = tree_sb_new(&o, &sb);

	if (err < 0)
		return err;
	struct inode *root = sb->root->inode;
	err = mount_add(sb, NULL, 0, "overlay");
	if (err == 0)
		err = make_directories(root, plan);
	if (err == 0)
		err = make_homes(root, plan);
	if (err == 0)
		err = setup_etc(root, plan);
	*ret = root;
	return err;
}

int fs_setup(const struct fs_plan *plan, const char **ret_failed)
{
	const char *failed = "/";
	struct inode *root;
	int err = make_root(plan, &root);

	/* Symlinks and grafts (no mounts) go into the root tree before any path is walked through it. */
	for (uint32_t i = 0; err == 0 && i < plan->mount_count; i++)
		if (!is_mount(&plan->mounts[i])) {
			failed = plan->mounts[i].guest;
			err = apply(root, plan, &plan->mounts[i]);
		}
	if (err == 0)
		err = mount_pseudo(&failed);
	for (uint32_t i = 0; err == 0 && i < plan->mount_count; i++)
		if (is_mount(&plan->mounts[i])) {
			failed = plan->mounts[i].guest;
			err = apply(root, plan, &plan->mounts[i]);
		}
	if (err < 0 && ret_failed)
		*ret_failed = failed;
	return err;
}
