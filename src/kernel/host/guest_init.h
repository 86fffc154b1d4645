/*
 * Makes pid 1 of the guests: a child in a new pid namespace that installs the seccomp filter and
 * executes the stub. It does that while its parent goes on with other things.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct guest_init {
	int pid, pidfd;
};

/* `show_refused`: see filter.h. */
int host_guest_start(uint64_t max_tasks, bool show_refused, struct guest_init *ret);
/* Waits for the filter: its listener, owned by the caller, or -errno. The next thing that the child
 * does is an execve that the listener reports. */
int host_guest_listener(struct guest_init *g);
