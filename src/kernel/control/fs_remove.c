/*
 * FS_REMOVE: a file, or a directory with all that is below it, a few names per turn. What cannot be
 * removed (something is mounted there, a read-only mount) is left, the rest goes, and the first such
 * error is the answer. Directories that a guest fills again meanwhile are tried a few times.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/util.h"
#include "kernel/control/control.h"
#include "kernel/control/fs_internal.h"
#include "kernel/control/op_kinds.h"
#include "kernel/control/tree_walk.h"
#include "kernel/core/arena.h"
#include "kernel/fs/namei.h"

#define NAMES_PER_STEP 16u
#define REFILLS_MAX    64u /* in the whole tree */

struct remove_op {
	struct op op;
	struct tree_walk walk;
	uint32_t refills;
	int error; /* the first */
	char path[PATH_MAX_BYTES];
};

static struct remove_op *remove_of(struct op *op)
{
	return container_of(op, struct remove_op, op);
}

void remove_release(struct op *op)
{
	tree_walk_free(&remove_of(op)->walk);
}

/* Takes `child` out of its directory: 0, or what keeps it. */
static int take_out(struct path dir, struct dentry *child)
{
	static struct namei n;

	n = (struct namei){ .dir = dir, .child = child };
	n.last.length = child->name_length;
	memcpy(n.last.name, child->name, child->name_length);
	if (child->unlinked)
		return 0; /* somebody else was faster */
	int r = namei_may_delete(NULL, dir, child);
	return r < 0 ? r : namei_remove(&n);
}

static void note(struct remove_op *op, int r)
{
	if (r < 0 && r != -ENOENT && !op->error)
		op->error = r;
}

static int remove_child(struct remove_op *op, struct path dir, struct dentry *child)
{
	if (!child->inode)
		return 0;
	if (child->mount_count > 0)
		return -EBUSY;
	if (S_ISDIR(child->inode->mode))
		return tree_walk_push(&op->walk, (struct path){ dir.mnt, child });
	return take_out(dir, child);
}

static void remove_name(struct remove_op *op, const char *name)
{
	struct path dir = tree_walk_dir(&op->walk);
	struct qstr q = { name, (uint16_t)strlen(name) };
	struct dentry *child;
	int r = dentry_lookup(NULL, dir.dentry, q, &child);

	if (r == 0) {
		r = remove_child(op, dir, child);
		dentry_put(child);
	}
	note(op, r);
}

/* All names of the innermost directory have been looked at: it goes itself. */
static void remove_directory(struct remove_op *op)
{
	struct path p = path_get(tree_walk_dir(&op->walk));

	tree_walk_pop(&op->walk);
	int r = take_out((struct path){ p.mnt, p.dentry->parent }, p.dentry);
	if (r == -ENOTEMPTY && !op->error && op->refills++ < REFILLS_MAX)
		r = tree_walk_push(&op->walk, p);
	note(op, r);
	path_put(&p);
}

enum op_result remove_step(struct op *op)
{
	struct remove_op *r = remove_of(op);

	/* Whoever watches a directory sees what happens in it before it is gone. */
	for (uint32_t i = 0; i < NAMES_PER_STEP && r->walk.depth && !(i && op_urgent()); i++) {
		const char *name = tree_walk_next(&r->walk);
		if (name)
			remove_name(r, name);
		else
			remove_directory(r);
	}
	if (r->walk.depth)
		return OP_AGAIN;
	if (r->error)
		fs_refuse(op->request, r->error, r->path);
	else
		control_done(op->request);
	return OP_END;
}

/* 1 = there is a tree to remove in slices, 0 = done. */
static int begin(struct fs_request *r, struct namei *n)
{
	struct remove_op *op = NULL;

	if (!n->child)
		return -EBUSY; /* the root */
	if (!n->child->inode)
		return 0;
	if (n->child->mount_count > 0)
		return -EBUSY;
	if (!S_ISDIR(n->child->inode->mode))
		return take_out(n->dir, n->child);
	int err = op_new(OP_REMOVE, r->request, sizeof(*op), &op);
	if (err == 0)
		err = tree_walk_push(&op->walk, (struct path){ n->dir.mnt, n->child });
	if (err < 0) {
		op_free(op ? &op->op : NULL);
		return err;
	}
	memcpy(op->path, r->path, sizeof(op->path));
	op_start(&op->op);
	return 1;
}

void fs_remove(struct fs_request *r)
{
	struct namei n;
	int err = namei_find(NULL, AT_FDCWD, r->path, &n);

	if (err == 0) {
		err = begin(r, &n);
		namei_end(&n);
	} else if (err == -ENOENT) {
		err = 0;
	}
	if (err < 0)
		fs_refuse(r->request, err, r->path);
	else if (err == 0)
		control_done(r->request);
}
