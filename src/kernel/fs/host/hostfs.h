/* Pass-through of a host directory (--ro, --rw). See hostfs.c for the theory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct superblock;

/* Everything below `host_root` is shown as owned by uid:gid. 0 or -errno. */
int hostfs_sb_new(unsigned host_root, uint32_t uid, uint32_t gid, bool writable,
		  struct superblock **ret);
