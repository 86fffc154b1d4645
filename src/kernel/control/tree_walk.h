/*
 * A walk over a directory tree in pieces: a stack of directories, each with the names that are still
 * to come, in lexical order. Names are read when a directory is entered; what becomes of them until
 * their turn is the caller's to find out. Nothing recurses; memory is the arena's.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernel/fs/path.h"

struct tree_walk {
	struct walk_frame *frames;
	uint32_t depth, capacity;
};

/* Enters a directory: reads its names. Takes its own reference. -ENOMEM and errors of reading. */
int tree_walk_push(struct tree_walk *w, struct path dir);
/* The next name of the innermost directory, valid until it is left. NULL = no more. */
const char *tree_walk_next(struct tree_walk *w);
/* The innermost directory; no reference is taken. depth must not be 0. */
struct path tree_walk_dir(const struct tree_walk *w);
/* Leaves it. */
void tree_walk_pop(struct tree_walk *w);
void tree_walk_free(struct tree_walk *w);
