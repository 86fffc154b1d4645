#include "kernel/host/watch.h"

#include <errno.h>
#include <sys/epoll.h>

#include "kernel/core/wait.h"
#include "kernel/host/host_ref.h"
#include "kernel/host/poll.h"

#define WATCH_MAX 4096

/* Outside the arena: registrations belong to this process and are made again after a restore. */
static struct {
	struct host_ref *ref;
	struct waitq *wq;
} watches[WATCH_MAX];

int host_watch(struct host_ref *ref, struct waitq *wq)
{
	uint64_t i = 0;

	while (i < WATCH_MAX && watches[i].ref)
		i++;
	if (i == WATCH_MAX)
		return -ENOSPC;
	int fd = host_ref_fd(ref);
	if (fd < 0)
		return fd;
	int r = host_poll_add(fd, POLL_WATCH, i, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
	if (r < 0)
		return r;
	watches[i].ref = ref;
	watches[i].wq = wq;
	return 0;
}

void host_unwatch(struct host_ref *ref)
{
	for (uint64_t i = 0; i < WATCH_MAX; i++) {
		if (watches[i].ref != ref)
			continue;
		watches[i].ref = NULL;
		watches[i].wq = NULL;
		int fd = host_ref_fd(ref);
		if (fd >= 0)
			host_poll_remove(fd);
		return;
	}
}

void host_watch_event(uint64_t token, uint32_t events)
{
	if (token < WATCH_MAX && watches[token].ref)
		waitq_wake(watches[token].wq, events);
}
