/*
 * Options from one const table: the same rows drive the command line, a configuration file, their
 * validation and --help with its defaults, so these cannot disagree.
 *
 * Accepted forms: --name VALUE, --name=VALUE, -n VALUE, -nVALUE, grouped flags (-tq), "--" ends
 * the options, and so does the first argument that is none. OPTION_OPTIONAL takes its value only
 * as --name=VALUE. In names '_' is as good as '-'.
 *
 * A file has lines `name = value`, empty ones, and comments that start with '#'.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum option_kind {
	OPTION_FLAG,	 /* int at offset = `value` */
	OPTION_TEXT,	 /* const char * */
	OPTION_OPTIONAL, /* const char *; without a value it is "" */
	OPTION_SIZE,	 /* uint64_t, bytes */
	OPTION_DURATION, /* uint64_t, nanoseconds */
	OPTION_COUNT,	 /* uint64_t */
	OPTION_CPUS,	 /* uint64_t, thousandths */
	OPTION_LIST,	 /* struct option_list, item tag = `value` */
};

struct option_spec {
	const char *name;
	char letter;
	enum option_kind kind;
	size_t offset; /* into the caller's struct */
	const char *metavar;
	const char *initial; /* default as the user would type it; NULL = none (0, NULL, empty) */
	const char *shown;   /* default as --help shows it when `initial` says it badly */
	uint64_t min, max;   /* numbers; max 0 = no bound */
	int value;
	bool no_file; /* for the command line only */
	const char *help;
};

#define OPTION_ITEMS_MAX 256

struct option_list {
	unsigned int count;
	struct {
		const char *text;
		int tag;
	} items[OPTION_ITEMS_MAX];
};

/* Fills `base` with the defaults of the table. The defaults are valid by construction (asserted). */
void options_init(const struct option_spec *specs, size_t count, void *base);
/* Parses argv[0..argc); returns the index of the first argument that is no option. */
int options_parse(const struct option_spec *specs, size_t count, void *base, int argc, char **argv,
		  struct error *err);
/* The same with options among the arguments, as far as there is no "--". Arguments are moved to the front
 * of argv, in their order; returns how many there are. */
int options_parse_mixed(const struct option_spec *specs, size_t count, void *base, int argc,
			char **argv, struct error *err);
/* The option part of a help page on standard output. */
void options_help(const struct option_spec *specs, size_t count);
/* The same from the text of a file, which is changed and must live as long as the values. `path` is
 * for messages, which name the line. */
int options_parse_file(const struct option_spec *specs, size_t count, void *base, const char *path,
		       char *text, struct error *err);
/* All values as a file that says the same, on standard output. */
void options_print(const struct option_spec *specs, size_t count, const void *base);
