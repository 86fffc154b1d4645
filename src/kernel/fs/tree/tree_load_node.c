/*
 * Making what a NODE of an image says, and what an image may ask for: see tree_load.c. A reference to the
 * template has to be below what its tree shows of the host anyway, by its lower directory or by a graft.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/core/limits.h"
#include "kernel/fs/tree/tree_image.h"
#include "kernel/fs/tree/tree_internal.h"

bool tree_image_name(const char *name)
{
	size_t length = strlen(name);

	return length > 0 && length <= NAME_MAX_BYTES && !strchr(name, '/') && strcmp(name, ".") &&
	       strcmp(name, "..");
}

/* A relative path of components that are names. */
static bool is_path(const char *path)
{
	char name[NAME_MAX_BYTES + 1];

	if (strlen(path) >= PATH_MAX)
		return false;
	for (;; path++) {
		size_t length = strcspn(path, "/");
		if (length > NAME_MAX_BYTES)
			return false;
		memcpy(name, path, length);
		name[length] = '\0';
		if (!tree_image_name(name))
			return false;
		path += length;
		if (*path == '\0')
			return true;
	}
}

const struct tree_graft *tree_image_graft(const struct tree_load *l, uint32_t root,
					  const char *path, bool exact)
{
	const struct tree_sb *tsb = l->sb->priv;

	for (const struct tree_graft *g = tsb->grafts; g; g = g->next) {
		size_t length = strlen(g->path);
		if (g->root != root || strncmp(g->path, path, length) != 0)
			continue;
		if (path[length] == '\0' || (path[length] == '/' && !exact))
			return g;
	}
	return NULL;
}

/* Does this tree show the host's (root, path), or something it is below? */
static bool is_shown(const struct tree_load *l, uint32_t root, const char *path)
{
	const struct host_ref *lower = &tree_node(l->sb->root->inode)->ref;

	return is_path(path) && ((lower->kind == HOST_REF_PATH && lower->root == root) ||
				 tree_image_graft(l, root, path, false));
}

/* A file of the template. -ENOENT: it does not have that, or not as the same type. */
static int make_lower(struct tree_load *l, const struct image_record *r, struct inode **ret)
{
	struct host_ref ref;
	struct stat st;

	if (!is_shown(l, r->root, r->path))
		return -EPROTO;
	int err = host_stat(r->root, r->path, &st);
	if (err < 0)
		return err == -ENOMEM ? err : -ENOENT;
	if ((st.st_mode & S_IFMT) != (r->attr.mode & S_IFMT))
		return -ENOENT;
	if (!limit_charge(LIMIT_DISK_INODES, 1))
		return -ENOSPC;
	err = host_ref_path(&ref, r->root, r->path);
	if (err == 0)
		err = tree_lower_new(l->sb, NULL, &ref, &st, ret);
	if (err < 0)
		limit_release(LIMIT_DISK_INODES, 1);
	else
		tree_node(*ret)->charged = true;
	return err;
}

static int make_own(struct tree_load *l, const struct image_record *r, struct inode **ret)
{
	const struct image_attr *a = &r->attr;
	size_t length = strlen(r->path);
	struct inode *inode;

	if (S_ISLNK(a->mode) ? length == 0 || length >= PATH_MAX : length > 0)
		return -EPROTO;
	int err = tree_inode_new(l->sb, a->mode, a->uid, a->gid, true, &inode);
	if (err < 0)
		return err;
	inode->rdev = a->rdev;
	if (S_ISLNK(a->mode)) {
		tree_node(inode)->target = kstrdup(r->path);
		inode->size = length;
		if (!tree_node(inode)->target) {
			inode_put(inode);
			return -ENOMEM;
		}
	}
	*ret = inode;
	return 0;
}

/* A directory that the template has no more keeps what is in it. */
int tree_image_make(struct tree_load *l, const struct image_record *r, struct inode **ret)
{
	struct image_record own = *r;
	int err = -ENOENT;

	if (r->root)
		err = make_lower(l, r, ret);
	if (err != -ENOENT || (r->root && !S_ISDIR(r->attr.mode)))
		return err;
	if (r->root)
		own.path = "";
	return make_own(l, &own, ret);
}
