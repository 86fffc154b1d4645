/*
 * Theory of operation
 *
 *     requests (3) ◄── pipe_writer ── execute, env, with
 *     events   (4) ──► pipe_reader ── stream_feed() ──┐
 *     output 1, 2  ──► pipe_reader ── stream_print() ─┴─► lines ──► events->output
 *
 * Whatever happens (bytes, an exit, a timer) is first taken in, which sets flags; settle() then tells the
 * owner in the one order that makes sense: ready, done, the end. The owner may do anything from inside of
 * an event, driver_free() too: the memory stays until the outermost call has left (`busy`). driver_input.c is what is taken in.
 *
 * Back pressure: nothing is read while the taker of the output is full. Output of 1 and 2 also waits while
 * a line is open, because it would have to go into its middle. Between executions everything is read, and
 * thrown away. Requests do not wait for the driver: one that lets them pile up is ended.
 *
 * The end comes as an exit, as the end of the events (then the exit gets a moment to say more), as a broken
 * rule, or because it neither gets ready nor obeys an interrupt in time. What is in the pipes by then is
 * read; a child that holds them open is not waited for.
 *
 * A driver that is freed before its process exists is kept until that does, and can be killed; likewise
 * while an interrupt is under way, which is known to have arrived when a request behind it is answered.
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
	if (d->requests)
		pipe_writer_forget(d->requests, d);
	pipe_writer_free(d->requests);
	d->frames = d->pipes[0] = d->pipes[1] = NULL;
	d->requests = NULL;
	if (d->timer)
		uv_close((uv_handle_t *)d->timer, free_timer);
	d->timer = NULL;
}

void driver_free_if_over(struct driver *d)
{
	if (!d->dead || d->busy || d->launching || d->signalling || (d->remote && !d->spawned))
		return;
	stream_free(d->stream);
	free(d);
}

void driver_kill(struct driver *d)
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
	driver_kill(d);
	close_everything(d);
	driver_free_if_over(d);
}

/* ---- telling the owner ---- */

static void read_on(struct driver *d)
{
	bool open = stream_is_open(d->stream);

	pipe_reader_pause(d->frames, d->paused);
	for (int i = 0; i < 2; i++)
		pipe_reader_pause(d->pipes[i], d->paused || open);
}

static void tell_end(struct driver *d)
{
	driver_kill(d);
	bool retried = stream_is_executing(d->stream) && d->exited && !d->heard &&
		       d->events->unheard(d->ctx);
	if (stream_is_executing(d->stream) && !retried)
		stream_end(d->stream, d->end_name, d->end_text);
	close_everything(d);
	if (d->was_ready)
		d->events->gone(d->ctx);
	else
		d->events->failed(d->ctx, d->end_name, d->end_text);
}

void driver_settle(struct driver *d)
{
	if (d->busy)
		return; /* the call around this one does it */
	d->busy++;
	if (!d->dead && d->say_ready) {
		d->say_ready = false;
		d->events->ready(d->ctx);
	}
	/* An interrupt that is still on its way would hit the next execution. */
	if (!d->dead && d->say_done && !d->signalling) {
		d->say_done = false;
		d->events->done(d->ctx);
	}
	if (!d->dead && d->ended && !d->asking) {
		d->ended = false;
		tell_end(d);
	} else if (!d->dead) {
		read_on(d);
	}
	d->busy--;
	driver_free_if_over(d);
}

/* ---- life ---- */

static struct driver *driver_new(uv_loop_t *loop, struct runtime *rt,
				 const struct driver_spec *spec, const struct driver_events *events,
				 void *ctx)
{
	struct driver *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->loop = loop;
	d->runtime = rt;
	d->events = events;
	d->ctx = ctx;
	d->own_budget.max = 2 * INTERPRETER_JSON_MAX;
	snprintf(d->language, sizeof(d->language), "%s", spec->language->name);
	snprintf(d->program, sizeof(d->program), "%s", spec->language->program);
	snprintf(d->install, sizeof(d->install), "%s", spec->language->install);
	snprintf(d->cwd, sizeof(d->cwd), "%s", spec->cwd);
	d->stream =
		stream_new(&driver_stream_events, d, spec->budget ? spec->budget : &d->own_budget);
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
	struct driver *d = driver_new(loop, rt, spec, events, ctx);

	if (!d)
		return -ENOMEM;
	d->launching = true;
	int r = driver_launch(d, rt, spec);
	d->launching = false;
	if (r < 0) {
		driver_free(d);
		return r;
	}
	driver_set_timer(d, INTERPRETER_READY_MS);
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

/* The end is told from the loop. A pipe that nobody reads mostly means that the process has ended, which
 * tells more when its exit is known. */
static void refused(struct driver *d, int error)
{
	if (error == 0 || d->closing || d->dead)
		return;
	driver_describe_fault(d, error == -ENOMEM
					 ? "could not get a request (the server is out of memory)"
					 : "did not read its requests");
	d->closing = true;
	driver_set_timer(d, error == -EPIPE ? INTERPRETER_EXIT_MS : 0);
}

void driver_written(void *ctx, int error)
{
	refused(ctx, error);
}

void driver_set_variables(struct driver *d, const json_t *variables)
{
	refused(d, driver_put_variables(d, "env", variables));
}

bool driver_execute(struct driver *d, const char *code, size_t size, const json_t *variables)
{
	char id[24];

	/* What was said since the last execution is nobody's. */
	d->busy++;
	pipe_reader_drain(d->frames);
	pipe_reader_drain(d->pipes[0]);
	pipe_reader_drain(d->pipes[1]);
	d->busy--;
	if (d->ended)
		driver_set_timer(d, 0); /* tells it from the loop */
	if (d->closing)
		return false;
	stream_execute(d->stream, ++d->last_id);
	d->interrupts = 0;
	d->heard = false;
	snprintf(id, sizeof(id), "%llu", (unsigned long long)d->last_id);
	int r = driver_put_variables(d, "with", variables);
	if (r == 0)
		r = driver_put_frame(d, "execute", id, code, size);
	refused(d, r);
	return true;
}

void driver_interrupt(struct driver *d)
{
	if (d->closing || d->interrupts || !stream_is_executing(d->stream))
		return;
	driver_send_interrupt(d);
	driver_set_timer(d, INTERPRETER_INTERRUPT_MS);
}

bool driver_is_asking(const struct driver *d)
{
	return d->asking;
}

void driver_explain(struct driver *d, const char *name, const char *text)
{
	if (!d->asking)
		return;
	d->asking = false;
	if (name)
		driver_describe(d, name, "%s", text);
	driver_settle(d);
}

void driver_end(struct driver *d, const char *name, const char *value)
{
	stream_end(d->stream, name, value);
	d->closing = true;
}

void driver_keepalive(struct driver *d)
{
	bool heard = d->heard;

	stream_keepalive(d->stream);
	d->heard = heard;
}

void driver_pause(struct driver *d, bool pause)
{
	d->paused = pause;
	if (!d->busy && !d->closing)
		read_on(d);
}
