/*
 * Theory of operation
 *
 * One control channel on the loop. Framing is wire/channel.h, whose buffers take what the socket does
 * not; a message that does not fit there, or that carries descriptors while bytes are unsent, waits in
 * a list of our own. Nothing here blocks: not even a kernel process that does not read, which is ended
 * when too much waits for it.
 *
 *     messages ──► dispatch by request number ──► process.c (SPAWN) or call.c (everything else)
 *
 * A request is known by its number until its last answer. Numbers grow, so an answer for an unknown
 * number below the newest belongs to a cancelled request and is dropped; above, it is a lie and ends
 * the sandbox, as do unknown types, malformed bodies and answers of the wrong type.
 *
 * The end: DIED or a closed channel. Callbacks that are under way may hold the runtime, so the poll
 * handle is closed first; when libuv says so (from the loop, never from inside a call) every request
 * is answered with -ESHUTDOWN, `died` is called, and the memory is freed.
 */
#include "server/runtime/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "server/runtime/runtime_internal.h"

#define MESSAGES_PER_TURN 64
#define UNSENT_MAX	  (32u << 20)
/* Pages of the receive buffer beyond these are given back after a large message. */
#define KEEP_BUFFER (64u << 10)

struct unsent {
	struct list link;
	uint32_t type, request, length, fd_count;
	int fds[WIRE_SPAWN_FDS_MAX];
	uint8_t body[];
};

/* ---- requests ---- */

void pending_add(struct runtime *rt, struct pending *p, enum pending_kind kind)
{
	p->kind = kind;
	p->request = ++rt->last_request;
	list_add_tail(&rt->buckets[p->request % RUNTIME_BUCKETS], &p->link);
}

struct pending *pending_find(struct runtime *rt, uint32_t request)
{
	struct pending *p;
	list_for_each(p, &rt->buckets[request % RUNTIME_BUCKETS], link) {
		if (p->request == request)
			return p;
	}
	return NULL;
}

/* ---- the end ---- */

static void free_unsent(struct runtime *rt, struct unsent *u)
{
	for (uint32_t i = 0; i < u->fd_count; i++)
		close(u->fds[i]);
	rt->unsent_bytes -= sizeof(*u) + u->length;
	list_del(&u->link);
	free(u);
}

static void end_pending(struct runtime *rt)
{
	for (unsigned int i = 0; i < RUNTIME_BUCKETS; i++) {
		while (!list_empty(&rt->buckets[i])) {
			struct pending *p = list_first(&rt->buckets[i], struct pending, link);
			list_del(&p->link);
			if (p->kind == PENDING_PROCESS)
				process_end(rt, p);
			else
				call_end(p);
		}
	}
}

static void on_closed(uv_handle_t *handle)
{
	struct runtime *rt = container_of((uv_poll_t *)handle, struct runtime, poll);
	channel_fini(&rt->channel);
	while (!list_empty(&rt->unsent))
		free_unsent(rt, list_first(&rt->unsent, struct unsent, link));
	end_pending(rt);
	rt->events->died(rt->ctx, rt->how, rt->reason, rt->have_stats ? &rt->stats : NULL);
	free(rt);
}

static void finish(struct runtime *rt, uint32_t how, const char *reason)
{
	if (rt->closing)
		return;
	rt->closing = true;
	rt->how = how;
	snprintf(rt->reason, sizeof(rt->reason), "%s", reason);
	uv_close((uv_handle_t *)&rt->poll, on_closed);
}

void runtime_protocol_error(struct runtime *rt, const char *what)
{
	char reason[128];
	snprintf(reason, sizeof(reason), "the kernel process broke the protocol: %s", what);
	finish(rt, WIRE_DEATH_FAULT, reason);
}

/* ---- sending ---- */

static void on_poll(uv_poll_t *poll, int status, int events);

static void watch(struct runtime *rt)
{
	bool more = channel_pending(&rt->channel) || !list_empty(&rt->unsent);
	int events = UV_READABLE | (more && !rt->broken ? UV_WRITABLE : 0);
	if (events == rt->watched || rt->closing)
		return;
	rt->watched = events;
	uv_poll_start(&rt->poll, events, on_poll);
}

