/*
 * A byte stream on the loop: a connected socket with a queue for output and, if wanted, TLS.
 * The connection of a client and that to an upstream are both one.
 *
 * Nothing is called back from inside a function of this header: a broken stream tells so from the
 * loop, with `closed`, which is always the last call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "http/outq.h"

struct sock;
struct tls;

struct sock_events {
	/* Bytes arrived; they are gone when it returns. */
	void (*data)(struct sock *s, const uint8_t *data, size_t size);
	/* The peer sends no more. */
	void (*eof)(struct sock *s);
	/* Some output was written: sock_unsent() is less than before. */
	void (*written)(struct sock *s);
	/* The TLS handshake is complete. */
	void (*secure)(struct sock *s);
	/* The memory may be freed. s->error says why; 0 = sock_close(). */
	void (*closed)(struct sock *s);
};

#define SOCK_READ_BYTES 131072

/* What the sockets of one loop share: input is handed on before the next is read. */
struct sock_buffers {
	uint8_t raw[SOCK_READ_BYTES];
	uint8_t plain[16384];
};

struct sock {
	union {
		uv_handle_t handle;
		uv_stream_t stream;
		uv_tcp_t tcp;
		uv_pipe_t pipe;
	} uv;
	uv_write_t write;
	uv_shutdown_t shutdown;
	const struct sock_events *events;
	struct sock_buffers *buffers;
	struct tls *tls; /* owned; NULL = plain */
	struct outq out;
	size_t writing;	      /* bytes at the front of `out` that libuv has */
	uint64_t taken;	      /* bytes that have left `out` since the beginning */
	uint64_t seen;	      /* bytes written when sock_stalled_ms() last looked */
	uint64_t progress_ms; /* on the loop's clock */
	int error;
	bool reading, corked, ended, shut, closing, eof;
};

/* The handle is made, not connected. kind: UV_TCP or UV_NAMED_PIPE (any stream socket). */
int sock_init(struct sock *s, uv_loop_t *loop, uv_handle_type kind, struct sock_buffers *buffers,
	      const struct sock_events *events);
int sock_accept(struct sock *s, uv_stream_t *listener);
/* Owns fd from then on if it succeeds. */
int sock_open(struct sock *s, int fd);
/* Owns tls. Before anything is read or sent. */
void sock_use_tls(struct sock *s, struct tls *tls);

/* Input wanted or not. What was already taken from the kernel may come after "not". */
void sock_read(struct sock *s, bool on);
/* Everything is sent or queued, at once. -errno: the stream is broken, `closed` follows. */
int sock_send(struct sock *s, const uv_buf_t *pieces, unsigned count);
/* Between the two, small pieces are collected. */
void sock_cork(struct sock *s);
void sock_uncork(struct sock *s);
size_t sock_unsent(const struct sock *s);
/* No more output: the peer sees the end behind what is queued. Input may go on. */
void sock_end(struct sock *s);
/* At once; what is queued is lost. */
void sock_close(struct sock *s);
/* For how long the peer has taken nothing although there was something; call it now and then. */
uint64_t sock_stalled_ms(struct sock *s);
