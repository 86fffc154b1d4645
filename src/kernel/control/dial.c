/*
 * DIAL: a connection to a program in the sandbox. One end is a TCP connection inside that has no file
 * (net/dial.h), the other the socket that came with the request; bridge.c moves the bytes.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "base/util.h"
#include "kernel/control/bridge.h"
#include "kernel/control/control.h"
#include "kernel/control/freeze.h"
#include "kernel/control/op_kinds.h"
#include "kernel/control/requests.h"
#include "kernel/host/channel_host.h"
#include "kernel/net/dial.h"
#include "wire/channel.h"

struct dial_op {
	struct op op;
	struct bridge bridge;
	bool connected;
};

static struct dial_op *dial_of(struct op *op)
{
	return container_of(op, struct dial_op, op);
}

void dial_release(struct op *op)
{
	bridge_release(&dial_of(op)->bridge);
}

static int dial_new(const struct message *m, uint32_t port, struct dial_op **ret)
{
	struct dial *connection;
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
	r = bridge_open(&d->bridge, &d->op, m->fds[0]);
	if (r == 0)
		r = dial_open((uint16_t)port, &connection);
	if (r < 0) {
		op_free(&d->op);
		return r;
	}
	bridge_join(&d->bridge, &d->op, connection);
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

/* The guest's backlog was full; an answer follows now, or when the connection times out. */
static enum op_result connecting(struct dial_op *d)
{
	struct dial *connection = d->bridge.dial;
	uint32_t events = dial_poll(connection);
	char byte;

	if (events & (EPOLLERR | EPOLLHUP)) {
		ssize_t error = dial_read(connection, &byte, 1);
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

	return d->connected ? bridge_step(&d->bridge) : connecting(d);
}
