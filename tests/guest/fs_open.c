/* open(2) and its flags. */
/* also as root */
#include "check.h"
#include "fs_dir.h"

#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

TEST(create_and_exclusive)
{
	fs_enter();
	struct stat st;
	int fd = open("f", O_CREAT | O_EXCL | O_RDWR, 0666);
	CHECK(fd >= 0);
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK_EQ(st.st_mode, S_IFREG | 0644);
	CHECK_EQ(st.st_size, 0);
	CHECK_EQ(st.st_nlink, 1);
	CHECK_ERRNO(open("f", O_CREAT | O_EXCL | O_RDWR, 0666), EEXIST);
	CHECK_ERRNO(open("g/", O_CREAT | O_RDWR, 0666), EISDIR);
	CHECK_ERRNO(open(".", O_CREAT | O_RDWR, 0666), EISDIR);
	CHECK_ERRNO(open("no/f", O_CREAT | O_RDWR, 0666), ENOENT);
	/* A file made read-only may be written through the descriptor that made it. */
	fd = open("ro", O_CREAT | O_WRONLY, 0400);
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, "x", 1), 1);
	fd = creat("c", 0600);
	CHECK(fd >= 0);
	CHECK_ERRNO(read(fd, &st, 1), EBADF);
	fs_leave();
}

TEST(lowest_descriptor)
{
	fs_enter();
	fs_put("f", "");
	int a = open("f", O_RDONLY), b = open("f", O_RDONLY), c = open("f", O_RDONLY);
	CHECK_EQ(b, a + 1);
	CHECK_EQ(c, a + 2);
	CHECK_EQ(close(a), 0);
	CHECK_EQ(close(b), 0);
	CHECK_EQ(open("f", O_RDONLY), a);
	CHECK_EQ(open("f", O_RDONLY), b);
	CHECK_EQ(open("f", O_RDONLY), c + 1);
	CHECK_ERRNO(close(1000), EBADF);
	CHECK_ERRNO(close(-1), EBADF);
	fs_leave();
}

TEST(descriptor_limit)
{
	fs_enter();
	fs_put("f", "");
	int first = open("f", O_RDONLY);
	struct rlimit lim = { (rlim_t)first + 3, (rlim_t)first + 3 };
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &lim), 0);
	CHECK_EQ(open("f", O_RDONLY), first + 1);
	CHECK_EQ(open("f", O_RDONLY), first + 2);
	CHECK_ERRNO(open("f", O_RDONLY), EMFILE);
	CHECK_ERRNO(dup(first), EMFILE);
	CHECK_ERRNO(dup2(first, first + 3), EBADF);
	CHECK_ERRNO(fcntl(first, F_DUPFD, first + 3), EINVAL);
	close(first + 1);
	fs_leave();
}

TEST(truncate_and_append)
{
	fs_enter();
	fs_put("f", "0123456789");
	int fd = open("f", O_WRONLY | O_TRUNC);
	CHECK_EQ(fs_stat("f").st_size, 0);
	close(fd);
	fs_put("f", "abc");
	fd = open("f", O_WRONLY | O_APPEND);
	CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
	CHECK_EQ(write(fd, "def", 3), 3);
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), 6);
	int other = open("f", O_WRONLY | O_APPEND);
	CHECK_EQ(write(other, "ghi", 3), 3);
	CHECK_EQ(write(fd, "jkl", 3), 3);
	CHECK_EQ(pwrite(fd, "m", 1, 0), 1);
	CHECK_STR(fs_get("f"), "abcdefghijklm");
	fs_leave();
}

TEST(directories)
{
	fs_enter();
	char c;
	CHECK_EQ(mkdir("d", 0755), 0);
	fs_put("f", "");
	CHECK_ERRNO(open("d", O_WRONLY), EISDIR);
	CHECK_ERRNO(open("d", O_RDWR), EISDIR);
	CHECK_ERRNO(open("d", O_RDONLY | O_TRUNC), EISDIR);
	CHECK_ERRNO(open("d", O_RDONLY | O_CREAT, 0644), EISDIR);
	CHECK_ERRNO(open("f", O_RDONLY | O_DIRECTORY), ENOTDIR);
	int fd = open("d", O_RDONLY);
	CHECK_ERRNO(read(fd, &c, 1), EISDIR);
	CHECK_ERRNO(write(fd, &c, 1), EBADF);
	CHECK_ERRNO(pread(fd, &c, 1, 0), EISDIR);
	CHECK_ERRNO(ftruncate(fd, 0), EINVAL);
	CHECK_EQ(fsync(fd), 0);
	fs_leave();
}

