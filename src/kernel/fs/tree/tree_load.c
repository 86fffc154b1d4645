/*
 * Putting an image back, into the trees as they are after the start.
 *
 * What the kernel itself has put there (setup.c) is reused where the image has a directory or a device
 * of that name: mounts and the first process hang on these. Everything else that is there and that the
 * image does not name goes when its directory is complete. Attributes of a node are set when it is
 * complete, too: filling it changes its times.
 *
 * The image is hostile. A name is one component and comes once in its directory; a file of the template
 * must be below what this tree shows of the host anyway (its lower directory, its grafts); everything is
 * charged to the sandbox's limits as if a guest had made it.
 */
#include <errno.h>
#include <limits.h>
#include <linux/limits.h>
#include <string.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/core/limits.h"
#include "kernel/fs/tree/tree_image.h"
#include "kernel/fs/tree/tree_internal.h"

struct load_frame {
	struct inode *dir; /* a reference */
	struct image_attr attr;
};

static struct qstr qstr_of(const char *name)
{
	return (struct qstr){ name, (uint16_t)strlen(name) };
}

static struct inode *open_dir(const struct tree_load *l)
{
	return l->frames[l->depth - 1].dir;
}

static int push(struct tree_load *l, struct inode *dir, const struct image_attr *attr)
{
	int r = karray_reserve(&l->frames, l->depth, &l->capacity, sizeof(*l->frames));

	if (r == 0)
		l->frames[l->depth++] = (struct load_frame){ inode_get(dir), *attr };
	return r;
}

/* ---- nodes ---- */

static bool is_type(uint32_t mode)
{
	uint32_t type = mode & S_IFMT;

	return (mode & ~(S_IFMT | 07777u)) == 0 &&
	       (type == S_IFREG || type == S_IFDIR || type == S_IFLNK || type == S_IFCHR ||
		type == S_IFBLK || type == S_IFIFO || type == S_IFSOCK);
}

static void set_attr(struct inode *inode, const struct image_attr *a)
{
	inode->mode = (inode->mode & S_IFMT) | (a->mode & 07777);
	inode->uid = a->uid;
	inode->gid = a->gid;
	inode->atime = a->atime;
	inode->mtime = a->mtime;
	inode->ctime = a->ctime;
	inode->btime = a->btime;
	if (S_ISDIR(inode->mode))
		inode->nlink = MAX(a->nlink, 2u);
}

/* The last node has all that it will get. */
static int complete(struct tree_load *l)
{
	struct inode *inode = l->current;
	int r = 0;

	l->current = NULL;
	if (!inode || S_ISDIR(inode->mode))
		return 0;
	if (S_ISREG(inode->mode) && tree_node(inode)->storage != TREE_LOWER &&
	    inode->size != l->attr.size)
		r = tree_truncate(inode, l->attr.size);
	set_attr(inode, &l->attr);
	return r;
}

/* Something that was there at the start and stays: directories, and devices, for what they stand for. */
static bool is_same(const struct inode *old, const struct image_record *r)
{
	uint32_t type = old->mode & S_IFMT;

	if (r->root || type != (r->attr.mode & S_IFMT) || tree_node(old)->ref.kind != HOST_REF_NONE)
		return false;
	return type == S_IFDIR ||
	       ((type == S_IFCHR || type == S_IFBLK) && old->rdev == r->attr.rdev);
}

/* ---- names ---- */

/* The entry of a name in the open directory, made if there is none. */
static int take_name(struct tree_load *l, const char *name, struct tree_entry **ret)
{
	if (!l->depth || !tree_image_name(name))
		return -EPROTO;
	struct inode *dir = open_dir(l);
	struct tree_entry *e = tree_entry_find(dir, qstr_of(name));
	if (e && e->loaded)
		return -EPROTO;
	if (!e)
		e = tree_entry_add(dir, qstr_of(name));
	if (!e)
		return -ENOMEM;
	e->loaded = true;
	*ret = e;
	return 0;
}

