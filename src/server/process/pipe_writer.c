#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/list.h"
#include "server/process/pipe.h"

#define QUEUE_MAX (16u << 20)

struct piece {
	struct list link;
	pipe_written_fn fn;
	void *ctx;
	size_t size, written;
	uint8_t bytes[];
};

struct pipe_writer {
	uv_poll_t poll;
	int fd;
	bool broken, closing, freed;
	bool unwatched; /* libuv has let go of `poll` */
	struct list pieces;
	size_t queued;
};

static void closed(uv_handle_t *h)
{
	struct pipe_writer *w = h->data;

	w->unwatched = true;
	if (w->freed)
		free(w);
}

static void finish_piece(struct pipe_writer *w, struct piece *p, int error)
{
	list_del(&p->link);
	w->queued -= p->size;
	if (p->fn)
		p->fn(p->ctx, error);
	free(p);
}

/*
 * The watch ends with the descriptor: libuv remembers its number, which the next connection may get,
 * and would stop watching that when the handle is stopped or closed later.
 */
static void break_off(struct pipe_writer *w)
{
	if (w->broken)
		return;
	w->broken = true;
	uv_close((uv_handle_t *)&w->poll, closed);
	close(w->fd);
	w->fd = -EBADF;
	while (!list_empty(&w->pieces))
		finish_piece(w, list_first(&w->pieces, struct piece, link), -EPIPE);
}

/* 1 = written, 0 = the pipe is full, -errno. Counts on in *written. */
static int write_some(int fd, const uint8_t *bytes, size_t size, size_t *written)
{
	while (*written < size) {
		ssize_t n = write(fd, bytes + *written, size - *written);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		*written += (size_t)n;
	}
	return 1;
}

static void flush(struct pipe_writer *w);

static void writable(uv_poll_t *h, int status, int events)
{
	flush(h->data);
}

static void flush(struct pipe_writer *w)
{
	while (!w->broken && !list_empty(&w->pieces)) {
		struct piece *p = list_first(&w->pieces, struct piece, link);
		int r = write_some(w->fd, p->bytes, p->size, &p->written);
		if (r == 0) {
			uv_poll_start(&w->poll, UV_WRITABLE, writable);
			return;
		}
		if (r > 0)
			finish_piece(w, p, 0);
		else
			break_off(w);
		if (w->freed)
			return;
	}
	if (w->broken)
		return;
	uv_poll_stop(&w->poll);
	if (w->closing)
		break_off(w);
}

struct pipe_writer *pipe_writer_new(uv_loop_t *loop, int fd)
{
	struct pipe_writer *w = calloc(1, sizeof(*w));

	if (!w || uv_poll_init(loop, &w->poll, fd) < 0) {
		close(fd);
		free(w);
		return NULL;
	}
	w->fd = fd;
	w->poll.data = w;
	list_init(&w->pieces);
	return w;
}

size_t pipe_writer_try(struct pipe_writer *w, const void *data, size_t size)
{
	size_t written = 0;

	if (w->broken || w->closing || !list_empty(&w->pieces))
		return 0;
	if (write_some(w->fd, data, size, &written) < 0)
		break_off(w);
	return written;
}

static int enqueue(struct pipe_writer *w, const uint8_t *data, size_t size, pipe_written_fn fn,
		   void *ctx)
{
	struct piece *p = malloc(sizeof(*p) + size);

	if (!p)
		return -ENOMEM;
	*p = (struct piece){ .fn = fn, .ctx = ctx, .size = size };
	memcpy(p->bytes, data, size);
	if (list_empty(&w->pieces))
		uv_poll_start(&w->poll, UV_WRITABLE, writable);
	list_add_tail(&w->pieces, &p->link);
	w->queued += size;
	return 0;
}

int pipe_writer_put(struct pipe_writer *w, const void *data, size_t size, pipe_written_fn fn,
		    void *ctx)
{
	if (w->broken || w->closing)
		return -EPIPE;
	if (size > QUEUE_MAX || w->queued > QUEUE_MAX - size)
		return -ENOBUFS;
	size_t written = pipe_writer_try(w, data, size);
	if (written < size && !w->broken)
		return enqueue(w, (const uint8_t *)data + written, size - written, fn, ctx);
	if (fn)
		fn(ctx, written < size ? -EPIPE : 0);
	return 0;
}

size_t pipe_writer_queued(const struct pipe_writer *w)
{
	return w->queued;
}

void pipe_writer_forget(struct pipe_writer *w, void *ctx)
{
	struct piece *p;

	list_for_each(p, &w->pieces, link) {
		if (p->ctx == ctx)
			p->fn = NULL;
	}
}

void pipe_writer_close(struct pipe_writer *w)
{
	if (w->closing || w->broken)
		return;
	w->closing = true;
	if (list_empty(&w->pieces))
		break_off(w);
}

void pipe_writer_free(struct pipe_writer *w)
{
	if (!w || w->freed)
		return;
	w->freed = true;
	if (w->unwatched)
		free(w);
	else
		break_off(w);
}
