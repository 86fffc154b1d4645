/*
 * Snapshots of sandboxes on disk: how they are made, and the bounds of all of them.
 *
 * A snapshot is the private layer of a sandbox, as its kernel process writes it: bytes of a stranger,
 * which the server never looks into. No processes are in it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "server/store/snapshots.h"

struct server;
struct sandbox;
struct template_record;
struct transfers;

/* Makes the directory, and brings it and the database together: what only one of them has goes. */
int snapshots_start(struct server *server, struct error *err);
/* After the configuration was loaded again. */
void snapshots_reload(struct server *server);
void snapshots_free(struct server *server);

/* x NULL: err says why: EINVAL, EEXIST the name, EAGAIN or EDQUOT a limit (it names the option), EBUSY
 * the sandbox does not run, ESRCH it ended, ECANCELED nobody wants it any more, ENOSPC, ... */
typedef void (*snapshot_fn)(void *ctx, const struct snapshot *x, const struct error *err);
/*
 * Takes one of a running sandbox; name NULL = without. wanted: asked when the file is there, before
 * anybody can see the snapshot; false drops it. fn may be called before this returns.
 */
void snapshot_take(struct sandbox *s, const char *name, bool (*wanted)(void *ctx), snapshot_fn fn,
		   void *ctx);
/* Its file, for reading. */
int snapshot_open(struct server *server, const struct template_record *t, int *ret_fd,
		  struct error *err);
/* After tags or templates have changed: files that nobody needs go. */
void snapshots_reap(struct server *server);

/* A file for the forks of one sandbox. Its bytes count as those of snapshots, until they are released. */
int snapshots_temporary(struct server *server, int *ret_fd, struct error *err);
void snapshots_release(struct server *server, uint64_t bytes);

struct transfers *snapshots_transfers(const struct server *server);
void snapshots_usage(const struct server *server, uint64_t *ret_count, uint64_t *ret_bytes);
