/*
 * Files for those outside of the sandbox: requests of the control channel that are done at once, and
 * what all of them have in common. Long ones are in fs_list.c, fs_remove.c, transfer.c and watch.c.
 *
 * The access is the kernel's own, as that of a daemon that runs as root: no permission bits, but the
 * rules of mounts. The user of a request decides where "~" and relative paths begin and who owns what
 * is made. A guest can change any name between two steps, and gains nothing by it: whatever a path
 * leads to is the sandbox's.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>

#include "base/util.h"
#include "kernel/control/control.h"
#include "kernel/control/fs_internal.h"
#include "kernel/control/requests.h"
#include "kernel/control/spawn_internal.h"
#include "kernel/fs/namei.h"
#include "kernel/fs/notify.h"
#include "kernel/host/channel_host.h"
#include "wire/channel.h"

void fs_refuse(uint32_t request, int error, const char *path)
{
	control_error(request, -error, WIRE_ABOUT_PATH, path);
}

/* ---- steps ---- */

int fs_child(struct path dir, const char *name, struct path *ret)
{
	struct walk w = { .root = root_path(),
			  .cur = path_get(dir),
			  .rest = "",
			  .last = { name, (uint16_t)strlen(name) } };
	int r = walk_last(&w, false);

	if (r < 0)
		walk_end(&w);
	else
		*ret = w.cur;
	return r;
}

int fs_make(struct path dir, const char *name, uint32_t mode, uint32_t uid, uint32_t gid,
	    struct path *ret)
{
	struct inode *inode = dir.dentry->inode;
	struct dentry *child;
	int r = dentry_lookup(NULL, dir.dentry, (struct qstr){ name, (uint16_t)strlen(name) },
			      &child);

	if (r < 0)
		return r;
	if (child->inode)
		r = -EEXIST;
	if (r == 0)
		r = namei_may_create(NULL, dir);
	if (r == 0)
		r = inode_ops(inode)->mknod
			    ? inode_ops(inode)->mknod(inode, child, mode, uid, gid, 0)
			    : -EPERM;
	if (r == 0) {
		notify_child(inode, child->name, IN_CREATE | (S_ISDIR(mode) ? IN_ISDIR : 0), 0);
		*ret = path_get((struct path){ dir.mnt, child });
	}
	dentry_put(child);
	return r;
}

int fs_set_owner(struct path p, uint32_t uid, uint32_t gid)
{
	const struct iattr attr = { .valid = ATTR_UID | ATTR_GID, .uid = uid, .gid = gid };
	struct inode *inode = p.dentry->inode;

	if (inode->uid == uid && inode->gid == gid)
		return 0;
	int r = inode_ops(inode)->setattr ? inode_ops(inode)->setattr(inode, &attr) : -EPERM;
	if (r == 0)
		notify_dentry(p.dentry, IN_ATTRIB);
	return r;
}

/* Directory `path`, of which the first `length` bytes are to be there. */
static int find_directory(char *path, size_t length, struct path *ret)
{
	char cut = path[length];

	path[length] = '\0';
	int r = path_lookup(NULL, AT_FDCWD, length ? path : "/", LOOKUP_FOLLOW | LOOKUP_DIRECTORY,
			    ret);
	path[length] = cut;
	return r;
}

/* Makes the directories that path[from..to) names below `dir`, whose reference is used up. */
static int make_below(struct path dir, char *path, size_t from, size_t to, const struct user *u)
{
	int r = 0;

	while (r == 0 && from < to) {
		struct path made;
		size_t length = strcspn(path + from + 1, "/");
		char cut = path[from + 1 + length];
		path[from + 1 + length] = '\0';
		if (length > NAME_MAX_BYTES)
			r = -ENAMETOOLONG;
		else
			r = fs_make(dir, path + from + 1, S_IFDIR | 0755, u->uid, u->gid, &made);
		/* What lies there is no directory: a dangling link. */
		r = r == -EEXIST ? -ENOTDIR : r;
		path[from + 1 + length] = cut;
		from += 1 + length;
		path_put(&dir);
		if (r == 0)
			dir = made;
	}
	path_put(&dir);
	return r;
}

