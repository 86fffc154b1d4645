/*
 * Makes pid 1 of the guests: a child in a new pid namespace, with the seccomp filter installed and
 * about to execute the stub. Returns its pid and the filter's listener. `show_refused`: see filter.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

int host_guest_start(uint64_t max_tasks, bool show_refused, int *ret_pid, int *ret_listener);
