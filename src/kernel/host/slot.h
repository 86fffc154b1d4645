/*
 * The open descriptors behind host references (host/host_ref.h), for host_ref.c only: a bounded
 * cache, least recently used.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/host/host_ref.h"

/* What is injected into a guest for mmap must not allow more than the guest's own descriptor. */
enum { FD_READ, FD_WRITE };

struct slot {
	int fd[2]; /* O_RDONLY and O_RDWR; -EBADF = not open */
	struct host_ref *owner;
	uint32_t next, prev; /* slot numbers; 0 = none */
	bool used;
	bool pinned;
	bool on_lru;
};

/* How many descriptors may be open. */
void slots_limit(uint64_t descriptors);
/* Before a descriptor is opened: closes others while the limit is reached. */
void slots_make_room(void);
/* Closes the least recently used slot; false when there is none. */
bool slots_evict_one(void);

/* A slot without descriptors, held. NULL = the table is full. */
struct slot *slot_new(struct host_ref *owner, bool pinned);
/* The reference's own slot, NULL when it has none (any more). */
struct slot *slot_of(struct host_ref *ref);
uint32_t slot_number(const struct slot *s); /* for host_ref.slot */
/* Gives it a descriptor that it has not yet. */
void slot_set_fd(struct slot *s, int which, int fd);
void slot_touch(struct slot *s); /* just used */
/* A held slot is not evicted; a pinned one never is. */
void slot_hold(struct slot *s);
void slot_release(struct slot *s);
/* Closes the descriptors; the owner's number becomes 0. */
void slot_free(struct slot *s);
