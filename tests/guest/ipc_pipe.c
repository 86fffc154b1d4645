/* pipe(2), pipe(7), fifo(7): data, ends, atomicity, packets, sizes, blocking opens. */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>

/* An address nothing is mapped at; volatile, so that the compiler does not object. */
static void *volatile bad_address = (void *)8;
#define BAD bad_address

static int revents(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	CHECK(poll(&p, 1, 0) >= 0);
	return p.revents;
}


TEST(data_goes_through)
{
	char buf[16] = "";
	int p[2];

	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(write(p[1], "hello", 5), 5);
	CHECK_EQ(read(p[0], buf, 3), 3);
	CHECK_EQ(memcmp(buf, "hel", 3), 0);
	CHECK_EQ(read(p[0], buf, sizeof(buf)), 2);
	CHECK_ERRNO(read(p[1], buf, 1), EBADF);
	CHECK_ERRNO(write(p[0], buf, 1), EBADF);
	CHECK_ERRNO(lseek(p[0], 0, SEEK_CUR), ESPIPE);
	CHECK_ERRNO(pread(p[0], buf, 1, 0), ESPIPE);
}

TEST(stat_says_fifo)
{
	struct stat a, b;
	char link[64], path[64];
	int p[2];

	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(fstat(p[0], &a), 0);
	CHECK_EQ(fstat(p[1], &b), 0);
	CHECK(S_ISFIFO(a.st_mode));
	CHECK_EQ(a.st_mode & 0777, 0600);
	CHECK_EQ(a.st_ino, b.st_ino);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", p[0]);
	ssize_t n = readlink(path, link, sizeof(link) - 1);
	CHECK(n > 0);
	link[n] = '\0';
	snprintf(path, sizeof(path), "pipe:[%lu]", (unsigned long)a.st_ino);
	CHECK_STR(link, path);
}

TEST(flags)
{
	int p[2];

	CHECK_ERRNO(pipe2(p, 0x1), EINVAL);
	CHECK_ERRNO(pipe2(BAD, 0), EFAULT);
	CHECK_EQ(pipe2(p, O_CLOEXEC | O_NONBLOCK), 0);
	CHECK_EQ(fcntl(p[0], F_GETFD), FD_CLOEXEC);
	CHECK(fcntl(p[0], F_GETFL) & O_NONBLOCK);
	CHECK_EQ(fcntl(p[0], F_GETFL) & O_ACCMODE, O_RDONLY);
	CHECK_EQ(fcntl(p[1], F_GETFL) & O_ACCMODE, O_WRONLY);
	CHECK_ERRNO(read(p[0], p, 1), EAGAIN);
}

TEST(failed_pipe_leaves_no_descriptor)
{
	int a = dup(0), b;

	close(a);
	CHECK_ERRNO(pipe(BAD), EFAULT);
	b = dup(0);
	CHECK_EQ(a, b);
}

TEST(end_of_file_and_hangup)
{
	char c;
	int p[2];

	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(revents(p[0], POLLIN), 0);
	CHECK_EQ(revents(p[1], POLLOUT), POLLOUT);
	CHECK_EQ(write(p[1], "x", 1), 1);
	CHECK_EQ(revents(p[0], POLLIN), POLLIN);
	close(p[1]);
	CHECK_EQ(revents(p[0], POLLIN), POLLIN | POLLHUP);
	CHECK_EQ(read(p[0], &c, 1), 1);
	CHECK_EQ(revents(p[0], POLLIN), POLLHUP);
	CHECK_EQ(read(p[0], &c, 1), 0);
	CHECK_EQ(read(p[0], &c, 1), 0);
}

TEST(no_reader)
{
	int p[2];

	signal(SIGPIPE, SIG_IGN);
	CHECK_EQ(pipe(p), 0);
	close(p[0]);
	CHECK_EQ(revents(p[1], POLLOUT), POLLOUT | POLLERR);
	CHECK_ERRNO(write(p[1], "x", 1), EPIPE);
}

static volatile sig_atomic_t pipe_signals;
static void on_sigpipe(int sig)
{
	(void)sig;
	pipe_signals++;
}

