/*
 * Frames of the driver protocol (docs/interpreter.md): "NAME ARGUMENT SIZE\n" and SIZE bytes. The
 * parser holds a header at most; content is passed on as it comes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_HEADER_MAX 200
#define FRAME_SIZE_MAX	 (UINT64_C(1) << 40)

struct frame_sink {
	/* A header. Both strings are printable ASCII without spaces, and end with the call. */
	int (*begin)(void *ctx, const char *name, const char *argument, uint64_t size);
	/* A piece of its content, never empty. */
	int (*data)(void *ctx, const uint8_t *data, size_t size);
	/* All SIZE bytes were there; also when SIZE is 0. */
	int (*end)(void *ctx);
};

struct frame_parser {
	char header[FRAME_HEADER_MAX + 1];
	size_t header_size;
	uint64_t left; /* bytes of content still to come */
	bool in_content;
};

void frame_parser_init(struct frame_parser *p);
/* Negative returns of the sink end it and are returned; -EBADMSG: not a header. 0 = all taken. */
int frame_parse(struct frame_parser *p, const struct frame_sink *sink, void *ctx,
		const uint8_t *data, size_t size);
/* True when no frame has been begun but not ended. */
bool frame_parser_idle(const struct frame_parser *p);
/* Header of a frame; argument NULL = none. The length, -E2BIG. `room` FRAME_HEADER_MAX + 1 is enough. */
int frame_header(char *out, size_t room, const char *name, const char *argument, uint64_t size);
