/* read, write and their relatives; positions, sizes, holes. */
/* cflags: -Wno-stringop-overflow -Wno-stringop-overread */
#include "check.h"
#include "fs_dir.h"

#include <linux/falloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>

TEST(positions)
{
	fs_enter();
	char text[16] = "";
	int fd = open("f", O_CREAT | O_RDWR, 0644);
	CHECK_EQ(write(fd, "0123456789", 10), 10);
	CHECK_EQ(lseek(fd, 2, SEEK_SET), 2);
	CHECK_EQ(read(fd, text, 3), 3);
	CHECK_STR(text, "234");
	CHECK_EQ(lseek(fd, 1, SEEK_CUR), 6);
	CHECK_EQ(lseek(fd, -2, SEEK_END), 8);
	CHECK_EQ(read(fd, text, 16), 2);
	CHECK_EQ(read(fd, text, 16), 0);
	CHECK_ERRNO(lseek(fd, -1, SEEK_SET), EINVAL);
	CHECK_ERRNO(lseek(fd, -11, SEEK_END), EINVAL);
	CHECK_ERRNO(lseek(fd, 0, 9), EINVAL);
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), 10);
	CHECK_EQ(pread(fd, text, 2, 4), 2);
	CHECK_EQ(pwrite(fd, "xy", 2, 4), 2);
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), 10);
	CHECK_STR(fs_get("f"), "0123xy6789");
	CHECK_ERRNO(pread(fd, text, 1, -1), EINVAL);
	int p[2];
	CHECK_EQ(pipe(p), 0);
	CHECK_ERRNO(lseek(p[0], 0, SEEK_CUR), ESPIPE);
	CHECK_ERRNO(pread(p[0], text, 1, 0), ESPIPE);
	fs_leave();
}

TEST(shared_position)
{
	fs_enter();
	fs_put("f", "abcdef");
	char c = 0;
	int fd = open("f", O_RDONLY), copy = dup(fd), other = open("f", O_RDONLY);
	CHECK_EQ(read(fd, &c, 1), 1);
	CHECK_EQ(read(copy, &c, 1), 1);
	CHECK_EQ(c, 'b');
	CHECK_EQ(read(other, &c, 1), 1);
	CHECK_EQ(c, 'a');
	pid_t pid = fork();
	if (pid == 0)
		_exit(read(fd, &c, 1) == 1 && c == 'c' ? 0 : 1);
	int status;
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(read(fd, &c, 1), 1);
	CHECK_EQ(c, 'd');
	fs_leave();
}

TEST(vectors)
{
	fs_enter();
	char a[4] = "", b[8] = "";
	int fd = open("f", O_CREAT | O_RDWR, 0644);
	struct iovec out[3] = { { "one", 3 }, { "", 0 }, { "two", 3 } };
	CHECK_EQ(writev(fd, out, 3), 6);
	struct iovec in[2] = { { a, 2 }, { b, 8 } };
	CHECK_EQ(preadv(fd, in, 2, 0), 6);
	CHECK_EQ(memcmp(a, "on", 2), 0);
	CHECK_EQ(memcmp(b, "etwo", 4), 0);
	CHECK_EQ(pwritev(fd, out, 1, 3), 3);
	CHECK_STR(fs_get("f"), "oneone");
	CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
	CHECK_EQ(readv(fd, in, 1), 2);
	CHECK_ERRNO(readv(fd, in, -1), EINVAL);
	CHECK_ERRNO(readv(fd, in, 1025), EINVAL);
	CHECK_EQ(readv(fd, in, 0), 0);
	in[1].iov_len = (size_t)-1;
	CHECK_ERRNO(readv(fd, in, 2), EINVAL);
	CHECK_ERRNO(readv(fd, (struct iovec *)8, 1), EFAULT);
	CHECK_EQ(preadv2(fd, in, 1, 1, 0), 2);
	CHECK_EQ(memcmp(a, "ne", 2), 0);
	CHECK_EQ(preadv2(fd, in, 1, -1, 0), 2);
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), 4);
	CHECK_EQ(pwritev2(fd, out, 1, 0, RWF_APPEND), 3);
	CHECK_STR(fs_get("f"), "oneoneone");
	CHECK_ERRNO(preadv2(fd, in, 1, 0, 1 << 20), EOPNOTSUPP);
	fs_leave();
}

