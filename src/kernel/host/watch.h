/*
 * Readiness of host descriptors: the event loop watches them and wakes wait queues.
 */
#pragma once

struct host_ref;
struct waitq;

/*
 * Registers the descriptor of `ref` edge-triggered (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET) in
 * the loop's epoll set; on events waitq_wake(wq, events) is called. Registration of a ready
 * descriptor reports at once. `ref` must be pinned (it must not be closed by the cache) and `wq`
 * must live until host_unwatch(). -EPERM: the descriptor cannot be polled (it is always ready).
 */
int host_watch(struct host_ref *ref, struct waitq *wq) __attribute__((weak));
/* Ends it. Fine when the reference is not watched. Call before the descriptor is closed. */
void host_unwatch(struct host_ref *ref) __attribute__((weak));
