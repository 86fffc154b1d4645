/*
 * LOAD: files from an image (checkpoint/image.h) that a stream of the peer brings, into a sandbox in
 * which nothing has run yet. Exclusive (control/op.h): nothing starts before the image is complete.
 *
 * What fails in the middle leaves files that nobody asked for. Such a sandbox ends: nobody should find
 * half of a snapshot by mistake.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "kernel/control/control.h"
#include "kernel/control/op_kinds.h"
#include "kernel/control/requests.h"
#include "kernel/control/stream.h"
#include "kernel/core/arena.h"
#include "kernel/core/sandbox.h"
#include "kernel/fs/tree/tree_image.h"
#include "kernel/host/channel_host.h"
#include "kernel/task/life.h"
#include "wire/channel.h"

#define PIECE_MAX (256u << 10)

_Static_assert(PIECE_MAX >= IMAGE_RECORD_MAX, "a record has to fit");

struct load {
	struct op op;
	struct stream stream;
	struct tree_load tree;
	bool complete;
	uint32_t length; /* of `bytes`: the beginning of a record */
	uint8_t bytes[PIECE_MAX];
};

static struct load *load_of(struct op *op)
{
	return container_of(op, struct load, op);
}

void load_release(struct op *op)
{
	struct load *l = load_of(op);

	tree_load_end(&l->tree);
	stream_close(&l->stream);
}

static const char *reason(int error)
{
	switch (error) {
	case -EPROTO:
		return "the snapshot is damaged, or of another version of Hotcell";
	case -ENOSPC:
		return "the snapshot does not fit the sandbox's disk limits";
	case -ENOMEM:
		return "the snapshot does not fit the kernel process's memory";
	default:
		return "read the snapshot";
	}
}

static enum op_result fail(struct load *l, int error)
{
	char text[160];

	control_error(l->op.request, -error, WIRE_ABOUT_REQUEST, reason(error));
	snprintf(text, sizeof(text), "load: %s", reason(error));
	sandbox_end(SANDBOX_SHUTDOWN, text);
	return OP_END;
}

/* Every complete record of the buffer. */
static int apply(struct load *l)
{
	struct image_record r;
	uint32_t at = 0;
	int n = 0;

	while (!l->complete && (n = image_get(l->bytes + at, l->length - at, &r)) > 0) {
		int done = tree_load_record(&l->tree, &r);
		if (done < 0)
			return done;
		l->complete = done > 0;
		at += (uint32_t)n;
	}
	l->length -= at;
	memmove(l->bytes, l->bytes + at, l->length);
	return n < 0 ? n : l->complete && l->length ? -EPROTO : 0;
}

enum op_result load_step(struct op *op)
{
	struct load *l = load_of(op);
	ssize_t got = stream_read(&l->stream, l->bytes + l->length, sizeof(l->bytes) - l->length);

	if (got == -EAGAIN)
		return OP_WAIT;
	if (got == 0) /* the image says itself where it ends */
		got = -EPROTO;
	if (got < 0)
		return fail(l, (int)got);
	l->length += (uint32_t)got;
	int r = apply(l);
	if (r < 0)
		return fail(l, r);
	if (!l->complete)
		return OP_AGAIN;
	control_done(op->request);
	return OP_END;
}

static int begin(const struct message *m)
{
	struct load *l;
	int r = process_total() > 1 ? -EBUSY : op_new(OP_LOAD, m->header.request, sizeof(*l), &l);

	if (r < 0) {
		host_close(m->fds[0]);
		return r;
	}
	r = stream_open(&l->stream, &l->op, m->fds[0]);
	if (r < 0)
		op_free(&l->op);
	else
		op_start(&l->op);
	return r;
}

bool load_message(const struct message *m, struct wire_in *in)
{
	if (!wire_in_end(in) || m->fd_count != 1)
		return false;
	int r = begin(m);
	if (r < 0)
		control_error(m->header.request, -r, WIRE_ABOUT_REQUEST,
			      r == -EBUSY ? "programs have run in this sandbox" : "load");
	return true;
}
