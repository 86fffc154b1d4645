/* Mappings of files and read/write see the same pages; memfd and its seals. */
#include <linux/memfd.h>
#include <sys/mman.h>

#include "tree_dir.h"

#define PAGE 4096

TEST(shared_mapping_and_read_write_agree)
{
	enter_fresh();
	static char data[3 * PAGE];
	memset(data, 'd', sizeof(data));
	int fd = open("f", O_RDWR | O_CREAT, 0600);
	CHECK_EQ(write(fd, data, sizeof(data)), sizeof(data));
	char *m = mmap(NULL, sizeof(data), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(m != MAP_FAILED);
	m[PAGE] = 'M';
	char c;
	CHECK_EQ(pread(fd, &c, 1, PAGE), 1);
	CHECK_EQ(c, 'M');
	CHECK_EQ(pwrite(fd, "W", 1, 2 * PAGE), 1);
	CHECK_EQ(m[2 * PAGE], 'W');
	CHECK_EQ(msync(m, PAGE, MS_SYNC), 0);
	close(fd);
	m[0] = 'Z';
	CHECK_EQ(get_file("f", data, 1), 1);
	CHECK_EQ(data[0], 'Z');
}

TEST(small_file_mapped_shared)
{
	enter_fresh();
	put_file("f", "small", 5);
	int fd = open("f", O_RDWR);
	char *m = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(m != MAP_FAILED);
	CHECK(memcmp(m, "small\0", 6) == 0);
	m[0] = 'S';
	CHECK_EQ(pwrite(fd, "L", 1, 3), 1);
	char back[8] = "";
	CHECK_EQ(get_file("f", back, 7), 5);
	CHECK_STR(back, "SmaLl");
	CHECK_EQ(m[3], 'L');
	CHECK_EQ(ftruncate(fd, 20), 0);
	CHECK_EQ(m[10], 0);
	m[10] = 'x';
	CHECK_EQ(pread(fd, back, 1, 10), 1);
	CHECK_EQ(back[0], 'x');
}

TEST(mapping_after_dup2_is_of_the_new_file)
{
	enter_fresh();
	put_file("a", "AAAA", 4);
	put_file("b", "BBBB", 4);
	int a = open("a", O_RDWR), b = open("b", O_RDWR);
	char *m = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, a, 0);
	CHECK(m != MAP_FAILED && m[0] == 'A');
	CHECK_EQ(dup2(b, a), a);
	char *n = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, a, 0);
	CHECK(n != MAP_FAILED && n[0] == 'B' && m[0] == 'A');
	char *again = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, a, 0);
	CHECK(again != MAP_FAILED && again[0] == 'B');
	/* In a child that inherits the number, too. */
	pid_t pid = fork();
	if (pid == 0) {
		int c = open("a", O_RDONLY);
		CHECK_EQ(dup2(c, a), a);
		char *o = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, a, 0);
		CHECK(o != MAP_FAILED && o[0] == 'A');
		_exit(0);
	}
	int status;
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

TEST(private_mapping_keeps_its_changes)
{
	enter_fresh();
	put_file("f", "private", 7);
	int fd = open("f", O_RDONLY);
	char *m = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	CHECK(m != MAP_FAILED);
	m[0] = 'X';
	char back[8] = "";
	CHECK_EQ(pread(fd, back, 7, 0), 7);
	CHECK_STR(back, "private");
	CHECK_ERRNO((long)mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), EACCES);
	char *ro = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(ro != MAP_FAILED);
	CHECK_ERRNO(mprotect(ro, PAGE, PROT_READ | PROT_WRITE), EACCES);
	int wo = open("f", O_WRONLY);
	CHECK_ERRNO((long)mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, wo, 0), EACCES);
}

TEST(mapping_shared_between_processes)
{
	enter_fresh();
	int fd = open("f", O_RDWR | O_CREAT, 0600);
	CHECK_EQ(ftruncate(fd, PAGE), 0);
	volatile char *m = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(m != MAP_FAILED);
	pid_t pid = fork();
	if (pid == 0) {
		int own = open("f", O_RDWR);
		char *n = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
		n[1] = 'c';
		_exit(m[0] == 0 ? 0 : 1);
	}
	int status;
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(m[1], 'c');
}

TEST(mapping_survives_unlink_and_close)
{
	enter_fresh();
	put_file("f", "stay", 4);
	int fd = open("f", O_RDWR);
	char *m = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(m != MAP_FAILED);
	CHECK_EQ(unlink("f"), 0);
	close(fd);
	put_file("f", "else", 4);
	CHECK(memcmp(m, "stay", 4) == 0);
	m[0] = 'S';
	CHECK(memcmp(m, "Stay", 4) == 0);
}

TEST(memfd_basics)
{
	char path[64], target[64] = "";
	int fd = memfd_create("thing", MFD_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	CHECK_EQ(ftruncate(fd, 10000), 0);
	CHECK_EQ(write(fd, "hello", 5), 5);
	char *m = mmap(NULL, 10000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(m != MAP_FAILED);
	CHECK(memcmp(m, "hello", 5) == 0);
	m[9999] = '!';
	char c;
	CHECK_EQ(pread(fd, &c, 1, 9999), 1);
	CHECK_EQ(c, '!');
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	CHECK(readlink(path, target, sizeof(target) - 1) > 0);
	CHECK_STR(target, "/memfd:thing (deleted)");
	int again = open(path, O_RDONLY);
	CHECK(again >= 0);
	CHECK_EQ(pread(again, &c, 1, 1), 1);
	CHECK_EQ(c, 'e');
	CHECK_EQ(fcntl(fd, F_GET_SEALS), F_SEAL_SEAL);
	CHECK_ERRNO(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), EPERM);
	CHECK_ERRNO(memfd_create("x", 0x8000), EINVAL);
	char name[300];
	memset(name, 'n', sizeof(name));
	name[250] = '\0';
	CHECK_ERRNO(memfd_create(name, 0), EINVAL);
	name[249] = '\0';
	CHECK(memfd_create(name, 0) >= 0);
}

TEST(memfd_seals)
{
	int fd = memfd_create("sealed", MFD_ALLOW_SEALING);
	CHECK(fd >= 0);
	CHECK_EQ(fcntl(fd, F_GET_SEALS), 0);
	CHECK_EQ(ftruncate(fd, PAGE), 0);
	CHECK_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	CHECK_ERRNO(ftruncate(fd, 10), EPERM);
	CHECK_ERRNO(ftruncate(fd, 2 * PAGE), EPERM);
	CHECK_ERRNO(pwrite(fd, "x", 1, PAGE), EPERM);
	CHECK_EQ(pwrite(fd, "x", 1, 0), 1);
	char *m = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(m != MAP_FAILED);
	CHECK_ERRNO(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), EBUSY);
	CHECK_EQ(munmap(m, PAGE), 0);
	CHECK_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
	CHECK_ERRNO(pwrite(fd, "y", 1, 0), EPERM);
	CHECK_ERRNO((long)mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), EPERM);
	m = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	CHECK(m != MAP_FAILED);
	CHECK_EQ(m[0], 'x');
	CHECK_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL), 0);
	CHECK_ERRNO(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), EPERM);
	CHECK_EQ(fcntl(fd, F_GET_SEALS), F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	int p[2];
	CHECK_EQ(pipe(p), 0);
	CHECK_ERRNO(fcntl(p[0], F_GET_SEALS), EINVAL);
}

CHECK_MAIN()
