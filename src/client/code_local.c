/*
 * Code in a sandbox of its own: `hotcell run` with a driver (docs/interpreter.md), whose frames
 * become the lines that a server would send.
 *
 * One loop, turn(), waits for all of it: signals, the driver's events, what was printed, room for
 * requests. Printed text waits while an event's line is open. When the driver has gone, or does
 * what it must not, the sandbox is given a moment to say why on its standard error.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/util.h"
#include "client/code_run.h"
#include "interpreter/frame.h"
#include "interpreter/stream.h"

#define PIECE	    65536
#define SAID_SIZE   4096
#define BUDGET	    (64u << 20)
#define PATIENCE_NS (5 * NSEC_PER_SEC) /* of an orderly end */

struct local {
	struct code *code;
	struct run run;
	struct stream *stream;
	struct stream_budget budget;
	struct buffer unsent;
	uint64_t id;
	bool ready, done;
	char reason[512];     /* why the driver cannot work */
	char said[SAID_SIZE]; /* on standard error while nothing executed: the end of it */
	size_t said_size;
};

/* ---- what the stream says ---- */

static void on_ready(void *ctx)
{
	((struct local *)ctx)->ready = true;
}

static void on_failed(void *ctx, const char *text)
{
	struct local *l = ctx;

	snprintf(l->reason, sizeof(l->reason), "%.500s", text);
}

static void on_output(void *ctx, const char *data, size_t size)
{
	struct local *l = ctx;

	presenter_take(&l->code->presenter, data, size);
}

static void on_done(void *ctx)
{
	((struct local *)ctx)->done = true;
}

static const struct stream_events events = { on_ready, on_failed, on_output, on_done };

/* ---- what was printed ---- */

static void keep_said(struct local *l, const char *data, size_t size)
{
	size_t room = sizeof(l->said) - l->said_size;

	if (size > sizeof(l->said)) {
		data += size - sizeof(l->said);
		size = sizeof(l->said);
	}
	if (size > room) {
		memmove(l->said, l->said + (size - room), l->said_size - (size - room));
		l->said_size -= size - room;
	}
	memcpy(l->said + l->said_size, data, size);
	l->said_size += size;
}

/* At most `most` bytes; how many there were. */
static size_t take_print(struct local *l, bool is_stderr, size_t most)
{
	static uint8_t piece[PIECE];
	int *fd = is_stderr ? &l->run.err : &l->run.out;
	ssize_t n = read(*fd, piece, MIN(most, sizeof(piece)));

	if (n == 0) {
		close(*fd);
		*fd = -EBADF;
	}
	if (n <= 0)
		return 0;
	if (stream_is_executing(l->stream) && !stream_is_open(l->stream))
		stream_print(l->stream, is_stderr, piece, (size_t)n);
	else if (is_stderr)
		keep_said(l, (char *)piece, (size_t)n);
	return (size_t)n;
}

/* What is in the pipes now, and no more: a program left behind may print for ever. */
static void take_rest(struct local *l)
{
	for (int i = 0; i < 2; i++) {
		int fd = i ? l->run.err : l->run.out, there = 0;
		size_t n = 1;
		if (fd >= 0)
			(void)ioctl(fd, FIONREAD, &there);
		for (size_t left = (size_t)there; left && n; left -= MIN(n, left))
			n = take_print(l, i, left);
	}
}

/* ---- the loop ---- */

static int send_some(struct local *l)
{
	ssize_t n = write(l->run.requests, l->unsent.data, l->unsent.size);

	if (n > 0)
		buffer_take(&l->unsent, (size_t)n);
	return n < 0 && errno != EAGAIN && errno != EINTR ? -errno : 0;
}

/* -EPIPE: the driver is gone. -EBADMSG, -ENOMEM: it must go. */
static int take_events(struct local *l)
{
	static uint8_t piece[PIECE];
	ssize_t n = read(l->run.events, piece, sizeof(piece));

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	return n == 0 ? -EPIPE : stream_feed(l->stream, piece, (size_t)n);
}

