/*
 * Starts the kernel process of a sandbox.
 *
 * What happens, in order (docs/architecture.md has the picture):
 *  1. a socket pair becomes the control channel;
 *  2. launch(): clone3 with new user and pid namespaces: the child is pid 1 of its pid namespace, so
 *     that its death takes everything with it; it makes its mount, network, ipc and uts namespaces
 *     while the parent writes uid and gid maps - inner 0 = the caller's uid, or an unprivileged one
 *     when the caller is root - and prepares the rest;
 *  3. launch_release(): the child enters its control groups and makes its cgroup namespace;
 *  4. it execs hotcell-kernel with the channel on descriptor 3 and the stub binary on descriptor 4,
 *     which receives CONFIG, builds its jail and reports READY. launch_check() waits for the exec.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "launch/cgroup.h"

struct launch_options {
	const char *kernel_path; /* hotcell-kernel; NULL = beside the running program */
	const char *stub_path;	 /* hotcell-stub; NULL likewise */
	/* Outside identity of the sandbox when the caller is root (launch/identity.h); uid 0 = the
	 * caller's own, as for any other caller. */
	uint32_t uid, gid;
	/* Version 2 control group that the child is to be born in (CLONE_INTO_CGROUP): moving it
	 * later costs milliseconds. 0 or negative = none. See launch/cgroup.h. */
	int cgroup_fd;
};

struct launched {
	pid_t pid;	/* the kernel process, a child of the caller */
	int pidfd;	/* owned by the caller */
	int control_fd; /* the parent's end, close-on-exec, owned by the caller */
	int go_fd;	/* for the calls below, owned by the caller */
	bool born;	/* in options.cgroup_fd */
};

int launch(const struct launch_options *options, struct launched *ret, struct error *err);
/* Lets the child go on, into the group; without one an empty struct will do. */
int launch_release(const struct launched *l, const struct cgroup *cg, struct error *err);
/* Whether hotcell-kernel runs, or which step failed. */
int launch_check(const struct launched *l, struct error *err);
