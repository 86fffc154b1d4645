#include "kernel/host/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

/* Linux 6.6; Debian 12's headers do not have them. */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, uint64_t)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1ul << 0)
#endif

/* Linux 5.14 */
#ifndef SECCOMP_ADDFD_FLAG_SEND
#define SECCOMP_ADDFD_FLAG_SEND (1ul << 1)
#endif

static int listener = -1;
static uint64_t last_id, missed;

/* host-syscalls: ioctl */
int host_notify_init(int fd, bool *ret_sync)
{
	listener = fd;
	*ret_sync = ioctl(fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP) == 0;
	return 0;
}

/* host-syscalls: ppoll */
int host_notify_wait(int timeout_ms)
{
	struct pollfd fds = { .fd = listener, .events = POLLIN };
	const struct timespec patience = { .tv_sec = timeout_ms / 1000,
					   .tv_nsec = timeout_ms % 1000 * 1000000 };
	int n;

	do
		n = ppoll(&fds, 1, &patience, NULL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n == 0 || !(fds.revents & POLLIN) ? -ETIMEDOUT : 0;
}

int host_notify_receive(struct notification *ret)
{
	struct seccomp_notif n;

	memset(&n, 0, sizeof(n));
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0)
		return errno == ENOENT || errno == EINTR || errno == EAGAIN ? 0 : -errno;
	if (last_id)
		missed += n.id - last_id - 1;
	last_id = n.id;
	ret->id = n.id;
	ret->host_tid = (int)n.pid;
	ret->nr = n.data.nr;
	ret->ip = n.data.instruction_pointer;
	for (int i = 0; i < 6; i++)
		ret->args[i] = n.data.args[i];
	return 1;
}

uint64_t host_notify_missed(void)
{
	return missed;
}

static int answer(const struct seccomp_notif_resp *resp)
{
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, resp) < 0 ? -errno : 0;
}

int host_notify_reply(uint64_t id, long result)
{
	/* An error of 0 with a negative val would be taken literally, so errors go as `error`. */
	struct seccomp_notif_resp r = { .id = id,
					.val = result < 0 && result > -4096 ? 0 : result,
					.error = result < 0 && result > -4096 ? (int)result : 0 };
	return answer(&r);
}

int host_notify_continue(uint64_t id)
{
	struct seccomp_notif_resp r = { .id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
	return answer(&r);
}

bool host_notify_valid(uint64_t id)
{
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

static int add_fd(uint64_t id, int host_fd, int guest_fd, uint32_t flags)
{
	struct seccomp_notif_addfd a = { .id = id,
					 .flags = SECCOMP_ADDFD_FLAG_SETFD | flags,
					 .srcfd = (uint32_t)host_fd,
					 .newfd = (uint32_t)guest_fd,
					 .newfd_flags = O_CLOEXEC };
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &a) < 0 ? -errno : 0;
}

int host_notify_add_fd(uint64_t id, int host_fd, int guest_fd)
{
	return add_fd(id, host_fd, guest_fd, 0);
}

int host_notify_reply_fd(uint64_t id, int host_fd, int guest_fd)
{
	int r = add_fd(id, host_fd, guest_fd, SECCOMP_ADDFD_FLAG_SEND);

	if (r != -EINVAL)
		return r;
	r = add_fd(id, host_fd, guest_fd, 0);
	return r < 0 ? r : host_notify_reply(id, guest_fd);
}
