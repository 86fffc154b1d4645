#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <uv.h>

#include "base/util.h"
#include "server/process/pipe.h"

#define TURN_PIECES 4 /* then others get their turn */

struct pipe_reader {
	uv_poll_t poll;
	int fd;
	size_t piece;
	bool paused, ended, freed;
	struct pipe_reader_events events;
	void *ctx;
};

static void closed(uv_handle_t *h)
{
	struct pipe_reader *r = h->data;

	close(r->fd);
	free(r);
}

/* False: nothing more is there now. */
static bool read_piece(struct pipe_reader *r)
{
	static uint8_t bytes[PIPE_PIECE_MAX];
	ssize_t n;

	do {
		n = read(r->fd, bytes, r->piece);
	} while (n < 0 && errno == EINTR);
	if (n > 0) {
		r->events.data(r->ctx, bytes, (size_t)n);
		return !r->freed;
	}
	if (n < 0 && errno == EAGAIN)
		return false;
	r->ended = true;
	uv_poll_stop(&r->poll);
	r->events.end(r->ctx);
	return false;
}

static void readable(uv_poll_t *h, int status, int events)
{
	struct pipe_reader *r = h->data;

	for (int i = 0; i < TURN_PIECES && !r->paused && !r->freed; i++) {
		if (!read_piece(r))
			break;
	}
}

struct pipe_reader *pipe_reader_new(uv_loop_t *loop, int fd, size_t piece,
				    const struct pipe_reader_events *events, void *ctx)
{
	struct pipe_reader *r = calloc(1, sizeof(*r));

	if (!r || uv_poll_init(loop, &r->poll, fd) < 0) {
		close(fd);
		free(r);
		return NULL;
	}
	r->fd = fd;
	r->piece = MIN(piece, PIPE_PIECE_MAX);
	r->events = *events;
	r->ctx = ctx;
	r->poll.data = r;
	uv_poll_start(&r->poll, UV_READABLE, readable);
	return r;
}

void pipe_reader_pause(struct pipe_reader *r, bool pause)
{
	if (!r || r->paused == pause || r->ended || r->freed)
		return;
	r->paused = pause;
	if (pause)
		uv_poll_stop(&r->poll);
	else
		uv_poll_start(&r->poll, UV_READABLE, readable);
}

/* Only what is there now: others may still write, faster than this reads. */
void pipe_reader_drain(struct pipe_reader *r)
{
	int left = 0;

	if (!r || r->ended || r->freed || ioctl(r->fd, FIONREAD, &left) < 0)
		return;
	for (; left > 0 && !r->ended && !r->freed && read_piece(r); left -= (int)r->piece)
		;
}

void pipe_reader_free(struct pipe_reader *r)
{
	if (!r || r->freed)
		return;
	r->freed = true;
	uv_poll_stop(&r->poll);
	uv_close((uv_handle_t *)&r->poll, closed);
}
