/*
 * Builds the file system of a sandbox from a plan. Control fills the plan from the CONFIG message;
 * the strings need to live only during the call.
 */
#pragma once

#include <stdint.h>

#include "kernel/fs/path.h"

enum fs_mount_kind {
	FS_MOUNT_TEMPLATE = 1, /* host directory, read-only, below the private layer, shown as root's */
	FS_MOUNT_COW,	       /* the same, shown as the sandbox user's */
	FS_MOUNT_RO,	       /* host directory (or file), pass-through, read-only */
	FS_MOUNT_RW,	       /* pass-through, writable */
	FS_MOUNT_TMPFS,
	FS_MOUNT_SYMLINK,  /* `guest` is a symlink to `target` */
	FS_MOUNT_ETC,	   /* the host's /etc: source of the allow-list in setup_etc.c */
	FS_MOUNT_VAR_LIB_DPKG, /* the host's /var/lib/dpkg */
	FS_MOUNT_SYSTEM = 10,  /* host directory, read-only, shown as root's */
};

struct fs_plan_mount {
	uint8_t kind;	    /* enum fs_mount_kind */
	unsigned host_root; /* host root number; unused for TMPFS and SYMLINK */
	const char *guest;  /* absolute guest path */
	const char *target; /* SYMLINK */
};

struct fs_plan {
	const char *hostname;
	const char *user; /* the unprivileged user; its home is /home/<user> */
	uint32_t uid, gid;
	uint32_t mount_count;
	const struct fs_plan_mount *mounts; /* applied in this order */
};

/* Call once after vfs_init(). 0 or -errno; *ret_failed (may be NULL) then names the guest path. */
int fs_setup(const struct fs_plan *plan, const char **ret_failed);

/* Writes the machine's name to /etc/hostname and /etc/hosts anew, later than setup. */
int fs_set_hostname(const char *name);
