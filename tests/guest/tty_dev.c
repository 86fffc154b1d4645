/* Devices: /dev and its nodes. */
/* also as root */
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "check.h"

static void check_node(const char *path, unsigned major_nr, unsigned minor_nr)
{
	struct stat st;

	CHECK_EQ(stat(path, &st), 0);
	CHECK(S_ISCHR(st.st_mode));
	CHECK_EQ(st.st_mode & 0666, 0666);
	CHECK_EQ(major(st.st_rdev), major_nr);
	CHECK_EQ(minor(st.st_rdev), minor_nr);
}

TEST(nodes)
{
	struct stat st;
	char target[64];

	check_node("/dev/null", 1, 3);
	check_node("/dev/zero", 1, 5);
	check_node("/dev/full", 1, 7);
	check_node("/dev/random", 1, 8);
	check_node("/dev/urandom", 1, 9);
	check_node("/dev/tty", 5, 0);
	check_node("/dev/ptmx", 5, 2);
	ssize_t n = readlink("/dev/fd", target, sizeof(target));
	CHECK(n == 13 && !memcmp(target, "/proc/self/fd", 13));
	CHECK_EQ(stat("/dev/shm", &st), 0);
	CHECK(S_ISDIR(st.st_mode));
	CHECK_EQ(st.st_mode & 07777, 01777);
	CHECK_EQ(stat("/dev/pts", &st), 0);
	CHECK(S_ISDIR(st.st_mode));
}

TEST(null)
{
	char c = 'x';
	int fd = open("/dev/null", O_RDWR | O_TRUNC | O_CREAT, 0666);

	CHECK(fd >= 0);
	CHECK_EQ(read(fd, &c, 1), 0);
	CHECK_EQ(write(fd, "abc", 3), 3);
	CHECK_EQ(lseek(fd, 100, SEEK_SET), 0);
	CHECK_ERRNO(ioctl(fd, TIOCGWINSZ, &c), ENOTTY);
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT };
	CHECK_EQ(poll(&p, 1, 0), 1);
	CHECK_EQ(p.revents, POLLIN | POLLOUT);
}

TEST(zero)
{
	static char buf[300000];
	int fd = open("/dev/zero", O_RDWR);

	memset(buf, 1, sizeof(buf));
	CHECK_EQ(read(fd, buf, sizeof(buf)), sizeof(buf));
	for (size_t i = 0; i < sizeof(buf); i++)
		CHECK(buf[i] == 0);
	CHECK_EQ(write(fd, "abc", 3), 3);
	CHECK_EQ(pread(fd, buf, 10, 5), 10);
}

TEST(zero_mapped)
{
	int fd = open("/dev/zero", O_RDWR);
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	CHECK(p != MAP_FAILED);
	CHECK(p[0] == 0 && p[8191] == 0);
	p[5000] = 1;
	munmap(p, 8192);
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(p != MAP_FAILED);
	CHECK(p[5000] == 0);
	pid_t pid = fork();
	if (pid == 0) {
		p[5000] = 7;
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK_EQ(p[5000], 7);
}

TEST(full)
{
	char c = 'x';
	int fd = open("/dev/full", O_RDWR);

	CHECK_EQ(read(fd, &c, 1), 1);
	CHECK_EQ(c, 0);
	CHECK_ERRNO(write(fd, "x", 1), ENOSPC);
}

TEST(random_bytes)
{
	static unsigned char buf[300000];
	const char *names[] = { "/dev/random", "/dev/urandom" };

	for (int i = 0; i < 2; i++) {
		int fd = open(names[i], O_RDONLY);
		unsigned seen[256] = { 0 };

		CHECK_EQ(read(fd, buf, sizeof(buf)), sizeof(buf));
		for (size_t k = 0; k < sizeof(buf); k++)
			seen[buf[k]]++;
		for (int k = 0; k < 256; k++)
			CHECK(seen[k] > 500);
		close(fd);
	}
}

TEST(nodes_without_a_device)
{
	char path[] = "/tmp/tty_dev.XXXXXX", node[64];
	int fd;

	if (geteuid())
		SKIP("needs root");
	CHECK(mkdtemp(path));
	snprintf(node, sizeof(node), "%s/node", path);
	if (mknod(node, S_IFCHR | 0600, makedev(1, 5)) < 0) {
		rmdir(path);
		SKIP("no mknod here");
	}
	fd = open(node, O_RDONLY);
	if (fd < 0 && errno == EACCES) {
		unlink(node);
		rmdir(path);
		SKIP("no devices on this file system");
	}
	char c = 1;
	CHECK_EQ(read(fd, &c, 1), 1);
	CHECK_EQ(c, 0);
	unlink(node);
	CHECK_EQ(mknod(node, S_IFCHR | 0600, makedev(233, 77)), 0);
	CHECK_ERRNO(open(node, O_RDONLY), ENXIO);
	unlink(node);
	rmdir(path);
}

CHECK_MAIN()
