#include "kernel/host/poll.h"
#include "kernel/host/libc.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <time.h>

static int epoll_fd = -1;
static int listener_fd = -1;
static bool deaf;

int host_poll_init(void)
{
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return epoll_fd < 0 ? -errno : 0;
}

void host_poll_set_listener(int fd)
{
	listener_fd = fd;
}

void host_poll_listen(bool on)
{
	deaf = !on;
}

static int control(int op, int fd, enum poll_kind kind, uint64_t token, uint32_t events)
{
	struct epoll_event e = { .events = events,
				 .data.u64 = (uint64_t)kind << 56 | (token & ((1ull << 56) - 1)) };
	return epoll_ctl(epoll_fd, op, fd, &e) < 0 ? -errno : 0;
}

/* host-syscalls: epoll_ctl epoll_wait epoll_pwait */
int host_poll_add(int fd, enum poll_kind kind, uint64_t token, uint32_t events)
{
	return control(EPOLL_CTL_ADD, fd, kind, token, events);
}

int host_poll_change(int fd, enum poll_kind kind, uint64_t token, uint32_t events)
{
	return control(EPOLL_CTL_MOD, fd, kind, token, events);
}

void host_poll_remove(int fd)
{
	epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static int collect(struct poll_event *ret, int max)
{
	struct epoll_event events[64];
	int n = epoll_wait(epoll_fd, events, max > 64 ? 64 : max, 0);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	for (int i = 0; i < n; i++) {
		ret[i].kind = (uint8_t)(events[i].data.u64 >> 56);
		ret[i].token = events[i].data.u64 & ((1ull << 56) - 1);
		ret[i].events = events[i].events;
	}
	return n;
}

/* host-syscalls: ppoll */
int host_poll_wait(struct poll_event *ret, int max, uint64_t timeout_ns)
{
	struct pollfd fds[] = { { .fd = deaf ? -1 : listener_fd, .events = POLLIN },
				{ .fd = epoll_fd, .events = POLLIN } };
	struct timespec ts = { .tv_sec = (time_t)(timeout_ns / 1000000000ull),
			       .tv_nsec = (long)(timeout_ns % 1000000000ull) };
	if (ppoll(fds, 2, timeout_ns == UINT64_MAX ? NULL : &ts, NULL) < 0)
		return errno == EINTR ? 0 : -errno;
	int n = fds[1].revents ? collect(ret, max - 1) : 0;
	if (n >= 0 && fds[0].revents)
		ret[n++] = (struct poll_event){ .kind = POLL_LISTENER,
						.events = (uint32_t)(fds[0].revents) };
	return n;
}
