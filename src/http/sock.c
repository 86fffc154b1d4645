/*
 * Output. sock_send() writes directly when nothing is queued; only what the kernel does not take is
 * copied. The rest waits in `out`; libuv is given the front of it (`writing` bytes), which stays
 * where it is until the callback.
 *
 *	sock_send -> [TLS] -> out: | writing ... | queued ... | <- appended
 *
 * With TLS everything passes through `out`, because that is where tls.c encrypts to.
 */
#include "http/sock.h"

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>

#include "base/util.h"
#include "http/tls.h"

#define PIECES	     64
#define CORKED_BYTES 16384

static void on_close(uv_handle_t *handle)
{
	struct sock *s = handle->data;
	outq_fini(&s->out);
	tls_free(s->tls);
	s->tls = NULL;
	s->events->closed(s);
}

void sock_close(struct sock *s)
{
	if (s->closing)
		return;
	s->closing = true;
	uv_close(&s->uv.handle, on_close);
}

static int fail(struct sock *s, int error)
{
	if (!s->closing)
		s->error = error;
	sock_close(s);
	return error;
}

int sock_init(struct sock *s, uv_loop_t *loop, uv_handle_type kind, struct sock_buffers *buffers,
	      const struct sock_events *events)
{
	*s = (struct sock){ .events = events, .buffers = buffers };
	outq_init(&s->out);
	int r = kind == UV_TCP ? uv_tcp_init(loop, &s->uv.tcp)
			       : uv_pipe_init(loop, &s->uv.pipe, false);
	s->uv.handle.data = s;
	s->progress_ms = uv_now(loop);
	return r;
}

static void set_options(struct sock *s)
{
	if (s->uv.handle.type != UV_TCP)
		return;
	(void)uv_tcp_nodelay(&s->uv.tcp, 1);
	/* A peer that vanished is noticed even if nothing is ever sent. */
	(void)uv_tcp_keepalive(&s->uv.tcp, 1, 60);
}

int sock_accept(struct sock *s, uv_stream_t *listener)
{
	int r = uv_accept(listener, &s->uv.stream);
	if (r == 0)
		set_options(s);
	return r;
}

int sock_open(struct sock *s, int fd)
{
	if (s->uv.handle.type == UV_TCP) {
		int r = uv_tcp_open(&s->uv.tcp, fd);
		if (r == 0)
			set_options(s);
		return r;
	}
	return uv_pipe_open(&s->uv.pipe, fd);
}

/* ---- output ---- */

static void flush(struct sock *s);

static void take(struct sock *s, size_t size)
{
	outq_take(&s->out, size);
	s->taken += size;
}

static void on_written(uv_write_t *request, int status)
{
	struct sock *s = request->data;
	size_t written = s->writing;
	s->writing = 0;
	if (s->closing)
		return;
	if (status < 0) {
		fail(s, status);
		return;
	}
	take(s, written);
	flush(s);
	if (!s->closing)
		s->events->written(s);
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
	struct sock *s = request->data;
	if (status < 0 && !s->closing)
		fail(s, status);
}

/* Everything is written: now the end, if it was asked for. */
static void end_if_wanted(struct sock *s)
{
	if (!s->ended || s->shut || s->out.size || s->closing)
		return;
	s->shut = true;
	s->shutdown.data = s;
	int r = uv_shutdown(&s->shutdown, &s->uv.stream, on_shutdown);
	if (r < 0)
		fail(s, r);
}

/* Gives the front of the queue to libuv. */
static void start_write(struct sock *s)
{
	uv_buf_t pieces[PIECES];
	size_t bytes, count = outq_pieces(&s->out, pieces, PIECES, &bytes);
	s->writing = bytes;
	s->write.data = s;
	int r = uv_write(&s->write, &s->uv.stream, pieces, (unsigned)count, on_written);
	if (r < 0) {
		s->writing = 0;
		fail(s, r);
	}
}

static void flush(struct sock *s)
{
	while (!s->closing && !s->writing && s->out.size) {
		uv_buf_t pieces[PIECES];
		size_t bytes, count = outq_pieces(&s->out, pieces, PIECES, &bytes);
		int n = uv_try_write(&s->uv.stream, pieces, (unsigned)count);
		if (n < 0 && n != UV_EAGAIN) {
			fail(s, n);
			return;
		}
		if (n > 0)
			take(s, (size_t)n);
		if (n < 0 || (size_t)n < bytes)
			start_write(s);
	}
	end_if_wanted(s);
}

/* Queues the pieces but for their first `skip` bytes. */
static int queue(struct sock *s, const uv_buf_t *pieces, unsigned count, size_t skip)
{
	for (unsigned i = 0; i < count; i++) {
		size_t cut = MIN(skip, pieces[i].len);
		skip -= cut;
		int r = outq_append(&s->out, pieces[i].base + cut, pieces[i].len - cut);
		if (r < 0)
			return fail(s, r);
	}
	return 0;
}

