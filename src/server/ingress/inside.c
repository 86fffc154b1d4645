/*
 * Theory of operation
 *
 *   guest ──connect──► kernel process ──KNOCK──► door ──► caller ──► http_adopt() ──► a service
 *                                        ACCEPT with one end of a socket pair          of this sandbox
 *
 * A cell has a *door* for each service: a LISTEN in its kernel process, made when the cell gets ready,
 * so that a create finds it there. A knock at a door is answered when the sandbox runs and there are not
 * too many callers, of it and of all; till then whoever has connected waits in the backlog inside, where
 * nothing of ours is used up. Doors that wait because there are too many of all are in a queue.
 *
 * A *caller* is a connection. It belongs to its door's sandbox and service from the beginning: what its
 * requests say in Host, in fields or in paths is read by that service only, never by ingress.c or the
 * routes, so there is no way from here to another sandbox, to the control plane, or on to a port of a
 * guest. A pause cuts the callers as it cuts clients from outside.
 */
#include "server/ingress/inside.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "http/server.h"
#include "server/api/reply.h"
#include "server/ingress/ingress.h"
#include "server/observe/log.h"
#include "server/runtime/runtime.h"
#include "server/sandbox/sandbox.h"
#include "server/server.h"

#define CALLERS_MAX	 4096u
#define CALLERS_PER_CELL 32u
/* Bytes of bodies and responses that connections hold. */
#define HELD_MAX	(64u << 20)
#define HELD_ALL_MAX	(1u << 30)
#define IDLE_TIMEOUT_MS 15000
#define DOORS_MAX	4u

struct inside;
struct caller;

struct door {
	struct inside *inside;
	const struct ingress_service *service;
	uint32_t listen;    /* the LISTEN; 0 = the port is not served */
	bool knocked;	    /* somebody waits */
	uint32_t accept;    /* the ACCEPT that is not answered, at most one */
	struct caller *who; /* whom it is for, NULL = nobody */
	struct list queue;  /* in `waiting` */
};

struct inside {
	struct server *server;
	struct runtime *runtime; /* lives as long as any request is open */
	struct sandbox *sandbox; /* NULL = nobody's yet, or closed */
	bool closed;
	unsigned int door_count, turn; /* of the doors, when a caller leaves */
	struct door doors[DOORS_MAX];
	struct list callers;
	unsigned int caller_count;
	size_t held;
};

struct caller {
	struct list link;
	struct sandbox_attachment attachment;
	struct door *door;
	struct http_conn *conn;
};

static unsigned int callers_max = CALLERS_MAX, callers;
static size_t held;
static struct list waiting = { &waiting, &waiting };

static void answer_door(struct door *d);

/* ---- callers ---- */

/* The door that waits longest in a sandbox is not always the first. */
static void answer_doors(struct inside *in)
{
	unsigned int first = ++in->turn;

	for (unsigned int i = 0; i < in->door_count; i++)
		answer_door(&in->doors[(first + i) % in->door_count]);
}

static void answer_next(struct inside *in)
{
	while (callers < callers_max && !list_empty(&waiting))
		answer_door(list_first(&waiting, struct door, queue));
	answer_doors(in);
}

static void free_if_over(struct inside *in)
{
	if (in->closed && in->caller_count == 0)
		free(in);
}

/* The ACCEPT that is under way. */
static void take_back(struct door *d)
{
	if (d->accept)
		runtime_cancel(d->inside->runtime, d->accept);
	d->accept = 0;
	d->who = NULL;
}

static void on_closed(void *ctx)
{
	struct caller *c = ctx;
	struct inside *in = c->door->inside;

	sandbox_detach(&c->attachment);
	if (c->door->who == c)
		take_back(c->door);
	list_del(&c->link);
	free(c);
	in->caller_count--;
	callers--;
	answer_next(in);
	free_if_over(in);
}

static void sandbox_gone(struct sandbox_attachment *a)
{
	http_adopted_close(container_of(a, struct caller, attachment)->conn);
}

static void on_request(struct http_exchange *x)
{
	struct caller *c = http_adopted_by(x);
	struct sandbox *s = c->door->inside->sandbox;

	if (s && s->record.state == SANDBOX_RUNNING) {
		c->door->service->handle(x, s);
		return;
	}
	reply_cors(x);
	reply_no_sandbox(x, s ? s->record.id : "");
}

static bool on_account(void *ctx, ssize_t more)
{
	struct caller *c = ctx;
	struct inside *in = c->door->inside;

	in->held += (size_t)more;
	held += (size_t)more;
	return more <= 0 || (in->held <= HELD_MAX && held <= HELD_ALL_MAX);
}

static const struct http_origin origin = { on_request, on_closed, IDLE_TIMEOUT_MS, on_account };

