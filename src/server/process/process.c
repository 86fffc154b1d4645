/*
 * Processes of sandboxes, as process.h says.
 *
 *   STARTING --SPAWNED--> RUNNING --EXITED--> ENDED --30 s--> gone
 *       +--ERROR--> gone
 *
 * Standard output and error are pipes of ours: they are read as fast as the followers take it, and
 * what a process wrote before its end is in them when its end is reported. A program left in the
 * background may hold them open; its later output is nobody's.
 *
 * Followers may leave from inside any call that they get.
 */
#include "server/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "server/process/process_internal.h"
#include "server/sandbox/sandbox.h"
#include "server/server.h"

#define KEEP_ENDED_MS  30000
#define PROCESSES_MAX  4096
#define INPUT_QUEUED_MAX (64u << 20) /* bytes for all processes of a sandbox */
#define TTY_PIECE_SIZE (16u << 10)
#define OUTPUT_PIECE   (32u << 10)

/* ---- the table ---- */

static struct process_table *table_of(struct sandbox *s)
{
	if (!s->processes) {
		s->processes = calloc(1, sizeof(*s->processes));
		if (s->processes)
			list_init(&s->processes->processes);
	}
	return s->processes;
}

static void free_timer(uv_handle_t *h)
{
	free(h);
}

static void close_pipes(struct process *p)
{
	for (int i = 0; i < 2; i++) {
		pipe_reader_free(p->readers[i]);
		p->readers[i] = NULL;
	}
	pipe_writer_free(p->input);
	p->input = NULL;
}

static void process_free(struct process *p)
{
	list_del(&p->link);
	close_pipes(p);
	if (p->remote)
		runtime_process_forget(p->remote);
	if (p->timer)
		uv_close((uv_handle_t *)p->timer, free_timer);
	free(p->cmd);
	free(p->cwd);
	free(p->tag);
	json_decref(p->args);
	json_decref(p->envs);
	free(p->lines[0]);
	free(p->lines[1]);
	free(p);
}

void process_table_free(struct sandbox *s)
{
	static const struct process_end gone = { false, -1, "signal: killed" };
	struct process_table *t = s->processes;

	if (!t)
		return;
	while (!list_empty(&t->processes)) {
		struct process *p = list_first(&t->processes, struct process, link);
		while (!list_empty(&p->followers)) {
			struct follower *f = list_first(&p->followers, struct follower, link);
			process_unfollow(f);
			f->ended(f, &gone);
		}
		process_free(p);
	}
	free(t);
	s->processes = NULL;
}

/* ---- the end ---- */

static void describe_end(struct process_end *e, uint32_t status)
{
	static const char *const names[] = {
		[SIGHUP] = "hangup",	  [SIGINT] = "interrupt",
		[SIGQUIT] = "quit",	  [SIGILL] = "illegal instruction",
		[SIGTRAP] = "trace/breakpoint trap", [SIGABRT] = "aborted",
		[SIGBUS] = "bus error",	  [SIGFPE] = "floating point exception",
		[SIGKILL] = "killed",	  [SIGUSR1] = "user defined signal 1",
		[SIGSEGV] = "segmentation fault", [SIGUSR2] = "user defined signal 2",
		[SIGPIPE] = "broken pipe", [SIGALRM] = "alarm clock",
		[SIGTERM] = "terminated",
	};
	int s = (int)status;

	e->exited = WIFEXITED(s);
	e->code = e->exited ? WEXITSTATUS(s) : -1;
	if (e->exited)
		snprintf(e->status, sizeof(e->status), "exit status %d", e->code);
	else if ((size_t)WTERMSIG(s) < sizeof(names) / sizeof(names[0]) && names[WTERMSIG(s)])
		snprintf(e->status, sizeof(e->status), "signal: %s%s", names[WTERMSIG(s)],
			 WCOREDUMP(s) ? " (core dumped)" : "");
	else
		snprintf(e->status, sizeof(e->status), "signal: signal %d", WTERMSIG(s));
}

static void forget(uv_timer_t *h)
{
	process_free(h->data);
}

static void time_is_up(uv_timer_t *h)
{
	process_signal(h->data, SIGKILL);
}

static int set_timer(struct process *p, uv_timer_cb fn, uint64_t ms)
{
	if (!p->timer) {
		p->timer = calloc(1, sizeof(*p->timer));
		if (!p->timer)
			return -ENOMEM;
		uv_timer_init(p->sandbox->server->loop, p->timer);
		p->timer->data = p;
	}
	return uv_timer_start(p->timer, fn, ms, 0);
}

