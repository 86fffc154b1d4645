/* Record locks, open file description locks, flock. */
#include "check.h"
#include "fs_dir.h"

#include <sys/file.h>

static int record(int fd, int cmd, int type, off_t start, off_t len)
{
	struct flock fl = { .l_type = (short)type, .l_whence = SEEK_SET, .l_start = start, .l_len = len };
	return fcntl(fd, cmd, &fl);
}

/* Can another process lock this range? Waits for its answer. */
static bool other_can(const char *name, int type, off_t start, off_t len)
{
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		int fd = open(name, O_RDWR);
		_exit(record(fd, F_SETLK, type, start, len) == 0 ? 0 : errno == EAGAIN ? 1 : 2);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return status == 0;
}

TEST(records)
{
	fs_enter();
	fs_put("f", "0123456789");
	int fd = open("f", O_RDWR), rd = open("f", O_RDONLY), wr = open("f", O_WRONLY);
	CHECK_EQ(record(fd, F_SETLK, F_WRLCK, 2, 4), 0);
	CHECK(!other_can("f", F_RDLCK, 5, 1));
	CHECK(other_can("f", F_WRLCK, 6, 0));
	CHECK(other_can("f", F_WRLCK, 0, 2));
	CHECK_EQ(record(fd, F_SETLK, F_RDLCK, 3, 1), 0);
	CHECK(other_can("f", F_RDLCK, 3, 1));
	CHECK(!other_can("f", F_RDLCK, 2, 2));
	CHECK_EQ(record(fd, F_SETLK, F_UNLCK, 0, 0), 0);
	CHECK(other_can("f", F_WRLCK, 0, 0));
	CHECK_ERRNO(record(rd, F_SETLK, F_WRLCK, 0, 0), EBADF);
	CHECK_ERRNO(record(wr, F_SETLK, F_RDLCK, 0, 0), EBADF);
	CHECK_ERRNO(record(fd, F_SETLK, 77, 0, 0), EINVAL);
	CHECK_ERRNO(record(fd, F_SETLK, F_RDLCK, -1, 0), EINVAL);
	CHECK_EQ(record(fd, F_SETLK, F_RDLCK, 5, -3), 0);
	CHECK(other_can("f", F_WRLCK, 0, 2));
	CHECK(other_can("f", F_WRLCK, 5, 0));
	CHECK(!other_can("f", F_WRLCK, 2, 1));
	fs_leave();
}

TEST(who_holds_it)
{
	fs_enter();
	fs_put("f", "");
	int fd = open("f", O_RDWR);
	CHECK_EQ(record(fd, F_SETLK, F_WRLCK, 10, 5), 0);
	pid_t parent = getpid(), pid = fork();
	if (pid == 0) {
		struct flock fl = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
		CHECK_EQ(fcntl(fd, F_GETLK, &fl), 0);
		CHECK_EQ(fl.l_type, F_WRLCK);
		CHECK_EQ(fl.l_start, 10);
		CHECK_EQ(fl.l_len, 5);
		CHECK_EQ(fl.l_pid, parent);
		fl = (struct flock){ .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 10 };
		CHECK_EQ(fcntl(fd, F_GETLK, &fl), 0);
		CHECK_EQ(fl.l_type, F_UNLCK);
		_exit(0);
	}
	int status;
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	fs_leave();
}

TEST(any_close_releases)
{
	fs_enter();
	fs_put("f", "");
	int fd = open("f", O_RDWR);
	CHECK_EQ(record(fd, F_SETLK, F_WRLCK, 0, 0), 0);
	CHECK(!other_can("f", F_WRLCK, 0, 0));
	close(open("f", O_RDONLY));
	CHECK(other_can("f", F_WRLCK, 0, 0));
	fs_leave();
}

TEST(waiting)
{
	fs_enter();
	fs_put("f", "");
	int fd = open("f", O_RDWR), p[2], status;
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(record(fd, F_SETLK, F_WRLCK, 0, 0), 0);
	pid_t pid = fork();
	if (pid == 0) {
		int own = open("f", O_RDWR);
		CHECK_EQ(write(p[1], "r", 1), 1);
		CHECK_EQ(record(own, F_SETLKW, F_WRLCK, 0, 0), 0);
		CHECK_EQ(write(p[1], "g", 1), 1);
		_exit(0);
	}
	char c;
	CHECK_EQ(read(p[0], &c, 1), 1);
	CHECK_EQ(c, 'r');
	check_until_asleep(pid);
	fcntl(p[0], F_SETFL, O_NONBLOCK);
	CHECK_ERRNO(read(p[0], &c, 1), EAGAIN);
	fcntl(p[0], F_SETFL, 0);
	CHECK_EQ(record(fd, F_SETLK, F_UNLCK, 0, 0), 0);
	CHECK_EQ(read(p[0], &c, 1), 1);
	CHECK_EQ(c, 'g');
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	fs_leave();
}

