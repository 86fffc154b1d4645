/*
 * Deleted files of a store on disk that guests still have mapped: they take space, so they stay
 * charged. See orphan.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct host_ref;

/* Takes `bytes` of LIMIT_DISK_BYTES, after a look for orphans that became free if there is no room. */
bool orphan_disk_charge(uint64_t bytes);

/* Ends a store file: removes it and releases its charge, now or when it is no longer mapped. *ref of
 * another kind is only dropped. */
void orphan_drop(struct host_ref *ref, uint64_t charged);

/* Removes what is no longer mapped. */
void orphan_reap(void);
