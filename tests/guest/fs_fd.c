/* Descriptors: dup, fcntl, close_range, ioctl. */
#include "check.h"
#include "fs_dir.h"

#include <linux/close_range.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

static int raw_close_range(unsigned first, unsigned last, unsigned flags)
{
	return (int)syscall(SYS_close_range, first, last, flags);
}

TEST(duplicates)
{
	int p[2];
	CHECK_EQ(pipe(p), 0);
	int d = dup(p[0]);
	CHECK(d > p[1]);
	CHECK_EQ(dup2(p[0], 50), 50);
	CHECK_EQ(dup2(p[0], p[0]), p[0]);
	CHECK_ERRNO(dup2(99, 99), EBADF);
	CHECK_ERRNO(dup2(99, 51), EBADF);
	CHECK_ERRNO(dup3(p[0], p[0], 0), EINVAL);
	CHECK_ERRNO(dup3(p[0], 52, 1), EINVAL);
	CHECK_EQ(dup3(p[0], 52, O_CLOEXEC), 52);
	CHECK_EQ(fcntl(52, F_GETFD), FD_CLOEXEC);
	CHECK_EQ(fcntl(50, F_GETFD), 0);
	CHECK_EQ(fcntl(p[0], F_DUPFD, 60), 60);
	CHECK_EQ(fcntl(p[0], F_DUPFD_CLOEXEC, 60), 61);
	CHECK_EQ(fcntl(61, F_GETFD), FD_CLOEXEC);
	/* dup2 closes what was there: the last writer goes, readers see the end. */
	CHECK_EQ(dup2(p[0], p[1]), p[1]);
	char c;
	CHECK_EQ(read(p[0], &c, 1), 0);
}

TEST(status_flags)
{
	int p[2];
	char c;
	CHECK_EQ(pipe(p), 0);
	int d = dup(p[0]);
	CHECK_EQ(fcntl(p[0], F_GETFL) & O_ACCMODE, O_RDONLY);
	CHECK_EQ(fcntl(p[1], F_GETFL) & O_ACCMODE, O_WRONLY);
	CHECK_EQ(fcntl(p[0], F_SETFL, O_NONBLOCK | O_WRONLY | O_CREAT), 0);
	CHECK_EQ(fcntl(d, F_GETFL), O_NONBLOCK);
	CHECK_ERRNO(read(d, &c, 1), EAGAIN);
	int zero = 0, one = 1;
	CHECK_EQ(ioctl(p[0], FIONBIO, &zero), 0);
	CHECK_EQ(fcntl(d, F_GETFL), 0);
	CHECK_EQ(ioctl(p[0], FIONBIO, &one), 0);
	CHECK_EQ(fcntl(d, F_GETFL), O_NONBLOCK);
	CHECK_ERRNO(ioctl(p[0], FIONBIO, (int *)8), EFAULT);
	CHECK_ERRNO(fcntl(p[0], 9999), EINVAL);
	CHECK_ERRNO(fcntl(99, F_GETFD), EBADF);
	CHECK_EQ(ioctl(p[0], FIOCLEX), 0);
	CHECK_EQ(fcntl(p[0], F_GETFD), FD_CLOEXEC);
	CHECK_EQ(ioctl(p[0], FIONCLEX), 0);
	CHECK_EQ(fcntl(p[0], F_GETFD), 0);
}

TEST(ioctl_of_files)
{
	fs_enter();
	int n = -1;
	fs_put("f", "12345");
	int fd = open("f", O_RDONLY);
	CHECK_EQ(lseek(fd, 2, SEEK_SET), 2);
	CHECK_EQ(ioctl(fd, FIONREAD, &n), 0);
	CHECK_EQ(n, 3);
	CHECK_ERRNO(ioctl(fd, TCGETS, &n), ENOTTY);
	CHECK_ERRNO(ioctl(99, TCGETS, &n), EBADF);
	CHECK_EQ(isatty(fd), 0);
	fs_leave();
}

