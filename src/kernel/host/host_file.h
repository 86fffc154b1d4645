/*
 * Operations on host files and names, by struct host_ref. All return a count or 0, or -errno.
 *
 * Functions ending in _at work on one name in a directory: a single component, never "." or "..",
 * never with a slash (-EINVAL), and symlinks are never followed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "kernel/host/host_ref.h"

struct uio;

struct statfs;

/* ---- file content ---- */
ssize_t host_pread(struct host_ref *ref, void *dst, size_t size, uint64_t offset);
ssize_t host_pwrite(struct host_ref *ref, const void *src, size_t size, uint64_t offset);
/* To and from the memory side of a transfer: at most up to `end`, stopping where the file ends ... */
ssize_t host_read(struct host_ref *ref, struct uio *u, uint64_t offset, uint64_t end);
/* ... and one piece, at most `size` bytes and SCRATCH_SIZE: what was not written stays in `u`. */
ssize_t host_write(struct host_ref *ref, struct uio *u, size_t size, uint64_t offset);
int host_fstat(struct host_ref *ref, struct stat *ret);
int host_truncate(struct host_ref *ref, uint64_t size);
int host_fallocate(struct host_ref *ref, int mode, uint64_t offset, uint64_t length);
int64_t host_seek(struct host_ref *ref, int64_t offset, int whence); /* SEEK_DATA, SEEK_HOLE */
int host_sync(struct host_ref *ref, bool data_only);
/* Copies the first `size` bytes, or up to the end of `from`, keeping holes. */
int host_copy(struct host_ref *from, struct host_ref *to, uint64_t size);
int host_statfs(struct host_ref *ref, struct statfs *ret);

/* ---- directories ---- */
typedef bool (*host_emit_fn)(void *ctx, const char *name, size_t length, uint64_t ino, uint8_t type);
/* All entries but "." and ".."; not re-entrant (one static buffer). Stops when emit says false. */
int host_readdir(struct host_ref *dir, host_emit_fn emit, void *ctx);

int host_stat_at(struct host_ref *dir, const char *name, struct stat *ret);
/* The target of a link known by its own reference. */
ssize_t host_readlink(struct host_ref *link, char *dst, size_t capacity);
int host_mkdir_at(struct host_ref *dir, const char *name, uint32_t mode);
int host_symlink_at(struct host_ref *dir, const char *name, const char *target);
int host_link(struct host_ref *file, struct host_ref *to_dir, const char *to);
int host_unlink_at(struct host_ref *dir, const char *name, bool is_directory);
int host_rename_at(struct host_ref *from_dir, const char *from, struct host_ref *to_dir,
		   const char *to, unsigned flags);

/* ---- attributes of the file itself, by path; a symlink is not followed ---- */
int host_chmod(struct host_ref *ref, uint32_t mode);
/* Nanoseconds since the epoch; INT64_MIN leaves that time alone. */
int host_utimes(struct host_ref *ref, int64_t atime_ns, int64_t mtime_ns);
ssize_t host_getxattr(struct host_ref *ref, const char *name, void *dst, size_t capacity);
int host_setxattr(struct host_ref *ref, const char *name, const void *value, size_t size, int flags);
ssize_t host_listxattr(struct host_ref *ref, char *dst, size_t capacity);
int host_removexattr(struct host_ref *ref, const char *name);

/* ---- seals of a host memfd ---- */
int host_get_seals(struct host_ref *ref);
int host_add_seals(struct host_ref *ref, unsigned seals);
