/* signalfd(2). */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/time.h>

static int make(int flags, int sig1, int sig2)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, sig1);
	if (sig2)
		sigaddset(&set, sig2);
	CHECK_EQ(sigprocmask(SIG_BLOCK, &set, NULL), 0);
	fd = signalfd(-1, &set, flags);
	CHECK(fd >= 0);
	return fd;
}

static struct signalfd_siginfo take(int fd)
{
	struct signalfd_siginfo si;

	CHECK_EQ(read(fd, &si, sizeof(si)), sizeof(si));
	return si;
}

TEST(own_signal)
{
	int fd = make(SFD_NONBLOCK, SIGUSR1, SIGUSR2);
	struct signalfd_siginfo si;

	CHECK_ERRNO(read(fd, &si, sizeof(si)), EAGAIN);
	CHECK_EQ(kill(getpid(), SIGUSR1), 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	CHECK_EQ(poll(&p, 1, -1), 1);
	CHECK_EQ(p.revents, POLLIN);
	si = take(fd);
	CHECK_EQ(si.ssi_signo, SIGUSR1);
	CHECK_EQ(si.ssi_code, SI_USER);
	CHECK_EQ(si.ssi_pid, getpid());
	CHECK_EQ(si.ssi_uid, getuid());
	CHECK_ERRNO(read(fd, &si, sizeof(si)), EAGAIN);
	CHECK_EQ(poll(&p, 1, 0), 0);
}

TEST(several_at_once)
{
	int fd = make(0, SIGUSR1, SIGUSR2);
	struct signalfd_siginfo si[4];

	CHECK_EQ(kill(getpid(), SIGUSR2), 0);
	CHECK_EQ(kill(getpid(), SIGUSR1), 0);
	CHECK_EQ(read(fd, si, sizeof(si)), 2 * sizeof(si[0]));
	CHECK_EQ(si[0].ssi_signo, SIGUSR1);
	CHECK_EQ(si[1].ssi_signo, SIGUSR2);
}

TEST(queued_value)
{
	int fd = make(0, SIGRTMIN, 0);
	union sigval v = { .sival_int = 4711 };

	CHECK_EQ(sigqueue(getpid(), SIGRTMIN, v), 0);
	v.sival_int = 4712;
	CHECK_EQ(sigqueue(getpid(), SIGRTMIN, v), 0);
	struct signalfd_siginfo si = take(fd);
	CHECK_EQ(si.ssi_signo, SIGRTMIN);
	CHECK_EQ(si.ssi_int, 4711);
	CHECK_EQ(si.ssi_code, SI_QUEUE);
	CHECK_EQ(take(fd).ssi_int, 4712);
}

TEST(blocking_read_of_a_childs_death)
{
	int fd = make(0, SIGCHLD, 0);
	pid_t pid = fork();

	if (!pid) {
		usleep(20000);
		_exit(42);
	}
	struct signalfd_siginfo si = take(fd);
	CHECK_EQ(si.ssi_signo, SIGCHLD);
	CHECK_EQ(si.ssi_pid, pid);
	CHECK_EQ(si.ssi_status, 42);
	CHECK_EQ(si.ssi_code, CLD_EXITED);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

TEST(death_of_an_orphan_that_is_ours)
{
	int fd = make(SFD_CLOEXEC, SIGCHLD, 0), end[2], status;

	CHECK_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	CHECK_EQ(pipe(end), 0);
	pid_t pid = fork();
	if (pid == 0) {
		char b;
		if (fork() == 0) {
			close(end[1]);
			_exit(read(end[0], &b, 1) == 0 ? 7 : 1);
		}
		_exit(0);
	}
	CHECK_EQ(take(fd).ssi_pid, pid);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	close(end[1]);
	pid = (pid_t)take(fd).ssi_pid;
	CHECK_EQ(waitpid(-1, &status, 0), pid);
	CHECK_EQ(WEXITSTATUS(status), 7);
	CHECK_EQ(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
	close(end[0]);
	close(fd);
}

TEST(blocking_read_of_a_sent_signal)
{
	int fd = make(0, SIGTERM, 0);
	pid_t parent = getpid(), pid = fork();

	if (!pid) {
		usleep(20000);
		_exit(kill(parent, SIGTERM) != 0);
	}
	struct signalfd_siginfo si = take(fd);
	CHECK_EQ(si.ssi_signo, SIGTERM);
	CHECK_EQ(si.ssi_pid, pid);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

TEST(timer_signal_wakes_poll)
{
	int fd = make(SFD_NONBLOCK, SIGALRM, 0);
	struct itimerval it = { .it_value.tv_usec = 30000 };
	struct pollfd p = { .fd = fd, .events = POLLIN };

	CHECK_EQ(setitimer(ITIMER_REAL, &it, NULL), 0);
	CHECK_EQ(poll(&p, 1, -1), 1);
	CHECK_EQ(take(fd).ssi_signo, SIGALRM);
}

TEST(epoll_sees_it)
{
	int fd = make(SFD_NONBLOCK, SIGUSR1, 0), ep = epoll_create1(0);
	struct epoll_event ev = { .events = EPOLLIN };
	pid_t parent = getpid();

	CHECK_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev), 0);
	CHECK_EQ(epoll_wait(ep, &ev, 1, 0), 0);
	for (int i = 0; i < 5; i++) {
		pid_t pid = fork();
		if (!pid) {
			usleep(5000);
			_exit(kill(parent, SIGUSR1) != 0);
		}
		CHECK_EQ(epoll_wait(ep, &ev, 1, -1), 1);
		CHECK_EQ(take(fd).ssi_signo, SIGUSR1);
		CHECK_EQ(epoll_wait(ep, &ev, 1, 0), 0);
		CHECK_EQ(waitpid(pid, NULL, 0), pid);
	}
}

TEST(mask_can_change)
{
	int fd = make(SFD_NONBLOCK, SIGUSR1, SIGUSR2);
	struct signalfd_siginfo si;
	sigset_t set;

	CHECK_EQ(kill(getpid(), SIGUSR1), 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	CHECK_EQ(signalfd(fd, &set, 0), fd);
	CHECK_ERRNO(read(fd, &si, sizeof(si)), EAGAIN);
	sigaddset(&set, SIGUSR1);
	CHECK_EQ(signalfd(fd, &set, 0), fd);
	CHECK_EQ(take(fd).ssi_signo, SIGUSR1);
}

TEST(errors)
{
	int fd = make(SFD_NONBLOCK | SFD_CLOEXEC, SIGUSR1, 0);
	sigset_t set;
	char buf[64];

	sigemptyset(&set);
	CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	CHECK_ERRNO(read(fd, buf, sizeof(buf)), EINVAL);
	CHECK_ERRNO(signalfd(999, &set, 0), EBADF);
	CHECK_ERRNO(signalfd(0, &set, 0), EINVAL);
	CHECK_ERRNO(signalfd(-1, &set, 1), EINVAL);
}

static void on_signal(int sig)
{
	(void)sig;
}

TEST(read_is_interrupted_by_another_signal)
{
	int fd = make(0, SIGUSR1, 0);
	struct sigaction sa = { .sa_handler = on_signal };
	struct itimerval it = { { 0, 20000 }, { 0, 20000 } };
	struct signalfd_siginfo si;

	CHECK_EQ(sigaction(SIGALRM, &sa, NULL), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &it, NULL), 0);
	CHECK_ERRNO(read(fd, &si, sizeof(si)), EINTR);
}

CHECK_MAIN()