static int make_directories(const char *path, size_t length, const struct user *u)
{
	static char copy[PATH_MAX_BYTES];
	size_t there = length;
	struct path dir;
	int r;

	memcpy(copy, path, length);
	copy[length] = '\0';
	while ((r = find_directory(copy, there, &dir)) == -ENOENT && there > 0) {
		while (copy[--there] != '/')
			;
	}
	return r < 0 ? r : make_below(dir, copy, there, length, u);
}

int fs_make_parents(const char *path, const struct user *u)
{
	return make_directories(path, (size_t)(strrchr(path, '/') - path), u);
}

/* ---- requests ---- */

static void stat_request(struct fs_request *r)
{
	struct path p;
	int err = path_lookup(NULL, AT_FDCWD, r->path, 0, &p);

	if (err < 0) {
		fs_refuse(r->request, err, r->path);
		return;
	}
	fs_send_entry(r->request, p, r->path);
	path_put(&p);
}

static void make_dir_request(struct fs_request *r)
{
	struct path p;
	int err = path_lookup(NULL, AT_FDCWD, r->path, LOOKUP_FOLLOW, &p);

	if (err == 0) {
		err = S_ISDIR(p.dentry->inode->mode) ? -EEXIST : -ENOTDIR;
		path_put(&p);
	} else if (err == -ENOENT) {
		err = make_directories(r->path, strlen(r->path), &r->user);
	}
	if (err < 0)
		fs_refuse(r->request, err, r->path);
	else
		stat_request(r);
}

static int rename_to(struct namei *from, const char *destination, const struct user *u)
{
	struct namei to;

	if (!from->child || !from->child->inode)
		return from->child ? -ENOENT : -EBUSY;
	int r = fs_make_parents(destination, u);
	if (r == 0)
		r = namei_find(NULL, AT_FDCWD, destination, &to);
	if (r < 0)
		return r;
	r = namei_rename(NULL, from, &to, 0);
	namei_end(&to);
	return r;
}

static void move_request(struct fs_request *r)
{
	static char destination[PATH_MAX_BYTES];
	struct namei from;
	int err = home_path(r->user.home, r->wire->destination, destination, sizeof(destination));

	if (err < 0) {
		fs_refuse(r->request, err, r->wire->destination);
		return;
	}
	err = namei_find(NULL, AT_FDCWD, r->path, &from);
	if (err == 0) {
		err = rename_to(&from, destination, &r->user);
		namei_end(&from);
	}
	if (err < 0) {
		fs_refuse(r->request, err, r->path);
		return;
	}
	memcpy(r->path, destination, sizeof(destination));
	stat_request(r);
}

/* By type; the ones that take a descriptor need exactly one. */
static const struct {
	void (*serve)(struct fs_request *r);
	bool descriptor;
} requests[] = {
	[WIRE_FS_STAT] = { stat_request, false },
	[WIRE_FS_LIST] = { fs_list, false },
	[WIRE_FS_MAKE_DIR] = { make_dir_request, false },
	[WIRE_FS_MOVE] = { move_request, false },
	[WIRE_FS_REMOVE] = { fs_remove, false },
	[WIRE_FS_READ] = { fs_read, true },
	[WIRE_FS_WRITE] = { fs_write, true },
	[WIRE_FS_WATCH] = { fs_watch, false },
};

static bool resolve(struct fs_request *r)
{
	int err = user_resolve(NULL, r->wire->user, spawn_default_user(), &r->user);

	if (err < 0) {
		control_error(r->request, -err, WIRE_ABOUT_USER, r->wire->user);
		return false;
	}
	err = home_path(r->user.home, r->wire->path, r->path, sizeof(r->path));
	if (err < 0)
		fs_refuse(r->request, err, r->wire->path);
	return err == 0;
}

bool fs_message(const struct message *m, struct wire_in *in)
{
	static struct fs_request r; /* too big for the stack; requests do not nest */
	static struct wire_fs wire;
	uint32_t type = m->header.type;

	if (!wire_get_fs(in, type, &wire) || !wire_in_end(in))
		return false;
	if (m->fd_count != (requests[type].descriptor ? 1 : 0))
		return false;
	r.request = m->header.request;
	r.wire = &wire;
	r.fd = m->fd_count ? m->fds[0] : -EBADF;
	if (resolve(&r))
		requests[type].serve(&r);
	else if (r.fd >= 0)
		host_close(r.fd);
	return true;
}
