/* Processes of a runtime: SPAWN and what belongs to it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "server/runtime/runtime_internal.h"

#define INPUT_PIECE (64u << 10)

struct runtime_process {
	struct pending pending;
	struct runtime *runtime;
	const struct runtime_process_events *events; /* NULL = forgotten */
	void *ctx;
	bool tty, spawned;
};

static struct runtime_process *process_of(struct pending *p)
{
	return container_of(p, struct runtime_process, pending);
}

/* ---- messages ---- */

static void drop(struct runtime_process *p)
{
	list_del(&p->pending.link);
	free(p);
}

static void fail(struct runtime_process *p, int error, uint32_t about, const char *message)
{
	if (p->events && p->events->failed)
		p->events->failed(p->ctx, error, about, message);
	drop(p);
}

static void on_spawned(struct runtime *rt, struct runtime_process *p, struct wire_in *in)
{
	uint32_t pid = wire_get_u32(in);
	if (in->failed || p->spawned) {
		runtime_protocol_error(rt, "SPAWNED");
		return;
	}
	p->spawned = true;
	if (p->events && p->events->spawned)
		p->events->spawned(p->ctx, pid);
}

static void on_output(struct runtime *rt, struct runtime_process *p, struct wire_in *in)
{
	if (!p->tty || !p->spawned)
		runtime_protocol_error(rt, "OUTPUT");
	else if (p->events && p->events->output)
		p->events->output(p->ctx, in->data, in->length);
	else /* nobody reads: it must not stop for that */
		runtime_output_taken(p, in->length);
}

static void on_exited(struct runtime *rt, struct runtime_process *p, struct wire_in *in)
{
	uint32_t status = wire_get_u32(in);
	if (in->failed || !p->spawned) {
		runtime_protocol_error(rt, "EXITED");
		return;
	}
	if (p->events && p->events->exited)
		p->events->exited(p->ctx, status);
	drop(p);
}

static void on_error(struct runtime *rt, struct runtime_process *p, struct wire_in *in)
{
	struct wire_refusal e;
	if (!runtime_get_refusal(in, &e))
		runtime_protocol_error(rt, "ERROR");
	else if (!p->spawned) /* else a signal or a resize came too late */
		fail(p, (int)e.error, e.about, e.message);
}

void process_message(struct runtime *rt, struct pending *pending, uint32_t type, struct wire_in *in)
{
	struct runtime_process *p = process_of(pending);
	switch (type) {
	case WIRE_SPAWNED:
		on_spawned(rt, p, in);
		break;
	case WIRE_OUTPUT:
		on_output(rt, p, in);
		break;
	case WIRE_EXITED:
		on_exited(rt, p, in);
		break;
	case WIRE_ERROR:
		on_error(rt, p, in);
		break;
	case WIRE_DONE: /* of a signal */
		break;
	default:
		runtime_protocol_error(rt, "an answer for a process");
		break;
	}
}

void process_end(struct runtime *rt, struct pending *pending)
{
	fail(process_of(pending), ESHUTDOWN, WIRE_ABOUT_REQUEST, "the sandbox ended");
}

/* ---- requests ---- */

static int send_spawn(struct runtime *rt, uint32_t request, const struct wire_spawn *spawn,
		      const int *fds, unsigned int fd_count)
{
	size_t capacity = spawn->args_size + strlen(spawn->user) + strlen(spawn->cwd) +
			  strlen(spawn->path) + 256;
	if (capacity > WIRE_BODY_MAX || fd_count > WIRE_SPAWN_FDS_MAX)
		return -E2BIG;
	uint8_t *body = malloc(capacity);
	if (!body)
		return -ENOMEM;
	struct wire_out o = { body, 0, (uint32_t)capacity, false };
	wire_put_spawn(&o, spawn);
	int r = o.failed ? -E2BIG
			 : runtime_send(rt, WIRE_SPAWN, request, body, o.length, fds, fd_count);
	free(body);
	return r;
}

struct runtime_process *runtime_spawn(struct runtime *rt, const struct wire_spawn *spawn,
				      const int *fds, unsigned int fd_count,
				      const struct runtime_process_events *events, void *ctx)
{
	struct runtime_process *p = calloc(1, sizeof(*p));
	int r = -ENOMEM;
	if (p) {
		*p = (struct runtime_process){ .runtime = rt, .events = events, .ctx = ctx };
		p->tty = spawn->flags & WIRE_SPAWN_TTY;
		pending_add(rt, &p->pending, PENDING_PROCESS);
		r = send_spawn(rt, p->pending.request, spawn, fds, fd_count);
		if (r == 0)
			return p;
		drop(p);
	}
	events->failed(ctx, -r, WIRE_ABOUT_REQUEST, "start a process");
	return NULL;
}

void runtime_input(struct runtime_process *p, const void *data, size_t size)
{
	const uint8_t *at = data;
	while (p->tty && size > 0) {
		uint32_t n = (uint32_t)MIN(size, (size_t)INPUT_PIECE);
		if (runtime_send(p->runtime, WIRE_INPUT, p->pending.request, at, n, NULL, 0) < 0)
			return;
		at += n;
		size -= n;
	}
}

static void send_numbers(struct runtime_process *p, uint32_t type, uint32_t a, const uint32_t *b)
{
	uint8_t body[8];
	struct wire_out o = { body, 0, sizeof(body), false };
	wire_put_u32(&o, a);
	if (b)
		wire_put_u32(&o, *b);
	(void)runtime_send(p->runtime, type, p->pending.request, body, o.length, NULL, 0);
}

void runtime_output_taken(struct runtime_process *p, size_t size)
{
	if (p->tty && size > 0)
		send_numbers(p, WIRE_OUTPUT_ACK, (uint32_t)size, NULL);
}

void runtime_resize(struct runtime_process *p, uint32_t rows, uint32_t cols)
{
	send_numbers(p, WIRE_RESIZE, rows, &cols);
}

void runtime_signal(struct runtime_process *p, int signal, bool whole_group)
{
	uint32_t group = whole_group;
	send_numbers(p, WIRE_SIGNAL, (uint32_t)signal, &group);
}

void runtime_process_forget(struct runtime_process *p)
{
	p->events = NULL;
	p->ctx = NULL;
}