/* NULL: it cannot be served. */
static struct caller *caller_new(struct door *d, int fd)
{
	struct inside *in = d->inside;
	struct caller *c = calloc(1, sizeof(*c));
	char peer[40];

	if (!c)
		return NULL;
	snprintf(peer, sizeof(peer), "inside %s", in->sandbox->record.id);
	c->door = d;
	c->conn = http_adopt(in->server->http, fd, peer, &origin, c);
	if (!c->conn) {
		free(c);
		return NULL;
	}
	c->attachment.gone = sandbox_gone;
	sandbox_attach(in->sandbox, &c->attachment);
	list_add_tail(&in->callers, &c->link);
	in->caller_count++;
	callers++;
	return c;
}

/* ---- doors ---- */

static void on_accepted(void *ctx, const struct runtime_answer *a)
{
	struct door *d = ctx;

	if (a->error && d->who)
		http_adopted_close(d->who->conn);
	d->accept = 0;
	d->who = NULL;
}

/* fd -1: a reset for who waits. False: it was not sent. */
static bool send_accept(struct door *d, int fd, struct caller *who)
{
	uint8_t bytes[4];
	struct wire_out out = { bytes, 0, sizeof(bytes), false };

	d->who = who;
	wire_put_u32(&out, d->listen);
	d->accept = runtime_call(d->inside->runtime, WIRE_ACCEPT, &out, fd, on_accepted, d);
	return d->accept != 0;
}

/* Who waits gets the other end of his connection, or without one (no descriptors, no memory) a reset. */
static void let_in(struct door *d)
{
	struct caller *c = NULL;
	int ends[2] = { -EBADF, -EBADF };

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0)
		c = caller_new(d, ends[0]);
	AUTO_CLOSE int near = c ? -EBADF : ends[0];
	AUTO_CLOSE int far = ends[1];
	d->knocked = false;
	if (!c || !send_accept(d, far, c))
		(void)send_accept(d, -1, NULL);
}

static void answer_door(struct door *d)
{
	const struct inside *in = d->inside;

	list_del(&d->queue);
	if (!d->knocked || !d->listen || !in->sandbox ||
	    in->sandbox->record.state != SANDBOX_RUNNING || in->caller_count >= CALLERS_PER_CELL)
		return;
	if (callers >= callers_max)
		list_add_tail(&waiting, &d->queue);
	else
		let_in(d);
}

static void on_listen(void *ctx, const struct runtime_answer *a)
{
	struct door *d = ctx;

	if (a->error) {
		d->listen = 0;
		if (a->error != ESHUTDOWN)
			daemon_log(DAEMON_WARN, "inside.unserved",
				   NUMBER_FIELD("port", d->service->port),
				   TEXT_FIELD("error", a->message));
	} else if (a->type == WIRE_KNOCK && !d->accept) { /* once, until we have answered */
		d->knocked = true;
		answer_door(d);
	}
}

static void open_door(struct inside *in, const struct ingress_service *service)
{
	uint8_t bytes[4];
	struct wire_out out = { bytes, 0, sizeof(bytes), false };
	struct door *d = &in->doors[in->door_count++];

	*d = (struct door){ .inside = in, .service = service };
	list_init(&d->queue);
	wire_put_u32(&out, service->port);
	d->listen = runtime_call(in->runtime, WIRE_LISTEN, &out, -1, on_listen, d);
}

/* ---- cells ---- */

static void *inside_open(struct server *server, struct runtime *runtime)
{
	struct inside *in = calloc(1, sizeof(*in));

	if (!in)
		return NULL;
	in->server = server;
	in->runtime = runtime;
	list_init(&in->callers);
	for (unsigned int i = 0; i < MIN(ingress_service_count, DOORS_MAX); i++)
		open_door(in, &ingress_services[i]);
	return in;
}

static void inside_running(void *state, struct sandbox *s)
{
	struct inside *in = state;

	in->sandbox = s;
	answer_doors(in);
}

static void inside_close(void *state)
{
	struct inside *in = state;
	struct caller *c;

	in->closed = true;
	in->sandbox = NULL;
	for (unsigned int i = 0; i < in->door_count; i++) {
		struct door *d = &in->doors[i];
		list_del(&d->queue);
		take_back(d);
		runtime_cancel(in->runtime, d->listen);
		d->listen = 0;
	}
	list_for_each(c, &in->callers, link)
		http_adopted_close(c->conn);
	free_if_over(in);
}

const struct cell_service inside_service = { inside_open, inside_running, inside_close };

void inside_start(void)
{
	struct rlimit l;

	/* The rest is for clients, processes and kernel processes. */
	if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur / 8 < callers_max)
		callers_max = (unsigned int)l.rlim_cur / 8;
}
