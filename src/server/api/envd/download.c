/*
 * GET /files: FS_STAT says what it is, FS_READ sends it through a pipe. Ranges, conditions on the date, and
 * gzip for those who forbid anything else. Files without a size may have content all the same, as those of
 * /proc: their head waits for the first bytes, or for the news that there are none.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "codec/httpdate.h"
#include "codec/mime.h"
#include "codec/range.h"
#include "server/api/envd/envd_internal.h"
#include "server/api/envd/files.h"
#include "server/api/reply.h"
#include "server/process/pipe.h"
#include "server/runtime/runtime.h"
#include "server/server.h"

#define PATH_BYTES_MAX 4096
#define UNSENT_MAX     (1u << 20)
#define PIPE_SIZE      (1 << 20)
#define NS_PER_SEC     1000000000ll
#define GZIP_WINDOW    (15 + 16) /* zlib: a gzip header and the largest window */

struct download {
	struct http_exchange *x;
	struct sandbox *sandbox;
	struct sandbox_attachment attachment;
	uint32_t request;
	char path[PATH_BYTES_MAX], user[64];
	enum files_coding coding;
	bool head_only;
	bool unsized; /* the file's size is 0: length is not known before its end */
	bool begun;   /* the head is sent */
	bool ended;   /* the pipe has */
	int error;    /* of reading */
	const char *type;
	uint64_t length; /* to be sent */
	uint64_t sent;	 /* of it */
	struct pipe_reader *reader;
	z_stream *deflate;
};

static void download_free(struct download *d)
{
	sandbox_detach(&d->attachment);
	pipe_reader_free(d->reader);
	if (d->request && d->sandbox->runtime)
		runtime_cancel(d->sandbox->runtime, d->request);
	if (d->deflate) {
		deflateEnd(d->deflate);
		free(d->deflate);
	}
	free(d);
}

/* The exchange is answered by the caller. */
static struct http_exchange *release(struct download *d)
{
	struct http_exchange *x = d->x;

	http_on_close(x, NULL, NULL);
	http_on_drain(x, 0, NULL, NULL);
	download_free(d);
	return x;
}

static void client_left(struct http_exchange *x, void *ctx)
{
	download_free(ctx);
}

static void sandbox_gone(struct sandbox_attachment *a)
{
	struct download *d = container_of(a, struct download, attachment);

	http_abort(release(d));
}

/* ---- the bytes ---- */

static void begin(struct download *d, int status, uint64_t length)
{
	if (d->deflate)
		http_set(d->x, "content-encoding", "gzip");
	http_start(d->x, status, d->type, d->deflate ? UINT64_MAX : length);
	d->begun = true;
}

static void compress_piece(struct download *d, const uint8_t *data, size_t size, int flush)
{
	static uint8_t out[16384];

	d->deflate->next_in = (Bytef *)(uintptr_t)data;
	d->deflate->avail_in = (uInt)size;
	do {
		d->deflate->next_out = out;
		d->deflate->avail_out = sizeof(out);
		deflate(d->deflate, flush);
		http_send(d->x, out, sizeof(out) - d->deflate->avail_out);
	} while (d->deflate->avail_out == 0);
}

static void on_data(void *ctx, const uint8_t *data, size_t size)
{
	struct download *d = ctx;
	/* What was announced is sent, even if the file grows meanwhile. */
	size_t n = (size_t)MIN(size, d->length - d->sent);

	if (!d->begun)
		begin(d, 200, UINT64_MAX);
	d->sent += n;
	if (d->deflate)
		compress_piece(d, data, n, Z_NO_FLUSH);
	else if (n)
		http_send(d->x, data, n);
	if (http_unsent(d->x) > UNSENT_MAX)
		pipe_reader_pause(d->reader, true);
}

/* Both have come, the end of the pipe and the kernel process's answer. */
static void end_unsized(struct download *d)
{
	if (d->error && !d->begun) {
		files_fail(release(d), d->error, 0, "it cannot be read");
		return;
	}
	if (!d->begun)
		begin(d, 200, 0);
	if (!d->error && d->deflate)
		compress_piece(d, NULL, 0, Z_FINISH);
	bool whole = !d->error;
	struct http_exchange *x = release(d);
	if (whole)
		http_finish(x);
	else
		http_abort(x);
}

