/* Mappings of guest descriptors. */
#pragma once

#include "kernel/fs/path.h"

/* Remembers which guest file a host descriptor's pages belong to, for /proc/PID/maps. */
void mmap_note(int host_fd, struct path p);