TEST(path_descriptors)
{
	fs_enter();
	char c;
	struct stat st;
	fs_put("f", "x");
	int fd = open("f", O_PATH);
	CHECK(fd >= 0);
	CHECK_ERRNO(read(fd, &c, 1), EBADF);
	CHECK_ERRNO(write(fd, &c, 1), EBADF);
	CHECK_ERRNO(lseek(fd, 0, SEEK_SET), EBADF);
	CHECK_ERRNO(fchmod(fd, 0600), EBADF);
	CHECK_ERRNO(fchown(fd, 0, 0), EBADF);
	CHECK_ERRNO(ioctl(fd, 0x5401, &st), EBADF);
	CHECK_ERRNO(fcntl(fd, F_SETFL, 0), EBADF);
	CHECK_EQ(fcntl(fd, F_GETFL) & O_PATH, O_PATH);
	CHECK_EQ(fcntl(fd, F_GETFD), 0);
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK_EQ(st.st_size, 1);
	CHECK(dup(fd) >= 0);
	char name[64];
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	CHECK_STR(fs_get(name), "x");
	fs_leave();
}

TEST(unnamed_files)
{
	fs_enter();
	struct stat st;
	char name[64];
	int fd = open(".", O_TMPFILE | O_RDWR, 0640);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR))
		SKIP("no O_TMPFILE here");
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, "temporary", 9), 9);
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK_EQ(st.st_nlink, 0);
	CHECK_EQ(st.st_mode, S_IFREG | 0640);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	CHECK_EQ(linkat(AT_FDCWD, name, AT_FDCWD, "named", AT_SYMLINK_FOLLOW), 0);
	CHECK_STR(fs_get("named"), "temporary");
	CHECK_EQ(fs_stat("named").st_nlink, 1);
	int excl = open(".", O_TMPFILE | O_EXCL | O_RDWR, 0600);
	CHECK(excl >= 0);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", excl);
	CHECK_ERRNO(linkat(AT_FDCWD, name, AT_FDCWD, "never", AT_SYMLINK_FOLLOW), ENOENT);
	CHECK_ERRNO(open(".", O_TMPFILE | O_RDONLY, 0600), EINVAL);
	CHECK_ERRNO(open("named", O_TMPFILE | O_RDWR, 0600), ENOTDIR);
	fs_leave();
}

TEST(unlinked_but_open)
{
	fs_enter();
	char text[8] = "";
	struct stat st;
	int fd = open("f", O_CREAT | O_RDWR, 0644);
	CHECK_EQ(write(fd, "alive", 5), 5);
	CHECK_EQ(unlink("f"), 0);
	CHECK(!fs_exists("f"));
	CHECK_EQ(pread(fd, text, 5, 0), 5);
	CHECK_STR(text, "alive");
	CHECK_EQ(fstat(fd, &st), 0);
	CHECK_EQ(st.st_nlink, 0);
	fs_put("f", "other");
	CHECK_EQ(pread(fd, text, 5, 0), 5);
	CHECK_STR(text, "alive");
	fs_leave();
}

TEST(busy_programs)
{
	fs_enter();
	int in = open("/proc/self/exe", O_RDONLY), out = open("prog", O_CREAT | O_WRONLY, 0755);
	char block[4096];
	ssize_t n;
	while ((n = read(in, block, sizeof(block))) > 0)
		CHECK_EQ(write(out, block, (size_t)n), n);
	pid_t pid = fork();
	if (pid == 0) {
		close(out);
		execl("./prog", "prog", "no_such_test", NULL);
		_exit(100 + (errno == ETXTBSY));
	}
	int status;
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(WEXITSTATUS(status), 101);
	fs_leave();
}

TEST(sockets_cannot_be_opened)
{
	fs_enter();
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "s" };
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK_EQ(bind(s, (struct sockaddr *)&un, sizeof(un)), 0);
	CHECK(S_ISSOCK(fs_stat("s").st_mode));
	CHECK_ERRNO(open("s", O_RDONLY), ENXIO);
	CHECK(open("s", O_PATH) >= 0);
	CHECK_ERRNO(bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&un, sizeof(un)),
		    EADDRINUSE);
	fs_leave();
}

