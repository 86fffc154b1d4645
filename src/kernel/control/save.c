/*
 * SAVE: the sandbox's files as an image (checkpoint/image.h) to a stream of the peer.
 *
 *     FREEZE'S WAY --all threads stand--> records --END sent--> thawed, DONE
 *
 * The picture is of one moment: every process stands, and the operation is exclusive (control/op.h), so
 * neither a transfer nor another request changes a file meanwhile. A sandbox that was frozen before stays
 * so. Data goes to the stream as fast as that takes it; a peer that stops reading keeps the sandbox
 * standing until he closes his end.
 */
#include <errno.h>

#include "base/util.h"
#include "kernel/control/control.h"
#include "kernel/control/freeze.h"
#include "kernel/control/op_kinds.h"
#include "kernel/control/requests.h"
#include "kernel/control/stream.h"
#include "kernel/core/arena.h"
#include "kernel/fs/tree/tree_image.h"
#include "kernel/host/channel_host.h"
#include "wire/channel.h"

#define PIECE_MAX	 (256u << 10)
#define RECORDS_PER_STEP 512u

struct save {
	struct op op;
	struct stream stream;
	struct tree_save walk;
	bool froze; /* and has to thaw */
	bool complete;
	uint32_t sent, length; /* of `bytes` */
	uint8_t bytes[PIECE_MAX];
};

static struct save *save_of(struct op *op)
{
	return container_of(op, struct save, op);
}

void save_release(struct op *op)
{
	struct save *s = save_of(op);

	tree_save_end(&s->walk);
	stream_close(&s->stream);
	if (s->froze)
		freeze_end();
}

static enum op_result fail(struct save *s, int error, const char *what)
{
	control_error(s->op.request, -error, WIRE_ABOUT_REQUEST, what);
	return OP_END;
}

/* Records into the buffer, until it is full enough or there are no more. */
static int fill(struct save *s)
{
	struct wire_out o = { s->bytes, 0, sizeof(s->bytes), false };
	struct image_record r;

	for (uint32_t i = 0; i < RECORDS_PER_STEP; i++) {
		if (o.capacity - o.length < IMAGE_RECORD_MAX)
			break;
		int more = tree_save_next(&s->walk, &r);
		if (more < 0)
			return more;
		s->complete = !more;
		if (!more)
			break;
		image_put(&o, &r);
	}
	s->sent = 0;
	s->length = o.length;
	return o.failed ? -EOVERFLOW : 0;
}

static enum op_result finish(struct save *s)
{
	if (s->froze)
		freeze_end();
	s->froze = false;
	stream_end(&s->stream);
	stream_close(&s->stream); /* before DONE: what the stream says is complete by then */
	control_done(s->op.request);
	return OP_END;
}

enum op_result save_step(struct op *op)
{
	struct save *s = save_of(op);
	int r = freeze_state();

	if (r == -EINPROGRESS)
		return OP_WAIT; /* freeze.c wakes it */
	if (r < 0)
		return fail(s, r, "freeze");
	r = s->sent == s->length && !s->complete ? fill(s) : 0;
	if (r < 0)
		return fail(s, r, "read the files");
	if (s->sent == s->length)
		return s->complete ? finish(s) : OP_AGAIN;
	ssize_t n = stream_write(&s->stream, s->bytes + s->sent, s->length - s->sent);
	if (n == -EAGAIN)
		return OP_WAIT;
	if (n < 0)
		return fail(s, (int)n, "the passed stream");
	s->sent += (uint32_t)n;
	return OP_AGAIN;
}

/* The descriptor is used up. */
static int begin(const struct message *m)
{
	struct save *s;
	int r = op_new(OP_SAVE, m->header.request, sizeof(*s), &s);

	if (r < 0) {
		host_close(m->fds[0]);
		return r;
	}
	r = stream_open(&s->stream, &s->op, m->fds[0]);
	if (r == 0)
		r = freeze_begin();
	if (r < 0) {
		op_free(&s->op);
		return r;
	}
	s->froze = r > 0;
	op_start(&s->op);
	return 0;
}

bool save_message(const struct message *m, struct wire_in *in)
{
	if (!wire_in_end(in) || m->fd_count != 1)
		return false;
	int r = begin(m);
	if (r < 0)
		control_error(m->header.request, -r, WIRE_ABOUT_REQUEST, "save");
	return true;
}