/* The first one interrupts, another one ends the sandbox. */
static int on_signal(struct local *l)
{
	struct code *c = l->code;
	int r = signals_handle(c);

	if (r <= 0)
		return r;
	if (!l->ready || c->interrupted) {
		c->interrupted = true;
		return -EINTR;
	}
	c->interrupted = true;
	run_signal(&l->run, SIGINT);
	return 0;
}

enum { AT_SIGNALS, AT_OUT, AT_ERR, AT_EVENTS, AT_REQUESTS, AT_COUNT };

static void choose(const struct local *l, struct pollfd fds[AT_COUNT])
{
	bool open = stream_is_open(l->stream);

	fds[AT_SIGNALS] = (struct pollfd){ .fd = l->code->signals, .events = POLLIN };
	fds[AT_OUT] = (struct pollfd){ .fd = open ? -1 : l->run.out, .events = POLLIN };
	fds[AT_ERR] = (struct pollfd){ .fd = open ? -1 : l->run.err, .events = POLLIN };
	fds[AT_EVENTS] = (struct pollfd){ .fd = l->run.events, .events = POLLIN };
	fds[AT_REQUESTS] =
		(struct pollfd){ .fd = l->unsent.size ? l->run.requests : -1, .events = POLLOUT };
}

/* Waits, and takes what has come. */
static int turn(struct local *l)
{
	struct pollfd fds[AT_COUNT];
	int r = 0;

	choose(l, fds);
	if (poll(fds, AT_COUNT, -1) < 0)
		return errno == EINTR ? 0 : -errno;
	if (fds[AT_SIGNALS].revents)
		r = on_signal(l);
	if (r == 0 && fds[AT_OUT].revents)
		(void)take_print(l, false, PIECE);
	if (r == 0 && fds[AT_ERR].revents)
		(void)take_print(l, true, PIECE);
	if (r == 0 && fds[AT_REQUESTS].revents)
		r = send_some(l);
	if (r == 0 && fds[AT_EVENTS].revents)
		r = take_events(l);
	return r == 0 && l->code->presenter.lost ? -EINTR : r;
}

/* ---- the end ---- */

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -EBADF;
}

/* The sandbox ends by itself when the driver does, and that when it has nobody to talk to. */
static void wait_for_end(struct local *l)
{
	uint64_t until = clock_now_ns() + PATIENCE_NS, now;

	close_one(&l->run.requests);
	close_one(&l->run.events);
	buffer_clear(&l->unsent);
	while (l->run.pid && (now = clock_now_ns()) < until) {
		struct pollfd fds[AT_COUNT];
		choose(l, fds);
		fds[AT_EVENTS].fd = l->run.ended;
		fds[AT_REQUESTS].fd = -1;
		if (poll(fds, AT_COUNT, (int)((until - now) / NSEC_PER_MSEC) + 1) <= 0)
			continue;
		if (fds[AT_SIGNALS].revents && signals_handle(l->code) != 0)
			run_signal(&l->run, SIGKILL);
		if (fds[AT_OUT].revents)
			(void)take_print(l, false, PIECE);
		if (fds[AT_ERR].revents)
			(void)take_print(l, true, PIECE);
		if (fds[AT_EVENTS].revents)
			run_collect(&l->run);
	}
	run_signal(&l->run, SIGKILL);
	run_collect(&l->run);
	take_rest(l);
}

/* The last line that was said, best one of Hotcell's own; cleaned by who shows it. "" = none. */
static const char *last_words(struct local *l)
{
	static char line[300];
	const char *found = "";
	bool own = false;

	l->said[MIN(l->said_size, sizeof(l->said) - 1)] = '\0';
	for (const char *p = l->said; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		bool is_own = strncmp(p, "hotcell: ", 9) == 0;
		if (*p != '\n' && (is_own || !own))
			found = p + (is_own ? 9 : 0);
		own = own || is_own;
	}
	snprintf(line, sizeof(line), "%.*s", (int)MIN(strcspn(found, "\n"), sizeof(line) - 1),
		 found);
	return line;
}

