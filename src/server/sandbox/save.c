/*
 * Files of sandboxes that leave (snapshots, forks) and come (creates from them).
 *
 *     copies of a sandbox: one at a time ──► the transfer's turn ──► SAVE or LOAD, and the bytes
 *                                                                        │ both are over
 *                                                                        ▼ the next one; `fn`
 *
 * The kernel process is asked when there is a worker for its bytes, not before: from then on nothing
 * inside goes on, and it reads nothing else, until the stream is through. A transfer that fails closes the
 * socket, which the kernel process sees; one that hears nothing for too long fails. A kernel process that
 * does not answer when its stream is over is of no use any more.
 *
 * A pause that comes meanwhile waits behind the save in the kernel process; an end does not wait: it takes
 * back what was asked, and those who wait are answered when the sandbox is gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "server/runtime/runtime.h"
#include "server/sandbox/sandbox_internal.h"
#include "server/snapshot/snapshots.h"
#include "server/snapshot/transfer.h"

#define COPIES_MAX	   16u /* of a sandbox, that wait */
#define STREAM_PATIENCE_MS 60000u
#define ANSWER_PATIENCE_MS 20000

struct copy {
	struct list link; /* struct life.copies */
	struct sandbox *s;
	bool load;
	int file;		   /* until the transfer has it */
	struct transfer *transfer; /* NULL: not begun, or over */
	uint32_t request;
	bool begun, answered;
	uint64_t bytes;
	struct error err; /* code 0: none yet */
	uv_timer_t patience;
	sandbox_saved_fn fn;
	void *ctx;
};

static void begin(struct copy *c);

/* ---- the end of one ---- */

static void on_timer_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void nobody(void *ctx, struct sandbox *s, uint64_t bytes, const struct error *err)
{
}

/* It is off the list. */
static void answer(struct copy *c, struct sandbox *s, const struct error *err)
{
	if (c->file >= 0)
		close(c->file);
	c->fn(c->ctx, s, c->bytes, err);
	uv_close((uv_handle_t *)&c->patience, on_timer_closed);
}

static void unlink_copy(struct copy *c)
{
	list_del(&c->link);
	life_of(c->s)->copy_count--;
}

static void begin_next(struct sandbox *s)
{
	struct life *l = life_of(s);
	struct copy *next =
		list_empty(&l->copies) ? NULL : list_first(&l->copies, struct copy, link);
	if (next && !next->begun)
		begin(next);
}

/* The first reason is the one that counts, but of a load: there the sandbox knows better why its end of
 * the stream was closed. */
static void set_error(struct copy *c, const struct error *err, bool better)
{
	if (!c->err.code || better)
		c->err = *err;
}

static void finish_if_over(struct copy *c)
{
	struct sandbox *s = c->s;
	if (c->transfer || !c->answered || c->err.code == ESHUTDOWN)
		return; /* with ESHUTDOWN the sandbox's end answers */
	unlink_copy(c);
	answer(c, s, c->err.code ? &c->err : NULL);
	/* `fn` may have ended the sandbox, but not freed it. */
	begin_next(s);
}

/* ---- one under way ---- */

static void on_impatient(uv_timer_t *timer)
{
	struct copy *c = timer->data;
	static const char why[] = "the kernel process does not answer after its files were copied";
	if (c->load)
		cell_end(life_of(c->s)->cell, why);
	else
		sandbox_begin_end(c->s, why);
}

static void on_transferred(void *ctx, uint64_t bytes, const struct error *err)
{
	struct copy *c = ctx;
	c->transfer = NULL;
	c->bytes = err ? 0 : bytes;
	if (err)
		set_error(c, err, false);
	if (!c->answered)
		uv_timer_start(&c->patience, on_impatient, ANSWER_PATIENCE_MS, 0);
	finish_if_over(c);
}

/* What was written before it failed is of no use. */
static void drop_bytes(struct copy *c)
{
	transfer_cancel(c->transfer);
	c->transfer = NULL;
	if (!c->load && c->bytes)
		snapshots_release(c->s->server, c->bytes);
	c->bytes = 0;
}

static void on_answer(void *ctx, const struct runtime_answer *a)
{
	struct copy *c = ctx;
	struct error err;
	c->answered = true;
	c->request = 0;
	uv_timer_stop(&c->patience);
	if (a->error) {
		error_say(&err, a->error, "%s: %.300s",
			  c->load ? "load the snapshot" : "take the snapshot", a->message);
		set_error(c, &err, c->load || a->error == ESHUTDOWN);
		drop_bytes(c);
	}
	finish_if_over(c);
}

static void fail(struct copy *c, const struct error *err)
{
	transfer_cancel(c->transfer);
	c->transfer = NULL;
	c->answered = true;
	set_error(c, err, false);
	finish_if_over(c);
}

/* One without a name does not outlive the server anyway. */
static bool outlives_us(int file)
{
	struct stat st;
	return fstat(file, &st) < 0 || st.st_nlink > 0;
}

