/*
 * A cell: a kernel process with its control channel, from launch until it is reaped. The pool owns
 * cells, and so do sandboxes; nobody else.
 *
 *     launching --> starting (wait for READY) --> ready --> dying --> reaped: `ended`, freed
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/list.h"
#include "launcher/protocol.h"
#include "wire/wire.h"

struct server;
struct runtime;
struct cell;
struct pool_recipe;
struct sandbox;

/* Cells of the same shape are interchangeable. */
struct cell_shape {
	uint32_t template; /* enum launcher_template */
	uint32_t cpu_count, memory_mb, disk_mb;
	uint32_t pids, files;
};
/* With what the configuration says about the rest. */
void cell_shape_make(const struct server *server, uint32_t cpu_count, uint32_t memory_mb,
		     uint32_t disk_mb, struct cell_shape *ret);

struct cell_events {
	void (*ready)(void *ctx, struct cell *c);
	/*
	 * It is gone with everything in it, and freed when this returns. reason: why, never NULL. Last
	 * call, also for a cell that never got ready.
	 */
	void (*ended)(void *ctx, struct cell *c, const char *reason);
	/* The end has begun, whoever caused it: nothing can be asked of it any more. */
	void (*ending)(void *ctx, struct cell *c);
};

/* What is served to the programs in cells from outside: server.inside, for every cell. */
struct cell_service {
	/* The cell is ready, and nothing runs in it yet. Returns what the others get; NULL = nothing. */
	void *(*open)(struct server *server, struct runtime *runtime);
	/* It is this sandbox's, which runs: after its start, and after every pause. */
	void (*running)(void *state, struct sandbox *s);
	/* The end has begun; the last call. All calls to the runtime have been answered if that is gone. */
	void (*close)(void *state);
};

struct cell {
	struct list link; /* of the owner */
	struct cell_shape shape;
	struct runtime *runtime; /* NULL before launch and from `ending` on */
	bool ready, frozen;	 /* frozen: by the control group */
	uint64_t launch_id;
	uint64_t begun_ns, ready_ns;
	bool have_stats;
	struct wire_stats stats;     /* the last ones, when it died in order */
	struct launcher_usage usage; /* when it was reaped */
	/* Of its pool, from when it began to prepare the cell until that is undone or taken; else NULL. */
	const struct pool_recipe *recipe;
	void *prepared; /* the recipe's */
	void *inside;	/* the state of server.inside */
	void *private;
};

/* NULL = out of memory. */
struct cell *cell_new(struct server *server, const struct cell_shape *shape, const char *hostname,
		      const struct cell_events *events, void *ctx);
void cell_set_owner(struct cell *c, const struct cell_events *events, void *ctx);
/* Tells server.inside. */
void cell_running(struct cell *c, struct sandbox *s);
/* Undoes what its recipe has made or makes. Again = no effect. */
void cell_unprepare(struct cell *c);
/* Asks it to end for a reason; it is killed when it does not in time. Again = no effect. */
void cell_end(struct cell *c, const char *reason);
