/*
 * A TCP connection inside (net/dial.h) and a socket of the peer's, joined: bytes are moved between
 * them as far as both sides take them. Each direction ends on its own: what one side shuts down is shut
 * down on the other. A connection that breaks on either side breaks on both, and a socket that the peer
 * has closed is, once the guest has what came from it, a connection that its other end has closed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "kernel/control/op.h"
#include "kernel/control/stream.h"

struct dial;

struct bridge {
	struct stream stream;
	struct dial *dial;
	struct waiter waiter; /* on the dial's queue */
	bool in_done;	      /* the peer sends no more, and the guest knows */
	bool out_done;	      /* the guest sends no more, and the peer knows */
	bool deaf;	      /* the peer takes no more */
	bool left;	      /* the peer has closed: so do we */
	char *stash;	      /* came from the peer and did not fit */
	size_t stash_size;
};

/* The peer's end, taken in every case. -EINVAL: no socket; else as stream_open(). `b` is zeroed. */
int bridge_open(struct bridge *b, struct op *op, int fd);
/* Then the end inside, owned from then on. */
void bridge_join(struct bridge *b, struct op *op, struct dial *d);
/* Moves a piece. */
enum op_result bridge_step(struct bridge *b);
/* Closes both ends; a reset unless both directions had come to theirs. Zeroed is fine. */
void bridge_release(struct bridge *b);
