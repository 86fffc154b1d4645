/* Encoding and sending of SPAWN; the environment of the program. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system_path.h"
#include "base/util.h"
#include "cli/run_config.h"

#define ENV_MAX (OPTION_ITEMS_MAX + 16)

/* Untouched pages cost nothing. */
static uint8_t body[WIRE_BODY_MAX];
static char args[WIRE_BODY_MAX / 2];

struct env {
	const char *items[ENV_MAX];
	unsigned int count;
	char *storage; /* for items made here */
	size_t left;
};

static size_t name_length(const char *item)
{
	return strcspn(item, "=");
}

/* Later settings replace earlier ones in place. */
static void env_set(struct env *e, const char *item)
{
	size_t n = name_length(item);
	for (unsigned int i = 0; i < e->count; i++) {
		if (name_length(e->items[i]) == n && memcmp(e->items[i], item, n) == 0) {
			e->items[i] = item;
			return;
		}
	}
	if (e->count < ENV_MAX)
		e->items[e->count++] = item;
}

static void env_format(struct env *e, const char *name, const char *value)
{
	int n = snprintf(e->storage, e->left, "%s=%s", name, value);
	if (n < 0 || (size_t)n >= e->left)
		return;
	env_set(e, e->storage);
	e->storage += n + 1;
	e->left -= (size_t)n + 1;
}

/* Name and home as the sandbox's /etc/passwd has them. */
static void set_identity(struct env *e, const struct run_config *config)
{
	const char *user = config->spawn_user;
	char home[256];
	uint64_t uid = user[0] >= '0' && user[0] <= '9' ? strtoul(user, NULL, 10) : UINT64_MAX;
	if (uid == 0)
		user = "root";
	else if (uid == config->base.wire.user_uid)
		user = config->base.wire.user;
	if (strcmp(user, "root") == 0)
		snprintf(home, sizeof(home), "/root");
	else if (strcmp(user, config->base.wire.user) == 0)
		snprintf(home, sizeof(home), "/home/%s", user);
	else if (strcmp(user, "nobody") == 0 || uid == 65534)
		snprintf(home, sizeof(home), "/nonexistent");
	else
		snprintf(home, sizeof(home), "/");
	env_format(e, "HOME", home);
	env_format(e, "USER", user);
	env_format(e, "LOGNAME", user);
}

static void build_env(struct env *e, const struct run_options *o, const struct run_config *config,
		      bool tty)
{
	env_set(e, "PATH=" SYSTEM_PATH);
	set_identity(e, config);
	env_set(e, "LANG=C.UTF-8");
	env_format(e, "HOSTNAME", o->hostname);
	if (tty) {
		const char *term = getenv("TERM");
		env_format(e, "TERM", term && *term ? term : "xterm");
	}
	for (unsigned int i = 0; i < o->env.count; i++) {
		const char *item = o->env.items[i].text;
		const char *value = strchr(item, '=') ? NULL : getenv(item);
		if (strchr(item, '='))
			env_set(e, item);
		else if (value)
			/* getenv() points behind the '=': the whole item is there already. */
			env_set(e, value - strlen(item) - 1);
	}
}

static int append(char *at, uint32_t *size, const char *s)
{
	size_t n = strlen(s) + 1;
	if (n > sizeof(args) - *size)
		return -E2BIG;
	memcpy(at + *size, s, n);
	*size += (uint32_t)n;
	return 0;
}

int run_spawn_send(struct channel *c, const struct run_spawn *spawn, struct error *err)
{
	const struct run_options *o = spawn->options;
	static char storage[8192];
	static struct env env;
	struct wire_spawn s = {
		.flags = WIRE_SPAWN_MAIN | (spawn->tty ? WIRE_SPAWN_TTY : 0),
		.rows = spawn->rows,
		.cols = spawn->cols,
		.user = spawn->config->spawn_user,
		.cwd = o->workdir ? o->workdir : "/work",
		.path = o->command[0],
		.argc = (uint32_t)o->command_count,
		.args = args,
	};
	int r = 0;
	env = (struct env){ .storage = storage, .left = sizeof(storage) };
	build_env(&env, o, spawn->config, spawn->tty);
	s.envc = env.count;
	for (int i = 0; i < o->command_count && r == 0; i++)
		r = append(args, &s.args_size, o->command[i]);
	for (unsigned int i = 0; i < env.count && r == 0; i++)
		r = append(args, &s.args_size, env.items[i]);
	struct wire_out out = { body, 0, sizeof(body), false };
	wire_put_spawn(&out, &s);
	if (r < 0 || out.failed || s.argc > WIRE_ARGS_MAX)
		return error_set(err, E2BIG, "arguments of the program");
	r = channel_send(c, WIRE_SPAWN, RUN_REQUEST_MAIN, body, out.length, spawn->fds,
			 spawn->fd_count);
	return r < 0 ? error_set(err, -r, "send the command to the kernel process") : 0;
}