static int remember_link(struct tree_load *l, uint32_t number, struct inode *inode)
{
	if (number != l->link_count + 1 || (inode && S_ISDIR(inode->mode)))
		return -EPROTO;
	int r = karray_reserve(&l->links, l->link_count, &l->link_capacity, sizeof(struct inode *));
	if (r < 0)
		return r;
	l->links[l->link_count++] = inode ? inode_get(inode) : NULL;
	return 0;
}

/* What the image does not name has been removed. */
static void remove_unnamed(struct inode *dir)
{
	struct tree_dir *d = tree_node(dir)->dir;
	struct tree_entry *e, *next;

	if (!d)
		return;
	list_for_each_safe(e, next, &d->order, order) {
		if (!e->loaded)
			tree_entry_remove(dir, e);
	}
}

/* ---- records ---- */

static int load_begin(struct tree_load *l, const struct image_record *r)
{
	if (l->begun || r->version != IMAGE_VERSION)
		return -EPROTO;
	l->begun = true;
	return 0;
}

static struct superblock *find_mount(const char *where)
{
	static char path[PATH_MAX];
	struct mount *m;

	list_for_each(m, mount_list(), link) {
		if (!tree_is_saved(m))
			continue;
		if (path_format((struct path){ m, m->root }, root_path(), path, sizeof(path)) > 0 &&
		    strcmp(path, where) == 0)
			return m->sb;
	}
	return NULL;
}

static int load_mount(struct tree_load *l, const struct image_record *r)
{
	if (l->depth || l->root_due)
		return -EPROTO;
	struct superblock *sb = find_mount(r->name);
	struct tree_sb *tsb = sb ? sb->priv : NULL;
	if (tsb && tsb->loaded)
		return -EPROTO;
	if (tsb)
		tsb->loaded = true;
	l->skip = !sb;
	l->root_due = sb != NULL;
	l->sb = sb;
	return 0;
}

static int load_root(struct tree_load *l, const struct image_record *r)
{
	struct inode *root = l->sb->root->inode;

	if (*r->name || r->link || !S_ISDIR(r->attr.mode))
		return -EPROTO;
	l->root_due = false;
	l->current = root;
	return push(l, root, &r->attr);
}

static int name_node(struct tree_load *l, const struct image_record *r, struct tree_entry *e)
{
	struct inode *inode = NULL;
	bool reuse = e->kind == TREE_ENTRY_INODE && is_same(e->inode, r);
	int err = reuse ? 0 : tree_image_make(l, r, &inode);

	if (err == -ENOENT) {
		l->missing++;
		tree_entry_set(e, NULL);
		return r->link ? remember_link(l, r->link, NULL) : 0;
	}
	if (err < 0)
		return err;
	if (!reuse)
		tree_entry_set(e, inode);
	l->current = e->inode;
	if (r->link)
		err = remember_link(l, r->link, e->inode);
	return err == 0 && S_ISDIR(e->inode->mode) ? push(l, e->inode, &r->attr) : err;
}

static int load_node(struct tree_load *l, const struct image_record *r)
{
	struct tree_entry *e;

	if (!is_type(r->attr.mode))
		return -EPROTO;
	l->attr = r->attr;
	if (l->root_due)
		return load_root(l, r);
	int err = take_name(l, r->name, &e);
	return err < 0 ? err : name_node(l, r, e);
}

static int load_link(struct tree_load *l, const struct image_record *r)
{
	struct tree_entry *e;

	if (r->link == 0 || r->link > l->link_count)
		return -EPROTO;
	struct inode *inode = l->links[r->link - 1];
	int err = take_name(l, r->name, &e);
	if (err < 0)
		return err;
	if (!inode || inode->sb != l->sb) {
		tree_entry_set(e, NULL);
		return inode ? -EPROTO : 0;
	}
	if (inode->nlink == UINT32_MAX)
		return -EMLINK;
	if (!limit_charge(LIMIT_DISK_INODES, 1))
		return -ENOSPC;
	tree_node(inode)->charged_links++;
	inode->nlink++;
	tree_entry_set(e, inode_get(inode));
	return 0;
}

