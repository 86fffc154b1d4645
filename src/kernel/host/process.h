/* Host-side handles on guest processes: death notices and signals. Numbers are host tids. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HOST_OWN_PID 1 /* the kernel process is the first of its pid namespace */

/* Watching takes a descriptor for each process: how many there may be, and whether so many can be. */
void host_process_limit(uint64_t descriptors);
bool host_process_room(uint64_t processes);

/* Watches for the death of a process: a POLL_PIDFD event with the pid as token. The descriptor is
 * returned (>= 0) and given back with host_process_forget(). -ESRCH when it is gone already. */
int host_process_watch(int host_pid);
void host_process_forget(int pidfd);

int host_signal_process(int host_pid, int sig);
int host_signal_thread(int host_pid, int host_tid, int sig);
