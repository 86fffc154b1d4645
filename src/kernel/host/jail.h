/*
 * The jail of the kernel process, in four stages, each called from one place in main.c. See jail.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * RLIMIT_CORE of everything in a sandbox: 0 keeps files away, but where the host hands dumps to a
 * program (core_pattern "|...") it is not looked at, and a guest would have that program run as root
 * on what it left in its memory. One byte is too small for a file, and means "never" to the pipe.
 */
#define NO_CORE_DUMP 1u

struct jail_mounts {
	int proc_fd; /* a /proc of our own pid namespace */
	int root_fd; /* the new root, not in use yet */
};

/* Stage 1: dies with its parent, can gain no capability, leaves no core dump. `stub_fd` is consumed. */
int jail_prepare(int stub_fd, struct jail_mounts *ret);
/* Stage 2: a private file system in memory for what guests write: its descriptor. */
int jail_open_store(uint64_t bytes, uint64_t inodes);
/* Stage 2: turns the descriptor of a mount source into a tree of its own, without the way up. */
int jail_source(int fd, bool detached, bool read_only, int *ret_fd);
/* Stage 3: a root with nothing but the stub. `root_fd` is consumed. */
int jail_enter_root(int root_fd);
/* For the guests' first process, too: no capability; none can be regained since stage 1. */
void jail_drop_capabilities(void);
/* Stage 4: no capabilities, no new privileges, no system call that is not needed. */
int jail_lock(void);

#ifdef JAIL_PROBE
/* A build for the tests (tests/jail/probe.c): tries to break out instead of serving guests. First
 * without capabilities but before the filter: namespaces, root and user must hold alone. */
void jail_probe_unfiltered(void);
/* With everything; ends the sandbox with the result. */
_Noreturn void jail_probe_locked(void);
#endif