TEST(fifo_opening)
{
	fs_enter();
	char c = 0;
	CHECK_EQ(mkfifo("p", 0644), 0);
	CHECK_ERRNO(open("p", O_WRONLY | O_NONBLOCK), ENXIO);
	int r = open("p", O_RDONLY | O_NONBLOCK);
	CHECK(r >= 0);
	int w = open("p", O_WRONLY | O_NONBLOCK);
	CHECK(w >= 0);
	CHECK_EQ(write(w, "x", 1), 1);
	CHECK_EQ(read(r, &c, 1), 1);
	CHECK_ERRNO(read(r, &c, 1), EAGAIN);
	close(w);
	CHECK_EQ(read(r, &c, 1), 0);
	close(r);
	pid_t pid = fork();
	if (pid == 0) {
		w = open("p", O_WRONLY);
		_exit(write(w, "hello", 5) != 5);
	}
	char text[8] = "";
	r = open("p", O_RDONLY);
	CHECK(r >= 0);
	CHECK_EQ(read(r, text, 5), 5);
	CHECK_STR(text, "hello");
	int status;
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	fs_leave();
}

/* /dev/fd/N of a pipe whose writer is gone already: no waiting, then the end of the file. */
TEST(pipes_open_again)
{
	int p[2];
	char name[64], text[8] = "";
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(write(p[1], "abc", 3), 3);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", p[0]);
	int w = open(name, O_WRONLY);
	CHECK(w >= 0);
	CHECK_EQ(write(w, "d", 1), 1);
	close(w);
	close(p[1]);
	int r = open(name, O_RDONLY);
	CHECK(r >= 0);
	CHECK_EQ(read(r, text, 8), 4);
	CHECK_STR(text, "abcd");
	CHECK_EQ(read(r, text, 8), 0);
}

TEST(permission_of_the_mode)
{
	if (geteuid() != 0)
		SKIP("needs root");
	fs_enter();
	fs_put("owner", "x");
	fs_put("group", "x");
	fs_put("other", "x");
	CHECK_EQ(chown("owner", 1001, 1001), 0);
	CHECK_EQ(chmod("owner", 0466), 0);
	CHECK_EQ(chown("group", 0, 1001), 0);
	CHECK_EQ(chmod("group", 0606), 0);
	CHECK_EQ(chmod("other", 0604), 0);
	CHECK(open("owner", O_RDWR) >= 0);
	if (fs_as_user(1001, 1001)) {
		CHECK(open("owner", O_RDONLY) >= 0);
		CHECK_ERRNO(open("owner", O_RDWR), EACCES);
		CHECK_ERRNO(open("group", O_RDONLY), EACCES);
		CHECK(open("other", O_RDONLY) >= 0);
		CHECK_ERRNO(open("other", O_RDONLY | O_TRUNC), EACCES);
		CHECK_ERRNO(open("new", O_CREAT | O_WRONLY, 0644), EACCES);
		CHECK_ERRNO(open("other", O_RDONLY | O_NOATIME), EPERM);
		CHECK_EQ(access("other", R_OK), 0);
		CHECK_ERRNO(access("other", W_OK), EACCES);
		_exit(0);
	}
	fs_leave();
}

TEST(access_asks_for_the_real_user)
{
	if (geteuid() != 0)
		SKIP("needs root");
	fs_enter();
	fs_put("f", "x");
	CHECK_EQ(chmod("f", 0600), 0);
	CHECK_EQ(setresuid(1001, 0, 0), 0);
	CHECK_ERRNO(access("f", R_OK), EACCES);
	CHECK_EQ(faccessat(AT_FDCWD, "f", R_OK, AT_EACCESS), 0);
	CHECK(open("f", O_RDONLY) >= 0);
	CHECK_EQ(setresuid(0, 0, 0), 0);
	fs_leave();
}

TEST(bad_flags)
{
	fs_enter();
	CHECK_EQ(mkdir("d", 0755), 0);
	CHECK_ERRNO(open("x", O_CREAT | O_WRONLY | O_NOFOLLOW | O_DIRECTORY, 0644), EINVAL);
	CHECK_ERRNO(syscall(SYS_open, (char *)8, O_RDONLY), EFAULT);
	int fd = open("f", O_CREAT | O_RDWR | O_CLOEXEC | O_NONBLOCK | O_APPEND, 0644);
	CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	CHECK_EQ(fcntl(fd, F_GETFL) & ~0100000, O_RDWR | O_NONBLOCK | O_APPEND);
	fs_leave();
}

CHECK_MAIN()
