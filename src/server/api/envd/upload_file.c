/* One file of an upload: opened in the sandbox, fed through a pipe, answered. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "server/api/envd/files.h"
#include "server/api/envd/upload_internal.h"
#include "server/api/reply.h"
#include "server/runtime/runtime.h"
#include "server/server.h"

#define PIPE_SIZE	  (1 << 20)
#define FILES_MAX	  1000
#define METADATA_OVERHEAD 9

static json_t *file_json(const struct wire_entry *e)
{
	json_t *o = json_pack("{s:o, s:o, s:s}", "path", reply_text(e->path), "name",
			      reply_text(e->name), "type", "file");
	json_t *metadata = e->metadata_count ? json_object() : NULL;

	for (uint32_t i = 0; i < e->metadata_count; i++)
		json_object_set_new(metadata, e->metadata[i].key,
				    reply_text(e->metadata[i].value));
	if (o && metadata)
		json_object_set_new(o, "metadata", metadata);
	return o;
}

static void file_answered(void *ctx, const struct runtime_answer *a)
{
	static struct wire_entry e;
	struct upload *u = ctx;

	u->request = 0;
	if (a->error) {
		struct http_exchange *x = upload_release(u);
		files_fail(x, a->error, a->about, a->message);
		return;
	}
	if (!wire_get_entry(a->body, &e)) {
		upload_refuse(u, 500, "the sandbox gave no answer");
		return;
	}
	json_array_append_new(u->files, file_json(&e));
	pipe_writer_forget(u->writer, u);
	pipe_writer_free(u->writer);
	u->writer = NULL;
	u->waiting = false;
	if (!u->parts)
		upload_finish(u);
	else
		upload_pump(u);
}

/* X-Metadata-KEY fields; -EINVAL: one is too long, or not printable. */
static int put_metadata(struct http_exchange *x, struct wire_out *out)
{
	const char *name, *value;
	char key[METADATA_KEY_MAX + 1];
	uint32_t count = 0;
	size_t sum = 0;

	for (size_t i = 0; http_header_at(x, i, &name, &value); i++)
		count += strncmp(name, "x-metadata-", 11) == 0;
	if (count > WIRE_METADATA_MAX)
		return -EINVAL;
	wire_put_u32(out, count);
	for (size_t i = 0; http_header_at(x, i, &name, &value); i++) {
		if (strncmp(name, "x-metadata-", 11) != 0)
			continue;
		size_t length = strlen(name + 11);
		sum += METADATA_OVERHEAD + length + strlen(value);
		if (length == 0 || length > METADATA_KEY_MAX || sum > METADATA_SUM_MAX)
			return -EINVAL;
		for (const char *s = value; *s; s++) {
			if (!isprint((unsigned char)*s))
				return -EINVAL;
		}
		memcpy(key, name + 11, length + 1);
		wire_put_str(out, key);
		wire_put_str(out, value);
	}
	return 0;
}

/* One path must not be written twice in a request. */
static bool path_taken(struct upload *u, const char *path)
{
	json_t *v;
	size_t i;

	json_array_foreach(u->paths, i, v) {
		if (strcmp(json_string_value(v), path) == 0)
			return true;
	}
	json_array_append_new(u->paths, json_string(path));
	return false;
}

/* 0 or -errno: -EEXIST, -EINVAL (metadata), others of the host. */
int upload_open_file(struct upload *u, const char *path)
{
	static uint8_t bytes[PATH_BYTES_MAX + METADATA_SUM_MAX * 2];
	struct wire_out out = { bytes, 0, sizeof(bytes), false };
	int ends[2];

	if (json_array_size(u->paths) >= FILES_MAX)
		return -E2BIG;
	if (path_taken(u, path))
		return -EEXIST;
	wire_put_str(&out, u->user);
	wire_put_str(&out, path);
	int r = put_metadata(u->x, &out);
	if (r < 0 || out.failed)
		return r < 0 ? r : -ENAMETOOLONG;
	if (!u->sandbox->runtime || pipe2(ends, O_CLOEXEC) < 0)
		return u->sandbox->runtime ? -errno : -ESHUTDOWN;
	AUTO_CLOSE int far = ends[0];
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	(void)fcntl(ends[1], F_SETPIPE_SZ, PIPE_SIZE);
	u->writer = pipe_writer_new(u->sandbox->server->loop, ends[1]);
	if (!u->writer)
		return -ENOMEM;
	uint32_t request = runtime_call(u->sandbox->runtime, WIRE_FS_WRITE, &out, far,
					file_answered, u);
	if (!request)
		return -EINPROGRESS; /* answered, and u is gone */
	u->request = request;
	return 0;
}

void upload_explain(struct upload *u, int error)
{
	switch (error) {
	case -EEXIST:
		upload_refuse(u, 400, "two files of the request have the same path");
		break;
	case -ENOENT:
		upload_refuse(u, 400, "a part has no file name, and the request no path");
		break;
	case -EINVAL:
		upload_refuse(u, 400, "X-Metadata: keys of at most %d bytes, printable values, %d in all",
		       METADATA_KEY_MAX, METADATA_SUM_MAX);
		break;
	case -ENAMETOOLONG:
		upload_refuse(u, 400, "a path is too long");
		break;
	case -E2BIG:
		upload_refuse(u, 400, "too many files in one request, or a part's head is too long");
		break;
	case -EFBIG:
		upload_refuse(u, 400, "parts that are not named 'file' are too long");
		break;
	case -EBADMSG:
		upload_refuse(u, 400, "the body is malformed");
		break;
	default:
		upload_refuse(u, 503, "upload: %s", strerrordesc_np(-error));
	}
}
