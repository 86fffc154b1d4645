/*
 * The child's side of a SPAWN: it has asked for its program, and gets descriptors, user, directory,
 * terminal and environment put on it before it executes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "kernel/abi/stub.h"
#include "kernel/control/spawn.h"
#include "kernel/control/spawn_internal.h"
#include "kernel/control/terminal.h"
#include "kernel/control/users.h"
#include "kernel/core/arena.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/life.h"
#include "wire/wire.h"

/* HOME=, USER= and LOGNAME= with their values: struct user bounds them. */
#define LOGIN_ROOM 512u
#define LOGIN_VARIABLES 3u

/* Room for the vectors and all strings. */
uint64_t spawn_blob_size(const struct spawn *s)
{
	uint64_t variables = s->envc + (s->login ? LOGIN_VARIABLES : 0);
	uint64_t size = sizeof(struct stub_program) + 8ull * (s->argc + variables + 2) +
			s->args_size + (s->login ? LOGIN_ROOM : 0) + PATH_MAX_BYTES;
	return ALIGN_UP(size, (uint64_t)PAGE_SIZE);
}

static int set_files(struct task *t, struct spawn *s)
{
	struct fdtable *table = fdtable_new();

	if (!table)
		return -ENOMEM;
	fdtable_put(t->files, NULL);
	t->files = table;
	for (uint32_t i = 0; i < s->file_count; i++) {
		bool terminal = s->terminal && i < STANDARD_FILES;
		struct file *f = terminal ? tty_slave_file(terminal_tty(s->terminal)) : s->files[i];
		if (!f)
			return -ENFILE;
		s->files[i] = NULL;
		int r = fd_install_at(t, f, (int)i, false);
		if (r < 0) {
			file_put(f);
			return r;
		}
	}
	if (s->terminal)
		tty_acquire(terminal_tty(s->terminal), t->proc);
	return 0;
}

static int set_user(struct task *t, struct spawn *s, struct user *u)
{
	int r = user_resolve(t, s->user, spawn_default_user(), u);

	if (r < 0)
		return r;
	struct cred *c = user_cred(t, u);
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
	return 0;
}

static int set_cwd(struct task *t, const struct spawn *s, const struct user *u)
{
	char path[PATH_MAX_BYTES];
	const char *name = *s->cwd ? s->cwd : u->home;
	struct path cwd;
	int r = 0;

	if (s->login) {
		r = home_path(u->home, s->cwd, path, sizeof(path));
		name = path;
	}
	if (r == 0)
		r = path_lookup(t, AT_FDCWD, name, LOOKUP_FOLLOW | LOOKUP_DIRECTORY, &cwd);
	if (r < 0 && !*s->cwd)
		r = path_lookup(t, AT_FDCWD, "/", LOOKUP_DIRECTORY, &cwd);
	if (r < 0)
		return r;
	path_put(&t->fs->cwd);
	t->fs->cwd = cwd;
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

/* HOME, USER and LOGNAME in front of the environment, as far as it does not have them. */
static int add_login(struct spawn *s, const struct user *u)
{
	const char *const names[] = { "HOME", "USER", "LOGNAME" };
	const char *const values[] = { u->home, u->name, u->name };
	uint32_t argv_size = 0, count = 0, at;

	for (uint32_t i = 0; i < s->argc; i++)
		argv_size += (uint32_t)strlen(s->args + argv_size) + 1;
	char *args = kmalloc(s->args_size + LOGIN_ROOM);
	if (!args)
		return -ENOMEM;
	memcpy(args, s->args, argv_size);
	at = argv_size;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (environment(s, names[i]) || !*values[i])
			continue;
		at += (uint32_t)snprintf(args + at, LOGIN_ROOM, "%s=%s", names[i], values[i]) + 1;
		count++;
	}
	memcpy(args + at, s->args + argv_size, s->args_size - argv_size);
	kfree(s->args);
	s->args = args;
	s->args_size += at - argv_size;
	s->envc += count;
	s->login = false; /* done: what is left of the room is not needed */
	return 0;
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

/* What the child is, step by step; a failure is about the step (spawn.step). */
static int become(struct task *t, struct spawn *s, char *program, size_t capacity)
{
	struct user u;
	int r = set_files(t, s);

	if (r < 0)
		return r;
	s->step = WIRE_ABOUT_USER;
	r = set_user(t, s, &u);
	if (r < 0)
		return r;
	s->step = WIRE_ABOUT_CWD;
	r = set_cwd(t, s, &u);
	if (r < 0)
		return r;
	s->step = WIRE_ABOUT_PROGRAM;
	if (s->login)
		r = add_login(s, &u);
	return r < 0 ? r : find_program(t, s, program, capacity);
}

long spawn_fetch(struct call *c)
{
	struct spawn *s = spawn_find((uint32_t)c->args[3]);
	static char program[PATH_MAX_BYTES];
	int r;

	if (!s || s->state != SPAWN_ORDERED || c->args[2] < spawn_blob_size(s))
		return -ESRCH;
	s->state = SPAWN_FETCHED;
	s->guest_pid = c->task->proc->pid;
	c->task->proc->spawn_id = s->request;
	r = become(c->task, s, program, sizeof(program));
	return r < 0 ? r : write_blob(c, s, program);
}
