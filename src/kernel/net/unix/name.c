/*
 * Addresses of unix sockets: files, abstract names, autobind.
 *
 * A bound path is an S_IFSOCK inode made through the VFS; inode->object leads to the socket for as
 * long as it lives, and the socket holds the path. Unlinking the file only takes the name away.
 * Abstract names live in a hash table.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/core/hash.h"
#include "kernel/fs/notify.h"
#include "kernel/fs/path.h"
#include "kernel/fs/vfs.h"
#include "kernel/net/unix/unix.h"
#include "kernel/task/cred.h"
#include "kernel/task/task.h"

#define AUTOBIND_TRIES 4096

/* ---- parsing and showing ---- */

struct parsed {
	bool abstract;
	uint16_t size; /* bytes of sun_path that count; a path includes its NUL */
	char name[UNIX_NAME_MAX + 1];
};

static int parse(const void *addr, socklen_t size, struct parsed *ret)
{
	const struct sockaddr_un *sun = addr;

	if (size <= UNIX_PATH_OFFSET || size > sizeof(*sun) || sun->sun_family != AF_UNIX)
		return -EINVAL;
	size_t n = size - UNIX_PATH_OFFSET;
	memset(ret->name, 0, sizeof(ret->name));
	memcpy(ret->name, sun->sun_path, n);
	ret->abstract = !ret->name[0];
	ret->size = (uint16_t)(ret->abstract ? n : strlen(ret->name) + 1);
	return 0;
}

socklen_t unix_put_name(const struct unix_sock *u, struct sockaddr_storage *ret)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };

	if (u->name_size > sizeof(sun.sun_path)) {
		/* A path of 108 bytes has its NUL behind the structure, as on Linux. */
		memcpy((char *)ret + UNIX_PATH_OFFSET, u->name, u->name_size);
		memcpy(ret, &sun.sun_family, sizeof(sun.sun_family));
		return (socklen_t)(UNIX_PATH_OFFSET + u->name_size);
	}
	memcpy(sun.sun_path, u->name, u->name_size);
	memcpy(ret, &sun, sizeof(sun));
	return (socklen_t)(UNIX_PATH_OFFSET + u->name_size);
}

int unix_name_of(struct socket *s, bool peer, struct sockaddr_storage *ret, socklen_t *size)
{
	struct unix_sock *u = unix_sock(s);

	if (peer && !u->peer)
		return -ENOTCONN;
	*size = unix_put_name(peer ? u->peer : u, ret);
	return 0;
}

/* ---- abstract names ---- */

/* Each socket type has names of its own. */
static struct list *bucket_of(const char *name, uint16_t size)
{
	uint32_t h = hash_bytes(name, size, 0);
	return &unix_root()->abstract[h % ARRAY_SIZE(unix_root()->abstract)];
}

static struct unix_sock *find_abstract(const char *name, uint16_t size, int type)
{
	struct unix_sock *u;
	list_for_each(u, bucket_of(name, size), hash_link)
		if (u->sk.type == type && u->name_size == size && !memcmp(u->name, name, size))
			return u;
	return NULL;
}

static int bind_abstract(struct unix_sock *u, const char *name, uint16_t size)
{
	if (find_abstract(name, size, u->sk.type))
		return -EADDRINUSE;
	memcpy(u->name, name, size);
	u->name_size = size;
	list_add_tail(bucket_of(name, size), &u->hash_link);
	return 0;
}

int unix_autobind(struct unix_sock *u)
{
	char name[8];

	if (u->name_size)
		return 0;
	/* Linux: five hexadecimal digits behind a NUL. Nobody knows which come next, so nobody can
	 * have taken them all. */
	for (uint32_t tries = 0; tries < AUTOBIND_TRIES; tries++) {
		uint32_t id = unix_root()->next_autobind++;
		id = hash_bytes(&id, sizeof(id), 0) & 0xfffff;
		snprintf(name + 1, sizeof(name) - 1, "%05x", id);
		name[0] = '\0';
		if (bind_abstract(u, name, 6) == 0)
			return 0;
	}
	return -ENOSPC;
}

