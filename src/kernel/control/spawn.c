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
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "kernel/abi/stub.h"
#include "kernel/control/control.h"
#include "kernel/control/terminal.h"
#include "kernel/control/users.h"
#include "kernel/core/arena.h"
#include "kernel/core/sandbox.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/passed/passed.h"
#include "kernel/fs/vfs.h"
#include "kernel/host/channel_host.h"
#include "kernel/host/host_ref.h"
#include "kernel/task/life.h"
#include "wire/wire.h"

#define SPAWNS_MAX 4096

enum spawn_state { SPAWN_QUEUED, SPAWN_ORDERED, SPAWN_FETCHED, SPAWN_RUNNING };

/* What a failure is about. */
enum spawn_step { STEP_PROGRAM, STEP_USER, STEP_CWD };

struct spawn {
	struct list link;
	uint32_t request;
	uint8_t state;
	uint8_t step; /* what is being done: enum spawn_step */
	bool main;
	bool failed;
	int guest_pid;
	struct file *files[3];
	struct terminal *terminal;
	uint32_t argc, envc, args_size;
	char *args;
	char *path, *user, *cwd;
};

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
	for (int i = 0; i < 3; i++) {
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

static struct spawn *find(uint32_t request)
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

/* The descriptors are used up in every case. */
static int take_descriptors(struct spawn *s, const struct wire_spawn *w, const int *fds,
			    uint32_t fd_count)
{
	int r = 0;

	if (w->flags & WIRE_SPAWN_TTY) {
		s->terminal = terminal_new(s->request, (uint16_t)w->rows, (uint16_t)w->cols);
		return s->terminal ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; i < fd_count && i < 3; i++) {
		s->files[i] = passed_file(fds[i]);
		if (!s->files[i])
			r = -ENFILE;
	}
	return fd_count == 3 ? r : -EBADF;
}

static struct spawn *spawn_new(uint32_t request, const struct wire_spawn *w)
{
	struct spawn *s = state->count < SPAWNS_MAX ? knew(struct spawn) : NULL;

	if (!s)
		return NULL;
	list_init(&s->link);
	s->request = request;
	s->main = w->flags & WIRE_SPAWN_MAIN;
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
	int r = s ? take_descriptors(s, w, fds, fd_count) : -ENOMEM;

	for (uint32_t i = s ? 3 : 0; i < fd_count; i++)
		host_close(fds[i]);
	if (r < 0) {
		control_error(request, -r, "start the program");
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

/* Room for the vectors and all strings. */
static uint64_t blob_size(const struct spawn *s)
{
	uint64_t size = sizeof(struct stub_program) + 8ull * (s->argc + s->envc + 2) +
			s->args_size + PATH_MAX_BYTES;
	return ALIGN_UP(size, (uint64_t)PAGE_SIZE);
}

long spawn_wait_order(struct call *c)
{
	struct stub_wait order = { .order = STUB_ORDER_REAP };
	struct spawn *s, *next = NULL;

	list_for_each(s, &state->spawns, link) {
		if (s->state == SPAWN_QUEUED) {
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
		order.size = blob_size(next);
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
	if (!s->failed)
		control_send(WIRE_EXITED, s->request, &body, sizeof(body));
	spawn_free(s);
	if (ends)
		sandbox_end(SANDBOX_ENDED, "");
}

/* About the program: the path alone. About something else: a sentence, "user joe". */
static void report_failure(const struct spawn *s, int error)
{
	char message[300];

	if (s->step == STEP_PROGRAM) {
		control_error(s->request, error, s->path);
		return;
	}
	snprintf(message, sizeof(message), "%s %.200s",
		 s->step == STEP_USER ? "user" : "working directory",
		 s->step == STEP_USER ? s->user : s->cwd);
	control_error(s->request, error, message);
}

void spawn_failed(uint32_t request, int error)
{
	struct spawn *s = find(request);

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

/* ---- the child ---- */

static int set_files(struct task *t, struct spawn *s)
{
	struct fdtable *table = fdtable_new();

	if (!table)
		return -ENOMEM;
	fdtable_put(t->files, NULL);
	t->files = table;
	for (int i = 0; i < 3; i++) {
		struct file *f = s->terminal ? tty_slave_file(terminal_tty(s->terminal))
					     : s->files[i];
		if (!f)
			return -ENFILE;
		s->files[i] = NULL;
		int r = fd_install_at(t, f, i, false);
		if (r < 0) {
			file_put(f);
			return r;
		}
	}
	if (s->terminal)
		tty_acquire(terminal_tty(s->terminal), t->proc);
	return 0;
}

/* User, root of paths, working directory. */
static int set_identity(struct task *t, struct spawn *s)
{
	struct user u;
	struct path cwd;

	s->step = STEP_USER;
	int r = user_resolve(t, s->user, state->default_user, &u);
	if (r < 0)
		return r;
	struct cred *c = user_cred(t, &u);
	struct fs_context *fs = fs_context_copy(t->fs);
	if (!c || !fs) {
		cred_put(c);
		if (fs)
			fs_context_put(fs);
		return -ENOMEM;
	}
	cred_put(t->cred);
	t->cred = c;
	fs_context_put(t->fs);
	t->fs = fs;
	s->step = STEP_CWD;
	r = path_lookup(t, AT_FDCWD, *s->cwd ? s->cwd : u.home, LOOKUP_FOLLOW | LOOKUP_DIRECTORY,
			&cwd);
	if (r < 0 && !*s->cwd)
		r = path_lookup(t, AT_FDCWD, "/", LOOKUP_DIRECTORY, &cwd);
	if (r < 0)
		return r;
	path_put(&fs->cwd);
	fs->cwd = cwd;
	s->step = STEP_PROGRAM;
	return 0;
}

static const char *environment(const struct spawn *s, const char *name)
{
	const char *at = s->args;
	size_t length = strlen(name);

	for (uint32_t i = 0; i < s->argc + s->envc; i++) {
		if (i >= s->argc && !strncmp(at, name, length) && at[length] == '=')
			return at + length + 1;
		at += strlen(at) + 1;
	}
	return NULL;
}

static int is_program(struct task *t, const char *name)
{
	struct path p;
	int r = path_lookup(t, AT_FDCWD, name, LOOKUP_FOLLOW, &p);

	if (r < 0)
		return r;
	r = S_ISREG(p.dentry->inode->mode) ? path_permission(t, p, 1 /* X_OK */) : -EACCES;
	path_put(&p);
	return r;
}

/* As execvp(3) finds programs. The result goes to dst. */
static int find_program(struct task *t, const struct spawn *s, char *dst, size_t capacity)
{
	const char *path = environment(s, "PATH"), *end;
	int result = -ENOENT;

	if (strchr(s->path, '/')) {
		snprintf(dst, capacity, "%s", s->path);
		return 0;
	}
	for (path = path ? path : "/bin:/usr/bin"; *s->path; path = end + 1) {
		end = strchrnul(path, ':');
		int n = snprintf(dst, capacity, "%.*s%s%s", (int)(end - path), path,
				 end > path ? "/" : "./", s->path);
		if (n > 0 && (size_t)n < capacity) {
			int r = is_program(t, dst);
			if (r == 0)
				return 0;
			if (r == -EACCES)
				result = r;
		}
		if (!*end)
			break;
	}
	return result;
}

/* struct stub_program, argv and envp vectors, strings, program path: one block. */
static int write_blob(struct call *c, const struct spawn *s, const char *program)
{
	uint64_t base = c->args[1];
	uint64_t argv = base + sizeof(struct stub_program);
	uint64_t envp = argv + 8ull * (s->argc + 1);
	uint64_t strings = envp + 8ull * (s->envc + 1);
	uint64_t head = strings - base;
	struct stub_program *blob = kmalloc(head);
	int r;

	if (!blob)
		return -ENOMEM;
	blob->argv = argv;
	blob->envp = envp;
	blob->path = strings + s->args_size;
	uint64_t *slot = (uint64_t *)(void *)(blob + 1), at = strings;
	const char *string = s->args;
	for (uint32_t i = 0; i < s->argc + s->envc; i++) {
		if (i == s->argc)
			slot++;
		*slot++ = at;
		at += strlen(string) + 1;
		string += strlen(string) + 1;
	}
	r = user_write(c->task, uaddr(base), blob, head);
	if (r == 0)
		r = user_write(c->task, uaddr(strings), s->args, s->args_size);
	if (r == 0)
		r = user_write(c->task, uaddr(strings + s->args_size), program, strlen(program) + 1);
	kfree(blob);
	return r;
}

long spawn_fetch(struct call *c)
{
	struct spawn *s = find((uint32_t)c->args[3]);
	char program[PATH_MAX_BYTES];
	int r;

	if (!s || s->state != SPAWN_ORDERED || c->args[2] < blob_size(s))
		return -ESRCH;
	s->state = SPAWN_FETCHED;
	s->guest_pid = c->task->proc->pid;
	c->task->proc->spawn_id = s->request;
	r = set_files(c->task, s);
	if (r == 0)
		r = set_identity(c->task, s);
	if (r == 0)
		r = find_program(c->task, s, program, sizeof(program));
	return r < 0 ? r : write_blob(c, s, program);
}

/* ---- messages about a process ---- */

void spawn_signal(uint32_t request, int sig, bool whole_group)
{
	struct spawn *s = find(request);
	struct process *p = s && s->guest_pid ? process_find(s->guest_pid) : NULL;

	if (!p || sig < 1 || sig > 64)
		return;
	if (whole_group)
		signal_pgrp(p->pgid, sig);
	else
		signal_process(p, sig);
}

void spawn_input(uint32_t request, const void *bytes, uint32_t size)
{
	struct spawn *s = find(request);

	if (s && s->terminal)
		terminal_input(s->terminal, bytes, size);
}

void spawn_output_ack(uint32_t request, uint32_t bytes)
{
	struct spawn *s = find(request);

	if (s && s->terminal)
		terminal_ack(s->terminal, bytes);
}

void spawn_resize(uint32_t request, uint32_t rows, uint32_t cols)
{
	struct spawn *s = find(request);

	if (s && s->terminal)
		tty_control_resize(terminal_tty(s->terminal), (uint16_t)rows, (uint16_t)cols);
}
