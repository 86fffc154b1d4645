/*
 * Sandboxes of the daemon: what is known of each, and the operations that change its state.
 *
 *                    create                    end of life, kill, fault
 *   (pool) --> starting --> running <--> pausing/paused/resuming --> ended
 *
 * The database holds the record and every transition in one transaction; what lives (the runtime,
 * its processes, subscribers) is in struct sandbox. A record survives its sandbox: an ended one is
 * listed with its reason until it is pruned.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/list.h"

struct server;
struct runtime;
struct pool_recipe;
struct pool_state;

enum sandbox_state {
	SANDBOX_STARTING,
	SANDBOX_RUNNING,
	SANDBOX_PAUSING,
	SANDBOX_PAUSED,
	SANDBOX_RESUMING,
	SANDBOX_ENDING,
	SANDBOX_ENDED,
};
const char *sandbox_state_name(enum sandbox_state s);

#define SANDBOX_ID_SIZE 24 /* "i" and 20 of [a-z0-9] */

/* What the database holds. Strings are owned by the record; "" or NULL = none as said. Times are
 * microseconds since the epoch, UTC. */
struct sandbox_record {
	char id[SANDBOX_ID_SIZE];
	char template_id[64];
	char *alias;	      /* the name under which the template was asked for, NULL = none */
	int64_t key_id;	      /* the API key that made it, 0 = none */
	enum sandbox_state state;
	int64_t started_us, end_us; /* end: of life while running; of the pause's start while paused */
	int64_t ended_us;
	char *reason;	      /* why it ended; NULL while it lives */
	uint32_t cpu_count, memory_mb, disk_mb;
	char *metadata;	      /* JSON object of strings, NULL = none */
	char *env;	      /* JSON object of strings, NULL = none */
	char *network;	      /* JSON object as given, NULL = none */
	int allow_internet;   /* 1, 0, -1 = not set */
	bool secure;
	char access_token[48], traffic_token[48]; /* "" = none */
	bool pause_on_timeout, pause_keeps_memory, auto_resume;
	char *volumes;	      /* JSON array of {name, path}, NULL = none */
};

struct sandbox {
	struct list link;
	struct server *server;
	struct sandbox_record record;
	char base[64];		 /* the built-in template that it is made from, maybe by a snapshot */
	struct runtime *runtime; /* NULL before it runs and when its end has begun */
	struct process_table *processes; /* owned by server/process */
	struct interpreter *interpreter; /* owned by server/interpreter */
	struct metrics_ring *metrics;	 /* owned by server/observe */
	struct log_ring *logs;		 /* owned by server/observe */
	struct watcher_table *watchers; /* owned by server/api/envd */
	size_t listed;		 /* bytes of lists that are being made: server/api/envd */
	struct list attached;	 /* struct sandbox_attachment: open streams and connections */
	uint64_t generation;	 /* counts pauses and resumes */
	void *life;		 /* private to sandbox/ */
};

/* Something that must end at once when the sandbox ends or is paused: an open stream, a proxied
 * connection, a watch. `gone` is called once; the attachment is off the list by then. */
struct sandbox_attachment {
	struct list link;
	void (*gone)(struct sandbox_attachment *a);
};
void sandbox_attach(struct sandbox *s, struct sandbox_attachment *a);
void sandbox_detach(struct sandbox_attachment *a);

/* Lives (starting to ending); NULL else. The legacy form "id-clientid" is cut at the '-'. */
struct sandbox *sandbox_find(struct server *server, const char *id);

/* All that live. */
void sandbox_each(struct server *server, void (*fn)(void *ctx, struct sandbox *s), void *ctx);

/* What create takes; everything is copied. */
struct sandbox_spec {
	const char *template; /* id, alias, ns/alias, each with :tag */
	uint32_t timeout_s;
	const char *metadata, *env, *network, *volumes; /* JSON text, NULL = none */
	int allow_internet;
	bool secure, traffic_token;
	bool pause_on_timeout, pause_keeps_memory, auto_resume;
	int64_t key_id;
	/* A fork: the template and the size are this one's, and the files those of files_fd (copied), what
	 * sandbox_save() wrote. Else NULL. */
	const struct sandbox *fork_of;
	int files_fd;
};

/*
 * err NULL = success. The code of err is an errno: ENOENT template, EAGAIN a limit of the key or of
 * the server (retry_after_s > 0), ERANGE a timeout beyond the maximum, EBUSY a transition is going on,
 * ESRCH it ended meanwhile (or is ending), EALREADY, ENOSPC the disk of the server is full, EIO. May
 * be called before the function that it was given to returns. s is NULL when the sandbox is not there
 * (any more).
 */
