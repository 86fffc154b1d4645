/* The two messages that make a sandbox run something, from options: CONFIG and SPAWN. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/run_options.h"
#include "launch/config.h"
#include "launch/store.h"
#include "wire/channel.h"

struct run_identity {
	uint32_t uid, gid; /* outside identity of the sandbox */
	bool root;	   /* the caller is root: mounts need an id map */
	bool cgroup;	   /* memory is limited by a control group */
	struct store store; /* of --store: to be removed at the end */
};

/* What CONFIG needs, prepared before the kernel process exists: errors about mounts come early. */
struct run_config {
	struct launch_config base;
	const char *spawn_user; /* for SPAWN */
};

/* notes: a line for everything that is weaker or other than one would expect. */
int run_config_prepare(const struct run_options *o, struct run_identity *id,
		       struct run_config *ret, struct text *notes, struct error *err);

#define RUN_REQUEST_MAIN 1
struct run_spawn {
	const struct run_options *options;
	const struct run_config *config;
	bool tty;	     /* a terminal of rows x cols */
	uint32_t rows, cols;
	const int *fds; /* as WIRE_SPAWN takes them */
	uint32_t fd_count;
};
int run_spawn_send(struct channel *c, const struct run_spawn *spawn, struct error *err);
