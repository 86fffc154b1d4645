/* Between the files that serve FS_ requests. */
#pragma once

#include <stdint.h>

#include "kernel/control/users.h"
#include "kernel/fs/path.h"
#include "wire/wire.h"

struct inode;

/* A request with its user and path resolved. */
struct fs_request {
	uint32_t request;
	const struct wire_fs *wire;
	struct user user;
	char path[PATH_MAX_BYTES]; /* absolute, clean */
	int fd;			   /* passed descriptor, owned; -EBADF = none */
};

/* ERROR about the path (or CANCEL-proof nothing when `error` is 0). error: -errno. */
void fs_refuse(uint32_t request, int error, const char *path);

/*
 * Everything below acts as the kernel itself: no permissions but those of mounts. Paths are
 * absolute.
 */

/* Makes a node of any type but a symlink, owned as told. *ret with references. */
int fs_make(struct path dir, const char *name, uint32_t mode, uint32_t uid, uint32_t gid,
	    struct path *ret);
/* Makes the missing parents of `path`, 0755, owned by `u`. -ENOTDIR when one is something else. */
int fs_make_parents(const char *path, const struct user *u);
int fs_set_owner(struct path p, uint32_t uid, uint32_t gid);
/* Entry `name` of the directory, on top of what is mounted there; a symlink is not followed. */
int fs_child(struct path dir, const char *name, struct path *ret);

/* Enough for any entry. */
#define FS_ENTRY_BYTES (8192u + 4 * PATH_MAX_BYTES)
/* The entry of `p`, which is called `path`. Valid until the next call. */
int fs_entry(struct path p, const char *path, struct wire_entry *ret);
/* Names of owners are looked up again: call once per turn. */
void fs_entry_begin(void);
void fs_send_entry(uint32_t request, struct path p, const char *path);

/* One file each; they answer. */
void fs_list(struct fs_request *r);
void fs_remove(struct fs_request *r);
void fs_read(struct fs_request *r);
void fs_write(struct fs_request *r);
void fs_watch(struct fs_request *r);

/* Replaces the user.e2b.* attributes. `texts`: `count` pairs of strings, back to back. File systems
 * without attributes are passed over. -EINVAL, -ENOSPC, ... */
int fs_set_metadata(struct inode *inode, const char *texts, uint32_t count);