static int load_whiteout(struct tree_load *l, const struct image_record *r)
{
	struct tree_entry *e;
	int err = take_name(l, r->name, &e);

	if (err == 0)
		tree_entry_set(e, NULL);
	return err;
}

static int load_graft(struct tree_load *l, const struct image_record *r)
{
	struct tree_entry *e;
	int err = take_name(l, r->name, &e);

	if (err < 0)
		return err;
	const struct tree_graft *g = tree_image_graft(l, r->root, r->path, true);
	if (!g) {
		l->missing++;
		tree_entry_set(e, NULL);
		return 0;
	}
	char *path = kstrdup(g->path);
	if (!path)
		return -ENOMEM;
	tree_entry_graft(e, g->root, path);
	return 0;
}

static int load_xattr(struct tree_load *l, const struct image_record *r)
{
	if (!l->current)
		return 0; /* of what is missing */
	if (!*r->name || strlen(r->name) > XATTR_NAME_MAX)
		return -EPROTO;
	int err = tree_setxattr(l->current, r->name, r->data, r->length, 0);
	return err == -EPERM || err == -EOPNOTSUPP || err == -E2BIG ? -EPROTO : err;
}

static int load_data(struct tree_load *l, const struct image_record *r)
{
	struct inode *inode = l->current;
	uint64_t pos = r->number;
	struct uio u;

	if (!inode)
		return 0;
	if (!S_ISREG(inode->mode) || tree_node(inode)->storage == TREE_LOWER ||
	    pos > l->attr.size || r->length > l->attr.size - pos)
		return -EPROTO;
	uio_kernel(&u, (void *)(uintptr_t)r->data, r->length); /* which a write only reads */
	while (u.resid > 0) {
		ssize_t n = tree_write(inode, &u, pos);
		if (n <= 0)
			return n < 0 ? (int)n : -EIO;
		pos += (uint64_t)n;
	}
	return 0;
}

static int load_up(struct tree_load *l, const struct image_record *r)
{
	(void)r;
	if (!l->depth)
		return -EPROTO;
	struct load_frame *f = &l->frames[--l->depth];
	remove_unnamed(f->dir);
	set_attr(f->dir, &f->attr);
	inode_put(f->dir);
	return 0;
}

static int load_end(struct tree_load *l, const struct image_record *r)
{
	return l->depth || l->root_due || r->number != l->records ? -EPROTO : 1;
}

static const struct {
	int (*load)(struct tree_load *l, const struct image_record *r);
	bool of_node;  /* belongs to the last NODE */
	bool of_mount; /* belongs to a MOUNT */
} rows[] = {
	[IMAGE_BEGIN] = { load_begin, false, false },
	[IMAGE_MOUNT] = { load_mount, false, false },
	[IMAGE_NODE] = { load_node, false, true },
	[IMAGE_LINK] = { load_link, false, true },
	[IMAGE_WHITEOUT] = { load_whiteout, false, true },
	[IMAGE_GRAFT] = { load_graft, false, true },
	[IMAGE_XATTR] = { load_xattr, true, true },
	[IMAGE_DATA] = { load_data, true, true },
	[IMAGE_UP] = { load_up, false, true },
	[IMAGE_END] = { load_end, false, false },
};

int tree_load_record(struct tree_load *l, const struct image_record *r)
{
	int err = 0;

	if (l->begun == (r->type == IMAGE_BEGIN))
		return -EPROTO;
	if (rows[r->type].of_mount && (l->root_due ? r->type != IMAGE_NODE : !l->sb && !l->skip))
		return -EPROTO;
	if (!rows[r->type].of_node)
		err = complete(l);
	if (err == 0 && !(rows[r->type].of_mount && l->skip))
		err = rows[r->type].load(l, r);
	l->records++;
	return err;
}

void tree_load_end(struct tree_load *l)
{
	for (uint32_t i = 0; i < l->link_count; i++)
		inode_put(l->links[i]);
	while (l->depth)
		inode_put(l->frames[--l->depth].dir);
	kfree(l->links);
	kfree(l->frames);
	*l = (struct tree_load){ 0 };
	while (dentry_shrink(UINT32_MAX) > 0) /* what was found before the image */
		;
}
