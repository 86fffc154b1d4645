/*
 * Builds with -Db_coverage=true write their counters into the build directory at exit, which the
 * jail would forbid. Such a build is for measuring tests, not for guests: it keeps the build
 * directory in its root and has no system call filter. In other builds this is nothing.
 */
#pragma once

#include <stdbool.h>

#ifdef HOTCELL_COVERAGE_DIR
/* Between mounting the new root at `root_fd` and entering it. 0 or -errno. */
int coverage_keep_directory(int root_fd);
#define COVERAGE_BUILD true
#else
static inline int coverage_keep_directory(int root_fd)
{
	(void)root_fd;
	return 0;
}
#define COVERAGE_BUILD false
#endif
