/*
 * Theory of operation
 *
 *   DIR/                         the caller's choice
 *     hotcell-<pid>-<n>/         0700, the caller's own; locked (flock) while the run lasts
 *       data/                    what the kernel process gets: files with numbers for names
 *
 * Who is who: for an unprivileged caller everything is its own. When root starts a sandbox, `data`
 * belongs to the sandbox's outside identity, handed over as a detached mount so that no way to it has
 * to be open to that identity. Nothing in it ever belongs to root, and the directory around it,
 * which the kernel process does not have, is closed to everybody: a set-user-id program that a
 * broken kernel process made could be reached by nobody.
 *
 * End: the launcher removes it. A launcher that was killed could not; its lock is gone with it, and
 * the next run with the same DIR that gets the lock removes the rest. The lock, not the process id,
 * says who is alive: ids mean nothing across pid namespaces. A sweeper and a starting launcher
 * cannot harm each other: whoever has the lock checks that the name still leads to what it locked.
 *
 * Removal does not trust what it finds (a broken kernel process could have made anything): no symlink
 * is followed, nothing recurses: the content of a directory moves up, then the directory goes.
 */
#include "launch/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"

#define DATA "data"
#define PREFIX "hotcell-"
#define TRIES 1000
#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* ---- removing ---- */

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Opens a subdirectory whatever its mode says. */
static int open_any_mode(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, OPEN_DIRECTORY);
	if (fd >= 0 || errno != EACCES)
		return fd;
	AUTO_CLOSE int path = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char link[40];
	if (path < 0)
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", path);
	return chmod(link, 0700) < 0 ? -1 : openat(dir_fd, name, OPEN_DIRECTORY);
}

/* Reads a directory; takes over the descriptor. NULL when that is none. */
static DIR *names_of(int fd)
{
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d && fd >= 0)
		close(fd);
	return d;
}

/* Moves everything in dir_fd/name to dir_fd, under new names; true = something was moved. */
static bool flatten(int dir_fd, const char *name)
{
	static unsigned long counter;
	int fd = open_any_mode(dir_fd, name);
	DIR *d = names_of(fd);
	bool moved = false;
	struct dirent *e;
	if (!d)
		return false;
	while ((e = readdir(d))) {
		char name_up[40];
		snprintf(name_up, sizeof(name_up), "moved-%lu", counter++);
		if (!is_dot(e->d_name))
			moved |= renameat(fd, e->d_name, dir_fd, name_up) == 0;
	}
	closedir(d);
	return moved;
}

/* One look at each name, as far as the budget goes; true = something went away or was moved up. */
static bool empty_once(int dir_fd, unsigned int *budget)
{
	/* A second open file: its position starts at the first name. */
	int fd = openat(dir_fd, ".", OPEN_DIRECTORY);
	DIR *d = names_of(fd);
	bool progress = false;
	struct dirent *e;
	if (!d)
		return false;
	while (*budget > 0 && (e = readdir(d))) {
		if (is_dot(e->d_name))
			continue;
		--*budget;
		if (unlinkat(fd, e->d_name, 0) == 0) {
			progress = true;
		} else if (errno == EISDIR || errno == EPERM) {
			if (unlinkat(fd, e->d_name, AT_REMOVEDIR) < 0 &&
			    (errno == ENOTEMPTY || errno == EEXIST))
				progress |= flatten(fd, e->d_name);
			progress |= unlinkat(fd, e->d_name, AT_REMOVEDIR) == 0 || errno == ENOENT;
		}
	}
	closedir(d);
	return progress;
}

/* Removes parent_fd/name, whose descriptor is dir_fd; false = the budget was not enough. */
static bool remove_tree(int parent_fd, const char *name, int dir_fd, unsigned int budget)
{
	AUTO_CLOSE int data = open_any_mode(dir_fd, DATA);
	while (data >= 0 && budget > 0 && empty_once(data, &budget))
		;
	if (data >= 0 && budget == 0)
		return false;
	(void)unlinkat(dir_fd, DATA, AT_REMOVEDIR);
	(void)unlinkat(parent_fd, name, AT_REMOVEDIR);
	return true;
}

bool store_try_remove(struct store *s, unsigned int budget)
{
	if (s->lock_fd >= 0) {
		if (!remove_tree(s->parent_fd, s->name, s->lock_fd, budget))
			return false;
		close(s->lock_fd);
	}
	if (s->parent_fd >= 0)
		close(s->parent_fd);
	*s = STORE_NONE;
	return true;
}

void store_remove(struct store *s)
{
	(void)store_try_remove(s, UINT_MAX);
}

/* ---- the lock ---- */