/* 0 = taken, -EAGAIN = later. A broken pipe is no news yet: what the other end said last, and the end
 * of file, are still to be read. */
static int try_send(struct runtime *rt, uint32_t type, uint32_t request, const void *body,
		    uint32_t length, const int *fds, uint32_t fd_count)
{
	if (rt->broken)
		return 0;
	int r = fd_count && channel_pending(&rt->channel) ? channel_flush(&rt->channel) : 1;
	if (r == 0)
		return -EAGAIN;
	if (r > 0)
		r = channel_send(&rt->channel, type, request, body, length, fds, fd_count);
	if (r == -EAGAIN || r == -ENOBUFS)
		return -EAGAIN;
	if (r < 0)
		rt->broken = true;
	return 0;
}

static int enqueue(struct runtime *rt, uint32_t type, uint32_t request, const void *body,
		   uint32_t length, const int *fds, uint32_t fd_count)
{
	struct unsent *u = NULL;
	if (rt->unsent_bytes + length <= UNSENT_MAX && fd_count <= ARRAY_SIZE(u->fds))
		u = calloc(1, sizeof(*u) + length);
	if (!u) {
		finish(rt, WIRE_DEATH_FAULT,
		       "the kernel process does not read its control channel");
		return -ESHUTDOWN;
	}
	*u = (struct unsent){ .type = type, .request = request, .length = length };
	if (length)
		memcpy(u->body, body, length);
	rt->unsent_bytes += sizeof(*u) + length;
	list_add_tail(&rt->unsent, &u->link);
	for (; u->fd_count < fd_count; u->fd_count++) {
		u->fds[u->fd_count] = fcntl(fds[u->fd_count], F_DUPFD_CLOEXEC, 3);
		if (u->fds[u->fd_count] < 0) {
			free_unsent(rt, u);
			return -EMFILE;
		}
	}
	return 0;
}

int runtime_send(struct runtime *rt, uint32_t type, uint32_t request, const void *body,
		 uint32_t length, const int *fds, uint32_t fd_count)
{
	int r = -EAGAIN;
	if (rt->closing)
		return -ESHUTDOWN;
	if (list_empty(&rt->unsent))
		r = try_send(rt, type, request, body, length, fds, fd_count);
	if (r == -EAGAIN)
		r = enqueue(rt, type, request, body, length, fds, fd_count);
	watch(rt);
	return r;
}

static void send_more(struct runtime *rt)
{
	if (channel_flush(&rt->channel) < 0)
		rt->broken = true;
	while (!list_empty(&rt->unsent)) {
		struct unsent *u = list_first(&rt->unsent, struct unsent, link);
		if (try_send(rt, u->type, u->request, u->body, u->length, u->fds, u->fd_count) < 0)
			break;
		free_unsent(rt, u);
	}
}

/* ---- receiving ---- */

bool runtime_get_refusal(struct wire_in *in, struct wire_refusal *ret)
{
	ret->error = wire_get_u32(in);
	ret->about = wire_get_u32(in);
	ret->message = wire_get_str(in);
	return !in->failed && ret->error > 0 && ret->error < 4096;
}

static void on_died(struct runtime *rt, struct wire_in *in)
{
	uint32_t how = wire_get_u32(in);
	const char *reason = wire_get_str(in);
	rt->have_stats = wire_get_stats(in, &rt->stats);
	if (in->failed || how > WIRE_DEATH_FAULT)
		runtime_protocol_error(rt, "DIED");
	else
		finish(rt, how, reason);
}

static void on_log(struct runtime *rt, struct wire_in *in)
{
	uint32_t level = wire_get_u32(in);
	const char *text = wire_get_str(in);
	if (in->failed)
		runtime_protocol_error(rt, "LOG");
	else if (rt->events->log)
		rt->events->log(rt->ctx, level, text);
}

static void on_ready(struct runtime *rt, struct wire_in *in)
{
	uint64_t start_ns = wire_get_u64(in);
	if (in->failed || rt->ready) {
		runtime_protocol_error(rt, "READY");
		return;
	}
	rt->ready = true;
	if (rt->events->ready)
		rt->events->ready(rt->ctx, start_ns);
}

