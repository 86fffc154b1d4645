/*
 * FS_WATCH: what happens in a directory, and with WIRE_WATCH_RECURSIVE in all below it.
 *
 * An inotify instance without a file collects the events; every directory has a watch of its own. At
 * the start the tree is walked in slices, then DONE says that nothing will be missed. A directory
 * that is made or moved in is watched before the guests' next system call (op_run_urgent()), with
 * what it has below; what is found in a new one had no watch to report it, and is reported as made.
 *
 *   watch_op --in--> struct inotify --watches--> one per directory
 *       |                  | events
 *       | walk: directories whose names are still to be looked at
 *
 * Names in events are made when the event is passed on, from where the directory is then. Directories
 * that left the tree lose their watch. Mounts inside of the tree are not entered. While the channel is
 * congested events wait in the instance; beyond its bound they are lost, as inotify(7) loses them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>

#include "base/util.h"
#include "kernel/control/control.h"
#include "kernel/control/fs_internal.h"
#include "kernel/control/op_kinds.h"
#include "kernel/control/tree_walk.h"
#include "kernel/core/arena.h"
#include "kernel/fs/inotify/inotify.h"
#include "kernel/fs/vfs.h"

#define SLICE	    64u
#define WATCHES_MAX 65536u
#define WATCH_MASK                                                                                 \
	(IN_CREATE | IN_MOVED_TO | IN_MODIFY | IN_DELETE | IN_MOVED_FROM | IN_ATTRIB |             \
	 IN_DELETE_SELF | IN_MOVE_SELF)

struct watch_op {
	struct op op;
	struct inotify *in;
	struct waiter waiter;
	struct tree_walk walk;
	uint32_t flags, watches;
	int root; /* the wd of what was asked for */
	bool armed;
	bool quiet;		   /* what the walk meets is not news */
	int error;		   /* why the tree could not be watched */
	char path[PATH_MAX_BYTES]; /* as it was asked for */
};

/* By the first bit that fits. */
static const struct {
	uint32_t mask;
	uint8_t event;
	bool entry; /* the object is there to be described */
} kinds[] = {
	{ IN_CREATE | IN_MOVED_TO, WIRE_EVENT_CREATE, true },
	{ IN_MODIFY, WIRE_EVENT_WRITE, true },
	{ IN_DELETE | IN_DELETE_SELF, WIRE_EVENT_REMOVE, false },
	{ IN_MOVED_FROM | IN_MOVE_SELF, WIRE_EVENT_RENAME, false },
	{ IN_ATTRIB, WIRE_EVENT_CHMOD, true },
};

static struct watch_op *watch_of(struct op *op)
{
	return container_of(op, struct watch_op, op);
}

void watch_release(struct op *op)
{
	struct watch_op *w = watch_of(op);

	if (w->in)
		waiter_del(&w->waiter);
	inotify_free(w->in);
	tree_walk_free(&w->walk);
}

/* ---- the tree ---- */

/* Watches a directory and, when all below it is wanted, will look at its names. */
static int add(struct watch_op *w, struct path dir)
{
	if (w->watches >= WATCHES_MAX)
		return -ENOSPC;
	int r = inotify_watch(w->in, dir, WATCH_MASK);
	if (r < 0)
		return r;
	if (!w->watches++)
		w->root = r;
	if (!(w->flags & WIRE_WATCH_RECURSIVE))
		return 0;
	r = tree_walk_push(&w->walk, dir);
	return r == -EACCES ? 0 : r; /* a host's directory that is closed to us has no news */
}

/* Is `dir` in the tree? No reference is held on the root: its end has to be seen. */
static bool inside(struct watch_op *w, struct path dir, struct path *ret_root)
{
	return inotify_watched(w->in, w->root, ret_root) && dir.mnt == ret_root->mnt &&
	       dentry_is_below(dir.dentry, ret_root->dentry);
}

/* Name of `name` in `dir` relative to the root; "." for the root itself. False: it is outside. */
static bool relative(struct watch_op *w, struct path dir, const char *name, char *dst, size_t size)
{
	struct path root;
	char *at = dst;

	if (!inside(w, dir, &root))
		return false;
	if (!path_equal(dir, root)) {
		ssize_t n = path_format(dir, root, dst, size);
		if (n < 1 || (size_t)n + strlen(name) + 2 > size)
			return false;
		memmove(dst, dst + 1, (size_t)n); /* without the slash in front */
		at += n - 1;
		if (*name)
			*at++ = '/';
	}
	snprintf(at, size - (size_t)(at - dst), "%s", at == dst && !*name ? "." : name);
	return true;
}

static void describe(struct watch_op *w, struct path dir, const char *name, struct wire_fs_event *e)
{
	static char path[2 * PATH_MAX_BYTES];
	struct path p;
	int r = 0;

	if (*name)
		r = fs_child(dir, name, &p);
	else
		p = path_get(dir);
	if (r < 0)
		return;
	snprintf(path, sizeof(path), "%s/%s", w->path[1] ? w->path : "", e->name);
	fs_entry_begin();
	e->has_entry = fs_entry(p, strcmp(e->name, ".") ? path : w->path, &e->entry) == 0;
	path_put(&p);
}

