/*
 * The message that starts a process: its arguments and its environment. The environment is, later
 * ones winning: PATH, what says that this is a sandbox, the sandbox's variables, the request's. HOME,
 * USER and LOGNAME are put in front by the sandbox, which knows its users.
 */
#include "server/process/spawn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system_path.h"
#include "base/util.h"
#include "server/process/process_internal.h"
#include "server/sandbox/sandbox.h"

#define ARGS_BYTES_MAX (2u << 20)

struct strings {
	char *bytes;
	size_t size, capacity;
	uint32_t count;
	int error;
};

static void put(struct strings *s, const char *name, const char *value)
{
	size_t a = strlen(name), b = value ? strlen(value) + 1 : 0;

	if (s->error)
		return;
	if (a + b + 1 > ARGS_BYTES_MAX - s->size) {
		s->error = -E2BIG;
		return;
	}
	if (s->size + a + b + 1 > s->capacity) {
		size_t capacity = MAX(s->capacity * 2, s->size + a + b + 1 + 1024);
		char *bytes = realloc(s->bytes, capacity);
		if (!bytes) {
			s->error = -ENOMEM;
			return;
		}
		s->bytes = bytes;
		s->capacity = capacity;
	}
	memcpy(s->bytes + s->size, name, a);
	if (value) {
		s->bytes[s->size + a] = '=';
		memcpy(s->bytes + s->size + a + 1, value, b - 1);
	}
	s->bytes[s->size + a + b] = '\0';
	s->size += a + b + 1;
	s->count++;
}

static bool valid_name(const char *name)
{
	return *name && !strchr(name, '=');
}

json_t *spawn_environment(const struct sandbox *s)
{
	json_t *env = json_pack("{s:s, s:s}", "PATH", SYSTEM_PATH, "E2B_SANDBOX", "true");
	json_t *own = s && s->record.env ? json_loads(s->record.env, 0, NULL) : NULL;

	if (env && s) {
		json_object_set_new(env, "E2B_SANDBOX_ID", json_string(s->record.id));
		json_object_set_new(env, "E2B_TEMPLATE_ID", json_string(s->record.template_id));
	}
	if (env && own)
		json_object_update(env, own);
	json_decref(own);
	return env;
}

static void put_environment(struct strings *s, const json_t *environment)
{
	json_t *env = (json_t *)(uintptr_t)environment, *value;
	const char *name;

	json_object_foreach(env, name, value) {
		if (json_is_string(value) && valid_name(name))
			put(s, name, json_string_value(value));
	}
}

int spawn_message(const struct process_spec *spec, const json_t *environment,
		  struct wire_spawn *ret)
{
	struct strings s = { 0 };

	put(&s, spec->cmd, NULL);
	for (size_t i = 0; i < json_array_size(spec->args); i++)
		put(&s, json_string_value(json_array_get(spec->args, i)), NULL);
	uint32_t argc = s.count;
	put_environment(&s, environment);
	if (s.error) {
		free(s.bytes);
		return s.error;
	}
	*ret = (struct wire_spawn){ .flags = WIRE_SPAWN_LOGIN | (spec->tty ? WIRE_SPAWN_TTY : 0),
				    .rows = spec->rows,
				    .cols = spec->cols,
				    .user = spec->user,
				    .cwd = spec->cwd,
				    .path = spec->cmd,
				    .argc = argc,
				    .envc = s.count - argc,
				    .args = s.bytes,
				    .args_size = (uint32_t)s.size };
	return 0;
}

int process_build_message(const struct sandbox *s, const struct process_spec *spec,
			  struct wire_spawn *ret)
{
	json_t *environment = spawn_environment(s);

	if (environment && spec->envs)
		json_object_update(environment, (json_t *)(uintptr_t)spec->envs);
	int r = environment ? spawn_message(spec, environment, ret) : -ENOMEM;
	json_decref(environment);
	return r;
}
