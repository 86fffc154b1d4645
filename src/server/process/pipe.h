/*
 * Our ends of the pipes to a process: a reader that can pause, and a writer with a queue. Both are on
 * the daemon's loop and never block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct uv_loop_s uv_loop_t;

/* ---- reading ---- */

struct pipe_reader;

struct pipe_reader_events {
	void (*data)(void *ctx, const uint8_t *data, size_t size);
	void (*end)(void *ctx); /* nobody writes any more; once */
};

/* Owns fd, also on failure (NULL). Reads at once, unless paused; at most `piece` bytes a call, which
 * is at most PIPE_PIECE_MAX. */
#define PIPE_PIECE_MAX (256u << 10)
struct pipe_reader *pipe_reader_new(uv_loop_t *loop, int fd, size_t piece,
				    const struct pipe_reader_events *events, void *ctx);
void pipe_reader_pause(struct pipe_reader *r, bool pause);
/* Reads what is there now, also when paused: `data` for each piece. */
void pipe_reader_drain(struct pipe_reader *r);
/* No callback any more. NULL is fine. */
void pipe_reader_free(struct pipe_reader *r);

/* ---- writing ---- */

struct pipe_writer;

struct pipe_writer *pipe_writer_new(uv_loop_t *loop, int fd);
/* error 0: everything up to here is in the pipe; -EPIPE: nobody reads it any more. */
typedef void (*pipe_written_fn)(void *ctx, int error);
/* Writes what the pipe takes if nothing is queued; gives how many bytes that was. */
size_t pipe_writer_try(struct pipe_writer *w, const void *data, size_t size);
/* As _try, then queues a copy of the rest; calls fn once, perhaps at once. -ENOBUFS: too much is
 * queued already. */
int pipe_writer_put(struct pipe_writer *w, const void *data, size_t size, pipe_written_fn fn,
		    void *ctx);
/* Bytes that are not in the pipe yet. */
size_t pipe_writer_queued(const struct pipe_writer *w);
/* Forgets the callbacks that were given this ctx. */
void pipe_writer_forget(struct pipe_writer *w, void *ctx);
/* The reader sees the end once the queue is written. Later puts get -EPIPE. */
void pipe_writer_close(struct pipe_writer *w);
/* At once; waiting callbacks get -EPIPE. NULL is fine. */
void pipe_writer_free(struct pipe_writer *w);
