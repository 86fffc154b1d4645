#include "server/snapshot/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/snapshot/snapshots_internal.h"

#define PATH_SIZE 600

static const char *path_of(const struct snapshots *all, const char *prefix, const char *build_id,
			   char ret[PATH_SIZE])
{
	snprintf(ret, PATH_SIZE, "%s/%s%s", all->directory, prefix, build_id);
	return ret;
}

static int open_file(const char *path, int flags, int *ret_fd, struct error *err)
{
	int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 && (errno == ENOSPC || errno == EDQUOT))
		return error_say(err, ENOSPC, "the server's disk is full");
	if (fd < 0)
		return error_set(err, errno, "open the file of a snapshot");
	*ret_fd = fd;
	return 0;
}

int snapshot_file_new(const struct snapshots *all, const char *build_id, int *ret_fd,
		      struct error *err)
{
	char path[PATH_SIZE];
	return open_file(path_of(all, ".new-", build_id, path), O_WRONLY | O_CREAT | O_EXCL, ret_fd,
			 err);
}

int snapshot_file_keep(const struct snapshots *all, const char *build_id, struct error *err)
{
	char from[PATH_SIZE], to[PATH_SIZE];
	if (rename(path_of(all, ".new-", build_id, from), path_of(all, "", build_id, to)) < 0)
		return error_set(err, errno, "keep the file of a snapshot");
	return 0;
}

void snapshot_file_drop(const struct snapshots *all, const char *build_id)
{
	char path[PATH_SIZE];
	(void)unlink(path_of(all, ".new-", build_id, path));
}

void snapshot_file_remove(const struct snapshots *all, const char *build_id)
{
	char path[PATH_SIZE];
	(void)unlink(path_of(all, "", build_id, path));
}

/* Some file systems have no O_TMPFILE. */
int snapshot_file_temporary(const struct snapshots *all, int *ret_fd, struct error *err)
{
	char path[PATH_SIZE];
	int fd = open(all->directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
		fd = mkostemp((char *)(uintptr_t)path_of(all, ".new-", "XXXXXX", path), O_CLOEXEC);
		if (fd >= 0)
			(void)unlink(path);
	}
	if (fd < 0 && (errno == ENOSPC || errno == EDQUOT))
		return error_say(err, ENOSPC, "the server's disk is full");
	if (fd < 0)
		return error_set(err, errno, "make a file for forks");
	*ret_fd = fd;
	return 0;
}

int snapshot_file_open(const struct snapshots *all, const char *build_id, int *ret_fd,
		       struct error *err)
{
	char path[PATH_SIZE];
	return open_file(path_of(all, "", build_id, path), O_RDONLY, ret_fd, err);
}
