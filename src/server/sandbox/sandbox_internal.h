/* What the files of the life cycle share. */
#pragma once

#include "server/sandbox/cell.h"
#include "server/sandbox/deadlines.h"
#include "server/sandbox/pool.h"
#include "server/sandbox/sandbox.h"
#include "server/server.h"
#include "server/store/keys.h"
#include "server/store/templates.h"

#define SANDBOX_BUCKETS	  1024u
#define KEY_USES_MAX	  1024u
#define GONE_HOOKS_MAX	  8u
#define MESSAGE_RESTARTED "server restarted"

/* What the sandboxes of one key use. */
struct key_use {
	int64_t key_id;
	uint32_t alive, active;	  /* active: not paused */
	uint64_t cpus, memory_mb; /* CPUs of the active ones, memory of all */
	double tokens;		  /* of creates_per_second */
	uint64_t tokens_ns;
};

struct sandboxes {
	struct server *server;
	struct list all;		      /* struct sandbox.link */
	struct list buckets[SANDBOX_BUCKETS]; /* struct life.hash */
	unsigned int counts[SANDBOX_ENDED + 1];
	unsigned int alive;
	struct deadlines *deadlines;
	struct pools *pools;
	struct key_use *uses; /* KEY_USES_MAX */
	unsigned int use_count;
	void (*gone[GONE_HOOKS_MAX])(struct sandbox *s);
	unsigned int gone_count;
	void (*freed)(struct sandbox *s);
	bool stopping, pool_stopped;
	void (*stopped)(void *ctx);
	void *stopped_ctx;
};

/* Somebody who waits for an operation. */
struct waiter {
	struct list link;
	sandbox_done_fn fn;
	void *ctx;
};

/* The private part of a sandbox. */
struct life {
	struct sandbox *sandbox;
	struct list hash;
	struct cell *cell; /* NULL before launch and after the end */
	struct deadline deadline;
	uint32_t timeout_s; /* as last asked for */
	uint64_t begun_ns;  /* of create */
	bool from_pool, counted_active, counted;
	enum pool_kind pool; /* that it came from */
	bool keep_memory; /* of the pause under way */
	bool resume_reboots;
	struct list done_waiters; /* of create, pause, resume: whatever is under way */
	struct list kill_waiters;
	struct list resume_waiters; /* came while it was being paused: it resumes at once */
	char *reason; /* of the end under way */
	struct list copies;	/* save.c: the first one is under way */
	unsigned int copy_count;
	int files_fd;		/* what it begins with; -EBADF = nothing */
	struct error load_error; /* code 0: none yet */
};

static inline struct life *life_of(struct sandbox *s)
{
	return s->life;
}

static inline struct sandboxes *sandboxes_of(struct sandbox *s)
{
	return s->server->sandboxes;
}

/* sandbox.c */
void sandbox_set_state(struct sandbox *s, enum sandbox_state state);
int sandbox_add_waiter(struct list *waiters, sandbox_done_fn fn, void *ctx);
/* Calls and frees all of them. s and err as in sandbox_done_fn. */
void sandbox_answer(struct list *waiters, struct sandbox *s, const struct error *err);
void sandbox_refuse(sandbox_done_fn fn, void *ctx, int code, const char *message);
/* Writes the record's state; a failure is logged, counted and returned. */
int sandbox_write(struct sandbox *s, struct error *err);
/* Everything that hangs on it ends. */
void sandbox_cut(struct sandbox *s);
void sandbox_call_gone(struct sandbox *s);
/* Starts the life time that ends in seconds from now. */
int sandbox_start_clock(struct sandbox *s, uint64_t seconds, struct error *err);
void sandbox_stop_clock(struct sandbox *s);
void sandbox_shape(const struct sandbox *s, struct cell_shape *ret);
/* Into the tables; its opposite frees it, too. */
void sandbox_link(struct sandbox *s);
void sandbox_unlink_and_free(struct sandbox *s);

/* end.c */
extern const struct cell_events sandbox_cell_events; /* of a sandbox that runs */
void sandbox_begin_end(struct sandbox *s, const char *reason);
void sandboxes_check_stopped(struct sandboxes *all);

/* spec.c: what a create needs to know, and what it owns until a sandbox does. */
struct beginning {
	struct template_record template;
	char *env;    /* JSON text, NULL = none */
	int files_fd; /* of a snapshot or a fork, else -EBADF */
	unsigned int retry_s;
};
int beginning_make(struct server *server, const struct sandbox_spec *spec, struct beginning *ret,
		   struct error *err);
void beginning_fini(struct beginning *b);

/* save.c */
/* Loads files_fd into the cell, in which nothing runs yet. loaded: as in sandbox_saved_fn; not called when
 * the cell ends. */
void copy_begin_load(struct sandbox *s, sandbox_saved_fn loaded);
/* The cell ends: nothing is asked of it any more. */
void copies_stop(struct sandbox *s);
/* It has ended, and those who wait for a copy are told why. */
void copies_answer(struct sandbox *s, const struct error *why);

/* limits.c: 0, or -EAGAIN with *err and *ret_retry_s. `create`: it counts against the rate, too. */
int limits_check(struct sandboxes *all, int64_t key_id, const struct cell_shape *shape, bool create,
		 unsigned int *ret_retry_s, struct error *err);
/* Counts a sandbox as it is now (active or paused); zero_it: it is gone. */
void limits_count(struct sandbox *s, bool alive, bool active);