TEST(bad_memory)
{
	fs_enter();
	fs_put("f", "text");
	int fd = open("f", O_RDWR);
	CHECK_ERRNO(read(fd, (void *)8, 4), EFAULT);
	CHECK_ERRNO(write(fd, (void *)8, 4), EFAULT);
	CHECK_EQ(fs_stat("f").st_size, 4);
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), 0);
	CHECK_EQ(read(fd, (void *)8, 0), 0);
	CHECK_ERRNO(read(99, (void *)8, 4), EBADF);
	int wr = open("f", O_WRONLY), rd = open("f", O_RDONLY);
	CHECK_ERRNO(read(wr, (void *)8, 4), EBADF);
	CHECK_ERRNO(write(rd, (void *)8, 4), EBADF);
	fs_leave();
}

TEST(large_transfer)
{
	fs_enter();
	size_t size = 5u << 20;
	char *a = malloc(size), *b = malloc(size);
	for (size_t i = 0; i < size; i++)
		a[i] = (char)(i * 7 + i / 4096);
	int fd = open("f", O_CREAT | O_RDWR, 0644);
	CHECK_EQ(write(fd, a, size), (long)size);
	CHECK_EQ(fs_stat("f").st_size, (long)size);
	CHECK_EQ(pread(fd, b, size, 0), (long)size);
	CHECK_EQ(memcmp(a, b, size), 0);
	CHECK_EQ(pread(fd, b, size, 4097), (long)size - 4097);
	CHECK_EQ(memcmp(a + 4097, b, size - 4097), 0);
	fs_leave();
}

TEST(sizes_and_holes)
{
	fs_enter();
	char c = 'x';
	int fd = open("f", O_CREAT | O_RDWR, 0644);
	CHECK_EQ(pwrite(fd, "end", 3, 1 << 20), 3);
	CHECK_EQ(fs_stat("f").st_size, (1 << 20) + 3);
	CHECK_EQ(pread(fd, &c, 1, 5000), 1);
	CHECK_EQ(c, 0);
	off_t data = lseek(fd, 0, SEEK_DATA), hole = lseek(fd, 0, SEEK_HOLE);
	CHECK(data >= 0 && data <= 1 << 20);
	CHECK(hole == 0 || hole == (1 << 20) + 3);
	CHECK_ERRNO(lseek(fd, 2 << 20, SEEK_DATA), ENXIO);
	CHECK_EQ(ftruncate(fd, 10), 0);
	CHECK_EQ(ftruncate(fd, 5000), 0);
	CHECK_EQ(fs_stat("f").st_size, 5000);
	CHECK_EQ(truncate("f", 3), 0);
	CHECK_EQ(fs_stat("f").st_size, 3);
	CHECK_ERRNO(truncate("f", -1), EINVAL);
	CHECK_ERRNO(truncate(".", 0), EISDIR);
	CHECK_ERRNO(truncate("no", 0), ENOENT);
	int rd = open("f", O_RDONLY);
	CHECK_ERRNO(ftruncate(rd, 0), EINVAL);
	CHECK_ERRNO(ftruncate(99, 0), EBADF);
	fs_leave();
}

