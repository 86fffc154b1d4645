/* also as root */
/* What a sandbox is given: memory, files and structures that hold nothing of anybody else. */
#include "attack.h"

#include <dirent.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <sys/utsname.h>

static bool all_zero(const char *p, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (p[i])
			return false;
	return true;
}

TEST(fresh_memory_is_zero)
{
	char *map = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(all_zero(map, 8 << 20));
	char *heap = sbrk(1 << 20);
	CHECK(all_zero(heap, 1 << 20));
	int id = shmget(IPC_PRIVATE, 1 << 20, 0600 | IPC_CREAT);
	char *segment = shmat(id, NULL, 0);
	CHECK(segment != (void *)-1);
	CHECK(all_zero(segment, 1 << 20));
	shmctl(id, IPC_RMID, NULL);
}

TEST(new_file_space_is_zero)
{
	static char text[1 << 20];
	int fd = open("f", O_RDWR | O_CREAT, 0600);
	memset(text, 'x', sizeof(text));
	for (int round = 0; round < 8; round++) {
		CHECK_EQ(pwrite(fd, text, sizeof(text), 0), sizeof(text));
		CHECK_EQ(ftruncate(fd, 0), 0);
		CHECK_EQ(ftruncate(fd, sizeof(text)), 0);
		static char back[1 << 20];
		CHECK_EQ(pread(fd, back, sizeof(back), 0), sizeof(back));
		CHECK(all_zero(back, sizeof(back)));
	}
	/* The tail of the last page, seen through a mapping. */
	CHECK_EQ(pwrite(fd, text, 5000, 0), 5000);
	CHECK_EQ(ftruncate(fd, 100), 0);
	char *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(map != MAP_FAILED);
	CHECK(all_zero(map + 100, 3996));
	int holes = (int)syscall(SYS_memfd_create, "m", 0);
	CHECK_EQ(pwrite(holes, "x", 1, 100000), 1);
	CHECK_EQ(pread(holes, text, 100000, 0), 100000);
	CHECK(all_zero(text, 100000));
}

/* Calls `fill` with a buffer of 0x55 and one of 0xaa: bytes that a call leaves alone keep their value and those
 * that it writes are the same twice. Anything else came from somewhere else. */
static void check_defined(const char *name, void (*fill)(void *), size_t size)
{
	static unsigned char a[8192], b[8192];
	memset(a, 0x55, sizeof(a));
	memset(b, 0xaa, sizeof(b));
	fill(a);
	fill(b);
	for (size_t i = 0; i < size; i++) {
		bool untouched = a[i] == 0x55 && b[i] == 0xaa;
		if (!untouched && a[i] != b[i])
			printf("# %s: byte %zu is %02x, then %02x\n", name, i, a[i], b[i]);
		CHECK(untouched || a[i] == b[i]);
	}
	for (size_t i = size; i < sizeof(a); i++)
		CHECK(a[i] == 0x55 && b[i] == 0xaa); /* nothing behind the structure */
}

static void fill_stat(void *p)
{
	syscall(SYS_newfstatat, AT_FDCWD, "/usr", p, 0);
}

static void fill_statx(void *p)
{
	syscall(SYS_statx, AT_FDCWD, "/usr", 0, 0xfff, p);
}

static void fill_statfs(void *p)
{
	syscall(SYS_statfs, "/proc", p);
}

static void fill_uname(void *p)
{
	syscall(SYS_uname, p);
}

static void fill_rlimit(void *p)
{
	syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, p);
}

static void fill_name(void *p)
{
	socklen_t size = 128;
	int s = socket(AF_INET6, SOCK_STREAM, 0);
	bind(s, (struct sockaddr *)&(struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(7321) }, sizeof(struct sockaddr_in6));
	getsockname(s, p, &size);
	close(s);
}

static void fill_epoll(void *p)
{
	int ends[2], set = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT, .data.u64 = 7 };
	pipe(ends);
	epoll_ctl(set, EPOLL_CTL_ADD, ends[1], &event);
	syscall(SYS_epoll_wait, set, p, 4, 0);
	close(set);
	close(ends[0]);
	close(ends[1]);
}

static void fill_dirents(void *p)
{
	int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY);
	syscall(SYS_getdents64, fd, p, 4096);
	close(fd);
}

static void fill_termios(void *p)
{
	int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	syscall(SYS_ioctl, fd, 0x5401, p);
	close(fd);
}

TEST(structures_hold_nothing_undefined)
{
	check_defined("stat", fill_stat, sizeof(struct stat));
	check_defined("statx", fill_statx, 256);
	check_defined("statfs", fill_statfs, sizeof(struct statfs));
	check_defined("uname", fill_uname, sizeof(struct utsname));
	check_defined("rlimit", fill_rlimit, sizeof(struct rlimit));
	check_defined("getsockname", fill_name, sizeof(struct sockaddr_in6));
	check_defined("epoll_wait", fill_epoll, 12);
	check_defined("getdents64", fill_dirents, 4096);
	check_defined("termios", fill_termios, 36);
}

