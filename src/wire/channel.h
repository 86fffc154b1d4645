/*
 * One end of a control channel: framing, descriptor passing, bounded buffers, no blocking surprise.
 * All memory is in the struct; no heap. Descriptors received are owned by the caller who takes them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/wire.h"

struct channel {
	int fd;
	uint8_t *in;	/* buffer for one message (header and body), WIRE_BODY_MAX + 16 bytes */
	uint32_t in_length;
	uint8_t *out;	/* unsent bytes */
	uint32_t out_length, out_capacity;
	int fds[WIRE_FDS_MAX];
	uint32_t fd_count;
	bool eof;
};

struct message {
	struct wire_header header;
	const uint8_t *body; /* valid until the next channel_receive() */
	int fds[WIRE_FDS_MAX];
	uint32_t fd_count;
};

/* Buffers are anonymous mappings, touched only as far as used. 0 or -errno. Owns fd from then on. */
int channel_init(struct channel *c, int fd);
void channel_fini(struct channel *c);

/*
 * Takes one message. 1 = message, 0 = nothing complete yet (only with non-blocking sockets or
 * wait = false), -EPIPE = peer closed, -EPROTO = malformed (length, type), -errno.
 */
int channel_receive(struct channel *c, bool wait, struct message *ret);

/*
 * Queues and sends as much as the socket takes; the rest waits for channel_flush(). fds are
 * duplicated by the kernel, the caller keeps its own. -ENOBUFS: more than 8 MiB unsent.
 */
int channel_send(struct channel *c, uint32_t type, uint32_t request, const void *body,
		 uint32_t length, const int *fds, uint32_t fd_count);
/* 1 = everything sent, 0 = more to send (wait for writability), -errno. */
int channel_flush(struct channel *c);
static inline bool channel_pending(const struct channel *c)
{
	return c->out_length > 0;
}
