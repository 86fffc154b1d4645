/* Verbs that are programs of their own, with libraries that the command does without: the server, and
 * the client of it. They lie beside the command. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/verbs.h"

#define ARGUMENTS_MAX 1024

static int become(const char *name, const char *verb, int argc, char **argv)
{
	static char *arguments[ARGUMENTS_MAX + 3];
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
	if (n < 0 || argc > ARGUMENTS_MAX) {
		fprintf(stderr, "hotcell: %s\n", n < 0 ? strerror(errno) : "too many arguments");
		return 125;
	}
	path[n] = '\0';
	snprintf(strrchr(path, '/') + 1, 32, "%s", name);
	arguments[0] = (char *)(uintptr_t)name;
	arguments[1] = (char *)(uintptr_t)verb;
	for (int i = 0; i < argc; i++)
		arguments[2 + i] = argv[i];
	execv(path, arguments);
	fprintf(stderr, "hotcell: %s: %s (it must lie beside hotcell)\n", path, strerror(errno));
	return 125;
}

int verb_serve(const struct verb_context *ctx, int argc, char **argv)
{
	return become("hotcell-server", "serve", argc, argv);
}

int verb_key(const struct verb_context *ctx, int argc, char **argv)
{
	return become("hotcell-server", "key", argc, argv);
}

int verb_ps(const struct verb_context *ctx, int argc, char **argv)
{
	return become("hotcell-client", "ps", argc, argv);
}

int verb_top(const struct verb_context *ctx, int argc, char **argv)
{
	return become("hotcell-client", "top", argc, argv);
}

int verb_logs(const struct verb_context *ctx, int argc, char **argv)
{
	return become("hotcell-client", "logs", argc, argv);
}

int verb_exec(const struct verb_context *ctx, int argc, char **argv)
{
	return become("hotcell-client", "exec", argc, argv);
}

int verb_kill(const struct verb_context *ctx, int argc, char **argv)
{
	return become("hotcell-client", "kill", argc, argv);
}

int verb_cp(const struct verb_context *ctx, int argc, char **argv)
{
	return become("hotcell-client", "cp", argc, argv);
}

int verb_forward(const struct verb_context *ctx, int argc, char **argv)
{
	return become("hotcell-client", "forward", argc, argv);
}

int verb_snapshot(const struct verb_context *ctx, int argc, char **argv)
{
	return become("hotcell-client", "snapshot", argc, argv);
}

int verb_fork(const struct verb_context *ctx, int argc, char **argv)
{
	return become("hotcell-client", "fork", argc, argv);
}

int verb_cert(const struct verb_context *ctx, int argc, char **argv)
{
	return become("hotcell-client", "cert", argc, argv);
}

int verb_code(const struct verb_context *ctx, int argc, char **argv)
{
	return become("hotcell-client", "code", argc, argv);
}