static void on_end(void *ctx)
{
	struct download *d = ctx;
	bool whole = d->sent == d->length;

	if (d->unsized) {
		d->ended = true;
		if (!d->request)
			end_unsized(d);
		return;
	}
	if (whole && d->deflate)
		compress_piece(d, NULL, 0, Z_FINISH);
	struct http_exchange *x = release(d);
	if (whole)
		http_finish(x);
	else
		http_abort(x); /* it shrank, or could not be read: a cut is how clients learn it */
}

static void drained(struct http_exchange *x, void *ctx)
{
	struct download *d = ctx;
	pipe_reader_pause(d->reader, false);
}

/* ---- the head ---- */

static void set_head(struct download *d, const struct wire_entry *e)
{
	char date[HTTP_DATE_SIZE], disposition[512];
	bool plain = true;

	reply_cors(d->x);
	http_date_format(e->mtime_ns / NS_PER_SEC, date);
	http_set(d->x, "last-modified", date);
	http_set(d->x, "accept-ranges", "bytes");
	http_set(d->x, "vary", "Accept-Encoding");
	for (const char *s = e->name; *s; s++)
		plain = plain && *s >= ' ' && *s < 0x7f && *s != '"' && *s != '\\';
	snprintf(disposition, sizeof(disposition), "inline; filename=\"%.250s\"",
		 plain ? e->name : "file");
	http_set(d->x, "content-disposition", disposition);
}

static bool not_modified(const struct download *d, const struct wire_entry *e)
{
	const char *since = http_header(d->x, "if-modified-since");
	int64_t time;

	return since && http_date_parse(since, &time) == 0 && e->mtime_ns / NS_PER_SEC <= time;
}

/* If-Range with another date: the range does not count. */
static const char *wanted_range(const struct download *d, const struct wire_entry *e)
{
	const char *range = http_header(d->x, "range"), *condition = http_header(d->x, "if-range");
	int64_t time;

	if (condition &&
	    (http_date_parse(condition, &time) < 0 || time != e->mtime_ns / NS_PER_SEC))
		return NULL;
	return d->coding == FILES_GZIP ? NULL : range;
}

static int start_gzip(struct download *d)
{
	d->deflate = calloc(1, sizeof(*d->deflate));
	if (!d->deflate || deflateInit2(d->deflate, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW, 8,
					Z_DEFAULT_STRATEGY) != Z_OK) {
		free(d->deflate);
		d->deflate = NULL;
		return -ENOMEM;
	}
	return 0;
}

static void read_answered(void *ctx, const struct runtime_answer *a)
{
	struct download *d = ctx;

	if (!a->error && a->type != WIRE_DONE)
		return;
	d->request = 0;
	d->error = a->error;
	/* An error closes the pipe, whose end then finds that bytes are missing. */
	if (d->unsized && d->ended)
		end_unsized(d);
}

static int start_reading(struct download *d, uint64_t first)
{
	uint8_t bytes[PATH_BYTES_MAX + 256];
	struct wire_out out = { bytes, 0, sizeof(bytes), false };
	static const struct pipe_reader_events events = { on_data, on_end };
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	AUTO_CLOSE int far = ends[1];
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	(void)fcntl(ends[0], F_SETPIPE_SZ, PIPE_SIZE);
	d->reader = pipe_reader_new(d->sandbox->server->loop, ends[0], PIPE_PIECE_MAX, &events, d);
	if (!d->reader)
		return -ENOMEM;
	wire_put_str(&out, d->user);
	wire_put_str(&out, d->path);
	wire_put_u64(&out, first);
	wire_put_u64(&out, d->length);
	uint32_t request =
		runtime_call(d->sandbox->runtime, WIRE_FS_READ, &out, far, read_answered, d);
	if (request)
		d->request = request;
	return 0;
}

