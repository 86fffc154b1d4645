/* The verbs that talk to a server. argv starts behind the verb. Each returns the exit status. */
#pragma once

#include <stdbool.h>

#include "base/options.h"
#include "client/http.h"

struct client_options {
	const char *url, *key, *ca;
	int json, help;
	int all, follow, tty;
	const char *user, *cwd;
	uint64_t interval_ns;
	struct option_list env;
	const char *listen, *directory;
	const char *language, *output, *sandbox, *context;
	struct option_list passed; /* to hotcell run */
	const char *name;
	uint64_t fork_count, timeout_ns;
	struct endpoint endpoint;  /* of url and key */
	int count;		   /* arguments that are left */
	char **arguments;
};

struct client_verb {
	const char *name, *usage, *help;
	const struct option_spec *options;
	size_t option_count;
	int min_arguments, max_arguments; /* max -1 = any */
	int (*run)(struct client_options *o);
	bool offline; /* needs no server */
	int failure;  /* exit status of wrong options and arguments; 0 = 2 */
	bool command; /* what follows the first argument is another program's: no options of ours */
};

/* The options that every verb takes which needs a server; what others take in common. */
#define CLIENT_COMMON                                                                              \
	{ .name = "url",                                                                           \
	  .kind = OPTION_TEXT,                                                                     \
	  .offset = offsetof(struct client_options, url),                                          \
	  .metavar = "URL",                                                                        \
	  .shown = "E2B_API_URL, else http://127.0.0.1:7878",                                      \
	  .help = "the server" },                                                                  \
		{ .name = "key",                                                                   \
		  .kind = OPTION_TEXT,                                                             \
		  .offset = offsetof(struct client_options, key),                                  \
		  .metavar = "KEY",                                                                \
		  .shown = "E2B_API_KEY",                                                          \
		  .help = "API key" },                                                             \
		{ .name = "ca",                                                                    \
		  .kind = OPTION_TEXT,                                                             \
		  .offset = offsetof(struct client_options, ca),                                   \
		  .metavar = "FILE",                                                               \
		  .help = "certificate of an authority to trust, PEM" },                           \
		CLIENT_HELP

#define CLIENT_HELP                                                                                \
	{                                                                                          \
		.name = "help", .letter = 'h', .kind = OPTION_FLAG,                                \
		.offset = offsetof(struct client_options, help), .value = 1, .help = "this text"   \
	}

/* Who acts in the sandbox. */
#define CLIENT_USER(what)                                                                          \
	{                                                                                          \
		.name = "user", .letter = 'u', .kind = OPTION_TEXT,                                \
		.offset = offsetof(struct client_options, user), .metavar = "NAME",                \
		.shown = "user", .help = (what)                                                    \
	}

#define CLIENT_JSON                                                                                \
	{                                                                                          \
		.name = "json", .kind = OPTION_FLAG,                                               \
		.offset = offsetof(struct client_options, json), .value = 1, .help = "print JSON"  \
	}

extern const struct client_verb verb_ps, verb_top, verb_logs, verb_exec, verb_kill, verb_cp,
	verb_forward, verb_cert, verb_code, verb_snapshot, verb_fork;

/* The server of the options and the environment; verbs that are offline call it when they need one. */
int client_find_server(struct client_options *o, struct error *err);

/* Prints the error, whatever it quotes without control characters; returns 1. */
int client_fail(const struct error *err);
