/* Files that lie beside the running program: the other programs, and guest/. */
#pragma once

#include "base/error.h"

/* Opens `name` in the directory of the running program with these flags of open(2), O_CLOEXEC added.
 * -ENOENT and the like name the whole path. */
int beside_open(const char *name, int flags, int *ret_fd, struct error *err);