static int send_plain(struct sock *s, const uv_buf_t *pieces, unsigned count)
{
	size_t all = 0;
	int n = 0;
	for (unsigned i = 0; i < count; i++)
		all += pieces[i].len;
	bool collect = s->corked && s->out.size + all < CORKED_BYTES;
	if (!collect)
		flush(s);
	if (!collect && !s->closing && s->out.size == 0) {
		n = uv_try_write(&s->uv.stream, pieces, count);
		if (n == UV_EAGAIN)
			n = 0;
		if (n < 0)
			return fail(s, n);
	}
	if (s->closing)
		return -EPIPE;
	if ((size_t)n < all && queue(s, pieces, count, (size_t)n) < 0)
		return -ENOMEM;
	if (!collect && s->out.size && !s->writing)
		start_write(s);
	return s->closing ? -EPIPE : 0;
}

static int send_tls(struct sock *s, const uv_buf_t *pieces, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		int r = tls_encrypt(s->tls, pieces[i].base, pieces[i].len, &s->out);
		if (r < 0)
			return fail(s, r);
	}
	if (!s->corked)
		flush(s);
	return s->closing ? -EPIPE : 0;
}

int sock_send(struct sock *s, const uv_buf_t *pieces, unsigned count)
{
	if (s->closing || s->ended)
		return -EPIPE;
	return s->tls ? send_tls(s, pieces, count) : send_plain(s, pieces, count);
}

void sock_cork(struct sock *s)
{
	s->corked = true;
}

void sock_uncork(struct sock *s)
{
	s->corked = false;
	flush(s);
}

size_t sock_unsent(const struct sock *s)
{
	return s->out.size;
}

void sock_end(struct sock *s)
{
	if (s->ended || s->closing)
		return;
	s->ended = true;
	if (s->tls)
		tls_end(s->tls, &s->out);
	flush(s);
}

uint64_t sock_stalled_ms(struct sock *s)
{
	uint64_t now = uv_now(s->uv.handle.loop);
	size_t waiting = s->writing ? uv_stream_get_write_queue_size(&s->uv.stream) : 0;
	uint64_t written = s->taken + s->writing - waiting;
	if (s->out.size == 0 || written != s->seen) {
		s->seen = written;
		s->progress_ms = now;
	}
	return now - s->progress_ms;
}

/* ---- input ---- */

static void at_eof(struct sock *s)
{
	if (s->eof || s->closing)
		return;
	s->eof = true;
	sock_read(s, false);
	s->events->eof(s);
}

static void decrypt(struct sock *s, const uint8_t *data, size_t size)
{
	bool was_secure = tls_is_secure(s->tls);
	tls_feed(s->tls, data, size);
	while (!s->closing) {
		ssize_t n =
			tls_decrypt(s->tls, s->buffers->plain, sizeof(s->buffers->plain), &s->out);
		if (!was_secure && tls_is_secure(s->tls)) {
			was_secure = true;
			s->events->secure(s);
		}
		if (s->closing || n == -EAGAIN)
			break;
		if (n > 0) {
			s->events->data(s, s->buffers->plain, (size_t)n);
			continue;
		}
		flush(s); /* the alert that says why */
		if (n == 0)
			at_eof(s);
		else
			fail(s, (int)n);
		return;
	}
	flush(s);
}

static void on_alloc(uv_handle_t *handle, size_t hint, uv_buf_t *ret)
{
	struct sock *s = handle->data;
	(void)hint;
	*ret = uv_buf_init((char *)s->buffers->raw, sizeof(s->buffers->raw));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
	struct sock *s = stream->data;
	if (n == 0 || s->closing)
		return;
	if (n == UV_EOF) {
		at_eof(s);
		return;
	}
	if (n < 0) {
		fail(s, (int)n);
		return;
	}
	if (s->tls)
		decrypt(s, (uint8_t *)buffer->base, (size_t)n);
	else
		s->events->data(s, (uint8_t *)buffer->base, (size_t)n);
}

void sock_read(struct sock *s, bool on)
{
	if (s->closing || on == s->reading || (on && s->eof))
		return;
	s->reading = on;
	if (!on) {
		(void)uv_read_stop(&s->uv.stream);
		return;
	}
	int r = uv_read_start(&s->uv.stream, on_alloc, on_read);
	if (r < 0)
		fail(s, r);
}

void sock_use_tls(struct sock *s, struct tls *tls)
{
	assert(!s->tls && !s->out.size);
	s->tls = tls;
	if (tls_begin(tls, &s->out) < 0)
		fail(s, -EPROTO);
	flush(s);
}
