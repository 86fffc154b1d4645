/*
 * Mounts for a sandbox that root starts. Its kernel process runs as an unprivileged uid, so a
 * directory of root's (or of another user's) would be closed to it. An idmapped mount
 * (mount_setattr(2), Linux 5.12) swaps the owner of the directory with the sandbox's uid: the
 * sandbox reads and writes as if it were the owner, in this directory and nowhere else, and what
 * it creates belongs to the owner.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * A detached, idmapped copy of the mount at path_fd (an O_PATH descriptor), in which `owner` and
 * the sandbox's identity are swapped. Needs CAP_SYS_ADMIN and a file system that supports it;
 * -EINVAL, -EPERM, -ENOSYS mean "not here": use path_fd as it is. Without set-uid programs and
 * devices, and read-only when asked: not even a broken kernel process can then write.
 */
struct idmap_ids {
	uid_t owner_uid;
	gid_t owner_gid;
	uid_t uid;
	gid_t gid;
};
int idmap_open(int path_fd, const struct idmap_ids *ids, bool read_only, int *ret_fd,
	       struct error *err);
