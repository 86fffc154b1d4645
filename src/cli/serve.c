/* `hotcell serve` and `hotcell key`: the server is a program of its own, with libraries that the
 * command does without. It lies beside it. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/verbs.h"

#define ARGUMENTS_MAX 1024

static int become_server(const char *verb, int argc, char **argv)
{
	static char *arguments[ARGUMENTS_MAX + 3];
	static char name[] = "hotcell-server";
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
	if (n < 0 || argc > ARGUMENTS_MAX) {
		fprintf(stderr, "hotcell: %s\n", n < 0 ? strerror(errno) : "too many arguments");
		return 125;
	}
	path[n] = '\0';
	snprintf(strrchr(path, '/') + 1, 32, "%s", name);
	arguments[0] = name;
	arguments[1] = (char *)(uintptr_t)verb;
	for (int i = 0; i < argc; i++)
		arguments[2 + i] = argv[i];
	execv(path, arguments);
	fprintf(stderr, "hotcell: %s: %s (it must lie beside hotcell)\n", path, strerror(errno));
	return 125;
}

int verb_serve(const struct verb_context *ctx, int argc, char **argv)
{
	return become_server("serve", argc, argv);
}

int verb_key(const struct verb_context *ctx, int argc, char **argv)
{
	return become_server("key", argc, argv);
}
