/*
 * Pipes, sockets and devices that the caller passed: reads and writes that never block, whatever
 * the flags of the shared open file description are (those are the caller's and stay as they are).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "kernel/host/host_ref.h"

/* How to use a passed descriptor; found out once. */
struct host_stream {
	uint32_t mode;	  /* S_IFMT type */
	uint32_t flags;	  /* O_ACCMODE and O_APPEND of the description */
	bool nonblocking; /* the description has O_NONBLOCK */
	bool nowait;	  /* RWF_NOWAIT works */
};

int host_stream_examine(struct host_ref *ref, struct host_stream *ret);
/* Count, 0 at end of file, -EAGAIN. Regular files move their shared offset. */
ssize_t host_stream_read(struct host_ref *ref, struct host_stream *s, void *dst, size_t size);
ssize_t host_stream_write(struct host_ref *ref, struct host_stream *s, const void *src, size_t size);
/* EPOLL* bits true now. */
uint32_t host_stream_poll(struct host_ref *ref);
int host_stream_available(struct host_ref *ref); /* FIONREAD: bytes or -errno */
/* No more will be written: the other end of a socket reads its end. Nothing for others. */
void host_stream_shutdown(struct host_ref *ref);