TEST(allocation)
{
	fs_enter();
	char c = 0;
	int fd = open("f", O_CREAT | O_RDWR, 0644);
	if (fallocate(fd, 0, 0, 8192) < 0 && errno == EOPNOTSUPP)
		SKIP("no fallocate here");
	CHECK_EQ(fs_stat("f").st_size, 8192);
	CHECK_EQ(fallocate(fd, FALLOC_FL_KEEP_SIZE, 8192, 8192), 0);
	CHECK_EQ(fs_stat("f").st_size, 8192);
	CHECK_EQ(pwrite(fd, "x", 1, 4096), 1);
	CHECK_EQ(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 4096), 0);
	CHECK_EQ(pread(fd, &c, 1, 4096), 1);
	CHECK_EQ(c, 0);
	CHECK_ERRNO(fallocate(fd, FALLOC_FL_PUNCH_HOLE, 0, 4096), EOPNOTSUPP);
	CHECK_ERRNO(fallocate(fd, 0, 0, 0), EINVAL);
	CHECK_ERRNO(fallocate(fd, 0, -1, 10), EINVAL);
	CHECK_ERRNO(fallocate(fd, 0x4000, 0, 10), EOPNOTSUPP);
	int rd = open("f", O_RDONLY), p[2];
	CHECK_ERRNO(fallocate(rd, 0, 0, 10), EBADF);
	CHECK_EQ(pipe(p), 0);
	CHECK_ERRNO(fallocate(p[1], 0, 0, 10), ESPIPE);
	CHECK_EQ(posix_fallocate(fd, 0, 20000), 0);
	CHECK_EQ(fs_stat("f").st_size, 20000);
	CHECK_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED), 0);
	CHECK_EQ(posix_fadvise(fd, 0, 0, 99), EINVAL);
	CHECK_EQ(posix_fadvise(p[0], 0, 0, 0), ESPIPE);
	fs_leave();
}

static volatile sig_atomic_t signals;

static void count_signal(int sig)
{
	(void)sig;
	signals++;
}

TEST(file_size_limit)
{
	fs_enter();
	struct rlimit lim = { 100, RLIM_INFINITY };
	char block[60] = "";
	signal(SIGXFSZ, count_signal);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &lim), 0);
	int fd = open("f", O_CREAT | O_RDWR, 0644);
	CHECK_EQ(write(fd, block, 60), 60);
	CHECK_EQ(write(fd, block, 60), 40);
	CHECK_EQ(signals, 0);
	CHECK_ERRNO(write(fd, block, 60), EFBIG);
	CHECK_EQ(signals, 1);
	CHECK_ERRNO(ftruncate(fd, 101), EFBIG);
	CHECK_EQ(signals, 2);
	CHECK_EQ(ftruncate(fd, 100), 0);
	fs_leave();
}

TEST(broken_pipe)
{
	int p[2];
	signal(SIGPIPE, count_signal);
	CHECK_EQ(pipe(p), 0);
	close(p[0]);
	CHECK_ERRNO(write(p[1], "x", 1), EPIPE);
	CHECK_EQ(signals, 1);
	signal(SIGPIPE, SIG_IGN);
	CHECK_ERRNO(write(p[1], "x", 1), EPIPE);
	pid_t pid = fork();
	if (pid == 0) {
		signal(SIGPIPE, SIG_DFL);
		ssize_t n = write(p[1], "x", 1);
		_exit(n == 1);
	}
	int status;
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
}

