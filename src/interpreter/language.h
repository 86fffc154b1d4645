/*
 * The languages of the code interpreter: names, aliases, and how the driver of each is started.
 * docs/interpreter.md describes the drivers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Where every sandbox sees the folder guest/, read-only. */
#define INTERPRETER_GUEST_DIR "/opt/hotcell"

#define LANGUAGE_ARGS_MAX 6
#define LANGUAGE_NAME_MAX 64 /* bytes, without terminator */

struct language {
	const char *name;	/* as contexts show it, "python" */
	const char *aliases[4]; /* NULL-terminated unless full */
	const char *shares;  /* runs in the default context of this language; NULL = has its own */
	const char *program; /* looked up in PATH inside */
	const char *args[LANGUAGE_ARGS_MAX]; /* behind the program's name, NULL-terminated */
	const char *install;		     /* what a person does when the program is missing */
};

/*
 * The language that a client means: trimmed, lower-cased, aliases resolved; NULL or "" is the default,
 * Python. Any other name of letters, digits and "._+-" is a Jupyter kernel: *ret is then a copy of the
 * bridge's row whose name and last argument are in `buffer`. False: no such name can exist.
 */
struct language_name {
	char text[LANGUAGE_NAME_MAX + 1];
};
bool language_find(const char *wanted, struct language_name *buffer, struct language *ret);
/* The i-th language of the table, for help texts; NULL behind the last. */
const struct language *language_at(size_t i);
