/*
 * DIAL: a connection to a program in the sandbox. One end is a TCP connection inside that has no file
 * (net/dial.h), the other the socket that came with the request; bytes are moved between them as far
 * as both sides take them. Each direction ends on its own: what one side shuts down is shut down on
 * the other. A connection that breaks on either side breaks on both.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "base/util.h"
#include "kernel/control/control.h"
#include "kernel/control/freeze.h"
#include "kernel/control/op_kinds.h"
#include "kernel/control/requests.h"
#include "kernel/control/stream.h"
#include "kernel/core/arena.h"
#include "kernel/host/channel_host.h"
#include "kernel/net/dial.h"
#include "wire/channel.h"

#define PIECE (64u << 10)

struct dial_op {
	struct op op;
	struct stream stream;
	struct dial *dial;
	struct waiter waiter; /* on the dial's queue */
	bool connected;
	bool in_done;  /* the client sends no more, and the guest knows */
	bool out_done; /* the guest sends no more, and the client knows */
	char *stash;   /* came from the client and did not fit */
	size_t stash_size;
};

static char buffer[PIECE];

static struct dial_op *dial_of(struct op *op)
{
	return container_of(op, struct dial_op, op);
}

void dial_release(struct op *op)
{
	struct dial_op *d = dial_of(op);

	if (d->dial) {
		waiter_del(&d->waiter);
		dial_close(d->dial, !(d->in_done && d->out_done));
	}
	stream_close(&d->stream);
	kfree(d->stash);
}

static int dial_new(const struct message *m, uint32_t port, struct dial_op **ret)
{
	struct dial_op *d;

	if (port < 1 || port > UINT16_MAX || freeze_active()) {
		host_close(m->fds[0]);
		return freeze_active() ? -EAGAIN : -EINVAL;
	}
	int r = op_new(OP_DIAL, m->header.request, sizeof(*d), &d);
	if (r < 0) {
		host_close(m->fds[0]);
		return r;
	}
	r = stream_open(&d->stream, &d->op, m->fds[0]);
	if (r == 0 && d->stream.how.mode != S_IFSOCK)
		r = -EINVAL;
	if (r == 0)
		r = dial_open((uint16_t)port, &d->dial);
	if (r < 0) {
		op_free(&d->op);
		return r;
	}
	op_wait_on(&d->op, &d->waiter, dial_waitq(d->dial));
	*ret = d;
	return 0;
}

bool dial_message(const struct message *m, struct wire_in *in)
{
	uint32_t port = wire_get_u32(in);
	struct dial_op *d;

	if (!wire_in_end(in) || m->fd_count != 1)
		return false;
	int r = dial_new(m, port, &d);
	if (r < 0)
		control_error(m->header.request, -r, WIRE_ABOUT_REQUEST, "dial");
	else
		op_start(&d->op);
	return true;
}

/* ---- moving ---- */

/* All return 1 = something moved, 0 = not now, -errno = the connection is over. */

static int guest_to_client(struct dial_op *d)
{
	if (d->out_done)
		return 0;
	ssize_t got = dial_peek(d->dial, buffer, sizeof(buffer));
	if (got == -EAGAIN)
		return 0;
	if (got == 0) {
		stream_end(&d->stream);
		d->out_done = true;
		return 1;
	}
	if (got < 0)
		return (int)got;
	ssize_t sent = stream_write(&d->stream, buffer, (size_t)got);
	if (sent == -EAGAIN)
		return 0;
	if (sent < 0)
		return (int)sent;
	dial_consume(d->dial, (size_t)sent);
	return 1;
}

/* Gives the guest `size` bytes at `src`: how many it took, 0 = none now. */
static ssize_t give(struct dial_op *d, const char *src, size_t size)
{
	ssize_t n = dial_write(d->dial, src, size);

	/* No memory for its buffer: as if that were full. Its reading wakes us. */
	return n == -EAGAIN || n == -ENOBUFS ? 0 : n;
}

static int give_stash(struct dial_op *d)
{
	ssize_t n = give(d, d->stash, d->stash_size);

	if (n <= 0)
		return (int)n;
	d->stash_size -= (size_t)n;
	memmove(d->stash, d->stash + n, d->stash_size);
	if (!d->stash_size) {
		kfree(d->stash);
		d->stash = NULL;
	}
	return 1;
}

static int client_to_guest(struct dial_op *d)
{
	if (d->stash)
		return give_stash(d);
	/* What cannot be given is not taken: the client feels a slow guest. */
	if (d->in_done || !(dial_poll(d->dial) & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
		return 0;
	ssize_t got = stream_read(&d->stream, buffer, sizeof(buffer));
	if (got == -EAGAIN)
		return 0;
	if (got == 0) {
		dial_shutdown_write(d->dial);
		d->in_done = true;
		return 1;
	}
	if (got < 0)
		return (int)got;
	ssize_t taken = give(d, buffer, (size_t)got);
	if (taken < 0)
		return (int)taken;
	if (taken == got)
		return 1;
	d->stash = kmemdup0(buffer + taken, (size_t)(got - taken));
	d->stash_size = (size_t)(got - taken);
	return d->stash ? 1 : -ENOMEM;
}

/* The guest's backlog was full; an answer follows now, or when the connection times out. */
static enum op_result connecting(struct dial_op *d)
{
	uint32_t events = dial_poll(d->dial);

	if (events & (EPOLLERR | EPOLLHUP)) {
		ssize_t error = dial_read(d->dial, buffer, 1);
		control_error(d->op.request,
			      error < 0 && error != -EAGAIN ? (int)-error : ECONNREFUSED,
			      WIRE_ABOUT_REQUEST, "dial");
		return OP_END;
	}
	if (!(events & EPOLLOUT))
		return OP_WAIT;
	d->connected = true;
	control_done(d->op.request);
	return OP_AGAIN;
}

enum op_result dial_step(struct op *op)
{
	struct dial_op *d = dial_of(op);

	if (!d->connected)
		return connecting(d);
	int out = guest_to_client(d);
	int in = out < 0 ? out : client_to_guest(d);
	if (in < 0 || (d->in_done && d->out_done))
		return OP_END;
	return in || out ? OP_AGAIN : OP_WAIT;
}
