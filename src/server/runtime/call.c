/*
 * Requests other than processes. One table says which answers a request may have, and which is the
 * last one.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/util.h"
#include "server/runtime/runtime_internal.h"

struct call {
	struct pending pending;
	uint32_t type;
	runtime_answer_fn fn;
	void *ctx;
};

static const struct shape {
	uint32_t request, answer;
	bool last;
} shapes[] = {
	{ WIRE_FS_STAT, WIRE_FS_ENTRY, true },
	{ WIRE_FS_LIST, WIRE_FS_ENTRIES, false },
	{ WIRE_FS_LIST, WIRE_DONE, true },
	{ WIRE_FS_MAKE_DIR, WIRE_FS_ENTRY, true },
	{ WIRE_FS_MOVE, WIRE_FS_ENTRY, true },
	{ WIRE_FS_REMOVE, WIRE_DONE, true },
	{ WIRE_FS_READ, WIRE_FS_ENTRY, false },
	{ WIRE_FS_READ, WIRE_DONE, true },
	{ WIRE_FS_WRITE, WIRE_FS_ENTRY, true },
	{ WIRE_FS_WATCH, WIRE_DONE, false },
	{ WIRE_FS_WATCH, WIRE_FS_EVENT, false },
	{ WIRE_DIAL, WIRE_DONE, true },
	{ WIRE_LISTEN, WIRE_DONE, false },
	{ WIRE_LISTEN, WIRE_KNOCK, false },
	{ WIRE_ACCEPT, WIRE_DONE, true },
	{ WIRE_SAVE, WIRE_DONE, true },
	{ WIRE_LOAD, WIRE_DONE, true },
	{ WIRE_FREEZE, WIRE_DONE, true },
	{ WIRE_THAW, WIRE_DONE, true },
	{ WIRE_REBOOT, WIRE_DONE, true },
	{ WIRE_SET_LIMITS, WIRE_DONE, true },
	{ WIRE_SET_HOSTNAME, WIRE_DONE, true },
	{ WIRE_STATS, WIRE_STATS_REPLY, true },
	{ WIRE_LIST_PROCESSES, WIRE_PROCESS_LIST, true },
};

static const struct shape *find_shape(uint32_t request, uint32_t answer)
{
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		if (shapes[i].request == request && shapes[i].answer == answer)
			return &shapes[i];
	}
	return NULL;
}

static struct call *call_of(struct pending *p)
{
	return container_of(p, struct call, pending);
}

/* The callback may start or cancel others: the call is off the list by then. */
static void answer_last(struct call *c, const struct runtime_answer *a)
{
	list_del(&c->pending.link);
	c->fn(c->ctx, a);
	free(c);
}

void call_message(struct runtime *rt, struct pending *p, uint32_t type, struct wire_in *in)
{
	struct call *c = call_of(p);
	const struct shape *shape = find_shape(c->type, type);
	struct runtime_answer a = { .type = type, .body = in };
	if (type == WIRE_ERROR) {
		struct wire_refusal e;
		if (!runtime_get_refusal(in, &e)) {
			runtime_protocol_error(rt, "ERROR");
			return;
		}
		a = (struct runtime_answer){ (int)e.error, e.about, e.message, type, in };
		answer_last(c, &a);
	} else if (!shape) {
		runtime_protocol_error(rt, "an answer of another request");
	} else if (shape->last) {
		answer_last(c, &a);
	} else {
		c->fn(c->ctx, &a);
	}
}

void call_end(struct pending *p)
{
	struct wire_in nothing = { .failed = true };
	const struct runtime_answer a = { ESHUTDOWN, WIRE_ABOUT_REQUEST, "the sandbox ended",
					  WIRE_ERROR, &nothing };
	answer_last(call_of(p), &a);
}

uint32_t runtime_call(struct runtime *rt, uint32_t type, const struct wire_out *body, int fd,
		      runtime_answer_fn fn, void *ctx)
{
	struct wire_in nothing = { .failed = true };
	struct call *c = calloc(1, sizeof(*c));
	int r = -ENOMEM;
	if (c) {
		*c = (struct call){ .type = type, .fn = fn, .ctx = ctx };
		pending_add(rt, &c->pending, PENDING_CALL);
		r = body && body->failed
			    ? -E2BIG
			    : runtime_send(rt, type, c->pending.request, body ? body->data : NULL,
					   body ? body->length : 0, &fd, fd >= 0);
		if (r == 0)
			return c->pending.request;
		list_del(&c->pending.link);
		free(c);
	}
	const struct runtime_answer a = { -r, WIRE_ABOUT_REQUEST,
					  r == -ESHUTDOWN ? "the sandbox ended"
							  : "send the request",
					  WIRE_ERROR, &nothing };
	fn(ctx, &a);
	return 0;
}

void runtime_cancel(struct runtime *rt, uint32_t request)
{
	struct pending *p = request ? pending_find(rt, request) : NULL;
	if (!p || p->kind != PENDING_CALL)
		return;
	list_del(&p->link);
	free(call_of(p));
	(void)runtime_send(rt, WIRE_CANCEL, request, NULL, 0, NULL, 0);
}
