#include "kernel/host/coverage.h"

#ifdef HOTCELL_COVERAGE_DIR

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int coverage_keep_directory(int root_fd)
{
	static const char directory[] = HOTCELL_COVERAGE_DIR;
	char path[sizeof(directory)];
	int r = 0;

	umask(0); /* the next sandbox has another uid and adds to the same files */
	for (size_t i = 1; i < sizeof(directory); i++) {
		if (directory[i] != '/' && directory[i] != '\0')
			continue;
		snprintf(path, i, "%s", directory + 1);
		if (mkdirat(root_fd, path, 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	int tree = (int)syscall(SYS_open_tree, AT_FDCWD, directory,
				OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree < 0 ||
	    syscall(SYS_move_mount, tree, "", root_fd, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		r = -errno;
	close(tree);
	return r;
}

#endif