TEST(files_that_shrink_under_a_mapping)
{
	/* The calls that read the mapping end with EFAULT, the process itself with SIGBUS; the kernel process lives. */
	int fd = open("shrink", O_RDWR | O_CREAT, 0600), ends[2];
	CHECK_EQ(ftruncate(fd, 65536), 0);
	char *map = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(map != MAP_FAILED);
	memset(map, 'a', 65536);
	CHECK_EQ(ftruncate(fd, 4096), 0);
	CHECK_EQ(pipe2(ends, O_NONBLOCK), 0);
	CHECK_EQ(write(ends[1], map + 8192, 100) < 0 && errno == EFAULT, 1);
	CHECK_EQ(write(ends[1], "x", 1), 1);
	CHECK_EQ(read(ends[0], map + 8192, 1) < 0 && errno == EFAULT, 1);
	memcpy(map, "/etc/passwd", 12);
	CHECK(open(map + 8192, O_RDONLY) < 0);
	CHECK_EQ(errno, EFAULT);
	CHECK(open(map, O_RDONLY) >= 0);
	pid_t pid = fork();
	if (pid == 0) {
		map[8192] = 1;
		_exit(0);
	}
	int status;
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(WTERMSIG(status), SIGBUS);
	check_alive();
}

static void *shrink_and_grow(void *fd)
{
	for (int i = 0; i < 3000; i++) {
		ftruncate((int)(long)fd, 4096);
		ftruncate((int)(long)fd, 65536);
	}
	return NULL;
}

TEST(files_that_shrink_during_calls)
{
	pthread_t thread;
	int fd = open("race", O_RDWR | O_CREAT, 0600), ends[2];
	CHECK_EQ(ftruncate(fd, 65536), 0);
	char *map = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(map != MAP_FAILED);
	CHECK_EQ(pipe2(ends, O_NONBLOCK), 0);
	CHECK_EQ(pthread_create(&thread, NULL, shrink_and_grow, (void *)(long)fd), 0);
	for (int i = 0; i < 3000; i++) {
		ssize_t n = write(ends[1], map, 65536);
		CHECK(n >= 0 || errno == EFAULT || errno == EAGAIN);
		n = read(ends[0], map, 65536);
		CHECK(n >= 0 || errno == EFAULT || errno == EAGAIN);
	}
	pthread_join(thread, NULL);
	check_alive();
}

TEST(counts_and_lengths_out_of_range)
{
	char byte = 0, option_value[64] = "";
	struct iovec iov[2] = { { &byte, 1 }, { &byte, (size_t)-1 } };
	int ends[2], s = socket(AF_UNIX, SOCK_STREAM, 0), fd = open("lengths", O_RDWR | O_CREAT, 0600);
	CHECK_EQ(pipe(ends), 0);
	CHECK_ERRNO(syscall(SYS_writev, ends[1], iov, -1), EINVAL);
	CHECK_ERRNO(syscall(SYS_writev, ends[1], iov, 1025), EINVAL);
	CHECK_ERRNO(writev(ends[1], iov, 2), EINVAL);
	CHECK_ERRNO(readv(fd, iov, 2), EINVAL);
	CHECK_ERRNO(pread(fd, &byte, 1, -1), EINVAL);
	CHECK_ERRNO(pwrite(fd, &byte, 1, -1), EINVAL);
	CHECK(pwrite(fd, &byte, 1, 0x7fffffffffffffff) < 0);
	CHECK(ftruncate(fd, 0x7fffffffffffffff) < 0);
	CHECK_ERRNO(ftruncate(fd, -1), EINVAL);
	CHECK_ERRNO(lseek(fd, -1, SEEK_SET), EINVAL);
	CHECK(syscall(SYS_fallocate, fd, 0, 0, 0x7fffffffffffffff) < 0);
	CHECK(read(fd, (void *)0x1000, (size_t)1 << 62) <= 0);
	for (unsigned int size = 0; size < 40; size++) {
		socklen_t length = size;
		char option[64];
		getsockopt(s, SOL_SOCKET, SO_RCVBUF, option, &length);
	}
	setsockopt(s, SOL_SOCKET, SO_RCVBUF, option_value, 0x7fffffff);
	CHECK(setsockopt(s, SOL_SOCKET, SO_RCVBUF, option_value, (socklen_t)-1) < 0);
	socklen_t negative = (socklen_t)-1;
	CHECK(getsockopt(s, SOL_SOCKET, SO_RCVBUF, &byte, &negative) < 0);
	CHECK_ERRNO(syscall(SYS_getdents64, open("/", O_RDONLY), &byte, 1), EINVAL);
	CHECK(syscall(SYS_epoll_wait, epoll_create1(0), &byte, -1, 0) < 0);
	CHECK(syscall(SYS_epoll_wait, epoll_create1(0), &byte, 0x7fffffff, 0) < 0);
	CHECK_ERRNO(syscall(SYS_poll, &byte, (unsigned int)-1, 0), EINVAL);
	CHECK(syscall(SYS_select, -1, NULL, NULL, NULL, NULL) < 0);
	CHECK(syscall(SYS_setgroups, 0x7fffffff, &byte) < 0);
	check_alive();
}

CHECK_MAIN()
