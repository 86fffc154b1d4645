/* Which file a host descriptor is. */
#pragma once

#include <stdint.h>

/* As /proc/PID/maps shows it: dev = major << 20 | minor style of struct stat's st_dev. 0 or -errno. */
int host_file_identity(int fd, uint64_t *ret_dev, uint64_t *ret_ino);
