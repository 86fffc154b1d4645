/*
 * Cells that were started before anybody asked for them. There is a pool for each built-in template,
 * and all hold cells of one shape: the one that the configuration's defaults have. They are refilled in
 * the background, one cell at a time, the plain pool first, and never while a create waits for a cell
 * of its own.
 */
#pragma once

#include <stdbool.h>

#include "server/sandbox/cell.h"

struct pools;

enum pool_kind {
	POOL_PLAIN, /* nothing runs inside */
	POOL_CODE,  /* for the code interpreter: something is prepared inside, by a recipe */
	POOL_KINDS,
};
/* "plain", "code". */
const char *pool_kind_name(enum pool_kind kind);

/*
 * What is made ready inside the cells of a pool, so that whoever gets one finds it there. Everything is
 * called on the loop.
 *
 *     prepare --done(NULL)--> prepared --sandbox_take_prepared()--> the taker's
 *        |                       |
 *        | done(why)             +--the cell ends--> unprepare
 *        v                                              ^
 *     a plain cell               the cell ends early ---+
 */
struct pool_recipe {
	/*
	 * Begins. The cell is ready and nobody's yet; only its runtime may be used. Ends with
	 * done(ctx, NULL) when cell->prepared is set, or with done(ctx, why), a few words for the log,
	 * when that is NULL and nothing of it runs any more. May call it before it returns.
	 */
	void (*prepare)(struct server *server, struct cell *cell,
			void (*done)(void *ctx, const char *why), void *ctx);
	/*
	 * Ends what has begun, and frees cell->prepared. `done` is not called any more. cell->runtime is
	 * NULL when the cell has died; its processes have been told before.
	 */
	void (*unprepare)(struct cell *cell);
};

/* NULL = out of memory. */
struct pools *pools_new(struct server *server);
/* Static. A kind other than POOL_PLAIN holds nothing without one. */
void pools_set_recipe(struct pools *p, enum pool_kind kind, const struct pool_recipe *recipe);
/* What they should hold; cells of another shape are ended. */
void pools_aim(struct pools *p, const struct cell_shape *shape,
	       const unsigned int sizes[POOL_KINDS]);
/* A ready cell of this kind, or else a plain one, which is the caller's then; *ret_kind is what it is.
 * NULL = there is none of that shape. */
struct cell *pools_take(struct pools *p, enum pool_kind kind, const struct cell_shape *shape,
			enum pool_kind *ret_kind);
/* A create waits for a cold start, or does not any more. */
void pools_hold(struct pools *p, bool hold);

struct pool_state {
	uint64_t size;			   /* what it should hold */
	uint64_t ready;			   /* cells that can be taken now */
	uint64_t started, failed;	   /* cells */
	uint64_t prepared, prepare_failed; /* by the recipe */
};
const struct pool_state *pools_state(const struct pools *p, enum pool_kind kind);
/* Ends its cells; `done` when the last one is gone. */
void pools_stop(struct pools *p, void (*done)(void *ctx), void *ctx);
void pools_free(struct pools *p); /* after pools_stop() is done; NULL is fine */