typedef void (*sandbox_done_fn)(void *ctx, struct sandbox *s, const struct error *err,
				unsigned int retry_after_s);

void sandbox_create(struct server *server, const struct sandbox_spec *spec, sandbox_done_fn fn,
		    void *ctx);
/* Ends it for good, paused or running. Done when nothing of it is left; s is then about to be freed. */
void sandbox_kill(struct sandbox *s, const char *reason, sandbox_done_fn fn, void *ctx);
/* End of life = now + seconds (0 = now). extend_only: never earlier than it was. -EBUSY: it is not
 * running; -ERANGE: longer than the configured maximum. */
int sandbox_set_timeout(struct sandbox *s, uint64_t seconds, bool extend_only, struct error *err);
/* Freezes in memory, or (memory false) ends the processes and keeps the files. -EALREADY. */
void sandbox_pause(struct sandbox *s, bool memory, sandbox_done_fn fn, void *ctx);
/* Running again; a running one is done at once with EALREADY, and its life extended. timeout_s 0 =
 * as long as its last timeout said. While another resume is under way this one joins it;
 * while a pause is, it follows. */
void sandbox_resume(struct sandbox *s, uint32_t timeout_s, bool memory, sandbox_done_fn fn,
		    void *ctx);
/*
 * Writes its files to `fd`, which is the callee's in every case; the processes stand meanwhile. Behind other
 * saves of the same sandbox and, with many, behind those of others. EBUSY: it does not run, or too many
 * wait; ESRCH: it ended; EDQUOT, ENOSPC, EFBIG, ETIMEDOUT, EIO. bytes count as those of snapshots
 * (snapshots_release()). s is NULL when it is not there (any more).
 */
typedef void (*sandbox_saved_fn)(void *ctx, struct sandbox *s, uint64_t bytes,
				 const struct error *err);
void sandbox_save(struct sandbox *s, int fd, sandbox_saved_fn fn, void *ctx);
/* Replaces the settings; network is JSON text, NULL = cleared. */
int sandbox_set_network(struct sandbox *s, const char *network, int allow_internet,
			struct error *err);

/* Lives run by the boot clock: brings end_us up to date when the wall clock has been set meanwhile. */
void sandbox_refresh_end(struct sandbox *s);

/* ---- listing, also of what has ended; end_us of what runs is up to date ---- */
struct sandbox_filter {
	uint32_t states; /* bits 1 << enum sandbox_state; 0 = alive */
	const char *metadata; /* JSON object of strings that must all match, NULL = any */
	const char *template; /* id or alias */
	int64_t started_after_us; /* inclusive, INT64_MIN = any */
	bool ascending;
	unsigned int limit;
	/* The last row of the page before: (started_us, id); id "" = from the beginning. */
	int64_t after_us;
	char after_id[SANDBOX_ID_SIZE];
};
/* Calls fn for each record of the page; *ret_more: there are further ones. */
int sandbox_list(struct server *server, const struct sandbox_filter *f,
		 void (*fn)(void *ctx, const struct sandbox_record *r), void *ctx, bool *ret_more,
		 struct error *err);
unsigned int sandbox_count(const struct server *server, enum sandbox_state state);

/* What the recipe of its pool has prepared (server/sandbox/pool.h), the caller's from now on; NULL =
 * nothing, or nothing any more. What nobody takes, the recipe frees with the sandbox's end. */
void *sandbox_take_prepared(struct sandbox *s);
/* The launcher's number of it; 0 = none. */
uint64_t sandbox_launch_id(const struct sandbox *s);

/* ---- for main.c ---- */

/* Marks what the database has as alive as ended ("server restarted"); then the pool fills. */
int sandboxes_start(struct server *server, struct error *err);
/* No creates any more; every sandbox is ended for that reason, then `done` once. */
void sandboxes_stop(struct server *server, const char *reason, void (*done)(void *ctx), void *ctx);
void sandboxes_free(struct server *server);
/* After the configuration was loaded again. */
void sandboxes_reload(struct server *server);
/* fn is called when the processes of a sandbox are gone: it ended (the struct is freed afterwards), or
 * was rebooted. At most 8. */
void sandboxes_on_gone(struct server *server, void (*fn)(struct sandbox *s));
/* The one function that is called before the struct is freed, when those who waited have their answer. */
void sandboxes_on_free(struct server *server, void (*fn)(struct sandbox *s));
/* What cells of this pool have inside (enum pool_kind). Before the loop runs. */
void sandboxes_set_recipe(struct server *server, unsigned int kind, const struct pool_recipe *recipe);
const struct pool_state *sandboxes_pool(const struct server *server, unsigned int kind);
