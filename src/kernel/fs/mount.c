/*
 * Mounts. The set is made when the sandbox starts and does not change afterwards (a guest cannot
 * mount), so there is one namespace, a short list, and a linear search at mount points only:
 * struct dentry.mount_count says whether to search at all.
 *
 * Internal mounts (pipes, sockets, anonymous inodes, memfd) are on no list; they exist so that every
 * open file has a path.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "kernel/core/arena.h"
#include "kernel/fs/namei.h"
#include "kernel/fs/vfs_internal.h"

struct list *mount_list(void)
{
	return &vfs->mounts;
}

struct path root_path(void)
{
	struct mount *m = vfs->root_mount;
	return (struct path){ m, m ? m->root : NULL };
}

struct mount *mount_find(struct mount *mnt, struct dentry *dentry)
{
	struct mount *m;
	list_for_each(m, &vfs->mounts, link) {
		if (m->mountpoint.dentry == dentry && m->mountpoint.mnt == mnt)
			return m;
	}
	return NULL;
}

struct mount *mount_internal(struct superblock *sb, unsigned long flags)
{
	struct mount *m = knew(struct mount);
	if (!m)
		return NULL;
	list_init(&m->link);
	m->id = vfs->next_mount_id++;
	m->flags = flags;
	m->sb = sb;
	m->root = sb->root;
	return m;
}

struct mount *mount_anon(enum fs_type type)
{
	static const uint64_t magic[FS_TYPE_MAX] = {
		[FS_PIPE] = 0x50495045,
		[FS_SOCK] = 0x534f434b,
		[FS_ANON] = 0x09041934,
	};
	if (vfs->anon[type])
		return vfs->anon[type];
	struct superblock *sb = superblock_new(type, magic[type]);
	struct mount *m = sb ? mount_internal(sb, 0) : NULL;
	if (!m) {
		kfree(sb);
		return NULL;
	}
	vfs->anon[type] = m;
	return m;
}

/* `name` (absolute) as a directory or an empty file, made now. */
static int make_one(const char *name, bool directory, struct path *ret)
{
	struct last_name last;
	struct path dir;
	int r = path_lookup_parent(NULL, AT_FDCWD, name, 0, &dir, &last);
	if (r < 0)
		return r;
	struct qstr q = { last.name, last.length };
	r = vfs_create(NULL, dir, q, directory ? S_IFDIR | 0755 : S_IFREG | 0644, ret);
	path_put(&dir);
	return r;
}

/* The mount point: an existing object, or one made now with the parents it needs. */
static int make_mountpoint(const char *where, bool directory, struct path *ret)
{
	struct path p;
	char *name = kstrdup(where);
	int r = name ? 0 : -ENOMEM;
	for (char *s = name; r == 0; s++) {
		if (s == name || (*s && *s != '/'))
			continue;
		char saved = *s;
		*s = 0;
		r = path_lookup(NULL, AT_FDCWD, name, LOOKUP_FOLLOW, &p);
		if (r == -ENOENT)
			r = make_one(name, directory || saved, &p);
		*s = saved;
		if (r == 0 && !saved) {
			*ret = p;
			break;
		}
		if (r == 0)
			path_put(&p);
	}
	kfree(name);
	return r;
}

int mount_add(struct superblock *sb, const char *where, unsigned long flags, const char *source)
{
	struct mount *m = mount_internal(sb, flags);
	if (!m)
		return -ENOMEM;
	m->source = kstrdup(source ? source : "none");
	int r = m->source ? 0 : -ENOMEM;
	if (r == 0 && where)
		r = make_mountpoint(where, S_ISDIR(sb->root->inode->mode), &m->mountpoint);
	if (r < 0) {
		kfree(m->source);
		kfree(m);
		return r;
	}
	dentry_get(m->root);
	if (m->mountpoint.dentry)
		m->mountpoint.dentry->mount_count++;
	else
		vfs->root_mount = m;
	list_add_tail(&vfs->mounts, &m->link);
	return 0;
}
