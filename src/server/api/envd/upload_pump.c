/* From the body of an upload to the pipe of its file. */
#include <errno.h>
#include <string.h>

#include "server/api/envd/upload_internal.h"

#define SKIPPED_MAX (1u << 20)

/* -EPIPE: the sandbox has given up; its answer is on the way. */
static void written(void *ctx, int error)
{
	if (!error)
		upload_pump(ctx);
}

static int on_begin(void *ctx, const char *name, const char *filename)
{
	struct upload *u = ctx;
	const char *path = u->has_path ? u->path : filename;

	u->skip = strcmp(name, "file") != 0;
	if (u->skip)
		return 0;
	if (!path || !*path)
		return -ENOENT;
	if (strlen(path) >= PATH_BYTES_MAX)
		return -ENAMETOOLONG;
	return upload_open_file(u, path);
}

static int on_data(void *ctx, const uint8_t *data, size_t size)
{
	struct upload *u = ctx;

	if (u->skip)
		u->skipped += size;
	if (u->skipped > SKIPPED_MAX) /* nobody slows these down */
		return -EFBIG;
	if (u->skip || !u->writer)
		return 0;
	int r = pipe_writer_put(u->writer, data, size, written, u);
	return r == -EPIPE ? 0 : r;
}

static int on_end(void *ctx)
{
	struct upload *u = ctx;

	if (u->skip || !u->writer)
		return 0;
	u->waiting = true;
	pipe_writer_close(u->writer);
	return -EAGAIN;
}

const struct multipart_events upload_part_events = { on_begin, on_data, on_end };

static int feed(struct upload *u, const uint8_t *data, size_t size, size_t *ret_used)
{
	*ret_used = size;
	return u->parts ? multipart_feed(u->parts, data, size, ret_used) : on_data(u, data, size);
}

static int inflate_some(struct upload *u)
{
	z_stream *z = u->inflate;

	if (u->inflated)
		return u->input_at < u->input_size ? -EBADMSG : 0;
	z->next_in = u->input + u->input_at;
	z->avail_in = (uInt)(u->input_size - u->input_at);
	z->next_out = u->plain;
	z->avail_out = sizeof(u->plain);
	int r = inflate(z, Z_NO_FLUSH);
	u->input_at = u->input_size - z->avail_in;
	u->plain_at = 0;
	u->plain_size = sizeof(u->plain) - z->avail_out;
	u->inflated = r == Z_STREAM_END;
	return r == Z_OK || r == Z_STREAM_END || r == Z_BUF_ERROR ? 0 : -EBADMSG;
}

/* One step: 1 = something was moved, 0 = there is nothing, -errno. */
static int move(struct upload *u)
{
	size_t used;
	int r = 0;

	if (u->inflate && u->plain_at == u->plain_size) {
		r = inflate_some(u);
		if (r < 0 || u->plain_size == 0)
			return r;
	}
	uint8_t *from = u->inflate ? u->plain + u->plain_at : u->input + u->input_at;
	size_t size = u->inflate ? u->plain_size - u->plain_at : u->input_size - u->input_at;
	if (size == 0)
		return 0;
	r = feed(u, from, size, &used);
	if (r == -EINPROGRESS)
		return r;
	if (u->inflate)
		u->plain_at += used;
	else
		u->input_at += used;
	return r == 0 || r == -EAGAIN ? 1 : r;
}

/* What was used may come again, in large steps. */
static void grant_used(struct upload *u)
{
	size_t used = u->input_at;

	if (used >= CREDIT / 4 || used == u->input_size) {
		memmove(u->input, u->input + used, u->input_size - used);
		u->input_size -= used;
		u->input_at = 0;
		u->used += used;
	}
	if (u->body_ended || u->used < CREDIT / 4)
		return;
	http_body_grant(u->x, u->used);
	u->used = 0;
}

/* The whole body has been used: what is left to do? */
static void body_used(struct upload *u)
{
	if (u->parts) {
		upload_finish(u);
	} else if (u->inflate && !u->inflated) {
		upload_refuse(u, 400, "the gzip body is cut");
	} else {
		u->waiting = true;
		pipe_writer_close(u->writer);
	}
}

/* Not from inside itself: a put that is written at once calls back. */
void upload_pump(struct upload *u)
{
	int r = 1;

	if (u->pumping)
		return;
	u->pumping = true;
	while (r > 0 && !u->waiting && (!u->writer || pipe_writer_queued(u->writer) < CREDIT))
		r = move(u);
	if (r == -EINPROGRESS)
		return; /* it is answered and gone */
	u->pumping = false;
	if (r < 0) {
		upload_explain(u, r);
		return;
	}
	grant_used(u);
	if (r == 0 && !u->waiting && u->body_ended)
		body_used(u);
}

/* A body that is the file, as it is, goes from the socket's buffer into the pipe while that takes it. */
static size_t pass_on(struct upload *u, const uint8_t *data, size_t size)
{
	if (u->parts || u->inflate || !u->writer || u->waiting || u->input_size)
		return 0;
	return pipe_writer_try(u->writer, data, size);
}

void upload_on_body(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size,
		    bool last, int error)
{
	struct upload *u = ctx;

	if (error || size > CREDIT - u->input_size) {
		upload_refuse(u, 400, "the body is cut or malformed");
		return;
	}
	size_t passed = pass_on(u, data, size);
	u->used += passed;
	memcpy(u->input + u->input_size, data + passed, size - passed);
	u->input_size += size - passed;
	u->body_ended = u->body_ended || last;
	upload_pump(u);
}