TEST(sigpipe_is_sent)
{
	int p[2], status;

	CHECK_EQ(pipe(p), 0);
	close(p[0]);
	signal(SIGPIPE, on_sigpipe);
	CHECK_ERRNO(write(p[1], "x", 1), EPIPE);
	CHECK_EQ(pipe_signals, 1);
	pid_t pid = fork();
	if (!pid) {
		signal(SIGPIPE, SIG_DFL);
		(void)!write(p[1], "x", 1);
		_exit(3);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
}

TEST(default_size_is_64_kib)
{
	static char block[70000];
	int p[2], n;

	CHECK_EQ(pipe2(p, O_NONBLOCK), 0);
	CHECK_EQ(fcntl(p[0], F_GETPIPE_SZ), 65536);
	CHECK_EQ(write(p[1], block, sizeof(block)), 65536);
	CHECK_ERRNO(write(p[1], block, 1), EAGAIN);
	CHECK_EQ(revents(p[1], POLLOUT), 0);
	CHECK_EQ(ioctl(p[0], FIONREAD, &n), 0);
	CHECK_EQ(n, 65536);
	/* One byte of room does not make a whole page. */
	CHECK_EQ(read(p[0], block, 1), 1);
	CHECK_EQ(revents(p[1], POLLOUT), 0);
	CHECK_EQ(read(p[0], block, 4095), 4095);
	CHECK_EQ(revents(p[1], POLLOUT), POLLOUT);
	CHECK_EQ(write(p[1], block, 5000), 4096);
}

TEST(bytes_fill_pages)
{
	int p[2], count = 0, n;

	CHECK_EQ(pipe2(p, O_NONBLOCK), 0);
	while (write(p[1], "0123456789", 1 + count % 10) > 0)
		count++;
	CHECK_EQ(errno, EAGAIN);
	CHECK_EQ(ioctl(p[1], FIONREAD, &n), 0);
	CHECK(n > 65000);
}

TEST(small_writes_are_atomic)
{
	static char block[65536];
	int p[2];

	CHECK_EQ(pipe2(p, O_NONBLOCK), 0);
	CHECK_EQ(write(p[1], block, 65536 - 4096 + 10), 65536 - 4096 + 10);
	/* 4086 bytes are left in the last page: what does not fit whole does not go in part. */
	CHECK_ERRNO(write(p[1], block, 4096), EAGAIN);
	CHECK_EQ(write(p[1], block, 4086), 4086);
	CHECK_ERRNO(write(p[1], block, 1), EAGAIN);
}

TEST(change_size)
{
	static char block[1 << 17];
	int p[2];

	CHECK_EQ(pipe2(p, O_NONBLOCK), 0);
	CHECK_EQ(fcntl(p[0], F_SETPIPE_SZ, 5000), 8192);
	CHECK_EQ(write(p[1], block, 100000), 8192);
	CHECK_ERRNO(fcntl(p[1], F_SETPIPE_SZ, 4096), EBUSY);
	CHECK_EQ(fcntl(p[1], F_SETPIPE_SZ, 1 << 17), 1 << 17);
	CHECK_EQ(write(p[1], block, 1 << 17), (1 << 17) - 8192);
	CHECK_EQ(read(p[0], block, sizeof(block)), 1 << 17);
	CHECK_EQ(fcntl(p[1], F_SETPIPE_SZ, 0), 4096);
	CHECK_EQ(fcntl(p[1], F_GETPIPE_SZ), 4096);
	CHECK_ERRNO(fcntl(open("/dev/null", O_RDONLY), F_GETPIPE_SZ), EBADF);
}

TEST(data_survives_resize)
{
	char out[20000], in[20000];
	static char big[1 << 20];
	int p[2];

	for (size_t i = 0; i < sizeof(out); i++)
		out[i] = (char)(i * 7 + i / 256);
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(write(p[1], out, 9000), 9000);
	CHECK_EQ(read(p[0], in, 5000), 5000);
	CHECK_EQ(write(p[1], out + 9000, 11000), 11000);
	CHECK_EQ(fcntl(p[1], F_SETPIPE_SZ, 1 << 20), 1 << 20);
	CHECK_EQ(fcntl(p[1], F_SETPIPE_SZ, 32768), 32768);
	CHECK_EQ(read(p[0], in + 5000, 15000), 15000);
	CHECK_EQ(memcmp(in, out, sizeof(in)), 0);
	CHECK_EQ(fcntl(p[1], F_SETPIPE_SZ, 1 << 20), 1 << 20);
	CHECK_EQ(write(p[1], big, sizeof(big)), sizeof(big));
	CHECK_EQ(read(p[0], big, sizeof(big)), sizeof(big));
}

TEST(packets)
{
	static char buf[9000];
	int p[2];

	CHECK_EQ(pipe2(p, O_DIRECT | O_NONBLOCK), 0);
	CHECK_EQ(write(p[1], "abcdef", 6), 6);
	CHECK_EQ(write(p[1], "gh", 2), 2);
	CHECK_EQ(read(p[0], buf, 3), 3); /* the rest of the packet is gone */
	CHECK_EQ(read(p[0], buf, 100), 2);
	CHECK_EQ(memcmp(buf, "gh", 2), 0);
	CHECK_ERRNO(read(p[0], buf, 1), EAGAIN);
	CHECK_EQ(write(p[1], buf, 9000), 9000);
	CHECK_EQ(read(p[0], buf, 9000), 4096);
	CHECK_EQ(read(p[0], buf, 9000), 4096);
	CHECK_EQ(read(p[0], buf, 9000), 808);
	for (int i = 0; i < 16; i++)
		CHECK_EQ(write(p[1], "x", 1), 1);
	CHECK_ERRNO(write(p[1], "x", 1), EAGAIN);
}

TEST(vectors)
{
	char a[3], b[10];
	struct iovec in[2] = { { a, 3 }, { b, 10 } };
	struct iovec out[3] = { { (char *)"ab", 2 }, { (char *)"", 0 }, { (char *)"cdef", 4 } };
	int p[2];

	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(writev(p[1], out, 3), 6);
	CHECK_EQ(readv(p[0], in, 2), 6);
	CHECK_EQ(memcmp(a, "abc", 3), 0);
	CHECK_EQ(memcmp(b, "def", 3), 0);
	CHECK_EQ(write(p[1], "", 0), 0);
	CHECK_EQ(revents(p[0], POLLIN), 0);
}

TEST(bad_buffer_keeps_data)
{
	char c = 0;
	int p[2];

	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(write(p[1], "z", 1), 1);
	CHECK_ERRNO(read(p[0], BAD, 1), EFAULT);
	CHECK_EQ(read(p[0], &c, 1), 1);
	CHECK_EQ(c, 'z');
	CHECK_ERRNO(write(p[1], BAD, 1), EFAULT);
	CHECK_EQ(revents(p[0], POLLIN), 0);
}

TEST(big_write_blocks_until_read)
{
	const size_t size = 1000000;
	unsigned char *out = malloc(size), buf[3000];
	size_t got = 0;
	int p[2], status;

	for (size_t i = 0; i < size; i++)
		out[i] = (unsigned char)(i * 31 + (i >> 10));
	CHECK_EQ(pipe(p), 0);
	pid_t pid = fork();
	if (!pid) {
		close(p[0]);
		_exit(write(p[1], out, size) == (ssize_t)size ? 0 : 1);
	}
	close(p[1]);
	for (;;) {
		ssize_t n = read(p[0], buf, 1 + got % sizeof(buf));
		CHECK(n >= 0);
		if (!n)
			break;
		CHECK_EQ(memcmp(buf, out + got, (size_t)n), 0);
		got += (size_t)n;
	}
	CHECK_EQ(got, size);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

TEST(many_writers_do_not_mix)
{
	enum { WRITERS = 8, LINES = 300 };
	char line[512];
	int p[2], counts[WRITERS] = { 0 }, status;

	CHECK_EQ(pipe(p), 0);
	for (int w = 0; w < WRITERS; w++) {
		if (fork())
			continue;
		memset(line, 'a' + w, sizeof(line));
		for (int i = 0; i < LINES; i++)
			if (write(p[1], line, sizeof(line)) != sizeof(line))
				_exit(1);
		_exit(0);
	}
	close(p[1]);
	for (;;) {
		size_t have = 0;
		while (have < sizeof(line)) {
			ssize_t n = read(p[0], line + have, sizeof(line) - have);
			CHECK(n >= 0);
			if (!n)
				break;
			have += (size_t)n;
		}
		if (!have)
			break;
		CHECK_EQ(have, sizeof(line));
		for (size_t i = 1; i < sizeof(line); i++)
			CHECK_EQ(line[i], line[0]);
		counts[line[0] - 'a']++;
	}
	for (int w = 0; w < WRITERS; w++)
		CHECK_EQ(counts[w], LINES);
	while (wait(&status) > 0)
		CHECK_EQ(status, 0);
}

TEST(ping_pong)
{
	int a[2], b[2];
	unsigned n = 0;

	CHECK_EQ(pipe(a), 0);
	CHECK_EQ(pipe(b), 0);
	pid_t pid = fork();
	if (!pid) {
		close(a[1]);
		while (read(a[0], &n, sizeof(n)) == sizeof(n)) {
			n++;
			if (write(b[1], &n, sizeof(n)) != sizeof(n))
				_exit(1);
		}
		_exit(0);
	}
	for (int i = 0; i < 2000; i++) {
		CHECK_EQ(write(a[1], &n, sizeof(n)), sizeof(n));
		CHECK_EQ(read(b[0], &n, sizeof(n)), sizeof(n));
	}
	CHECK_EQ(n, 2000);
	close(a[1]);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

static void on_alarm(int sig)
{
	(void)sig;
}

static void alarm_in(long us, long every_us, int flags)
{
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = flags };
	struct itimerval it = { .it_value.tv_usec = us, .it_interval.tv_usec = every_us };

	CHECK_EQ(sigaction(SIGALRM, &sa, NULL), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &it, NULL), 0);
}

TEST(read_is_interrupted)
{
	char c;
	int p[2];

	CHECK_EQ(pipe(p), 0);
	alarm_in(20000, 20000, 0);
	CHECK_ERRNO(read(p[0], &c, 1), EINTR);
}

TEST(read_restarts)
{
	char c = 0;
	int p[2];

	CHECK_EQ(pipe(p), 0);
	alarm_in(5000, 5000, SA_RESTART);
	pid_t pid = fork();
	if (!pid) {
		usleep(60000);
		_exit(write(p[1], "r", 1) != 1);
	}
	CHECK_EQ(read(p[0], &c, 1), 1);
	CHECK_EQ(c, 'r');
}

TEST(no_byte_lost_under_signals)
{
	enum { COUNT = 20000 };
	unsigned expect = 0, got;
	int p[2];

	CHECK_EQ(pipe(p), 0);
	pid_t pid = fork();
	if (!pid) {
		for (unsigned i = 0; i < COUNT; i++)
			if (write(p[1], &i, sizeof(i)) != sizeof(i))
				_exit(1);
		_exit(0);
	}
	close(p[1]);
	alarm_in(500, 500, 0);
	while (expect < COUNT) {
		ssize_t n = read(p[0], &got, sizeof(got));
		if (n < 0 && errno == EINTR)
			continue;
		CHECK_EQ(n, sizeof(got));
		CHECK_EQ(got, expect);
		expect++;
	}
	struct itimerval off = { 0 };
	setitimer(ITIMER_REAL, &off, NULL);
	while (waitpid(pid, NULL, 0) < 0)
		CHECK_EQ(errno, EINTR);
}

TEST(interrupted_write_reports_part)
{
	static char block[200000];
	int p[2];

	CHECK_EQ(pipe(p), 0);
	alarm_in(30000, 0, 0);
	CHECK_EQ(write(p[1], block, sizeof(block)), 65536);
}

TEST(close_elsewhere_gives_eof)
{
	char c;
	int p[2];

	CHECK_EQ(pipe(p), 0);
	pid_t pid = fork();
	if (!pid) {
		close(p[0]);
		usleep(20000);
		_exit(0); /* its write end is the last one */
	}
	close(p[1]);
	CHECK_EQ(read(p[0], &c, 1), 0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

TEST(killed_reader_gives_epipe)
{
	static char block[200000];
	int p[2];

	signal(SIGPIPE, SIG_IGN);
	CHECK_EQ(pipe(p), 0);
	pid_t pid = fork();
	if (!pid) {
		close(p[1]);
		pause();
		_exit(0);
	}
	close(p[0]);
	pid_t killer = fork();
	if (!killer) {
		usleep(20000);
		kill(pid, SIGKILL);
		_exit(0);
	}
	ssize_t n = write(p[1], block, sizeof(block));
	CHECK(n == 65536 || (n < 0 && errno == EPIPE));
	CHECK_ERRNO(write(p[1], block, 1), EPIPE);
	while (wait(NULL) > 0)
		;
}

/* ---- FIFOs ---- */

static char fifo[64];
static void make_fifo(void)
{
	snprintf(fifo, sizeof(fifo), "/tmp/check-fifo-%d", getpid());
	unlink(fifo);
	CHECK_EQ(mkfifo(fifo, 0600), 0);
}

TEST(fifo_nonblocking_opens)
{
	char c;

	make_fifo();
	CHECK_ERRNO(open(fifo, O_WRONLY | O_NONBLOCK), ENXIO);
	int r = open(fifo, O_RDONLY | O_NONBLOCK);
	CHECK(r >= 0);
	CHECK_EQ(revents(r, POLLIN), 0); /* no hang-up before the first writer */
	CHECK_EQ(read(r, &c, 1), 0);
	int w = open(fifo, O_WRONLY | O_NONBLOCK);
	CHECK(w >= 0);
	CHECK_ERRNO(read(r, &c, 1), EAGAIN);
	CHECK_EQ(write(w, "f", 1), 1);
	CHECK_EQ(read(r, &c, 1), 1);
	close(w);
	CHECK_EQ(revents(r, POLLIN), POLLHUP);
	w = open(fifo, O_WRONLY | O_NONBLOCK);
	CHECK_EQ(revents(r, POLLIN), 0);
	close(w);
	close(r);
	r = open(fifo, O_RDONLY | O_NONBLOCK);
	CHECK_EQ(revents(r, POLLIN), 0);
	CHECK_EQ(unlink(fifo), 0);
}

TEST(fifo_rdwr_never_blocks)
{
	char c;

	make_fifo();
	int fd = open(fifo, O_RDWR);
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, "q", 1), 1);
	CHECK_EQ(revents(fd, POLLIN | POLLOUT), POLLIN | POLLOUT);
	CHECK_EQ(read(fd, &c, 1), 1);
	CHECK_EQ(unlink(fifo), 0);
}

TEST(fifo_opens_meet)
{
	char buf[8];
	int status;

	make_fifo();
	for (int round = 0; round < 20; round++) {
		pid_t pid = fork();
		if (!pid) {
			if (round % 3 == 1)
				usleep(2000);
			int w = open(fifo, O_WRONLY);
			_exit(w < 0 || write(w, "fifo", 4) != 4);
		}
		if (round % 3 == 2)
			usleep(2000);
		int r = open(fifo, O_RDONLY);
		CHECK(r >= 0);
		CHECK_EQ(read(r, buf, sizeof(buf)), 4);
		CHECK_EQ(read(r, buf, sizeof(buf)), 0);
		close(r);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
	}
	CHECK_EQ(unlink(fifo), 0);
}

TEST(fifo_short_lived_writer_lets_reader_in)
{
	make_fifo();
	pid_t pid = fork();
	if (!pid) {
		int w = open(fifo, O_WRONLY);
		close(w);
		_exit(w < 0);
	}
	int r = open(fifo, O_RDONLY);
	char c;
	CHECK(r >= 0);
	CHECK_EQ(read(r, &c, 1), 0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK_EQ(unlink(fifo), 0);
}

TEST(fifo_open_is_interrupted)
{
	make_fifo();
	alarm_in(20000, 20000, 0);
	CHECK_ERRNO(open(fifo, O_RDONLY), EINTR);
	CHECK_ERRNO(open(fifo, O_WRONLY), EINTR);
	alarm_in(0, 0, 0);
	/* Nothing is left of them. */
	CHECK_ERRNO(open(fifo, O_WRONLY | O_NONBLOCK), ENXIO);
	CHECK_EQ(unlink(fifo), 0);
}

TEST(fifo_data_goes_with_the_last_close)
{
	char c;

	make_fifo();
	int fd = open(fifo, O_RDWR);
	CHECK_EQ(write(fd, "old", 3), 3);
	close(fd);
	fd = open(fifo, O_RDWR | O_NONBLOCK);
	CHECK_ERRNO(read(fd, &c, 1), EAGAIN);
	CHECK_EQ(unlink(fifo), 0);
}

TEST(reopen_through_proc)
{
	char path[64], buf[8];
	int p[2];

	CHECK_EQ(pipe(p), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", p[1]);
	int w = open(path, O_WRONLY);
	CHECK(w >= 0);
	close(p[1]);
	CHECK_EQ(write(w, "again", 5), 5);
	CHECK_EQ(read(p[0], buf, sizeof(buf)), 5);
	close(w);
	CHECK_EQ(read(p[0], buf, sizeof(buf)), 0);
}

CHECK_MAIN()
