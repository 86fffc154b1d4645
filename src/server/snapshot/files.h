/*
 * The directory of snapshots: a file for each build, named like it, that nobody but the server can read.
 * A new one has the name ".new-BUILD" until it is whole; what else lies there after a crash is removed
 * at the start.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct server;
struct snapshots;

#define SNAPSHOT_FILES "snapshots" /* in the data directory */

/* Opened for writing, not whole yet. build_id is one of ours. */
int snapshot_file_new(const struct snapshots *all, const char *build_id, int *ret_fd,
		      struct error *err);
/* It is whole: gets its name. */
int snapshot_file_keep(const struct snapshots *all, const char *build_id, struct error *err);
void snapshot_file_drop(const struct snapshots *all, const char *build_id); /* not whole */
void snapshot_file_remove(const struct snapshots *all, const char *build_id);
/* One without a name, which goes with its last descriptor. For reading and writing. */
int snapshot_file_temporary(const struct snapshots *all, int *ret_fd, struct error *err);
/* For reading. -ENOENT. */
int snapshot_file_open(const struct snapshots *all, const char *build_id, int *ret_fd,
		       struct error *err);