TEST(large_blocking_write)
{
	int p[2], status;
	size_t size = 1 << 20, got = 0;
	char *a = malloc(size), *b = malloc(size);
	for (size_t i = 0; i < size; i++)
		a[i] = (char)(i ^ (i >> 9));
	CHECK_EQ(pipe(p), 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(p[0]);
		_exit(write(p[1], a, size) == (ssize_t)size ? 0 : 1);
	}
	close(p[1]);
	ssize_t n;
	while ((n = read(p[0], b + got, 3000)) > 0)
		got += (size_t)n;
	CHECK_EQ(got, size);
	CHECK_EQ(memcmp(a, b, size), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

TEST(sync_calls)
{
	fs_enter();
	int p[2], fd = open("f", O_CREAT | O_RDWR, 0644);
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(fsync(fd), 0);
	CHECK_EQ(fdatasync(fd), 0);
	CHECK_EQ(syncfs(fd), 0);
	CHECK_ERRNO(fsync(p[0]), EINVAL);
	CHECK_ERRNO(fsync(99), EBADF);
	CHECK_EQ(sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE), 0);
	CHECK_ERRNO(sync_file_range(fd, 0, 0, 64), EINVAL);
	CHECK_ERRNO(sync_file_range(p[0], 0, 0, SYNC_FILE_RANGE_WRITE), ESPIPE);
	CHECK_EQ(readahead(fd, 0, 4096), 0);
	CHECK_ERRNO(readahead(p[0], 0, 4096), EINVAL);
	fs_leave();
}

/* Larger than what the application kernel moves at once: count, data and position are those of one call. */
TEST(transfers_of_many_megabytes)
{
	enum { SIZE = 40 << 20 };
	fs_enter();
	int fd = open("big", O_RDWR | O_CREAT | O_TRUNC, 0600);
	uint32_t *data = malloc(SIZE), *back = malloc(SIZE);
	for (uint32_t i = 0; i < SIZE / 4; i++)
		data[i] = i;
	CHECK_EQ(write(fd, data, SIZE), SIZE);
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), SIZE);
	CHECK_EQ(pread(fd, back, SIZE, 0), SIZE);
	CHECK_EQ(memcmp(data, back, SIZE), 0);
	CHECK_EQ(lseek(fd, 4, SEEK_SET), 4);
	struct iovec iov[3] = { { back, 100 }, { (char *)back + 100, 30 << 20 }, { (char *)back + 100 + (30 << 20), SIZE } };
	CHECK_EQ(readv(fd, iov, 2), 100 + (30 << 20));
	CHECK_EQ(memcmp(data + 1, back, 100 + (30 << 20)), 0);
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), 104 + (30 << 20));
	CHECK_EQ(pwrite(fd, data, SIZE, SIZE - 8), SIZE);
	CHECK_EQ(lseek(fd, 0, SEEK_END), 2 * SIZE - 8);
	CHECK_EQ(pread(fd, back, SIZE, SIZE - 8), SIZE);
	CHECK_EQ(memcmp(data, back, SIZE), 0);
	CHECK_EQ(pread(fd, back, SIZE, SIZE), SIZE - 8);
	close(fd);
	free(data);
	free(back);
	fs_leave();
}

static volatile sig_atomic_t alarms;

static void on_alarm(int sig)
{
	(void)sig;
	alarms++;
}

/* A handler may run in the middle of it, but no signal cuts a file's transfer short. */
TEST(signals_do_not_cut_transfers)
{
	enum { SIZE = 96 << 20 };
	struct sigaction sa = { .sa_handler = on_alarm };
	struct itimerval often = { { 0, 400 }, { 0, 400 } }, off = { 0 };
	fs_enter();
	int fd = open("big", O_RDWR | O_CREAT | O_TRUNC, 0600);
	uint32_t *data = malloc(SIZE), *back = malloc(SIZE);
	for (uint32_t i = 0; i < SIZE / 4; i++)
		data[i] = i * 2654435761u;
	for (int restart = 0; restart < 2; restart++) {
		struct iovec iov[2] = { { back, 1000 }, { (char *)back + 1000, SIZE - 1000 } };
		memset(back, 0, SIZE);
		sa.sa_flags = restart ? SA_RESTART : 0;
		CHECK_EQ(sigaction(SIGALRM, &sa, NULL), 0);
		CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
		CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
		CHECK_EQ(write(fd, data, SIZE), SIZE);
		CHECK_EQ(lseek(fd, 0, SEEK_CUR), SIZE);
		CHECK_EQ(pread(fd, back, SIZE, 0), SIZE);
		CHECK_EQ(setitimer(ITIMER_REAL, &off, NULL), 0);
		CHECK_EQ(memcmp(data, back, SIZE), 0);
		memset(back, 0, SIZE);
		CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
		CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
		CHECK_EQ(readv(fd, iov, 2), SIZE);
		CHECK_EQ(pwrite(fd, data, SIZE, 4), SIZE);
		CHECK_EQ(setitimer(ITIMER_REAL, &off, NULL), 0);
		CHECK_EQ(lseek(fd, 0, SEEK_CUR), SIZE);
		CHECK_EQ(memcmp(data, back, SIZE), 0);
		CHECK_EQ(lseek(fd, 0, SEEK_END), SIZE + 4);
		CHECK_EQ(ftruncate(fd, SIZE), 0);
	}
	CHECK(alarms > 0);
	close(fd);
	free(data);
	free(back);
	fs_leave();
}

CHECK_MAIN()
