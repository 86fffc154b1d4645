/*
 * Scheduling state and resource limits of guest threads that only the host can change. The tids
 * are the host's (task.host_tid). All return 0 or -errno unless said otherwise.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

/* Soft limit of a process, cut to its hard limit. */
int host_set_soft_limit(int host_pid, int resource, uint64_t soft);
/* Both limits. -EPERM: the hard one cannot be raised again. */
int host_set_limit(int host_pid, int resource, const struct rlimit *limit);

int host_get_nice(int host_tid, int *ret_nice);
int host_set_nice(int host_tid, int nice);

int host_get_policy(int host_tid, int *ret_policy);
int host_set_policy(int host_tid, int policy); /* the policies without priorities */

/* A CPU mask of `size` bytes. get: bytes written into the mask, or -errno. */
int host_get_affinity(int host_tid, void *mask, size_t size);
int host_set_affinity(int host_tid, const void *mask, size_t size);

/* The host's release and processor type strings: uname(2). Each at least 65 bytes. */
int host_uname(char *ret_release, char *ret_machine);
