/* What a driver and its process do: bytes, ends, signals, time limits. driver.c has the theory. */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "server/interpreter/driver_internal.h"
#include "server/interpreter/limits.h"

#define FROZEN_LOOK_MS 1000 /* how often a time limit looks whether the sandbox runs again */

static void end_now(struct driver *d)
{
	d->ended = d->closing = true;
}

static void stop_timer(struct driver *d)
{
	if (d->timer)
		uv_timer_stop(d->timer);
}

/* ---- what the stream says ---- */

static void on_ready(void *ctx)
{
	struct driver *d = ctx;

	d->was_ready = d->say_ready = true;
	stop_timer(d);
}

static void on_failed(void *ctx, const char *text)
{
	struct driver *d = ctx;

	driver_describe(d, "LanguageNotInstalled", "%s", text);
	end_now(d);
}

static void on_output(void *ctx, const char *data, size_t size)
{
	struct driver *d = ctx;

	d->heard = true;
	if (!d->dead)
		d->events->output(d->ctx, data, size);
}

/* What others wrote before belongs to the execution. */
static void on_done(void *ctx)
{
	struct driver *d = ctx;

	pipe_reader_drain(d->pipes[0]);
	pipe_reader_drain(d->pipes[1]);
	stream_finish(d->stream);
	d->say_done = true;
	d->interrupts = 0;
	if (!d->closing)
		stop_timer(d);
}

const struct stream_events driver_stream_events = { on_ready, on_failed, on_output, on_done };

/* ---- bytes ---- */

/* The reader's memory is used again when on_done() reads the pipes. */
static void take_frames(void *ctx, const uint8_t *data, size_t size)
{
	static uint8_t copy[INTERPRETER_PIECE];
	struct driver *d = ctx;

	assert(size <= sizeof(copy));
	memcpy(copy, data, size);
	d->busy++;
	if (!d->ended && stream_feed(d->stream, copy, size) < 0) {
		driver_describe_fault(d, "broke the protocol of its driver");
		end_now(d);
	}
	d->busy--;
	driver_settle(d);
}

static void take_output(struct driver *d, bool is_stderr, const uint8_t *data, size_t size)
{
	if (!d->was_ready)
		driver_add_complaint(d, data, size);
	/* Only at the end can a line be open: what is in the pipe then has no place any more. */
	if (!stream_is_open(d->stream))
		stream_print(d->stream, is_stderr, data, size);
}

static void take_stdout(void *ctx, const uint8_t *data, size_t size)
{
	take_output(ctx, false, data, size);
}

static void take_stderr(void *ctx, const uint8_t *data, size_t size)
{
	take_output(ctx, true, data, size);
}

static void events_closed(void *ctx)
{
	struct driver *d = ctx;

	if (d->closing)
		return;
	driver_describe_fault(d, "closed its connection");
	d->closing = true;
	driver_set_timer(d, INTERPRETER_EXIT_MS);
}

static void output_closed(void *ctx)
{
}

const struct pipe_reader_events driver_readers[3] = { { take_frames, events_closed },
						      { take_stdout, output_closed },
						      { take_stderr, output_closed } };

/* ---- the process ---- */

static void process_spawned(void *ctx, uint32_t pid)
{
	struct driver *d = ctx;

	d->spawned = true;
	if (!d->dead)
		return;
	driver_kill(d);
	driver_free_if_over(d);
}

static void process_failed(void *ctx, int error, uint32_t about, const char *message)
{
	struct driver *d = ctx;

	d->remote = NULL;
	if (d->launching) {
		d->launch_error = error;
		return;
	}
	if (d->dead) {
		driver_free_if_over(d);
		return;
	}
	if (error == ESHUTDOWN) { /* everything of the sandbox is about to be cut */
		d->closing = true;
		return;
	}
	driver_describe_failure(d, error, about, message);
	end_now(d);
	driver_settle(d);
}

static void process_exited(void *ctx, uint32_t status)
{
	struct driver *d = ctx;

	d->remote = NULL;
	d->closing = true;
	d->busy++;
	pipe_reader_drain(d->frames);
	pipe_reader_drain(d->pipes[0]);
	pipe_reader_drain(d->pipes[1]);
	if (!d->ended) {
		d->exited = true;
		driver_describe_exit(d, status);
	}
	end_now(d);
	d->asking = d->was_ready && WIFSIGNALED((int)status) && WTERMSIG((int)status) == SIGKILL;
	if (d->asking && !d->events->killed(d->ctx))
		d->asking = false;
	d->busy--;
	driver_settle(d);
}

static void terminal_output(void *ctx, const uint8_t *data, size_t size)
{
}

const struct runtime_process_events driver_process_events = { process_spawned, process_failed,
							      terminal_output, process_exited };

/* ---- interrupts ---- */

static void signal_arrived(void *ctx, const struct runtime_answer *a)
{
	struct driver *d = ctx;

	d->signalling--;
	if (d->dead)
		driver_free_if_over(d);
	else
		driver_settle(d);
}

void driver_send_interrupt(struct driver *d)
{
	d->interrupts++;
	d->signalling++;
	runtime_signal(d->remote, SIGINT, true);
	d->busy++;
	(void)runtime_call(d->runtime, WIRE_STATS, NULL, -1, signal_arrived, d);
	d->busy--;
}

/* ---- time ---- */

static void on_timer(uv_timer_t *timer)
{
	struct driver *d = timer->data;

	if (d->events->frozen(d->ctx)) {
		driver_set_timer(d, FROZEN_LOOK_MS);
	} else if (d->interrupts == 1 && !d->closing) {
		driver_send_interrupt(d);
		driver_set_timer(d, INTERPRETER_KILL_MS);
	} else {
		if (!d->closing)
			driver_describe_fault(d, d->was_ready ? "did not obey an interrupt"
							      : "took too long");
		end_now(d);
		driver_settle(d);
	}
}

void driver_set_timer(struct driver *d, uint64_t ms)
{
	if (d->timer)
		uv_timer_start(d->timer, on_timer, ms, 0);
}
