/*
 * Host descriptors whose readiness the guest may wait for (passed stdin and the like): registered
 * edge-triggered in the event loop; an event wakes a wait queue.
 */
#pragma once

#include <stdint.h>

struct host_ref;
struct waitq;

/*
 * Starts watching. The queue must outlive the watch. 0; -EPERM: the file is always ready (regular
 * files); -ENOSPC: too many.
 */
int host_watch(struct host_ref *ref, struct waitq *wq);
void host_unwatch(struct host_ref *ref);

/* From the event loop. */
void host_watch_event(uint64_t token, uint32_t events);