/* Opens and locks our own directory parent_fd/name; -EBUSY when somebody else has it. */
static int lock_directory(int parent_fd, const char *name, int *ret_fd)
{
	struct stat locked, named;
	AUTO_CLOSE int fd = openat(parent_fd, name, OPEN_DIRECTORY);
	if (fd < 0)
		return errno == ENOENT ? -EBUSY : -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	if (fstat(fd, &locked) < 0 || locked.st_uid != geteuid())
		return -EPERM;
	if (fstatat(parent_fd, name, &named, AT_SYMLINK_NOFOLLOW) < 0 ||
	    named.st_ino != locked.st_ino || named.st_dev != locked.st_dev)
		return -EBUSY;
	*ret_fd = take_fd(&fd);
	return 0;
}

static bool is_store_name(const char *name)
{
	int pid, n, end = 0;
	return sscanf(name, PREFIX "%d-%d%n", &pid, &n, &end) == 2 && name[end] == '\0';
}

void store_sweep(int parent_fd)
{
	int own = openat(parent_fd, ".", OPEN_DIRECTORY);
	DIR *d = own < 0 ? NULL : fdopendir(own);
	struct dirent *e;
	if (!d) {
		if (own >= 0)
			close(own);
		return;
	}
	while ((e = readdir(d))) {
		int fd;
		if (!is_store_name(e->d_name) || lock_directory(parent_fd, e->d_name, &fd) < 0)
			continue;
		(void)remove_tree(parent_fd, e->d_name, fd, UINT_MAX);
		close(fd);
	}
	closedir(d);
}

/* ---- making ---- */

static int check_file_system(int fd, const char *dir, struct error *err)
{
	struct statvfs fs;
	if (fstatvfs(fd, &fs) < 0)
		return error_set(err, errno, "--store: %.200s", dir);
	if (fs.f_flag & ST_RDONLY)
		return error_set(err, EROFS, "--store: %.200s", dir);
	if (fs.f_flag & ST_NOEXEC)
		return error_set(err, 0, "--store: %.200s is on a file system mounted noexec: programs "
					 "written in the sandbox could not run from it; choose another "
					 "directory", dir);
	return 0;
}

static int make_directory(struct store *s, const char *dir, struct error *err)
{
	static unsigned int next; /* a process may make many */
	int r = -EBUSY;
	for (unsigned int n = 1; n <= TRIES && r == -EBUSY; n++) {
		snprintf(s->name, sizeof(s->name), PREFIX "%d-%u", (int)getpid(), ++next);
		if (mkdirat(s->parent_fd, s->name, 0700) == 0)
			r = lock_directory(s->parent_fd, s->name, &s->lock_fd);
		else if (errno != EEXIST)
			r = -errno;
	}
	return r < 0 ? error_set(err, -r, "--store: make a directory in %.200s", dir) : 0;
}

/* Without permission for mounts the kernel process finds the directory by its path. */
static int detach(int fd)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };
	AUTO_CLOSE int tree = (int)syscall(SYS_open_tree, fd, "", OPEN_TREE_CLONE |
					   OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	if (tree < 0 ||
	    syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return -errno;
	return take_fd(&tree);
}

static int make_data(struct store *s, const struct store_owner *owner, int *ret_fd,
		     bool *ret_detached)
{
	if (mkdirat(s->lock_fd, DATA, 0700) < 0)
		return -errno;
	AUTO_CLOSE int data = openat(s->lock_fd, DATA, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (data < 0)
		return -errno;
	*ret_detached = false;
	if (owner->root) {
		if (fchownat(data, "", owner->uid, owner->gid, AT_EMPTY_PATH) < 0)
			return -errno;
		int tree = detach(data);
		if (tree >= 0) {
			close(data);
			data = tree;
			*ret_detached = true;
		}
	}
	*ret_fd = take_fd(&data);
	return 0;
}

int store_make(struct store *s, int parent_fd, const char *name, const struct store_owner *owner,
	       int *ret_fd, bool *ret_detached, struct error *err)
{
	*s = STORE_NONE;
	s->parent_fd = fcntl(parent_fd, F_DUPFD_CLOEXEC, 3);
	if (s->parent_fd < 0)
		return error_set(err, errno, "--store: %.200s", name);
	int r = make_directory(s, name, err);
	if (r < 0)
		return r;
	r = make_data(s, owner, ret_fd, ret_detached);
	return r < 0 ? error_set(err, -r, "--store: directory for the sandbox in %.200s", name) : 0;
}

int store_open(struct store *s, const char *dir, const struct store_owner *owner, int *ret_fd,
	       bool *ret_detached, struct error *err)
{
	*s = STORE_NONE;
	AUTO_CLOSE int parent = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0)
		return error_set(err, errno, "--store: %.200s", dir);
	int r = check_file_system(parent, dir, err);
	if (r < 0)
		return r;
	store_sweep(parent);
	return store_make(s, parent, dir, owner, ret_fd, ret_detached, err);
}
