/*
 * A stream that came with a request: a socket or pipe of the peer whose bytes an operation moves.
 * Nothing waits: -EAGAIN, and the operation is woken when there may be more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "kernel/control/op.h"
#include "kernel/core/wait.h"
#include "kernel/host/host_ref.h"
#include "kernel/host/host_stream.h"

struct stream {
	struct host_ref ref;
	struct host_stream how;
	struct waitq wq;
	struct waiter waiter;
	bool open, watched;
};

/* Takes the descriptor in every case. -EINVAL: not a socket or pipe; -EAGAIN: too many are open. */
int stream_open(struct stream *s, struct op *op, int fd);
void stream_close(struct stream *s); /* zeroed or closed is fine */

ssize_t stream_read(struct stream *s, void *dst, size_t size); /* 0 = the end */
ssize_t stream_write(struct stream *s, const void *src, size_t size);
/* Nothing more will be written. */
void stream_end(struct stream *s);
/* The peer has closed a socket altogether, not only its sending side. */
bool stream_left(struct stream *s);
