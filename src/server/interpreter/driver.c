/*
 * Theory of operation
 *
 *     requests (3) ◄── pipe_writer ── execute, env, with
 *     events   (4) ──► pipe_reader ── stream_feed() ──┐
 *     output 1, 2  ──► pipe_reader ── stream_print() ─┴─► lines ──► events->output
 *
 * Whatever happens (bytes, an exit, a timer) is first taken in, which sets flags; settle() then tells the
 * owner in the one order that makes sense: ready, done, the end. The owner may do anything from inside of
 * an event, driver_free() too: the memory stays until the outermost call has left (`busy`).
 *
 * Back pressure: nothing is read while the taker of the output is full. Output of 1 and 2 also waits while
 * a line is open, because it would have to go into its middle. Between executions everything is read, and
 * thrown away. Requests do not wait for the driver: one that lets them pile up is ended.
 *
 * The end comes as an exit, as the end of the events (then the exit gets a moment to say more), as a broken
 * rule, or because it neither gets ready nor obeys an interrupt in time. What is in the pipes by then is
 * read; a child that holds them open is not waited for.
 *
 * A driver that is freed before its process exists is kept until that does, and can be killed.
 */
#include "server/interpreter/driver.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/interpreter/driver_internal.h"
#include "server/interpreter/limits.h"

#define FROZEN_LOOK_MS 1000 /* how often a time limit looks whether the sandbox runs again */

/* ---- memory ---- */

static void free_timer(uv_handle_t *h)
{
	free(h);
}

static void close_everything(struct driver *d)
{
	pipe_reader_free(d->frames);
	pipe_reader_free(d->pipes[0]);
	pipe_reader_free(d->pipes[1]);
	pipe_writer_free(d->requests);
	d->frames = d->pipes[0] = d->pipes[1] = NULL;
	d->requests = NULL;
	if (d->timer)
		uv_close((uv_handle_t *)d->timer, free_timer);
	d->timer = NULL;
}

static void free_if_over(struct driver *d)
{
	if (!d->dead || d->busy || d->launching || (d->remote && !d->spawned))
		return;
	stream_free(d->stream);
	free(d);
}

static void kill_process(struct driver *d)
{
	if (!d->remote || !d->spawned)
		return;
	runtime_signal(d->remote, SIGKILL, true);
	runtime_process_forget(d->remote);
	d->remote = NULL;
}

void driver_free(struct driver *d)
{
	if (!d || d->dead)
		return;
	d->dead = true;
	kill_process(d);
	close_everything(d);
	free_if_over(d);
}

/* ---- telling the owner ---- */

static void stop_timer(struct driver *d)
{
	if (d->timer)
		uv_timer_stop(d->timer);
}

static void read_on(struct driver *d)
{
	bool open = stream_is_open(d->stream);

	pipe_reader_pause(d->frames, d->paused);
	for (int i = 0; i < 2; i++)
		pipe_reader_pause(d->pipes[i], d->paused || open);
}

static void tell_end(struct driver *d)
{
	kill_process(d);
	if (stream_is_executing(d->stream))
		stream_end(d->stream, d->end_name, d->end_text);
	close_everything(d);
	if (d->was_ready)
		d->events->gone(d->ctx);
	else
		d->events->failed(d->ctx, d->end_name, d->end_text);
}

static void settle(struct driver *d)
{
	if (d->busy)
		return; /* the call around this one does it */
	d->busy++;
	if (!d->dead && d->say_ready) {
		d->say_ready = false;
		d->events->ready(d->ctx);
	}
	if (!d->dead && d->say_done) {
		d->say_done = false;
		d->events->done(d->ctx);
	}
	if (!d->dead && d->ended) {
		d->ended = false;
		tell_end(d);
	} else if (!d->dead) {
		read_on(d);
	}
	d->busy--;
	free_if_over(d);
}

static void end_it(struct driver *d)
{
	d->ended = d->closing = true;
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
	end_it(d);
}

static void on_output(void *ctx, const char *data, size_t size)
{
	struct driver *d = ctx;

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

static const struct stream_events stream_events = { on_ready, on_failed, on_output, on_done };

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
		driver_describe(d, "UnexpectedEndOfExecution",
				"The %s process broke the protocol of its driver and was ended. "
				"The context starts anew with the next execution.",
				d->language);
		end_it(d);
	}
	d->busy--;
	settle(d);
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

static void set_timer(struct driver *d, uint64_t ms);

static void events_closed(void *ctx)
{
	struct driver *d = ctx;

	if (d->closing)
		return;
	driver_describe(d, "UnexpectedEndOfExecution",
			"The %s process closed its connection and was ended. "
			"The context starts anew with the next execution.",
			d->language);
	d->closing = true;
	set_timer(d, INTERPRETER_EXIT_MS);
}

static void output_closed(void *ctx)
{
}

static const struct pipe_reader_events readers[3] = { { take_frames, events_closed },
						      { take_stdout, output_closed },
						      { take_stderr, output_closed } };

/* ---- the process ---- */

static void process_spawned(void *ctx, uint32_t pid)
{
	struct driver *d = ctx;

	d->spawned = true;
	if (!d->dead)
		return;
	kill_process(d);
	free_if_over(d);
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
		free_if_over(d);
		return;
	}
	driver_describe_failure(d, error, about, message);
	end_it(d);
	settle(d);
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
	if (!d->ended)
		driver_describe_exit(d, status);
	end_it(d);
	d->busy--;
	settle(d);
}