static void on_exited(void *ctx, uint32_t status)
{
	struct process *p = ctx;

	p->remote = NULL;
	for (int i = 0; i < 2; i++)
		pipe_reader_drain(p->readers[i]);
	process_output_finish(p);
	p->state = PROCESS_ENDED;
	describe_end(&p->end, status);
	close_pipes(p);
	while (!list_empty(&p->followers)) {
		struct follower *f = list_first(&p->followers, struct follower, link);
		process_unfollow(f);
		f->ended(f, &p->end);
	}
	/* Without memory for the timer it is forgotten at once. */
	if (set_timer(p, forget, KEEP_ENDED_MS) < 0)
		process_free(p);
}

static void on_failed(void *ctx, int error, uint32_t about, const char *message)
{
	struct process *p = ctx;

	p->remote = NULL;
	if (p->launching) { /* process_start() tells, and frees it */
		p->failure = error;
		return;
	}
	while (!list_empty(&p->followers)) {
		struct follower *f = list_first(&p->followers, struct follower, link);
		process_unfollow(f);
		f->failed(f, error, about, message);
	}
	process_free(p);
}

static void on_spawned(void *ctx, uint32_t pid)
{
	struct process *p = ctx;
	struct follower *f, *next;

	p->pid = pid;
	p->state = PROCESS_RUNNING;
	list_for_each_safe(f, next, &p->followers, link)
		f->started(f, pid);
}

/* ---- output ---- */

static void on_terminal(void *ctx, const uint8_t *data, size_t size)
{
	struct process *p = ctx;

	p->untaken += size;
	for (size_t at = 0; at < size; at += TTY_PIECE_SIZE) {
		size_t n = size - at < TTY_PIECE_SIZE ? size - at : TTY_PIECE_SIZE;
		process_output(p, PROCESS_PTY, data + at, n);
	}
}

static void on_stdout(void *ctx, const uint8_t *data, size_t size)
{
	process_output(ctx, PROCESS_STDOUT, data, size);
}

static void on_stderr(void *ctx, const uint8_t *data, size_t size)
{
	process_output(ctx, PROCESS_STDERR, data, size);
}

/* The process closed it, or has ended, which is reported by itself. */
static void on_end(void *ctx)
{
}

static const struct pipe_reader_events reader_events[] = { { on_stdout, on_end },
							   { on_stderr, on_end } };

/* ---- start ---- */

/* fds: what the process gets; on failure all are closed. */
static int make_pipes(struct process *p, bool input, int fds[3])
{
	uv_loop_t *loop = p->sandbox->server->loop;
	int ends[2];

	fds[0] = fds[1] = fds[2] = -EBADF;
	if (input) {
		if (pipe2(ends, O_CLOEXEC) < 0)
			return -errno;
		fds[0] = ends[0];
		fcntl(ends[1], F_SETFL, O_NONBLOCK);
		p->input = pipe_writer_new(loop, ends[1]);
		if (!p->input)
			return -ENOMEM;
	} else {
		fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (fds[0] < 0)
			return -errno;
	}
	for (int i = 0; i < 2; i++) {
		if (pipe2(ends, O_CLOEXEC) < 0)
			return -errno;
		fds[1 + i] = ends[1];
		fcntl(ends[0], F_SETFL, O_NONBLOCK);
		p->readers[i] = pipe_reader_new(loop, ends[0], OUTPUT_PIECE, &reader_events[i], p);
		if (!p->readers[i])
			return -ENOMEM;
	}
	return 0;
}

static struct process *process_new(struct sandbox *s, const struct process_spec *spec)
{
	struct process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	list_init(&p->link);
	list_init(&p->followers);
	p->sandbox = s;
	p->tty = spec->tty;
	p->cmd = strdup(spec->cmd);
	p->cwd = strdup(spec->cwd);
	p->tag = spec->tag ? strdup(spec->tag) : NULL;
	p->args = json_deep_copy(spec->args);
	p->envs = json_deep_copy(spec->envs);
	if (p->cmd && p->cwd && (p->tag || !spec->tag))
		return p;
	process_free(p);
	return NULL;
}

static const struct runtime_process_events events = { on_spawned, on_failed, on_terminal,
						      on_exited };

static int launch_process(struct process *p, const struct process_spec *spec)
{
	struct wire_spawn message;
	int fds[3] = { -EBADF, -EBADF, -EBADF };

	int r = process_build_message(p->sandbox, spec, &message);
	if (r < 0)
		return r;
	if (!spec->tty)
		r = make_pipes(p, spec->stdin_open, fds);
	if (r == 0) {
		p->launching = true;
		p->remote = runtime_spawn(p->sandbox->runtime, &message, fds, spec->tty ? 0 : 3,
					  &events, p);
		p->launching = false;
		r = p->remote ? 0 : -p->failure;
	}
	for (int i = 0; i < 3; i++)
		cleanup_close(&fds[i]);
	free((void *)(uintptr_t)message.args);
	return r;
}