static void send_file(struct download *d, const struct wire_entry *e)
{
	uint64_t first = 0;
	char content_range[80];
	int status = 200;

	d->type = mime_type(e->name);
	d->length = e->size;
	switch (range_parse(wanted_range(d, e), e->size, &first, &d->length)) {
	case RANGE_UNSATISFIABLE:
		snprintf(content_range, sizeof(content_range), "bytes */%llu",
			 (unsigned long long)e->size);
		http_set(d->x, "content-range", content_range);
		http_error(release(d), 416, "the range is not within the file");
		return;
	case RANGE_ONE:
		snprintf(content_range, sizeof(content_range), "bytes %llu-%llu/%llu",
			 (unsigned long long)first, (unsigned long long)(first + d->length - 1),
			 (unsigned long long)e->size);
		http_set(d->x, "content-range", content_range);
		status = 206;
		break;
	case RANGE_NONE:
		break;
	}
	set_head(d, e);
	if (d->coding == FILES_GZIP && start_gzip(d) < 0) {
		http_error(release(d), 503, "out of memory");
		return;
	}
	d->unsized = e->size == 0 && !d->head_only;
	if (d->unsized)
		d->length = UINT64_MAX;
	else
		begin(d, status, d->length);
	if (d->head_only) {
		http_finish(release(d));
		return;
	}
	http_on_drain(d->x, UNSENT_MAX / 2, drained, d);
	if (start_reading(d, first) < 0 && d->begun)
		http_abort(release(d));
	else if (!d->reader)
		http_error(release(d), 503, "out of descriptors or memory");
}

/* What FS_STAT says of a link is its own size: what it points to is asked for by its path. */
static void stat_answered(void *ctx, const struct runtime_answer *a);

static void ask(struct download *d)
{
	uint8_t bytes[PATH_BYTES_MAX + 256];
	struct wire_out out = { bytes, 0, sizeof(bytes), false };

	wire_put_str(&out, d->user);
	wire_put_str(&out, d->path);
	uint32_t request =
		runtime_call(d->sandbox->runtime, WIRE_FS_STAT, &out, -1, stat_answered, d);
	if (request)
		d->request = request;
}

static void stat_answered(void *ctx, const struct runtime_answer *a)
{
	static struct wire_entry e;
	struct download *d = ctx;

	d->request = 0;
	if (a->error) {
		files_fail(release(d), a->error, a->about, a->message);
	} else if (!wire_get_entry(a->body, &e)) {
		http_error(release(d), 500, "the sandbox gave no answer");
	} else if (S_ISLNK(e.mode) && e.target_mode && strcmp(e.target, d->path) != 0) {
		snprintf(d->path, sizeof(d->path), "%s", e.target);
		ask(d);
	} else if (S_ISLNK(e.mode)) {
		http_error(release(d), 404, "path '%s' does not exist", e.path);
	} else if (e.type == WIRE_ENTRY_DIRECTORY) {
		http_error(release(d), 400, "path '%s' is a directory", e.path);
	} else if (e.type != WIRE_ENTRY_FILE) {
		http_error(release(d), 400, "path '%s' is not a regular file", e.path);
	} else if (not_modified(d, &e)) {
		http_respond(release(d), 304, NULL, NULL, 0);
	} else {
		send_file(d, &e);
	}
}

void envd_download(struct http_exchange *x, struct sandbox *s)
{
	const char *path = http_query_param(x, "path");
	const char *user = http_query_param(x, "username");
	enum files_coding coding = files_accepted(http_header(x, "accept-encoding"));
	struct download *d = calloc(1, sizeof(*d));

	if (!d || coding == FILES_NONE || !s->runtime || (path && strlen(path) >= PATH_BYTES_MAX) ||
	    (user && strlen(user) >= sizeof(d->user))) {
		reply_cors(x);
		http_error(x, coding == FILES_NONE ? 406 : 400,
			   coding == FILES_NONE ? "neither identity nor gzip is accepted"
						: "path or username is too long");
		free(d);
		return;
	}
	d->x = x;
	d->sandbox = s;
	d->coding = coding;
	d->head_only = strcmp(http_method(x), "HEAD") == 0;
	snprintf(d->path, sizeof(d->path), "%s", path ? path : "");
	snprintf(d->user, sizeof(d->user), "%s", user ? user : "");
	d->attachment.gone = sandbox_gone;
	sandbox_attach(s, &d->attachment);
	http_on_close(x, client_left, d);
	ask(d);
}