static void terminal_output(void *ctx, const uint8_t *data, size_t size)
{
}

static const struct runtime_process_events process_events = { process_spawned, process_failed,
							      terminal_output, process_exited };

/* ---- time ---- */

static void on_timer(uv_timer_t *timer)
{
	struct driver *d = timer->data;

	if (d->events->frozen(d->ctx)) {
		set_timer(d, FROZEN_LOOK_MS);
	} else if (d->interrupts == 1 && !d->closing) {
		d->interrupts++;
		runtime_signal(d->remote, SIGINT, true);
		set_timer(d, INTERPRETER_KILL_MS);
	} else {
		if (!d->was_ready)
			driver_describe(d, "ContextNotStarted", "%s did not get ready within %u s",
					d->language, INTERPRETER_READY_MS / 1000);
		else if (!d->closing)
			driver_describe(d, "UnexpectedEndOfExecution",
					"The %s process did not obey an interrupt and was ended. "
					"The context starts anew with the next execution.",
					d->language);
		end_it(d);
		settle(d);
	}
}

static void set_timer(struct driver *d, uint64_t ms)
{
	if (d->timer)
		uv_timer_start(d->timer, on_timer, ms, 0);
}

/* ---- life ---- */

static struct driver *driver_new(uv_loop_t *loop, const struct driver_spec *spec,
				 const struct driver_events *events, void *ctx)
{
	struct driver *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->loop = loop;
	d->events = events;
	d->ctx = ctx;
	d->own_budget.max = 2 * INTERPRETER_JSON_MAX;
	snprintf(d->language, sizeof(d->language), "%s", spec->language->name);
	snprintf(d->program, sizeof(d->program), "%s", spec->language->program);
	snprintf(d->install, sizeof(d->install), "%s", spec->language->install);
	snprintf(d->cwd, sizeof(d->cwd), "%s", spec->cwd);
	d->stream = stream_new(&stream_events, d, spec->budget ? spec->budget : &d->own_budget);
	d->timer = calloc(1, sizeof(*d->timer));
	if (d->timer) {
		uv_timer_init(loop, d->timer);
		d->timer->data = d;
	}
	if (d->stream && d->timer)
		return d;
	driver_free(d);
	return NULL;
}

int driver_start(uv_loop_t *loop, struct runtime *rt, const struct driver_spec *spec,
		 const struct driver_events *events, void *ctx, struct driver **ret)
{
	struct driver *d = driver_new(loop, spec, events, ctx);

	if (!d)
		return -ENOMEM;
	d->launching = true;
	int r = driver_launch(d, rt, spec, readers, &process_events);
	d->launching = false;
	if (r < 0) {
		driver_free(d);
		return r;
	}
	set_timer(d, INTERPRETER_READY_MS);
	*ret = d;
	return 0;
}

void driver_set_owner(struct driver *d, const struct driver_events *events, void *ctx)
{
	d->events = events;
	d->ctx = ctx;
}

/* ---- use ---- */

bool driver_is_ready(const struct driver *d)
{
	return stream_is_ready(d->stream) && !d->closing && !d->say_ready && !d->say_done;
}

bool driver_is_executing(const struct driver *d)
{
	return stream_is_executing(d->stream) || d->say_done;
}

/* The end is told from the loop. */
static void refused(struct driver *d, int error)
{
	if (error == 0 || d->closing)
		return;
	driver_describe(d, "UnexpectedEndOfExecution",
			"The %s process %s and was ended. "
			"The context starts anew with the next execution.",
			d->language,
			error == -ENOMEM ? "could not get a request (the server is out of memory)"
					 : "did not read its requests");
	d->closing = true;
	set_timer(d, 0);
}

void driver_set_variables(struct driver *d, const json_t *variables)
{
	refused(d, driver_put_variables(d, "env", variables));
}

void driver_execute(struct driver *d, const char *code, size_t size, const json_t *variables)
{
	char id[24];

	/* What was printed since the last execution is nobody's. */
	pipe_reader_drain(d->pipes[0]);
	pipe_reader_drain(d->pipes[1]);
	stream_execute(d->stream, ++d->last_id);
	d->interrupts = 0;
	snprintf(id, sizeof(id), "%llu", (unsigned long long)d->last_id);
	int r = driver_put_variables(d, "with", variables);
	if (r == 0)
		r = driver_put_frame(d, "execute", id, code, size);
	refused(d, r);
}

void driver_interrupt(struct driver *d)
{
	if (d->closing || d->interrupts || !stream_is_executing(d->stream))
		return;
	d->interrupts = 1;
	runtime_signal(d->remote, SIGINT, true);
	set_timer(d, INTERPRETER_INTERRUPT_MS);
}

void driver_end(struct driver *d, const char *name, const char *value)
{
	stream_end(d->stream, name, value);
	d->closing = true;
}

void driver_keepalive(struct driver *d)
{
	stream_keepalive(d->stream);
}

void driver_pause(struct driver *d, bool pause)
{
	d->paused = pause;
	if (!d->busy && !d->closing)
		read_on(d);
}