static void run(struct copy *c, int socket)
{
	const struct sandbox_record *r = &c->s->record;
	const struct transfer_plan plan = {
		.from = c->load ? c->file : socket,
		.to = c->load ? socket : c->file,
		.save = !c->load,
		/* Content is bounded by the disk limit, names and all else lies in memory. */
		.max = MIB((uint64_t)r->disk_mb + r->memory_mb),
		.sync = outlives_us(c->file),
		.patience_ms = STREAM_PATIENCE_MS,
	};
	c->file = -EBADF;
	transfer_run(c->transfer, &plan);
}

static int check_state(const struct sandbox *s, struct error *err)
{
	enum sandbox_state state = s->record.state;
	bool paused = state == SANDBOX_PAUSED || state == SANDBOX_PAUSING;
	if (state == SANDBOX_RUNNING)
		return 0;
	return error_say(err, state >= SANDBOX_ENDING ? ESRCH : EBUSY, "sandbox %s is %s%s",
			 s->record.id, sandbox_state_name(state),
			 paused ? ": resume it first" : "");
}

static void on_turn(void *ctx)
{
	struct copy *c = ctx;
	struct cell *cell = life_of(c->s)->cell;
	struct error err;
	int pair[2];
	if (!c->load && check_state(c->s, &err) < 0) {
		fail(c, &err);
		return;
	}
	if (!cell->runtime) { /* it has died in the pool, and its end is on the way */
		drop_bytes(c);
		c->answered = true;
		c->err.code = ESHUTDOWN;
		return;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
		error_set(&err, errno, "make a channel for files");
		fail(c, &err);
		return;
	}
	run(c, pair[0]);
	/* An answer at once means that the channel is gone: then c may be, too. */
	uint32_t request = runtime_call(cell->runtime, c->load ? WIRE_LOAD : WIRE_SAVE, NULL,
					pair[1], on_answer, c);
	close(pair[1]);
	if (request)
		c->request = request;
}

static const struct transfer_events transfer_events = { on_turn, on_transferred };

static void begin(struct copy *c)
{
	struct error err;
	c->begun = true;
	c->transfer = transfer_new(snapshots_transfers(c->s->server), &transfer_events, c);
	if (c->transfer) {
		transfer_wait(c->transfer);
		return;
	}
	error_set(&err, ENOMEM, "copy the files");
	fail(c, &err);
}

/* ---- use ---- */

/* Owns fd when it is not NULL. */
static struct copy *copy_new(struct sandbox *s, int fd, bool load, sandbox_saved_fn fn, void *ctx)
{
	struct copy *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->s = s;
	c->load = load;
	c->file = fd;
	c->fn = fn;
	c->ctx = ctx;
	uv_timer_init(s->server->loop, &c->patience);
	c->patience.data = c;
	list_add_tail(&life_of(s)->copies, &c->link);
	life_of(s)->copy_count++;
	return c;
}

static int check_save(struct sandbox *s, struct error *err)
{
	int r = check_state(s, err);
	if (r < 0 || life_of(s)->copy_count < COPIES_MAX)
		return r;
	return error_say(err, EBUSY, "sandbox %s: %u snapshots and forks wait for it already",
			 s->record.id, COPIES_MAX);
}

void sandbox_save(struct sandbox *s, int fd, sandbox_saved_fn fn, void *ctx)
{
	struct error err;
	int r = check_save(s, &err);
	struct copy *c = r == 0 ? copy_new(s, fd, false, fn, ctx) : NULL;
	if (r == 0 && !c)
		error_set(&err, ENOMEM, "copy the files");
	if (!c) {
		close(fd);
		fn(ctx, s, 0, &err);
	} else if (life_of(s)->copy_count == 1) {
		begin(c);
	}
}

void copy_begin_load(struct sandbox *s, sandbox_saved_fn loaded)
{
	struct error err;
	int fd = fcntl(life_of(s)->files_fd, F_DUPFD_CLOEXEC, 3);
	struct copy *c = fd >= 0 ? copy_new(s, fd, true, loaded, NULL) : NULL;
	if (c) {
		begin(c);
		return;
	}
	error_set(&err, fd < 0 ? errno : ENOMEM, "copy the files");
	if (fd >= 0)
		close(fd);
	loaded(NULL, s, 0, &err);
}

void copies_stop(struct sandbox *s)
{
	struct cell *cell = life_of(s)->cell;
	struct copy *c;
	list_for_each(c, &life_of(s)->copies, link) {
		if (cell && cell->runtime)
			runtime_cancel(cell->runtime, c->request);
		c->request = 0;
		drop_bytes(c);
		uv_timer_stop(&c->patience);
		c->begun = true; /* never again */
	}
}

void copies_answer(struct sandbox *s, const struct error *why)
{
	struct list *copies = &life_of(s)->copies;
	copies_stop(s);
	while (!list_empty(copies)) {
		struct copy *c = list_first(copies, struct copy, link);
		unlink_copy(c);
		if (c->load)
			c->fn = nobody;
		answer(c, s, why);
	}
}
