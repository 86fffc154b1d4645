/*
 * --store DIR: the files that a sandbox writes lie in a private directory on the host's disk
 * instead of in memory. See store.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The outside identity of a sandbox that root starts; `root` false = the caller's own. */
struct store_owner {
	bool root;
	uint32_t uid, gid;
};

struct store {
	int parent_fd; /* DIR */
	int lock_fd;   /* DIR/hotcell-<pid>-<n>: locked as long as this run lasts */
	char name[48];
};

/* A store that is not open: store_remove() does nothing. */
#define STORE_NONE ((struct store){ .parent_fd = -EBADF, .lock_fd = -EBADF })

/*
 * Removes what dead runs left in `dir`, then makes a store for `owner` there. *ret_fd is the
 * directory for the kernel process, owned by the caller; *ret_detached whether it is a mount tree of
 * its own already. Fails where programs could not be run or nothing could be written.
 */
int store_open(struct store *s, const char *dir, const struct store_owner *owner, int *ret_fd,
	       bool *ret_detached, struct error *err);

/*
 * The two halves of store_open() for a caller that makes many: `parent_fd` (kept by the caller) is
 * DIR, `name` is for messages.
 */
void store_sweep(int parent_fd);
int store_make(struct store *s, int parent_fd, const char *name, const struct store_owner *owner,
	       int *ret_fd, bool *ret_detached, struct error *err);

/* Removes the store with everything in it; the sandbox must be gone. */
void store_remove(struct store *s);
/* The same in steps of about `budget` files, for a caller with other work: true = done. */
bool store_try_remove(struct store *s, unsigned int budget);
