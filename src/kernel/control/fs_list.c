/*
 * FS_LIST: a directory and what is below it, depth first in lexical order, in messages of many
 * entries. Links are shown, not followed, but for the path of the request itself. What a guest
 * removes meanwhile is left out.
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
#include "kernel/fs/vfs.h"

#define ENTRIES_PER_STEP 32u
#define MESSAGE_BYTES	 (256u << 10) /* many more than the entries of one step usually take */

struct list_op {
	struct op op;
	struct tree_walk walk;
	uint32_t depth; /* levels to show */
	int error;
	uint32_t length;				/* of `path` */
	char path[PATH_MAX_BYTES + NAME_MAX_BYTES + 2]; /* of the innermost directory */
};

static struct list_op *list_of(struct op *op)
{
	return container_of(op, struct list_op, op);
}

void list_release(struct op *op)
{
	tree_walk_free(&list_of(op)->walk);
}

void fs_list(struct fs_request *r)
{
	struct list_op *l = NULL;
	struct path p;
	int err = path_lookup(NULL, AT_FDCWD, r->path, LOOKUP_FOLLOW, &p);

	if (err < 0) {
		fs_refuse(r->request, err, r->path);
		return;
	}
	if (!S_ISDIR(p.dentry->inode->mode))
		err = -ENOTDIR;
	if (err == 0)
		err = op_new(OP_LIST, r->request, sizeof(*l), &l);
	if (err == 0)
		err = tree_walk_push(&l->walk, p);
	path_put(&p);
	if (err < 0) {
		fs_refuse(r->request, err, r->path);
		op_free(l ? &l->op : NULL);
		return;
	}
	l->depth = MAX(r->wire->depth, 1u);
	l->length = r->path[1] ? (uint32_t)strlen(r->path) : 0; /* "/" ends up in front of names */
	memcpy(l->path, r->path, l->length);
	op_start(&l->op);
}

/* Leaves the innermost directory. */
static void leave(struct list_op *l)
{
	tree_walk_pop(&l->walk);
	while (l->length > 0 && l->path[--l->length] != '/')
		;
	l->path[l->length] = '\0';
}

/* A directory to show the content of? Then `path` goes on with it. */
static void enter(struct list_op *l, struct path p, uint32_t length)
{
	if (l->walk.depth >= l->depth || !S_ISDIR(p.dentry->inode->mode))
		return;
	int r = tree_walk_push(&l->walk, p);
	if (r == 0)
		l->length = length;
	else if (r != -EACCES) /* a host's directory that is closed to us is shown, not opened */
		l->error = r;
}

static void show(struct list_op *l, const char *name, struct wire_out *o, uint32_t *count)
{
	static struct wire_entry e;
	uint32_t length = l->length + 1 + (uint32_t)strlen(name), before = o->length;
	struct path p;

	if (length >= PATH_MAX_BYTES) {
		l->error = -ENAMETOOLONG;
		return;
	}
	l->path[l->length] = '/';
	memcpy(l->path + l->length + 1, name, length - l->length);
	if (fs_child(tree_walk_dir(&l->walk), name, &p) < 0)
		return;
	if (fs_entry(p, l->path, &e) == 0) {
		wire_put_entry(o, &e);
		if (o->failed) {
			o->length = before;
			l->error = -EMSGSIZE;
		} else {
			++*count;
		}
		enter(l, p, length);
	}
	path_put(&p);
}

/* Fills a message; false when there is nothing more. */
static bool collect(struct list_op *l, struct wire_out *o, uint32_t *count)
{
	const uint32_t enough = MESSAGE_BYTES / 2;

	fs_entry_begin();
	for (uint32_t i = 0; i < ENTRIES_PER_STEP && o->length < enough && !l->error; i++) {
		const char *name = tree_walk_next(&l->walk);
		if (name)
			show(l, name, o, count);
		else
			leave(l);
		if (!l->walk.depth)
			return false;
	}
	return !l->error;
}

enum op_result list_step(struct op *op)
{
	static uint8_t bytes[MESSAGE_BYTES];
	struct wire_out o = { bytes, sizeof(uint32_t), sizeof(bytes), false };
	struct list_op *l = list_of(op);
	uint32_t count = 0;

	if (control_congested())
		return OP_CONGESTED;
	bool more = collect(l, &o, &count);
	memcpy(bytes, &count, sizeof(count));
	if (count)
		control_send(WIRE_FS_ENTRIES, op->request, bytes, o.length);
	if (more)
		return OP_AGAIN;
	if (l->error)
		fs_refuse(op->request, l->error, l->path);
	else
		control_done(op->request);
	return OP_END;
}
