/*
 * Host files, typed so that they can be opened again: a struct host_ref in the arena says what the
 * file is; the descriptor itself lives in a bounded cache outside the arena and may be closed and
 * reopened at any time.
 *
 * Roots are directories that the jail handed over (templates, mounts, the store): small integers.
 * Names below a root are walked by the host with openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
 * RESOLVE_NO_MAGICLINKS), made of components that the VFS looked up one by one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define HOST_ROOT_STORE 0 /* the sandbox's own writable directory */
#define HOST_ROOT_MAX 64

enum host_ref_kind {
	HOST_REF_NONE,
	HOST_REF_PATH,	 /* (root, path), opened O_RDONLY or O_RDWR */
	HOST_REF_STORE,	 /* file number `id` in the store directory, O_RDWR */
	HOST_REF_PASSED, /* a descriptor the caller passed; cannot be reopened */
	HOST_REF_MEMFD,	 /* a host memfd (memfd_create of a guest); cannot be reopened */
};

struct host_ref {
	uint8_t kind;
	bool writable;
	bool directory;
	bool lent;   /* HOST_REF_STORE: was injected into a guest, which may have it mapped */
	bool pinned; /* HOST_REF_PATH: stays open once opened (the name may go away) */
	uint16_t root;
	uint32_t slot;	/* cache slot + 1, 0 = not open now */
	uint64_t id;	/* STORE: the file; PATH: a directory's inode number, 0 = any */
	char *path;	/* HOST_REF_PATH: kmalloc'ed, relative, "" = the root itself; owned */
};

/* Raises the descriptor limit and sizes the cache. Call once before anything else here. */
int host_ref_init(void);

/* Gives a root its directory descriptor (host side, at start). */
int host_root_set(unsigned root, int fd);
/* Whether the store is a directory on a host's disk (--store) and not a tmpfs of limited size. */
void host_store_set_unbounded(bool unbounded);
bool host_store_unbounded(void);

/*
 * The descriptor, opened if needed. The cache is least-recently-used, so it stays valid while only
 * one other host_ref is opened (a pair of files can be worked on). -errno; -EACCES when the kernel
 * process itself may not open the file; -ENOENT when another directory is in its place.
 */
int host_ref_fd(struct host_ref *ref);
/* A second descriptor for the same file with an exact access mode, for injection into a guest:
 * cached separately. */
int host_ref_fd_mode(struct host_ref *ref, bool writable);

/* An O_PATH descriptor of the file (a symlink itself), owned by the caller. */
int host_ref_open_path(const struct host_ref *ref);

/* An O_PATH descriptor of the directory a HOST_REF_PATH is in, owned by the caller, and the last
 * component (points into ref->path). -EINVAL for a root. */
int host_ref_open_parent(const struct host_ref *ref, const char **ret_name);

/* Makes an empty store file. */
int host_store_create(struct host_ref *ret);
/*
 * Makes a regular file `name` (one component) in directory `dir`. *ret is pinned and open for reading
 * and writing, whatever `mode` allows to a later open. -EEXIST and other errors of open(2).
 */
int host_ref_create(struct host_ref *dir, const char *name, uint32_t mode, struct host_ref *ret);

/* Opens `name` (one component) in directory `dir` itself, wherever that is by now. *ret is pinned. */
int host_ref_open_at(struct host_ref *dir, const char *name, bool writable, struct host_ref *ret);

/* An anonymous host file with sealing (memfd_create(2)); `flags` are MFD_* the host knows. */
int host_memfd_create(unsigned flags, struct host_ref *ret);

/* (root, path) with a copy of `path`. -ENOMEM. */
int host_ref_path(struct host_ref *ret, unsigned root, const char *path);
/* `dir`'s path with one more component. -ENOMEM, -ENAMETOOLONG. */
int host_ref_child(struct host_ref *ret, const struct host_ref *dir, const char *name);

/* Moves a reference to another place (the cache knows references by their address). */
void host_ref_move(struct host_ref *to, struct host_ref *from);

/* Closes the descriptor, keeps the reference: the next use opens it again. */
void host_ref_close(struct host_ref *ref);
/* Closes, and for store files removes the file. Leaves *ref empty. */
void host_ref_drop(struct host_ref *ref);

/* Whether a guest still has this file of a store on disk mapped. Closes our descriptors. */
bool host_store_lent(struct host_ref *ref);

/* Passed descriptors: takes ownership of fd, also on failure. */
int host_ref_passed(int fd, struct host_ref *ret);

/* Stat of a name below a root without following links. */
int host_stat(unsigned root, const char *path, struct stat *ret);
