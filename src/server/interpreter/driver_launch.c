/* The process of a driver: its message, its pipes, and the requests that are written to it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/system_path.h"
#include "base/util.h"
#include "interpreter/frame.h"
#include "server/interpreter/driver_internal.h"
#include "server/interpreter/limits.h"
#include "server/process/process.h"
#include "server/process/spawn.h"

#define DRIVER_FDS 5

/* ---- the start ---- */

/* fds[number] is what the process gets, *ret_own our end. */
static int make_pipe(int fds[DRIVER_FDS], int number, bool it_writes, int *ret_own)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	fds[number] = ends[it_writes];
	*ret_own = ends[!it_writes];
	(void)fcntl(*ret_own, F_SETFL, O_NONBLOCK); /* does not fail for a pipe of ours */
	return 0;
}

static int open_reader(struct driver *d, int fds[DRIVER_FDS], int number, struct pipe_reader **ret,
		       const struct pipe_reader_events *events)
{
	int own = -EBADF;
	int r = make_pipe(fds, number, true, &own);

	if (r < 0)
		return r;
	*ret = pipe_reader_new(d->loop, own, INTERPRETER_PIECE, events, d);
	return *ret ? 0 : -ENOMEM;
}

static int open_pipes(struct driver *d, int fds[DRIVER_FDS])
{
	int own = -EBADF;

	fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int r = fds[0] < 0 ? -errno : make_pipe(fds, 3, false, &own);
	if (r < 0)
		return r;
	d->requests = pipe_writer_new(d->loop, own);
	if (!d->requests)
		return -ENOMEM;
	r = open_reader(d, fds, 4, &d->frames, &driver_readers[0]);
	if (r == 0)
		r = open_reader(d, fds, 1, &d->pipes[0], &driver_readers[1]);
	if (r == 0)
		r = open_reader(d, fds, 2, &d->pipes[1], &driver_readers[2]);
	return r;
}

json_t *driver_environment(const struct sandbox *s)
{
	json_t *env = spawn_environment(s);

	if (env && !json_object_get(env, "LANG"))
		json_object_set_new(env, "LANG", json_string("C.UTF-8"));
	if (env)
		json_object_set_new(env, "PATH", json_string(SYSTEM_PATH));
	return env;
}

static json_t *arguments_of(const struct language *l)
{
	json_t *args = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(l->args) && l->args[i]; i++)
		json_array_append_new(args, json_string(l->args[i]));
	return args;
}

static int spawn(struct driver *d, struct runtime *rt, const struct driver_spec *spec,
		 const int fds[DRIVER_FDS])
{
	json_t *args = arguments_of(spec->language);
	const struct process_spec process = {
		.cmd = spec->language->program, .args = args, .cwd = spec->cwd, .user = "root"
	};
	struct wire_spawn message;

	int r = args ? spawn_message(&process, spec->environment, &message) : -ENOMEM;
	json_decref(args);
	if (r < 0)
		return r;
	d->remote = runtime_spawn(rt, &message, fds, DRIVER_FDS, &driver_process_events, d);
	free((void *)(uintptr_t)message.args);
	return d->remote ? 0 : -d->launch_error;
}

int driver_launch(struct driver *d, struct runtime *rt, const struct driver_spec *spec)
{
	int fds[DRIVER_FDS] = { -EBADF, -EBADF, -EBADF, -EBADF, -EBADF };

	int r = open_pipes(d, fds);
	if (r == 0)
		r = spawn(d, rt, spec, fds);
	for (int i = 0; i < DRIVER_FDS; i++)
		cleanup_close(&fds[i]);
	return r;
}

/* ---- requests ---- */

int driver_put_frame(struct driver *d, const char *name, const char *argument, const char *content,
		     size_t size)
{
	char header[FRAME_HEADER_MAX + 1];
	int n = frame_header(header, sizeof(header), name, argument, size);

	if (n < 0)
		return n;
	int r = pipe_writer_put(d->requests, header, (size_t)n, driver_written, d);
	return r == 0 && size ? pipe_writer_put(d->requests, content, size, driver_written, d) : r;
}

static int put_variable(struct driver *d, const char *frame, const char *name, const char *value)
{
	size_t size = strlen(name) + 1 + strlen(value);
	AUTO_FREE char *text = malloc(size + 1);

	if (!text)
		return -ENOMEM;
	snprintf(text, size + 1, "%s=%s", name, value);
	return driver_put_frame(d, frame, NULL, text, size);
}

int driver_put_variables(struct driver *d, const char *frame, const json_t *variables)
{
	json_t *object = (json_t *)(uintptr_t)variables, *value;
	const char *name;
	int r = 0;

	json_object_foreach(object, name, value)
	{
		if (r == 0)
			r = put_variable(d, frame, name, json_string_value(value));
	}
	return r;
}
