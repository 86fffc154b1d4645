/*
 * POST /files: the body goes through pipes into the sandbox, one FS_WRITE a file.
 *
 *   body --> input --(inflate)--> plain --> multipart, or as it is --> pipe --> FS_WRITE
 *
 * pump() moves what can be moved; it is called when something came, was written, or was answered. A
 * file's answer is awaited at its end, before the next part's file is made. The body is granted as
 * much as `input` holds, so that a slow sandbox slows the client, and a small compressed body cannot
 * become a large one in memory. Whatever goes wrong, the first error is the answer.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "server/api/envd/envd_internal.h"
#include "server/api/envd/upload_internal.h"
#include "server/api/reply.h"
#include "server/runtime/runtime.h"

#define GZIP_WINDOW (15 + 16) /* zlib: a gzip header and the largest window */

/* ---- ends ---- */

static void upload_free(struct upload *u)
{
	sandbox_detach(&u->attachment);
	if (u->writer) {
		pipe_writer_forget(u->writer, u);
		pipe_writer_free(u->writer);
	}
	if (u->request && u->sandbox->runtime)
		runtime_cancel(u->sandbox->runtime, u->request);
	if (u->inflate) {
		inflateEnd(u->inflate);
		free(u->inflate);
	}
	free(u->parts);
	free(u->input);
	json_decref(u->paths);
	json_decref(u->files);
	free(u);
}

struct http_exchange *upload_release(struct upload *u)
{
	struct http_exchange *x = u->x;

	http_on_close(x, NULL, NULL);
	upload_free(u);
	return x;
}

static void client_left(struct http_exchange *x, void *ctx)
{
	upload_free(ctx);
}

static void sandbox_gone(struct sandbox_attachment *a)
{
	http_abort(upload_release(container_of(a, struct upload, attachment)));
}

void upload_refuse(struct upload *u, int status, const char *format, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	struct http_exchange *x = upload_release(u);
	reply_cors(x);
	http_error(x, status, "%s", text);
}

void upload_finish(struct upload *u)
{
	json_t *files = json_incref(u->files);

	if (u->parts && !multipart_complete(u->parts)) {
		json_decref(files);
		upload_refuse(u, 400, "the multipart body is cut");
		return;
	}
	if (u->inflate && !u->inflated) {
		json_decref(files);
		upload_refuse(u, 400, "the gzip body is cut");
		return;
	}
	if (json_array_size(files) == 0) {
		json_decref(files);
		upload_refuse(u, 400, "the body has no part named 'file'");
		return;
	}
	struct http_exchange *x = upload_release(u);
	reply_cors(x);
	reply_json(x, 200, files);
}

/* ---- the beginning ---- */

/* 0 or the status of the refusal. */
static int read_types(struct upload *u, const char **ret_why)
{
	const char *type = http_header(u->x, "content-type");
	const char *coding = http_header(u->x, "content-encoding");

	if (coding && strcmp(coding, "gzip") == 0) {
		u->inflate = calloc(1, sizeof(*u->inflate));
		if (!u->inflate || inflateInit2(u->inflate, GZIP_WINDOW) != Z_OK) {
			free(u->inflate);
			u->inflate = NULL;
			*ret_why = "out of memory";
			return 503;
		}
	} else if (coding && strcmp(coding, "identity") != 0) {
		*ret_why = "the content encoding must be gzip or identity";
		return 400;
	}
	if (type && strncmp(type, "application/octet-stream", 24) == 0) {
		*ret_why = "path is required";
		return u->has_path ? 0 : 400;
	}
	*ret_why = "the content type must be multipart/form-data or application/octet-stream";
	u->parts = calloc(1, sizeof(*u->parts));
	return u->parts && multipart_init(u->parts, type, &upload_part_events, u) == 0 ? 0 : 400;
}

static struct upload *upload_new(struct http_exchange *x, struct sandbox *s)
{
	const char *path = http_query_param(x, "path"), *user = http_query_param(x, "username");
	struct upload *u = NULL;

	if ((!path || strlen(path) < PATH_BYTES_MAX) && (!user || strlen(user) < sizeof(u->user)))
		u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	u->x = x;
	u->sandbox = s;
	u->has_path = path && *path;
	snprintf(u->path, sizeof(u->path), "%s", path ? path : "");
	snprintf(u->user, sizeof(u->user), "%s", user ? user : "");
	u->input = malloc(CREDIT);
	u->paths = json_array();
	u->files = json_array();
	u->attachment.gone = sandbox_gone;
	sandbox_attach(s, &u->attachment);
	if (u->input && u->paths && u->files)
		return u;
	upload_free(u);
	return NULL;
}

void envd_upload(struct http_exchange *x, struct sandbox *s)
{
	struct upload *u = upload_new(x, s);
	const char *why = "";

	if (!u) {
		reply_cors(x);
		http_error(x, 400, "path or username is too long");
		return;
	}
	http_on_close(x, client_left, u);
	int status = read_types(u, &why);
	if (status) {
		upload_refuse(u, status, "%s", why);
		return;
	}
	int r = u->parts ? 0 : upload_open_file(u, u->path);
	if (r == -EINPROGRESS)
		return;
	if (r < 0)
		upload_explain(u, r);
	else
		http_body_read(x, upload_on_body, u, CREDIT);
}
