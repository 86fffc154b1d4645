/*
 * Processes started from outside.
 *
 *   SPAWN --> queued --pid 1 forks--> fetching --child execs--> running --reaped--> EXITED
 *                                        |
 *                                        +-- exec failed --> ERROR
 *
 * pid 1 sleeps in a private call. An order wakes it; it forks; the child asks for its program
 * (STUB_FETCH), gets descriptors, user, directory and terminal put on it, and executes like any
 * process. Records live in the arena until the exit was reported.
 */
#include "kernel/control/spawn.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "kernel/abi/stub.h"
#include "kernel/control/control.h"
#include "kernel/control/reboot.h"
#include "kernel/control/spawn_internal.h"
#include "kernel/control/terminal.h"
#include "kernel/core/arena.h"
#include "kernel/core/sandbox.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/passed/passed.h"
#include "kernel/host/channel_host.h"
#include "kernel/host/host_ref.h"
#include "kernel/task/birth.h"
#include "kernel/task/life.h"
#include "wire/wire.h"

#define SPAWNS_MAX 4096

struct spawn_state_root {
	struct list spawns;
	uint32_t count;
	struct waitq orders; /* pid 1 waits here */
	bool reap;
	uint32_t default_uid, default_gid;
	char default_user[64];
};

static struct spawn_state_root *state;

int spawn_init(uint32_t uid, uint32_t gid, const char *user)
{
	state = arena_root(ROOT_CONTROL, sizeof(*state));
	if (!state)
		return -ENOMEM;
	list_init(&state->spawns);
	state->default_uid = uid;
	state->default_gid = gid;
	snprintf(state->default_user, sizeof(state->default_user), "%s", user);
	return 0;
}

static void spawn_free(struct spawn *s)
{
	if (!s)
		return;
	if (list_linked(&s->link)) {
		list_del(&s->link);
		state->count--;
	}
	for (uint32_t i = 0; i < s->file_count; i++) {
		if (s->files[i])
			file_put(s->files[i]);
	}
	terminal_free(s->terminal);
	kfree(s->args);
	kfree(s->path);
	kfree(s->user);
	kfree(s->cwd);
	kfree(s);
}

const char *spawn_default_user(void)
{
	return state->default_user;
}

struct spawn *spawn_find(uint32_t request)
{
	struct spawn *s;

	list_for_each(s, &state->spawns, link) {
		if (s->request == request || (request == 0 && s->main))
			return s;
	}
	return NULL;
}

/* ---- SPAWN ---- */

static struct file *passed_file(int fd)
{
	struct host_ref ref;

	if (host_ref_passed(fd, &ref) < 0)
		return NULL;
	return file_new_passed(&ref, 0, state->default_uid, state->default_gid);
}

static void close_all(const int *fds, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		host_close(fds[i]);
}

/* The descriptors are used up in every case. */
static int take_descriptors(struct spawn *s, const struct wire_spawn *w, const int *fds,
			    uint32_t fd_count)
{
	bool tty = w->flags & WIRE_SPAWN_TTY;
	uint32_t first = tty ? STANDARD_FILES : 0;
	int r = 0;

	if (first + fd_count < STANDARD_FILES || first + fd_count > WIRE_SPAWN_FDS_MAX) {
		close_all(fds, fd_count);
		return -EBADF;
	}
	s->file_count = first + fd_count;
	for (uint32_t i = 0; i < fd_count; i++) {
		s->files[first + i] = passed_file(fds[i]);
		if (!s->files[first + i])
			r = -ENFILE;
	}
	if (tty && r == 0) {
		s->terminal = terminal_new(s->request, (uint16_t)w->rows, (uint16_t)w->cols);
		r = s->terminal ? 0 : -ENOMEM;
	}
	return r;
}

static struct spawn *spawn_new(uint32_t request, const struct wire_spawn *w)
{
	struct spawn *s = state->count < SPAWNS_MAX ? knew(struct spawn) : NULL;

	if (!s)
		return NULL;
	list_init(&s->link);
	s->request = request;
	s->main = w->flags & WIRE_SPAWN_MAIN;
	s->login = w->flags & WIRE_SPAWN_LOGIN;
	s->step = WIRE_ABOUT_PROGRAM;
	s->argc = w->argc;
	s->envc = w->envc;
	s->args_size = w->args_size;
	s->args = kmemdup0(w->args, w->args_size);
	s->path = kstrdup(w->path);
	s->user = kstrdup(w->user);
	s->cwd = kstrdup(w->cwd);
	if (s->args && s->path && s->user && s->cwd)
		return s;
	spawn_free(s);
	return NULL;
}

void spawn_request(uint32_t request, const struct wire_spawn *w, const int *fds, uint32_t fd_count)
{
	struct spawn *s = spawn_new(request, w);
	int r = -ENOMEM;

	if (s)
		r = take_descriptors(s, w, fds, fd_count);
	else
		close_all(fds, fd_count);
	if (r < 0) {
		control_error(request, -r, WIRE_ABOUT_REQUEST, "start the program");
		spawn_free(s);
		return;
	}
	list_add_tail(&state->spawns, &s->link);
	state->count++;
	waitq_wake(&state->orders, 0);
}