static void on_answer(struct runtime *rt, const struct wire_header *h, struct wire_in *in)
{
	struct pending *p = pending_find(rt, h->request);
	if (!p && (h->request == 0 || h->request > rt->last_request))
		runtime_protocol_error(rt, "an answer to nothing");
	else if (p && p->kind == PENDING_PROCESS)
		process_message(rt, p, h->type, in);
	else if (p)
		call_message(rt, p, h->type, in);
}

static void on_message(struct runtime *rt, const struct message *m)
{
	struct wire_in in = { m->body, m->header.length, 0, false };
	for (uint32_t i = 0; i < m->fd_count; i++)
		close(m->fds[i]);
	if (m->fd_count) {
		runtime_protocol_error(rt, "a descriptor");
		return;
	}
	switch (m->header.type) {
	case WIRE_READY:
		on_ready(rt, &in);
		break;
	case WIRE_DIED:
		on_died(rt, &in);
		break;
	case WIRE_LOG:
		on_log(rt, &in);
		break;
	default:
		on_answer(rt, &m->header, &in);
		break;
	}
	if (m->header.length > KEEP_BUFFER && !rt->closing)
		(void)madvise(rt->channel.in + KEEP_BUFFER, WIRE_BODY_MAX - KEEP_BUFFER,
			      MADV_DONTNEED);
}

static void receive(struct runtime *rt)
{
	struct message m;
	int r = 1;
	for (int i = 0; i < MESSAGES_PER_TURN && r == 1 && !rt->closing; i++) {
		r = channel_receive(&rt->channel, false, &m);
		if (r == 1)
			on_message(rt, &m);
	}
	if (r == -EPROTO)
		runtime_protocol_error(rt, "framing");
	else if (r < 0)
		finish(rt, WIRE_DEATH_FAULT, "");
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct runtime *rt = container_of(poll, struct runtime, poll);
	if (events & UV_WRITABLE)
		send_more(rt);
	/* An error of the poll itself shows when reading. */
	if (status < 0 || (events & UV_READABLE))
		receive(rt);
	if (!rt->closing)
		watch(rt);
}

/* ---- life ---- */

int runtime_new(uv_loop_t *loop, int control_fd, const struct runtime_events *events, void *ctx,
		struct runtime **ret, struct error *err)
{
	struct runtime *rt = calloc(1, sizeof(*rt));
	int flags = fcntl(control_fd, F_GETFL);
	if (!rt || flags < 0 || fcntl(control_fd, F_SETFL, flags | O_NONBLOCK) < 0) {
		free(rt);
		close(control_fd);
		return error_set(err, ENOMEM, "control channel");
	}
	int r = channel_init(&rt->channel, control_fd); /* closes it when it fails */
	if (r == 0 && uv_poll_init(loop, &rt->poll, control_fd) < 0) {
		channel_fini(&rt->channel);
		r = -EIO;
	}
	if (r < 0) {
		free(rt);
		return error_set(err, -r, "control channel");
	}
	for (unsigned int i = 0; i < RUNTIME_BUCKETS; i++)
		list_init(&rt->buckets[i]);
	list_init(&rt->unsent);
	runtime_set_context(rt, events, ctx);
	watch(rt);
	*ret = rt;
	return 0;
}

void runtime_set_context(struct runtime *rt, const struct runtime_events *events, void *ctx)
{
	rt->events = events;
	rt->ctx = ctx;
}

void runtime_shutdown(struct runtime *rt, const char *reason)
{
	uint8_t body[600];
	char text[512];
	struct wire_out o = { body, 0, sizeof(body), false };
	snprintf(text, sizeof(text), "%s", reason);
	wire_put_str(&o, text);
	(void)runtime_send(rt, WIRE_SHUTDOWN, 0, body, o.length, NULL, 0);
}

void runtime_abandon(struct runtime *rt, const char *reason)
{
	finish(rt, WIRE_DEATH_FAULT, reason);
}