static unsigned int count(const struct process_table *t)
{
	struct process *p;
	unsigned int n = 0;

	list_for_each(p, &t->processes, link)
		n++;
	return n;
}

int process_start(struct sandbox *s, const struct process_spec *spec, struct follower *f)
{
	struct process_table *t = table_of(s);

	if (!s->runtime)
		return -ESHUTDOWN;
	if (!t || count(t) >= PROCESSES_MAX)
		return -ENOMEM;
	struct process *p = process_new(s, spec);
	if (!p)
		return -ENOMEM;
	int r = launch_process(p, spec);
	if (r == 0 && spec->limit_ms)
		r = set_timer(p, time_is_up, spec->limit_ms);
	if (r < 0) {
		process_free(p);
		return r;
	}
	list_add_tail(&t->processes, &p->link);
	f->process = p;
	list_add_tail(&p->followers, &f->link);
	return 0;
}

/* ---- following ---- */

struct process *process_find(struct sandbox *s, uint32_t pid, const char *tag)
{
	struct process *p, *found = NULL;

	if (!s->processes)
		return NULL;
	list_for_each(p, &s->processes->processes, link) {
		bool same = tag ? p->tag && strcmp(p->tag, tag) == 0 : p->pid == pid;
		if (same && p->state != PROCESS_STARTING)
			found = p; /* the youngest: a pid may have been used before */
	}
	return found;
}

void process_follow(struct process *p, struct follower *f)
{
	if (p->state == PROCESS_ENDED) {
		f->process = NULL;
		f->started(f, p->pid);
		f->ended(f, &p->end);
		return;
	}
	f->process = p;
	list_add_tail(&p->followers, &f->link);
	f->started(f, p->pid);
}

void process_unfollow(struct follower *f)
{
	struct process *p = f->process;

	f->process = NULL;
	list_del(&f->link);
	if (p)
		process_read_on(p);
}

void process_drained(struct process *p)
{
	process_read_on(p);
}

/* ---- input, signals, views ---- */

uint32_t process_pid(const struct process *p)
{
	return p->pid;
}

bool process_alive(const struct process *p)
{
	return p->state == PROCESS_RUNNING;
}

bool process_is_tty(const struct process *p)
{
	return p->tty;
}

/* Of all its processes. */
static size_t queued_input(const struct sandbox *s)
{
	const struct process *p;
	size_t queued = 0;

	list_for_each(p, &s->processes->processes, link)
		queued += p->input ? pipe_writer_queued(p->input) : 0;
	return queued;
}

int process_input(struct process *p, bool to_tty, const void *data, size_t size,
		  pipe_written_fn fn, void *ctx)
{
	if (to_tty != p->tty)
		return to_tty ? -ENOTTY : -EINVAL;
	if (!process_alive(p) || (!p->tty && !p->input))
		return -EPIPE;
	if (!p->tty && queued_input(p->sandbox) + size > INPUT_QUEUED_MAX)
		return -ENOBUFS;
	if (!p->tty)
		return pipe_writer_put(p->input, data, size, fn, ctx);
	runtime_input(p->remote, data, size);
	fn(ctx, 0);
	return 0;
}

void process_forget_input(struct process *p, void *ctx)
{
	if (p->input)
		pipe_writer_forget(p->input, ctx);
}

int process_close_input(struct process *p)
{
	if (p->tty)
		return -ENOTTY;
	if (p->input)
		pipe_writer_close(p->input);
	return 0;
}

int process_resize(struct process *p, uint32_t cols, uint32_t rows)
{
	if (!p->tty)
		return -ENOTTY;
	if (p->remote)
		runtime_resize(p->remote, rows, cols);
	return 0;
}

void process_signal(struct process *p, int signal)
{
	if (p->remote)
		runtime_signal(p->remote, signal, true);
}

void process_each(struct sandbox *s, void (*fn)(void *ctx, const struct process_view *v), void *ctx)
{
	struct process *p;

	if (!s->processes)
		return;
	list_for_each(p, &s->processes->processes, link) {
		const struct process_view v = { p->pid,  p->tag,  p->cmd, p->cwd,
						p->args, p->envs, p->tty };
		if (process_alive(p))
			fn(ctx, &v);
	}
}
