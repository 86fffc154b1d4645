/* Shared by the files of an upload: upload.c, upload_file.c, upload_pump.c. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include "codec/multipart.h"
#include "http/exchange.h"
#include "server/process/pipe.h"
#include "server/sandbox/sandbox.h"

#define PATH_BYTES_MAX	 4096
#define CREDIT		 (1u << 20)
#define INFLATE_PIECE	 (64u << 10)
#define METADATA_KEY_MAX 246
#define METADATA_SUM_MAX 4096

struct upload {
	struct http_exchange *x;
	struct sandbox *sandbox;
	struct sandbox_attachment attachment;
	char path[PATH_BYTES_MAX], user[64];
	bool has_path;
	struct multipart *parts; /* NULL: the body is the file */
	z_stream *inflate;	 /* NULL: it is not compressed */
	bool inflated;		 /* the compressed stream has ended */
	bool body_ended;
	bool pumping;

	uint8_t *input; /* CREDIT bytes; what came and is not used yet: [input_at, input_size) */
	size_t input_at, input_size;
	size_t used; /* bytes that left, and were not granted again */
	uint8_t plain[INFLATE_PIECE]; /* decompressed: [plain_at, plain_size) */
	size_t plain_at, plain_size;

	/* the file that is being written */
	struct pipe_writer *writer;
	uint32_t request;
	bool waiting; /* for its answer: its content is complete */
	bool skip;    /* a part that is not a file */
	size_t skipped; /* bytes of such parts */

	json_t *paths, *files; /* asked for; made */
};

/* Ends it; the exchange is to be answered by the caller. */
struct http_exchange *upload_release(struct upload *u);
__attribute__((format(printf, 3, 4))) void upload_refuse(struct upload *u, int status,
							  const char *format, ...);
/* Everything is written and answered: 200 with the files. */
void upload_finish(struct upload *u);

/* 0 or -errno; -EINPROGRESS: the sandbox is gone, and with it u. */
int upload_open_file(struct upload *u, const char *path);
void upload_explain(struct upload *u, int error);

/* The http_body_fn of an upload. */
void upload_on_body(struct http_exchange *x, void *ctx, const uint8_t *data, size_t size, bool last,
		    int error);
/* Moves what can be moved; u may be gone afterwards. */
void upload_pump(struct upload *u);
extern const struct multipart_events upload_part_events;
