/* The command `hotcell`: finds the verb and hands over. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/util.h"
#include "cli/streams.h"
#include "cli/verbs.h"
#include "cli/version.h"

static const struct verb {
	const char *group; /* begins here */
	const char *name;
	int (*run)(const struct verb_context *ctx, int argc, char **argv);
	const char *help;
} verbs[] = {
	{ "On this machine", "run", verb_run, "run a program in a sandbox" },
	{ NULL, "code", verb_code, "run code of an interpreter in a sandbox, or a session of it" },
	{ "The server", "serve", verb_serve, "keep sandboxes for clients of the E2B SDKs" },
	{ NULL, "key", verb_key, "make, list and revoke API keys of the server" },
	{ NULL, "cert", verb_cert, "make a certificate for https on this machine" },
	{ "Sandboxes of a server (E2B_API_URL, E2B_API_KEY)", "ps", verb_ps, "list the sandboxes of a server" },
	{ NULL, "top", verb_top, "what its sandboxes use" },
	{ NULL, "logs", verb_logs, "what commands in a sandbox printed" },
	{ NULL, "exec", verb_exec, "run a command in a sandbox of the server" },
	{ NULL, "cp", verb_cp, "copy files to and from a sandbox" },
	{ NULL, "forward", verb_forward, "make a port of a sandbox a port of this machine" },
	{ NULL, "snapshot", verb_snapshot, "keep the files of a sandbox, list and delete what is kept" },
	{ NULL, "fork", verb_fork, "make sandboxes with the files of another one" },
	{ NULL, "kill", verb_kill, "end sandboxes" },
	{ "About", "doctor", verb_doctor, "what this host offers, what is missing, how to fix it" },
	{ NULL, "version", verb_version, "print the version" },
	{ NULL, "help", verb_help, "print this text, or the options of a verb" },
};

static const struct verb *find_verb(const char *name)
{
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		name = "help";
	if (strcmp(name, "--version") == 0)
		name = "version";
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	}
	return NULL;
}

int verb_version(const struct verb_context *ctx, int argc, char **argv)
{
	printf("hotcell %s\n", HOTCELL_VERSION);
	return 0;
}

static void print_help(FILE *to)
{
	fprintf(to, "Usage: hotcell VERB [OPTIONS]\n\n"
		    "Runs untrusted programs behind a kernel of their own.\n");
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (verbs[i].group)
			fprintf(to, "\n%s:\n", verbs[i].group);
		fprintf(to, "  %-10s %s\n", verbs[i].name, verbs[i].help);
	}
	fprintf(to, "\nTry: hotcell run -- echo hello\n     hotcell help VERB\n");
}

int verb_help(const struct verb_context *ctx, int argc, char **argv)
{
	char option[] = "--help";
	char *options[] = { option, NULL };
	const struct verb *v = argc > 0 ? find_verb(argv[0]) : NULL;
	if (argc > 0 && !v) {
		fprintf(stderr, "hotcell: there is no verb '%s'\n", argv[0]);
		return 2;
	}
	if (!v || v->run == verb_help || v->run == verb_version) {
		print_help(stdout);
		return 0;
	}
	return v->run(ctx, 1, options);
}

int main(int argc, char **argv)
{
	struct verb_context ctx = { .began_ns = clock_now_ns() };
	if (streams_fill_closed() < 0)
		return 125;
	if (argc < 2) {
		print_help(stderr);
		return 2;
	}
	const struct verb *v = find_verb(argv[1]);
	if (!v) {
		fprintf(stderr, "hotcell: there is no verb '%s'; try: hotcell help\n", argv[1]);
		return 2;
	}
	int status = v->run(&ctx, argc - 2, argv + 2);
	/* Output that could not be written is a failure (a full disk, a closed reader). */
	if (fflush(stdout) != 0 && status == 0)
		status = 1;
	return status;
}
