/*
 * What `hotcell code` shows of an execution, from the lines of /execute (docs/interpreter.md): those
 * of a server and those of src/interpreter/stream.h are the same, and neither is trusted.
 *
 * What the program printed goes to standard output and standard error as it is, as with `hotcell
 * exec`. Everything that is said about it, results and errors, is cleaned of what a terminal obeys.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "client/code_images.h"

/* A longer line is left out. */
#define PRESENTER_LINE_MAX (64u << 20)

struct presenter {
	bool json;     /* the lines themselves */
	bool numbered; /* "Out[3]: " */
	bool session;
	struct images images;
	struct buffer line;
	bool skipping;	/* a line that was too long */
	bool open_line; /* standard output is in the middle of a line */
	int lost;	/* errno: standard output takes no more */
	bool unsaved;	/* an image could not be saved */

	/* of this execution, or the last one */
	bool ended;
	bool failed;
	uint64_t number;
	int status; /* what a program that asked for an exit status asked for; -1 = none */
};

void presenter_init(struct presenter *p);
void presenter_fini(struct presenter *p);
void presenter_begin(struct presenter *p);
/* Bytes of the lines. */
void presenter_take(struct presenter *p, const char *data, size_t size);
