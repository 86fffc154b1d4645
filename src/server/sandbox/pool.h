/*
 * Cells that were started before anybody asked for them. One shape: the one that the configuration's
 * defaults have, which is that of the built-in templates. It is refilled in the background, one cell
 * at a time, and never while a create waits for a cell of its own.
 */
#pragma once

#include <stdbool.h>

#include "server/sandbox/cell.h"

struct pool;

/* NULL = out of memory. */
struct pool *pool_new(struct server *server);
/* What it should hold; cells of another shape are ended. */
void pool_aim(struct pool *p, const struct cell_shape *shape, unsigned int size);
/* A ready cell, which is the caller's then; NULL = there is none of that shape. */
struct cell *pool_take(struct pool *p, const struct cell_shape *shape);
/* A create waits for a cold start, or does not any more. */
void pool_hold(struct pool *p, bool hold);
unsigned int pool_count(const struct pool *p);
/* Ends its cells; `done` when the last one is gone. */
void pool_stop(struct pool *p, void (*done)(void *ctx), void *ctx);
void pool_free(struct pool *p); /* after pool_stop() is done; NULL is fine */
