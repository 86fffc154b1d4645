/*
 * Makes pid 1 of the guests: a child in a new pid namespace, with the seccomp filter installed and
 * about to execute the stub. Returns its pid and the filter's listener.
 */
#pragma once

int host_guest_start(int *ret_pid, int *ret_listener);