/* An execution that had not ended ends like this. */
static int on_gone(struct local *l, int why)
{
	struct code *c = l->code;
	char value[512];

	if (why != -EPIPE)
		run_signal(&l->run, SIGKILL);
	wait_for_end(l);
	c->status = l->run.status == CODE_FAILED || (why == -EPIPE && l->run.status == 137)
			    ? l->run.status
			    : CODE_ERROR;
	if (c->stopped_by || c->presenter.lost)
		return 1;
	if (why == -EINTR)
		snprintf(value, sizeof(value), "interrupted twice: the interpreter was ended");
	else if (why == -EPIPE)
		snprintf(value, sizeof(value), "the interpreter has ended (status %d)",
			 l->run.status);
	else
		snprintf(value, sizeof(value), "the interpreter does not keep to its protocol");
	stream_end(l->stream, "UnexpectedEndOfExecution", value);
	return 1;
}

/* ---- the backend ---- */

static int explain_start(struct local *l, struct error *err)
{
	const struct language *language = &l->code->language;
	int status = l->run.status;

	if (l->code->interrupted || l->code->stopped_by)
		return error_set(err, EINTR, "start the interpreter");
	if (l->reason[0])
		return error_set(err, 0, "%s", l->reason);
	if (status == 126 || status == 127)
		return error_set(err, 0, "%s cannot run: there is no %s in the sandbox (%s)",
				 language->name, language->program, language->install);
	const char *words = last_words(l);
	if (status == CODE_FAILED && *words)
		return error_set(err, 0, "%s", words);
	return error_set(err, 0, "the interpreter of %s ended before it was ready (status %d)%s%s",
			 language->name, status, *words ? ": " : "", words);
}

static void local_stop(struct code *c)
{
	struct local *l = c->of_backend;

	if (!l)
		return;
	if (l->ready && !c->stopped_by && l->run.pid)
		wait_for_end(l);
	run_fini(&l->run);
	stream_free(l->stream);
	buffer_fini(&l->unsent);
	free(l);
	c->of_backend = NULL;
}

static int local_start(struct code *c, struct error *err)
{
	struct local *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return error_set(err, ENOMEM, "start the interpreter");
	c->of_backend = l;
	l->code = c;
	l->budget.max = BUDGET;
	buffer_init(&l->unsent, CODE_MAX + FRAME_HEADER_MAX);
	r = run_start(&l->run, c, err);
	l->stream = r < 0 ? NULL : stream_new(&events, l, &l->budget);
	if (r == 0 && !l->stream)
		r = error_set(err, ENOMEM, "start the interpreter");
	if (r < 0) {
		run_fini(&l->run);
		local_stop(c);
		return r;
	}
	while (r == 0 && !l->ready && !l->reason[0])
		r = turn(l);
	if (l->ready)
		return 0;
	if (c->interrupted || c->stopped_by)
		run_signal(&l->run, SIGKILL);
	wait_for_end(l);
	r = explain_start(l, err);
	local_stop(c);
	return r;
}

static int put_code(struct local *l, const char *code, size_t size, struct error *err)
{
	char header[FRAME_HEADER_MAX + 1], id[24];

	snprintf(id, sizeof(id), "%llu", (unsigned long long)++l->id);
	int n = frame_header(header, sizeof(header), "execute", id, size);
	if (n < 0 || buffer_append(&l->unsent, header, (size_t)n) < 0 ||
	    buffer_append(&l->unsent, code, size) < 0)
		return error_set(err, ENOMEM, "send the code");
	return 0;
}

static int local_execute(struct code *c, const char *code, size_t size, struct error *err)
{
	struct local *l = c->of_backend;
	int r = put_code(l, code, size, err);

	if (r < 0)
		return r;
	l->done = false;
	l->said_size = 0;
	stream_execute(l->stream, l->id);
	while (r == 0 && !l->done)
		r = turn(l);
	if (!l->done)
		return on_gone(l, r);
	take_rest(l);
	stream_finish(l->stream);
	return 0;
}

static int local_restart(struct code *c, struct error *err)
{
	local_stop(c);
	c->presenter.number = 0;
	return local_start(c, err);
}

const struct backend backend_local = { local_start, local_execute, local_restart, local_stop };