TEST(owners_of_files)
{
	int p[2];
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(fcntl(p[0], F_GETOWN), 0);
	CHECK_EQ(fcntl(p[0], F_SETOWN, getpid()), 0);
	CHECK_EQ(fcntl(p[0], F_GETOWN), getpid());
	struct f_owner_ex o = { -1, -1 };
	CHECK_EQ(fcntl(p[0], F_GETOWN_EX, &o), 0);
	CHECK_EQ(o.type, F_OWNER_PID);
	CHECK_EQ(o.pid, getpid());
	CHECK_EQ(fcntl(p[0], F_GETSIG), 0);
	CHECK_EQ(fcntl(p[0], F_SETSIG, SIGUSR1), 0);
	CHECK_EQ(fcntl(p[0], F_GETSIG), SIGUSR1);
	CHECK_ERRNO(fcntl(p[0], F_SETSIG, 65), EINVAL);
	CHECK_EQ(fcntl(p[1], F_GETPIPE_SZ), 65536);
	CHECK_EQ(fcntl(p[1], F_SETPIPE_SZ, 10000), 16384);
	fs_enter();
	fs_put("f", "");
	int fd = open("f", O_RDONLY);
	CHECK_ERRNO(fcntl(fd, F_GETPIPE_SZ), EBADF);
	fs_leave();
}

TEST(close_ranges)
{
	for (int fd = 50; fd < 60; fd++)
		CHECK_EQ(dup2(1, fd), fd);
	CHECK_EQ(raw_close_range(52, 54, 0), 0);
	CHECK_EQ(fcntl(51, F_GETFD), 0);
	CHECK_ERRNO(fcntl(52, F_GETFD), EBADF);
	CHECK_ERRNO(fcntl(54, F_GETFD), EBADF);
	CHECK_EQ(fcntl(55, F_GETFD), 0);
	CHECK_EQ(raw_close_range(56, ~0u, CLOSE_RANGE_CLOEXEC), 0);
	CHECK_EQ(fcntl(55, F_GETFD), 0);
	CHECK_EQ(fcntl(56, F_GETFD), FD_CLOEXEC);
	CHECK_ERRNO(raw_close_range(5, 4, 0), EINVAL);
	CHECK_ERRNO(raw_close_range(50, 60, 1u << 10), EINVAL);
	CHECK_EQ(raw_close_range(50, ~0u, CLOSE_RANGE_UNSHARE), 0);
	CHECK_ERRNO(fcntl(59, F_GETFD), EBADF);
}

static int shared[2];

static void *closer(void *arg)
{
	CHECK_EQ(raw_close_range((unsigned)shared[1], ~0u, CLOSE_RANGE_UNSHARE), 0);
	CHECK_ERRNO(fcntl(shared[1], F_GETFD), EBADF);
	return arg;
}

TEST(threads_share_the_table)
{
	pthread_t t;
	CHECK_EQ(pipe(shared), 0);
	CHECK_EQ(pthread_create(&t, NULL, closer, NULL), 0);
	CHECK_EQ(pthread_join(t, NULL), 0);
	CHECK_EQ(fcntl(shared[1], F_GETFD), 0);
}

static void *late_closer(void *arg)
{
	usleep(50000);
	CHECK_EQ(close(shared[0]), 0);
	usleep(50000);
	CHECK_EQ(write(shared[1], "x", 1), 1);
	return arg;
}

/* A blocked read keeps its pipe although another thread closes the descriptor. */
TEST(close_under_a_reader)
{
	pthread_t t;
	char c = 0;
	CHECK_EQ(pipe(shared), 0);
	CHECK_EQ(pthread_create(&t, NULL, late_closer, NULL), 0);
	CHECK_EQ(read(shared[0], &c, 1), 1);
	CHECK_EQ(c, 'x');
	CHECK_EQ(pthread_join(t, NULL), 0);
	CHECK_ERRNO(read(shared[0], &c, 1), EBADF);
}

TEST(close_on_exec)
{
	int keep = dup2(1, 70), drop = fcntl(1, F_DUPFD_CLOEXEC, 71);
	CHECK_EQ(keep, 70);
	CHECK_EQ(drop, 71);
	pid_t pid = fork();
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "test -e /proc/self/fd/70 && ! test -e /proc/self/fd/71", NULL);
		_exit(9);
	}
	int status;
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

CHECK_MAIN()
