/* pidfd_open(2), pidfd_send_signal(2), waitid(2) with P_PIDFD. */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

static int pidfd_open(pid_t pid, unsigned flags)
{
	return (int)syscall(SYS_pidfd_open, pid, flags);
}

static int send_signal(int fd, int sig, siginfo_t *info, unsigned flags)
{
	return (int)syscall(SYS_pidfd_send_signal, fd, sig, info, flags);
}

static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	for (;;)
		pause();
}

static int revents(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	CHECK(poll(&p, 1, timeout_ms) >= 0);
	return p.revents;
}

TEST(readable_at_exit)
{
	siginfo_t info;
	pid_t pid = sleeper();
	int fd = pidfd_open(pid, 0);

	CHECK(fd >= 0);
	CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	CHECK_EQ(revents(fd, 0), 0);
	CHECK_EQ(send_signal(fd, 0, NULL, 0), 0);
	CHECK_EQ(send_signal(fd, SIGTERM, NULL, 0), 0);
	CHECK_EQ(revents(fd, -1) & POLLIN, POLLIN);
	memset(&info, 0, sizeof(info));
	CHECK_EQ(waitid(P_PIDFD, (id_t)fd, &info, WEXITED), 0);
	CHECK_EQ(info.si_pid, pid);
	CHECK_EQ(info.si_status, SIGTERM);
	CHECK_EQ(info.si_code, CLD_KILLED);
	CHECK_ERRNO(send_signal(fd, SIGTERM, NULL, 0), ESRCH);
	CHECK_ERRNO(waitid(P_PIDFD, (id_t)fd, &info, WEXITED), ECHILD);
	CHECK_EQ(revents(fd, 0) & POLLIN, POLLIN);
}

TEST(waitid_blocks)
{
	siginfo_t info;
	pid_t pid = fork();

	if (!pid) {
		usleep(20000);
		_exit(7);
	}
	int fd = pidfd_open(pid, 0);
	CHECK_EQ(waitid(P_PIDFD, (id_t)fd, &info, WEXITED), 0);
	CHECK_EQ(info.si_status, 7);
}

TEST(nonblocking_wait)
{
	siginfo_t info;
	pid_t pid = sleeper();
	int fd = pidfd_open(pid, O_NONBLOCK);

	CHECK(fd >= 0);
	CHECK_ERRNO(waitid(P_PIDFD, (id_t)fd, &info, WEXITED), EAGAIN);
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(revents(fd, -1) & POLLIN, POLLIN);
	CHECK_EQ(waitid(P_PIDFD, (id_t)fd, &info, WEXITED), 0);
	CHECK_EQ(info.si_pid, pid);
}

TEST(epoll_tells)
{
	struct epoll_event ev = { .events = EPOLLIN };
	pid_t pid = sleeper();
	int fd = pidfd_open(pid, 0), ep = epoll_create1(0);

	CHECK_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev), 0);
	CHECK_EQ(epoll_wait(ep, &ev, 1, 0), 0);
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(epoll_wait(ep, &ev, 1, -1), 1);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

TEST(not_a_child)
{
	int p[2];
	pid_t grandchild = 0;

	CHECK_EQ(pipe(p), 0);
	pid_t pid = fork();
	if (!pid) {
		grandchild = sleeper();
		CHECK_EQ(write(p[1], &grandchild, sizeof(grandchild)), sizeof(grandchild));
		pause();
	}
	CHECK_EQ(read(p[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
	int fd = pidfd_open(grandchild, 0);
	siginfo_t info;
	CHECK_ERRNO(waitid(P_PIDFD, (id_t)fd, &info, WEXITED), ECHILD);
	CHECK_EQ(send_signal(fd, SIGKILL, NULL, 0), 0);
	CHECK_EQ(revents(fd, -1) & POLLIN, POLLIN);
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

static volatile sig_atomic_t value_seen;
static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	value_seen = info->si_value.sival_int;
}

TEST(queued_value)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	siginfo_t info = { .si_signo = SIGUSR1, .si_code = SI_QUEUE };
	int fd = pidfd_open(getpid(), 0);

	CHECK_EQ(sigaction(SIGUSR1, &sa, NULL), 0);
	info.si_pid = getpid();
	info.si_value.sival_int = 99;
	CHECK_EQ(send_signal(fd, SIGUSR1, &info, 0), 0);
	CHECK_EQ(value_seen, 99);
	CHECK_ERRNO(send_signal(fd, SIGUSR2, &info, 0), EINVAL);
}

TEST(errors)
{
	CHECK_ERRNO(pidfd_open(-1, 0), EINVAL);
	CHECK_ERRNO(pidfd_open(0, 0), EINVAL);
	CHECK_ERRNO(pidfd_open(getpid(), 1), EINVAL);
	CHECK_ERRNO(pidfd_open(1 << 21, 0), ESRCH);
	CHECK_ERRNO(send_signal(0, 0, NULL, 0), EBADF);
	CHECK_ERRNO(send_signal(999, 0, NULL, 0), EBADF);
	siginfo_t info;
	CHECK_ERRNO(waitid(P_PIDFD, 999, &info, WEXITED), EBADF);
}

CHECK_MAIN()
