#include "kernel/control/bridge.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "kernel/core/arena.h"
#include "kernel/net/dial.h"

#define PIECE (64u << 10)

static char buffer[PIECE];

int bridge_open(struct bridge *b, struct op *op, int fd)
{
	int r = stream_open(&b->stream, op, fd);

	return r == 0 && b->stream.how.mode != S_IFSOCK ? -EINVAL : r;
}

void bridge_join(struct bridge *b, struct op *op, struct dial *d)
{
	b->dial = d;
	op_wait_on(op, &b->waiter, dial_waitq(d));
}

void bridge_release(struct bridge *b)
{
	if (b->dial) {
		waiter_del(&b->waiter);
		dial_close(b->dial, !b->left && !(b->in_done && b->out_done));
	}
	stream_close(&b->stream);
	kfree(b->stash);
}

/* All return 1 = something moved, 0 = not now, -errno = the connection is over. */

static int guest_to_peer(struct bridge *b)
{
	if (b->out_done || b->deaf)
		return 0;
	ssize_t got = dial_peek(b->dial, buffer, sizeof(buffer));
	if (got == -EAGAIN)
		return 0;
	if (got == 0) {
		stream_end(&b->stream);
		b->out_done = true;
		return 1;
	}
	if (got < 0)
		return (int)got;
	ssize_t sent = stream_write(&b->stream, buffer, (size_t)got);
	if (sent == -EAGAIN)
		return 0;
	if (sent < 0) { /* what it said before it closed is still on its way to the guest */
		b->deaf = true;
		return 0;
	}
	dial_consume(b->dial, (size_t)sent);
	return 1;
}

/* Gives the guest `size` bytes at `src`: how many it took, 0 = none now. */
static ssize_t give(struct bridge *b, const char *src, size_t size)
{
	ssize_t n = dial_write(b->dial, src, size);

	/* No memory for its buffer: as if that were full. Its reading wakes us. */
	return n == -EAGAIN || n == -ENOBUFS ? 0 : n;
}

static int give_stash(struct bridge *b)
{
	ssize_t n = give(b, b->stash, b->stash_size);

	if (n <= 0)
		return (int)n;
	b->stash_size -= (size_t)n;
	memmove(b->stash, b->stash + n, b->stash_size);
	if (!b->stash_size) {
		kfree(b->stash);
		b->stash = NULL;
	}
	return 1;
}

static int peer_to_guest(struct bridge *b)
{
	if (b->stash)
		return give_stash(b);
	/* What cannot be given is not taken: the peer feels a slow guest. */
	if (b->in_done || !(dial_poll(b->dial) & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
		return 0;
	ssize_t got = stream_read(&b->stream, buffer, sizeof(buffer));
	if (got == -EAGAIN)
		return 0;
	if (got == 0) {
		dial_shutdown_write(b->dial);
		b->in_done = true;
		return 1;
	}
	if (got < 0)
		return (int)got;
	ssize_t taken = give(b, buffer, (size_t)got);
	if (taken < 0)
		return (int)taken;
	if (taken == got)
		return 1;
	b->stash = kmemdup0(buffer + taken, (size_t)(got - taken));
	b->stash_size = (size_t)(got - taken);
	return b->stash ? 1 : -ENOMEM;
}

enum op_result bridge_step(struct bridge *b)
{
	int out = guest_to_peer(b);
	int in = out < 0 ? out : peer_to_guest(b);

	if (in < 0 || (b->in_done && b->out_done))
		return OP_END;
	if (in || out)
		return OP_AGAIN;
	/* The guest may never close its end; that must not keep ours. */
	b->left = b->in_done && stream_left(&b->stream);
	return b->left ? OP_END : OP_WAIT;
}
