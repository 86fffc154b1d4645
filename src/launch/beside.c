#include "launch/beside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAME_ROOM 64

int beside_open(const char *name, int flags, int *ret_fd, struct error *err)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - NAME_ROOM);
	if (n < 0)
		return error_set(err, errno, "find the directory of this program");
	path[n] = '\0';
	snprintf(strrchr(path, '/') + 1, NAME_ROOM, "%s", name);
	*ret_fd = open(path, flags | O_CLOEXEC);
	return *ret_fd < 0 ? error_set(err, errno, "open %s", path) : 0;
}