TEST(deadlock)
{
	fs_enter();
	fs_put("f", "");
	int fd = open("f", O_RDWR), p[2], status;
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(record(fd, F_SETLK, F_WRLCK, 0, 1), 0);
	pid_t pid = fork();
	if (pid == 0) {
		CHECK_EQ(record(fd, F_SETLK, F_WRLCK, 1, 1), 0);
		CHECK_EQ(write(p[1], "r", 1), 1);
		CHECK_EQ(record(fd, F_SETLKW, F_WRLCK, 0, 1), 0);
		_exit(0);
	}
	char c;
	CHECK_EQ(read(p[0], &c, 1), 1);
	check_until_asleep(pid);
	CHECK_ERRNO(record(fd, F_SETLKW, F_WRLCK, 1, 1), EDEADLK);
	CHECK_EQ(record(fd, F_SETLK, F_UNLCK, 0, 1), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	fs_leave();
}

static void nothing(int sig)
{
	(void)sig;
}

TEST(interrupted)
{
	fs_enter();
	fs_put("f", "");
	int fd = open("f", O_RDWR), p[2], status;
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(record(fd, F_SETLK, F_WRLCK, 0, 0), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct sigaction sa = { .sa_handler = nothing };
		sigaction(SIGUSR1, &sa, NULL);
		int own = open("f", O_RDWR);
		CHECK_EQ(write(p[1], "r", 1), 1);
		CHECK_ERRNO(record(own, F_SETLKW, F_WRLCK, 0, 0), EINTR);
		_exit(0);
	}
	char c;
	CHECK_EQ(read(p[0], &c, 1), 1);
	check_until_asleep(pid);
	CHECK_EQ(kill(pid, SIGUSR1), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	fs_leave();
}

TEST(open_file_locks)
{
	fs_enter();
	fs_put("f", "");
	int a = open("f", O_RDWR), b = open("f", O_RDWR), copy = dup(a);
	CHECK_EQ(record(a, F_OFD_SETLK, F_WRLCK, 0, 10), 0);
	CHECK_ERRNO(record(b, F_OFD_SETLK, F_WRLCK, 5, 1), EAGAIN);
	CHECK_ERRNO(record(b, F_SETLK, F_WRLCK, 5, 1), EAGAIN);
	CHECK_EQ(record(b, F_OFD_SETLK, F_WRLCK, 10, 1), 0);
	CHECK_EQ(record(copy, F_OFD_SETLK, F_RDLCK, 0, 10), 0);
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	CHECK_EQ(fcntl(b, F_OFD_GETLK, &fl), 0);
	CHECK_EQ(fl.l_type, F_RDLCK);
	CHECK_EQ(fl.l_pid, -1);
	close(a);
	CHECK_ERRNO(record(b, F_OFD_SETLK, F_WRLCK, 5, 1), EAGAIN);
	close(copy);
	CHECK_EQ(record(b, F_OFD_SETLK, F_WRLCK, 5, 1), 0);
	fl.l_pid = 1;
	CHECK_ERRNO(fcntl(b, F_OFD_SETLK, &fl), EINVAL);
	fs_leave();
}

TEST(flocks)
{
	fs_enter();
	fs_put("f", "");
	int a = open("f", O_RDONLY), b = open("f", O_RDONLY), copy = dup(a), status;
	CHECK_EQ(flock(a, LOCK_SH), 0);
	CHECK_EQ(flock(b, LOCK_SH), 0);
	CHECK_ERRNO(flock(b, LOCK_EX | LOCK_NB), EWOULDBLOCK);
	CHECK_EQ(flock(b, LOCK_UN), 0);
	CHECK_EQ(flock(copy, LOCK_EX), 0);
	CHECK_ERRNO(flock(b, LOCK_SH | LOCK_NB), EWOULDBLOCK);
	CHECK_ERRNO(flock(b, 77), EINVAL);
	CHECK_ERRNO(flock(99, LOCK_SH), EBADF);
	CHECK_EQ(record(open("f", O_RDWR), F_SETLK, F_WRLCK, 0, 0), 0);
	pid_t pid = fork();
	if (pid == 0) {
		int own = open("f", O_RDONLY);
		close(a);
		close(copy);
		_exit(flock(own, LOCK_EX) == 0 ? 0 : 1);
	}
	check_until_asleep(pid);
	CHECK_EQ(waitpid(pid, &status, WNOHANG), 0);
	close(a);
	close(copy);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(flock(b, LOCK_EX | LOCK_NB), 0);
	fs_leave();
}

CHECK_MAIN()