/* dir: NULL = the end of the root, which has no path any more. */
static void report(struct watch_op *w, uint32_t mask, const struct path *dir, const char *name)
{
	static struct wire_fs_event e;
	static uint8_t bytes[FS_ENTRY_BYTES + 2 * PATH_MAX_BYTES];
	static char relative_name[PATH_MAX_BYTES];
	struct wire_out o = { bytes, 0, sizeof(bytes), false };
	size_t kind = 0;

	while (kind < ARRAY_SIZE(kinds) && !(kinds[kind].mask & mask))
		kind++;
	if (kind == ARRAY_SIZE(kinds) ||
	    (dir && !relative(w, *dir, name, relative_name, sizeof(relative_name))))
		return;
	e.event = kinds[kind].event;
	e.name = dir ? relative_name : ".";
	e.has_entry = false;
	if (dir && (w->flags & WIRE_WATCH_ENTRY) && kinds[kind].entry)
		describe(w, *dir, name, &e);
	wire_put_fs_event(&o, &e);
	if (!o.failed)
		control_send(WIRE_FS_EVENT, w->op.request, bytes, o.length);
}

/* The next name of a directory that is looked at. */
static int visit(struct watch_op *w, const char *name)
{
	struct path dir = tree_walk_dir(&w->walk), child = { .mnt = dir.mnt };
	int r = dentry_lookup(NULL, dir.dentry, (struct qstr){ name, (uint16_t)strlen(name) },
			      &child.dentry);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	struct inode *inode = child.dentry->inode;
	if (inode && !w->quiet)
		report(w, IN_CREATE, &dir, name);
	if (inode && S_ISDIR(inode->mode) && !child.dentry->mount_count)
		r = add(w, child);
	path_put(&child);
	return r;
}

/* Up to `budget` names; true when all have been looked at. */
static bool look(struct watch_op *w, uint32_t *budget)
{
	while (w->walk.depth && *budget && !w->error) {
		const char *name = tree_walk_next(&w->walk);
		--*budget;
		if (name)
			w->error = visit(w, name);
		else
			tree_walk_pop(&w->walk);
	}
	return !w->walk.depth;
}

/* ---- events ---- */

/* A directory came into the tree. */
static void directory_came(struct watch_op *w, struct path dir, const struct inotify_got *got)
{
	struct path child;

	if (!(w->flags & WIRE_WATCH_RECURSIVE) || fs_child(dir, got->name, &child) < 0)
		return;
	if (S_ISDIR(child.dentry->inode->mode) && child.mnt == dir.mnt) {
		w->quiet = got->mask & IN_MOVED_TO; /* what moved here was made elsewhere */
		(void)add(w, child); /* beyond the limits new directories stay unwatched */
	}
	path_put(&child);
}

static void handle(struct watch_op *w, const struct inotify_got *got)
{
	struct path dir, root;

	if (!inotify_watched(w->in, got->wd, &dir)) {
		/* The end of what was watched; of others their parent tells. */
		if ((got->mask & IN_DELETE_SELF) && got->wd == w->root)
			report(w, got->mask, NULL, "");
		return;
	}
	if (!inside(w, dir, &root)) {
		inotify_unwatch(w->in, got->wd);
		w->watches--;
		return;
	}
	/* What a directory below the root says about itself its parent says, too. */
	if (!got->name[0] && got->wd != w->root)
		return;
	report(w, got->mask, &dir, got->name);
	if ((got->mask & (IN_CREATE | IN_MOVED_TO)) && (got->mask & IN_ISDIR))
		directory_came(w, dir, got);
}

/* As many events as one turn may take: true when none is left. */
static bool pass_on(struct watch_op *w, uint32_t budget)
{
	struct inotify_got got;

	/* A new directory is looked at before the next event, which may be about its content. */
	while (look(w, &budget) && budget > 0) {
		if (!inotify_next(w->in, &got))
			return true;
		handle(w, &got);
		budget--;
	}
	w->error = 0; /* new directories beyond the limits stay unwatched */
	return false;
}

static enum op_result arm(struct watch_op *w)
{
	uint32_t budget = SLICE;

	if (!look(w, &budget) && !w->error)
		return OP_AGAIN;
	if (w->error) {
		fs_refuse(w->op.request, w->error, w->path);
		return OP_END;
	}
	w->armed = true;
	control_done(w->op.request);
	return OP_AGAIN; /* for what happened meanwhile */
}

enum op_result watch_step(struct op *op)
{
	struct watch_op *w = watch_of(op);

	if (control_congested())
		return OP_CONGESTED;
	if (!w->armed)
		return arm(w);
	return pass_on(w, SLICE) ? OP_WAIT : OP_AGAIN;
}

static int watch_new(struct fs_request *r, struct path dir)
{
	struct watch_op *w;
	int err = op_new(OP_WATCH, r->request, sizeof(*w), &w);

	if (err < 0)
		return err;
	w->flags = r->wire->flags;
	w->quiet = true;
	memcpy(w->path, r->path, sizeof(w->path));
	w->in = inotify_new();
	err = w->in ? 0 : -ENOMEM;
	if (err == 0) {
		op_wait_on(&w->op, &w->waiter, inotify_queue(w->in));
		err = add(w, dir);
	}
	if (err < 0) {
		op_free(&w->op);
		return err;
	}
	op_start(&w->op);
	return 0;
}

void fs_watch(struct fs_request *r)
{
	struct path dir;
	int err = path_lookup(NULL, AT_FDCWD, r->path, LOOKUP_FOLLOW, &dir);

	if (err == 0) {
		err = S_ISDIR(dir.dentry->inode->mode) ? watch_new(r, dir) : -ENOTDIR;
		path_put(&dir);
	}
	if (err < 0)
		fs_refuse(r->request, err, r->path);
}