/* ---- pid 1 ---- */

void sandbox_reap(void)
{
	state->reap = true;
	waitq_wake(&state->orders, 0);
}

long spawn_wait_order(struct call *c)
{
	struct stub_wait order = { .order = STUB_ORDER_REAP };
	struct spawn *s, *next = NULL;

	list_for_each(s, &state->spawns, link) {
		if (s->state == SPAWN_QUEUED && !reboot_active()) {
			next = s;
			break;
		}
	}
	if (!state->reap && !next)
		return call_block(c, &state->orders);
	if (state->reap) {
		state->reap = false;
	} else {
		order.order = STUB_ORDER_SPAWN;
		order.size = spawn_blob_size(next);
		order.id = next->request;
		next->state = SPAWN_ORDERED;
	}
	return user_write(c->task, CALL_ARG_PTR(c, 1), &order, sizeof(order));
}

void spawn_reaped(int guest_pid, int status)
{
	struct spawn *s;
	uint32_t body = (uint32_t)status;

	list_for_each(s, &state->spawns, link) {
		if (s->guest_pid == guest_pid)
			break;
	}
	if (&s->link == &state->spawns)
		return; /* an orphan of the guest's own */
	bool ends = s->main;
	if (s->terminal)
		terminal_drain(s->terminal);
	if (!s->failed && s->state != SPAWN_RUNNING)
		control_error(s->request, ECANCELED, WIRE_ABOUT_REQUEST, "killed before it began");
	else if (!s->failed)
		control_send(WIRE_EXITED, s->request, &body, sizeof(body));
	spawn_free(s);
	if (ends)
		sandbox_end(SANDBOX_ENDED, "");
}

static void report_failure(const struct spawn *s, int error)
{
	const char *subject = s->step == WIRE_ABOUT_USER ? s->user :
			      s->step == WIRE_ABOUT_CWD	 ? s->cwd :
							   s->path;
	control_error(s->request, error, s->step, subject);
}

void spawn_failed(uint32_t request, int error)
{
	struct spawn *s = spawn_find(request);

	if (!s || s->state == SPAWN_RUNNING || s->failed)
		return;
	s->failed = true;
	report_failure(s, error > 0 && error < 4096 ? error : EIO);
	/* Without a child there is nothing to reap. */
	if (!s->guest_pid) {
		bool ends = s->main;
		spawn_free(s);
		if (ends)
			sandbox_end(SANDBOX_ENDED, "");
	}
}

void spawn_running(struct process *p)
{
	struct spawn *s;
	uint32_t body = (uint32_t)p->pid;

	list_for_each(s, &state->spawns, link) {
		if (s->guest_pid == p->pid && s->state == SPAWN_FETCHED) {
			s->state = SPAWN_RUNNING;
			control_send(WIRE_SPAWNED, s->request, &body, sizeof(body));
			return;
		}
	}
}

void spawn_go_on(void)
{
	struct spawn *s, *next;

	list_for_each_safe(s, next, &state->spawns, link) {
		if (s->state == SPAWN_ORDERED && !s->guest_pid)
			spawn_failed(s->request, ECANCELED);
	}
	waitq_wake(&state->orders, 0);
}

/* ---- messages about a process ---- */

/*
 * What a terminal sends goes to the foreground, which is the program's own group. Everything else
 * is for all that it started: jobs of a shell have groups of their own in the same session.
 */
static bool signal_reaches(const struct process *target, const struct process *p, int sig)
{
	bool from_terminal = sig == SIGINT || sig == SIGQUIT || sig == SIGTSTP;

	if (target->pid == 1 || target->exited)
		return false;
	return target->pgid == p->pgid || (!from_terminal && target->sid == p->sid);
}

void spawn_signal(uint32_t request, int sig, bool whole_group)
{
	struct spawn *s = spawn_find(request);
	struct process *p = s && s->guest_pid ? process_find(s->guest_pid) : NULL, *target, *next;

	if (!p || sig < 1 || sig > 64)
		return;
	if (!whole_group) {
		signal_process(p, sig);
		return;
	}
	birth_find_all();
	list_for_each_safe(target, next, process_list(), all_link) {
		if (signal_reaches(target, p, sig))
			signal_process(target, sig);
	}
}

void spawn_input(uint32_t request, const void *bytes, uint32_t size)
{
	struct spawn *s = spawn_find(request);

	if (s && s->terminal)
		terminal_input(s->terminal, bytes, size);
}

void spawn_output_ack(uint32_t request, uint32_t bytes)
{
	struct spawn *s = spawn_find(request);

	if (s && s->terminal)
		terminal_ack(s->terminal, bytes);
}

void spawn_resize(uint32_t request, uint32_t rows, uint32_t cols)
{
	struct spawn *s = spawn_find(request);

	if (s && s->terminal)
		tty_control_resize(terminal_tty(s->terminal), (uint16_t)rows, (uint16_t)cols);
}
