/* Shared by ring.c (the buffer) and pipe.c (files, FIFOs, calls). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernel/core/user.h"
#include "kernel/core/wait.h"
#include "kernel/fs/pipe/pipe.h"

#define PIPE_PAGE 4096u
#define PIPE_SLOTS_DEFAULT 16u

/* One page of data. A slot outside the used range may keep a page left by an aborted write. */
struct pipe_slot {
	uint8_t *page;
	uint16_t offset, length;
	bool packet; /* written in O_DIRECT mode: read alone, its rest is dropped */
};

struct pipe {
	struct pipe_slot *slots; /* first[] or an own allocation after F_SETPIPE_SZ */
	uint32_t slot_count;	 /* a power of two */
	uint32_t head, used;	 /* slots[head] is read next */
	uint32_t staged_slots;	 /* written by pipe_stage(), not yet visible */
	uint32_t staged_merge;	 /* the same, bytes behind the last used slot's data */
	uint8_t *spare;		 /* one page kept for the next write */

	uint32_t readers, writers;
	uint32_t reader_opens, writer_opens; /* ever: a blocked opener waits for a change */
	uint32_t files;
	struct inode *inode; /* whose object this is; no reference */

	struct waitq read_wq, write_wq;
	struct waitq open_read_wq, open_write_wq; /* openers of a FIFO waiting for the other side */
	struct pipe_slot first[PIPE_SLOTS_DEFAULT];
};

static inline struct pipe_slot *pipe_slot_at(const struct pipe *p, uint32_t n)
{
	return &p->slots[(p->head + n) & (p->slot_count - 1)];
}

static inline bool pipe_full(const struct pipe *p)
{
	return p->used >= p->slot_count;
}

void pipe_ring_init(struct pipe *p);
void pipe_ring_clear(struct pipe *p); /* drops all data and pages */
void pipe_ring_fini(struct pipe *p);
int pipe_ring_resize(struct pipe *p, uint32_t slot_count); /* -EBUSY, -ENOMEM */
size_t pipe_ring_size(const struct pipe *p);		   /* bytes waiting */

/* Copies out without removing: the count, 0 when empty, -EFAULT. */
ssize_t pipe_ring_copy(struct pipe *p, struct uio *u);
/* Removes what pipe_ring_copy() returned. True: a slot became free in a full pipe. */
bool pipe_ring_remove(struct pipe *p, size_t size);

/* Copies in without showing it: the count, -EAGAIN when full, -EFAULT, -ENOMEM. */
ssize_t pipe_ring_stage(struct pipe *p, struct uio *u, bool packet);
void pipe_ring_commit(struct pipe *p, size_t size);
