/*
 * Who the server is, and where its things are.
 *
 * The data directory belongs to the server's user and is closed to everybody else. What sandboxes
 * write lies in `sandboxes` in it, which belongs to the launcher (root, when root starts it): the
 * server has no business there.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "server/config/config.h"
#include "server/start/start.h"

#define USER "hotcell"
/* Without such a user: an id that distributions give to nobody, unless the directory has an owner. */
#define DYNAMIC_ID 61878u

int start_choose_owner(const struct config *c, struct start_owner *ret, struct error *err)
{
	struct stat st;
	*ret = (struct start_owner){ geteuid(), getegid() };
	if (ret->uid != 0)
		return 0;
	const char *name = c->user ? c->user : USER;
	const struct passwd *p = getpwnam(name);
	if (p && p->pw_uid == 0)
		return error_set(err, 0, "user: '%.50s' is root; name one without rights", name);
	if (p)
		*ret = (struct start_owner){ p->pw_uid, p->pw_gid };
	else if (c->user)
		return error_set(err, 0, "user: there is no '%.50s' on this host", c->user);
	else if (stat(c->data_dir, &st) == 0 && st.st_uid != 0)
		*ret = (struct start_owner){ st.st_uid, st.st_gid };
	else
		*ret = (struct start_owner){ DYNAMIC_ID, DYNAMIC_ID };
	return 0;
}

/* Parents with the usual mode, whatever the umask: the server's user must get through. */
static int make_parent(const char *path)
{
	if (mkdir(path, 0755) < 0)
		return errno == EEXIST ? 0 : -errno;
	return chmod(path, 0755) < 0 ? -errno : 0;
}

static int make_path(const char *path, struct error *err)
{
	char copy[512];
	snprintf(copy, sizeof(copy), "%s", path);
	for (char *p = copy + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		int r = make_parent(copy);
		if (r < 0)
			return error_set(err, -r, "make the directory %.400s", copy);
		*p = '/';
	}
	if (mkdir(copy, 0700) < 0 && errno != EEXIST)
		return error_set(err, errno, "make the directory %.400s", copy);
	return 0;
}

static int check_data_dir(const char *path, const struct start_owner *owner, struct error *err)
{
	struct stat st;
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, errno, "data directory %.400s", path);
	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "data directory %.400s", path);
	if (geteuid() == 0 && st.st_uid != owner->uid && fchown(fd, owner->uid, owner->gid) < 0)
		return error_set(err, errno, "give %.400s to user %u", path, owner->uid);
	if (geteuid() != 0 && st.st_uid != owner->uid)
		return error_set(err, 0,
				 "data directory %.400s belongs to user %u: choose another one "
				 "(--data-dir), or run as that user",
				 path, st.st_uid);
	if ((st.st_mode & 077) && fchmod(fd, 0700) < 0)
		return error_set(err, errno, "close %.400s to others", path);
	return 0;
}

int start_make_directories(const struct config *c, const struct start_owner *owner,
			   char *ret_store_dir, size_t size, struct error *err)
{
	struct stat st;
	int r = make_path(c->data_dir, err);
	if (r == 0)
		r = check_data_dir(c->data_dir, owner, err);
	ret_store_dir[0] = '\0';
	if (r < 0 || strcmp(c->store, "memory") == 0)
		return r;
	snprintf(ret_store_dir, size, "%s/sandboxes", c->data_dir);
	if (mkdir(ret_store_dir, 0700) < 0 && errno != EEXIST)
		return error_set(err, errno, "make the directory %.400s", ret_store_dir);
	if (lstat(ret_store_dir, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return error_set(err, 0,
				 "%.300s is not a directory of the user who starts the server: "
				 "remove it",
				 ret_store_dir);
	return 0;
}

int start_drop_rights(const struct start_owner *owner, struct error *err)
{
	if (geteuid() == 0) {
		if (setgroups(0, NULL) < 0 || setresgid(owner->gid, owner->gid, owner->gid) < 0 ||
		    setresuid(owner->uid, owner->uid, owner->uid) < 0)
			return error_set(err, errno, "become user %u", owner->uid);
		if (setuid(0) == 0)
			return error_set(err, 0, "root's rights could not be given up");
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_set(err, errno, "no new privileges");
	return 0;
}

int start_lock(const struct config *c, struct error *err)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/lock", c->data_dir);
	/* Never closed: the lock goes with the process. */
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return error_set(err, errno,
				 "open %.400s as user %u (every directory above must let "
				 "that user through)",
				 path, geteuid());
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	int saved = errno;
	close(fd);
	if (saved != EWOULDBLOCK)
		return error_set(err, saved, "lock %.400s", path);
	return error_set(err, 0,
			 "another server uses %.300s: stop it, or choose another data directory "
			 "(--data-dir) and address (--listen)",
			 c->data_dir);
}

void start_raise_descriptors(void)
{
	struct rlimit l;
	if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &l);
	}
}
