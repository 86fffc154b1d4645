/*
 * Content that the kernel itself puts into a tree at start (setup.c): no dentries, no charges, no
 * host calls. Grafts are only remembered here and looked up when a guest asks for them.
 */
#include <errno.h>
#include <string.h>

#include "kernel/core/arena.h"
#include "kernel/fs/tree/tree_internal.h"

static struct qstr qstr_of(const char *name)
{
	return (struct qstr){ name, (uint16_t)strlen(name) };
}

/* Puts the caller's reference; the directory holds its own. */
static int add(struct inode *dir, const char *name, struct inode *inode, struct inode **ret)
{
	int err = tree_entry_find(dir, qstr_of(name)) ? -EEXIST :
							tree_insert(dir, qstr_of(name), inode);
	if (err == 0 && ret)
		*ret = inode;
	inode_put(inode);
	return err;
}

int tree_add_dir(struct inode *dir, const char *name, uint32_t mode, uint32_t uid, uint32_t gid,
		 struct inode **ret)
{
	struct inode *inode;
	int err = tree_inode_new(dir->sb, S_IFDIR | mode, uid, gid, false, &inode);

	return err < 0 ? err : add(dir, name, inode, ret);
}

int tree_add_path(struct inode *root, const char *path, uint32_t mode, uint32_t uid, uint32_t gid,
		  struct inode **ret)
{
	struct inode *dir = root;

	while (*path) {
		char name[NAME_MAX_BYTES + 1];
		size_t length = strcspn(path, "/");
		if (length == 0 || length > NAME_MAX_BYTES)
			return -EINVAL;
		memcpy(name, path, length);
		name[length] = '\0';
		path += length;
		path += strspn(path, "/");
		struct tree_entry *e = tree_entry_find(dir, qstr_of(name));
		if (e && (e->kind != TREE_ENTRY_INODE || !S_ISDIR(e->inode->mode)))
			return -EEXIST;
		if (e) {
			dir = e->inode;
			continue;
		}
		bool last = !*path;
		int err = tree_add_dir(dir, name, last ? mode : 0755, last ? uid : 0, last ? gid : 0,
				       &dir);
		if (err < 0)
			return err;
	}
	if (ret)
		*ret = dir;
	return 0;
}

int tree_add_file(struct inode *dir, const char *name, uint32_t mode, uint32_t uid, uint32_t gid,
		  const void *data, size_t size)
{
	struct inode *inode;
	int err = tree_inode_new(dir->sb, S_IFREG | mode, uid, gid, false, &inode);

	if (err < 0)
		return err;
	err = tree_set_content(inode, data, size);
	if (err < 0) {
		inode_put(inode);
		return err;
	}
	return add(dir, name, inode, NULL);
}

int tree_add_symlink(struct inode *dir, const char *name, const char *target)
{
	struct inode *inode;
	int err = tree_inode_new(dir->sb, S_IFLNK | 0777, 0, 0, false, &inode);

	if (err < 0)
		return err;
	tree_node(inode)->target = kstrdup(target);
	inode->size = strlen(target);
	if (!tree_node(inode)->target) {
		inode_put(inode);
		return -ENOMEM;
	}
	return add(dir, name, inode, NULL);
}

int tree_add_lower(struct inode *dir, const char *name, unsigned root, const char *path)
{
	struct tree_sb *tsb = dir->sb->priv;

	if (tree_entry_find(dir, qstr_of(name)))
		return -EEXIST;
	struct tree_graft *g = kmalloc(sizeof(*g) + strlen(path) + 1);
	char *copy = kstrdup(path);
	struct tree_entry *e = g && copy ? tree_entry_add(dir, qstr_of(name)) : NULL;
	if (!e) {
		kfree(g);
		kfree(copy);
		return -ENOMEM;
	}
	tree_entry_graft(e, root, copy);
	g->root = (uint16_t)root;
	memcpy(g->path, path, strlen(path) + 1);
	g->next = tsb->grafts;
	tsb->grafts = g;
	return 0;
}
