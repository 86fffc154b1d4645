/*
 * Control groups of a sandbox: hard limits of memory, CPU and processes by the host kernel, below
 * the limits that the application kernel counts itself.
 *
 * Version 1, version 2 and mixtures are supported; a hierarchy is used when the caller may make
 * groups in it. Everything is best effort, and what is missing is visible: cgroup_probe() gives a
 * reason per controller, cgroup_create() the controllers that it got.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum cgroup_controller {
	CGROUP_MEMORY,
	CGROUP_CPU,
	CGROUP_PIDS,
	CGROUP_FREEZER,
	CGROUP_CPUACCT,
	CGROUP_CONTROLLERS,
};

#define CGROUP_BIT(controller) (1u << (controller))
/* What every sandbox is to have, limited or not: see cgroup.c. */
#define CGROUP_SANDBOX                                                                             \
	(CGROUP_BIT(CGROUP_MEMORY) | CGROUP_BIT(CGROUP_PIDS) | CGROUP_BIT(CGROUP_CPU))
#define CGROUP_PATH_MAX	       1024

struct cgroup_hierarchy {
	int version;		      /* 1 or 2 */
	uint32_t controllers;	      /* CGROUP_BIT()s that groups made here have */
	char parent[CGROUP_PATH_MAX]; /* where new groups are made */
	char own[CGROUP_PATH_MAX];    /* the group of the calling process */
};

struct cgroup_host {
	int version;	   /* what the host mounts: 0 none, 1, 2, 3 = both */
	uint32_t existing; /* controllers that the host has at all */
	uint32_t usable;   /* controllers in which we can make groups */
	unsigned int count;
	struct cgroup_hierarchy hierarchies[CGROUP_CONTROLLERS];
};

const char *cgroup_controller_name(enum cgroup_controller c);
/* Looks at the host and changes nothing, except that missing v2 controllers are switched on. */
void cgroup_probe(struct cgroup_host *ret);
/* Why a controller is not usable: a constant sentence, for people. */
const char *cgroup_missing_reason(const struct cgroup_host *host, enum cgroup_controller c);
/* Removes empty groups whose creator is gone, in every usable hierarchy. `thorough` looks at those,
 * too, whose creator's pid belongs to somebody else now. */
void cgroup_sweep(const struct cgroup_host *host, bool thorough);

struct cgroup_limits { /* 0 = none */
	uint64_t memory_bytes;
	uint64_t cpu_milli;
	uint64_t pids;
};

struct cgroup {
	uint32_t controllers; /* what the group has */
	unsigned int count;
	struct cgroup_member {
		const struct cgroup_hierarchy *hierarchy; /* borrowed from the cgroup_host */
		int dir_fd;
	} members[CGROUP_CONTROLLERS];
	char name[64];
};

/*
 * Makes a group "hotcell-<pid>-<n>", locked against sweepers, with the wanted controllers as far as
 * the host has them; `host` must outlive it. Fails only when a limit could not be set in a controller that exists: a
 * sandbox without a limit that was asked for must not start unnoticed.
 */
int cgroup_create(struct cgroup *cg, const struct cgroup_host *host, uint32_t wanted,
		  const struct cgroup_limits *limits, struct error *err);
/*
 * How a new process gets into the group without the 5-20 ms that moving a process by pid costs:
 * version 1: it writes "0" to each of the files that cgroup_open_entries() opens (a thread moving
 * itself needs no global lock). Version 2: the directory descriptor for CLONE_INTO_CGROUP, or
 * -EBADF when there is no version 2 member; one that is not `born` in there enters like the rest,
 * slowly.
 */
int cgroup_open_entries(const struct cgroup *cg, bool born, int fds[CGROUP_CONTROLLERS],
			unsigned int *ret_count, struct error *err);
int cgroup_clone_fd(const struct cgroup *cg);
/* A guess, before cgroup_probe(): a process is better born in its group, so that must be there. */
bool cgroup_comes_first(void);

struct cgroup_usage {
	bool has_memory;
	uint64_t memory_bytes, memory_peak_bytes;
	uint64_t cpu_ns;
	uint64_t oom_kills;
};
void cgroup_read(const struct cgroup *cg, struct cgroup_usage *ret);

/* Removes the group, retrying while the last processes are still leaving, at most 200 ms; a group
 * that stays is swept by a later start. A zeroed struct is fine. */
void cgroup_remove(struct cgroup *cg);
/* One attempt, without waiting: true = nothing is left of it. */
bool cgroup_try_remove(struct cgroup *cg);

/* Stops or continues everything in the group. -EOPNOTSUPP: it has no freezer. A signal that kills
 * has its effect only when the group goes on. */
int cgroup_freeze(const struct cgroup *cg, bool frozen);

/* For tests: the rest of "0::/a/b" below a mount whose root is `mount_root`; NULL = not below. */
const char *cgroup_relative(const char *path, const char *mount_root);