/* ---- paths ---- */

static int make_node(struct task *t, const struct unix_sock *u, struct path parent,
		     const struct last_name *last, struct dentry **ret)
{
	struct inode *dir = parent.dentry->inode;
	struct qstr name = { last->name, last->length };

	int err = dentry_lookup(t, parent.dentry, name, ret);
	if (err)
		return err;
	if ((*ret)->inode)
		err = -EADDRINUSE;
	else if (last->trailing_slash)
		err = -ENOENT;
	else if (u->name_size) /* Linux finds out only after looking at the path */
		err = -EINVAL;
	else
		err = path_permission(t, parent, W_OK | X_OK);
	if (!err) {
		uint32_t mode = S_IFSOCK | (0777 & ~t->fs->umask);
		uint32_t gid = dir->mode & S_ISGID ? dir->gid : t->cred->fsgid;
		err = inode_ops(dir)->mknod ?
			      inode_ops(dir)->mknod(dir, *ret, mode, t->cred->fsuid, gid, 0) :
			      -EPERM;
	}
	if (err) {
		dentry_put(*ret);
		return err;
	}
	notify_child(dir, last->name, IN_CREATE, 0);
	return 0;
}

static int bind_path(struct task *t, struct unix_sock *u, const struct parsed *p)
{
	struct path parent;
	struct last_name last;
	struct dentry *node;

	int err = path_lookup_parent(t, AT_FDCWD, p->name, 0, &parent, &last);
	if (err)
		return err;
	err = last.dot ? -EADDRINUSE : make_node(t, u, parent, &last, &node);
	if (!err) {
		u->bound = path_get((struct path){ parent.mnt, node });
		dentry_put(node);
		node->inode->object = u;
		memcpy(u->name, p->name, sizeof(u->name));
		u->name_size = p->size;
	}
	path_put(&parent);
	return err;
}

int unix_bind(struct call *c, struct socket *s, const void *addr, socklen_t size)
{
	struct unix_sock *u = unix_sock(s);
	struct parsed p;

	if (size == UNIX_PATH_OFFSET && ((const struct sockaddr *)addr)->sa_family == AF_UNIX)
		return unix_autobind(u);
	int err = parse(addr, size, &p);
	if (err)
		return err;
	if (u->name_size && p.abstract)
		return -EINVAL;
	return p.abstract ? bind_abstract(u, p.name, p.size) : bind_path(c->task, u, &p);
}

void unix_unbind(struct unix_sock *u)
{
	list_del(&u->hash_link);
	if (!u->bound.dentry)
		return;
	struct inode *inode = u->bound.dentry->inode;
	if (inode && inode->object == u)
		inode->object = NULL;
	path_put(&u->bound);
}

static int find_path(struct task *t, const char *name, struct unix_sock **ret)
{
	struct path p;

	int err = path_lookup(t, AT_FDCWD, name, LOOKUP_FOLLOW, &p);
	if (err)
		return err;
	struct inode *inode = p.dentry->inode;
	err = path_permission(t, p, W_OK);
	if (!err && (!S_ISSOCK(inode->mode) || !inode->object))
		err = -ECONNREFUSED;
	if (!err)
		*ret = inode->object;
	path_put(&p);
	return err;
}

int unix_find(struct task *t, const void *addr, socklen_t size, int type, struct unix_sock **ret)
{
	struct parsed p;

	int err = parse(addr, size, &p);
	if (err)
		return err;
	if (p.abstract) {
		*ret = find_abstract(p.name, p.size, type);
		if (!*ret)
			return -ECONNREFUSED;
	} else {
		err = find_path(t, p.name, ret);
		if (err)
			return err;
	}
	return (*ret)->sk.type == type ? 0 : -EPROTOTYPE;
}
