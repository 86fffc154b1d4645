/*
 * LISTEN and ACCEPT: ports inside that are served from outside.
 *
 *   guest --connect()--> backlog of the listener --KNOCK--> peer
 *                             |                               |
 *                             +--------------ACCEPT with a socket: an operation as DIAL's (bridge.c)
 *
 * The peer decides how many connections it takes, and when: a KNOCK is said once, and again only when
 * the ACCEPT that followed it is answered. Whoever is not accepted yet is connected all the same and
 * may send what fits into the buffer of a connection; when the backlog is full connect() waits, as with
 * any listener. Nothing that a guest does makes messages faster than the peer answers them.
 *
 * The listeners belong to no process, so they survive a REBOOT. ACCEPT works on a frozen sandbox.
 */
#include <errno.h>

#include "base/util.h"
#include "kernel/control/bridge.h"
#include "kernel/control/control.h"
#include "kernel/control/op_kinds.h"
#include "kernel/control/requests.h"
#include "kernel/host/channel_host.h"
#include "kernel/net/dial.h"
#include "wire/channel.h"

struct listen_op {
	struct op op;
	struct dial_listener *listener;
	struct waiter waiter;
	bool knocked; /* the peer knows that somebody waits */
};

struct accept_op {
	struct op op;
	struct bridge bridge;
};

/* ---- LISTEN ---- */

void listen_release(struct op *op)
{
	struct listen_op *l = container_of(op, struct listen_op, op);

	if (!l->listener)
		return;
	waiter_del(&l->waiter);
	dial_listen_close(l->listener);
}

static int listen_new(uint32_t request, uint32_t port)
{
	struct listen_op *l;

	if (port < 1 || port > UINT16_MAX)
		return -EINVAL;
	int r = op_new(OP_LISTEN, request, sizeof(*l), &l);
	if (r < 0)
		return r;
	r = dial_listen((uint16_t)port, &l->listener);
	if (r < 0) {
		op_free(&l->op);
		return r;
	}
	op_wait_on(&l->op, &l->waiter, dial_listen_waitq(l->listener));
	op_start(&l->op);
	return 0;
}

bool listen_message(const struct message *m, struct wire_in *in)
{
	uint32_t port = wire_get_u32(in);

	if (!wire_in_end(in))
		return false;
	int r = listen_new(m->header.request, port);
	if (r < 0)
		control_error(m->header.request, -r, WIRE_ABOUT_REQUEST, "listen");
	else
		control_done(m->header.request);
	return true;
}

enum op_result listen_step(struct op *op)
{
	struct listen_op *l = container_of(op, struct listen_op, op);

	if (!l->knocked && dial_listen_waiting(l->listener) && op_room(OP_ACCEPT)) {
		l->knocked = true;
		control_send(WIRE_KNOCK, op->request, NULL, 0);
	}
	return OP_WAIT;
}

/* ---- ACCEPT ---- */

void accept_release(struct op *op)
{
	bridge_release(&container_of(op, struct accept_op, op)->bridge);
	op_wake_all(OP_LISTEN); /* there is room for one more */
}

/* The connection without whoever was to serve it. */
static int turn_away(struct listen_op *l)
{
	struct dial *d;
	int r = dial_accept(l->listener, &d);

	if (r == 0)
		dial_close(d, true);
	return r;
}

static int join(struct listen_op *l, const struct message *m)
{
	struct accept_op *a;
	struct dial *d;
	int r = op_new(OP_ACCEPT, m->header.request, sizeof(*a), &a);

	if (r < 0) {
		host_close(m->fds[0]);
		return r;
	}
	r = bridge_open(&a->bridge, &a->op, m->fds[0]);
	if (r == 0)
		r = dial_accept(l->listener, &d);
	if (r < 0) {
		op_free(&a->op);
		return r;
	}
	bridge_join(&a->bridge, &a->op, d);
	op_start(&a->op);
	return 0;
}

static int accept_next(struct listen_op *l, const struct message *m)
{
	bool full = !op_room(OP_ACCEPT);
	int r;

	if (m->fd_count == 0) {
		r = turn_away(l);
	} else if (!dial_listen_waiting(l->listener) || full) {
		host_close(m->fds[0]);
		r = -EAGAIN;
	} else {
		r = join(l, m);
		if (r < 0) /* without memory he would knock for ever */
			turn_away(l);
	}
	l->knocked = false;
	op_wake(&l->op);
	return r;
}

bool accept_message(const struct message *m, struct wire_in *in)
{
	uint32_t request = wire_get_u32(in);

	if (!wire_in_end(in))
		return false;
	struct op *op = op_find(OP_LISTEN, request);
	int r = -ENOENT;
	if (op)
		r = accept_next(container_of(op, struct listen_op, op), m);
	else if (m->fd_count)
		host_close(m->fds[0]);
	if (r < 0)
		control_error(m->header.request, -r, WIRE_ABOUT_REQUEST, "accept");
	else
		control_done(m->header.request);
	return true;
}

enum op_result accept_step(struct op *op)
{
	return bridge_step(&container_of(op, struct accept_op, op)->bridge);
}
