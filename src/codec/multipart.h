/*
 * multipart/form-data (RFC 7578), parsed as it comes, in pieces of any size. The content of parts is
 * handed on and not kept; only the head of a part and a possible delimiter are held.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MULTIPART_BOUNDARY_MAX 70
#define MULTIPART_HEAD_MAX     8192
#define MULTIPART_PARTS_MAX    10000

/* Any of them may return a negative errno, which multipart_feed() then returns. -EAGAIN stops it
 * without harm: the rest is to be fed later. */
struct multipart_events {
	/* name "" and filename NULL when the part does not say. Valid during the call. */
	int (*begin)(void *ctx, const char *name, const char *filename);
	int (*data)(void *ctx, const uint8_t *data, size_t size);
	int (*end)(void *ctx);
};

struct multipart {
	const struct multipart_events *events;
	void *ctx;
	uint8_t state;
	bool in_part;
	unsigned int parts;
	size_t matched; /* bytes of the delimiter */
	size_t delimiter_size;
	char delimiter[MULTIPART_BOUNDARY_MAX + 5]; /* CR LF "--" boundary */
	size_t head_size;
	char head[MULTIPART_HEAD_MAX];
};

/* From a Content-Type field. -EINVAL: another type, or no proper boundary. */
int multipart_init(struct multipart *m, const char *content_type,
		   const struct multipart_events *events, void *ctx);
/* 0; -EBADMSG: malformed; -E2BIG: a head or the number of parts; what an event returned. *ret_used
 * bytes were taken. After a failure other than -EAGAIN it must not be called again. */
int multipart_feed(struct multipart *m, const uint8_t *data, size_t size, size_t *ret_used);
/* The closing delimiter has been seen. */
bool multipart_complete(const struct multipart *m);
