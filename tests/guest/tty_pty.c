/* Pseudo-terminals: pairs, line editing, raw reads, hang-up, packet mode, window size. */
/* also as root */
#include <dirent.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <time.h>

#include "tty_pair.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

static bool listed(const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	DIR *d = opendir("/dev/pts");
	struct dirent *e;
	bool found = false;

	CHECK(d);
	while ((e = readdir(d)))
		found |= !strcmp(e->d_name, name);
	closedir(d);
	return found;
}

TEST(names_and_nodes)
{
	struct pair p = open_pair();
	struct stat st, named;
	unsigned n;

	CHECK_EQ(ioctl(p.master, TIOCGPTN, &n), 0);
	CHECK_EQ(fstat(p.slave, &st), 0);
	CHECK(S_ISCHR(st.st_mode));
	CHECK_EQ(major(st.st_rdev), 136);
	CHECK_EQ(minor(st.st_rdev), n);
	CHECK_EQ(st.st_uid, geteuid());
	CHECK_EQ(stat(p.name, &named), 0);
	CHECK_EQ(named.st_ino, st.st_ino);
	CHECK_EQ(fstat(p.master, &st), 0);
	CHECK_EQ(major(st.st_rdev), 5);
	CHECK_EQ(minor(st.st_rdev), 2);
	CHECK(isatty(p.master));
	CHECK(isatty(p.slave));
	CHECK_STR(ttyname(p.slave), p.name);
	CHECK(listed(p.name));
	CHECK_EQ(chmod(p.name, 0600), 0);
	CHECK_EQ(fstat(p.slave, &st), 0);
	CHECK_EQ(st.st_mode & 07777, 0600);
	CHECK_ERRNO(lseek(p.slave, 0, SEEK_CUR), ESPIPE);
	close(p.master);
	CHECK(!listed(p.name));
	CHECK_ERRNO(open(p.name, O_RDWR | O_NOCTTY), ENOENT);
}

TEST(locked_until_unlocked)
{
	int on = 1, off = 0, value = 5;
	int m = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	char name[64];

	CHECK_EQ(ptsname_r(m, name, sizeof(name)), 0);
	CHECK_ERRNO(open(name, O_RDWR | O_NOCTTY), EIO);
	CHECK_EQ(ioctl(m, TIOCGPTLCK, &value), 0);
	CHECK_EQ(value, 1);
	CHECK_EQ(ioctl(m, TIOCSPTLCK, &off), 0);
	int s = open(name, O_RDWR | O_NOCTTY);
	CHECK(s >= 0);
	CHECK_ERRNO(ioctl(s, TIOCSPTLCK, &on), ENOTTY);
	CHECK_ERRNO(ioctl(s, TIOCGPTN, &value), ENOTTY);
}

TEST(default_settings)
{
	struct pair p = open_pair();
	struct termios t, of_master;

	CHECK_EQ(tcgetattr(p.slave, &t), 0);
	CHECK_EQ(t.c_iflag, ICRNL | IXON);
	CHECK_EQ(t.c_oflag, OPOST | ONLCR);
	CHECK_EQ(t.c_lflag, ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN);
	CHECK_EQ(t.c_cflag, B38400 | CS8 | CREAD);
	CHECK_EQ(cfgetospeed(&t), B38400);
	CHECK_EQ(t.c_cc[VINTR], 3);
	CHECK_EQ(t.c_cc[VERASE], 127);
	CHECK_EQ(t.c_cc[VMIN], 1);
	/* The settings of the master are those of the slave. */
	t.c_lflag &= ~(tcflag_t)ECHO;
	CHECK_EQ(tcsetattr(p.master, TCSANOW, &t), 0);
	CHECK_EQ(tcgetattr(p.slave, &of_master), 0);
	CHECK_EQ(of_master.c_lflag, t.c_lflag);
	/* What a pseudo-terminal cannot do is not taken. */
	t.c_cflag = B9600 | CS7 | PARENB;
	CHECK_EQ(tcsetattr(p.slave, TCSANOW, &t), 0);
	CHECK_EQ(tcgetattr(p.slave, &t), 0);
	CHECK_EQ(t.c_cflag, B9600 | CS8 | CREAD);
}

TEST(lines_and_echo)
{
	struct pair p = open_pair();
	int count = -1;

	put(p.master, "abx\x7f" "c\r");
	CHECK_STR(get(p.slave), "abc\n");
	expect(p.master, "abx\b \bc\r\n");
	put(p.slave, "out\n");
	expect(p.master, "out\r\n");
	put(p.master, "one\ntwo\nthr");
	CHECK_STR(get(p.slave), "one\n");
	CHECK_EQ(ioctl(p.slave, FIONREAD, &count), 0);
	CHECK_EQ(count, 4);
	CHECK_STR(get(p.slave), "two\n");
	CHECK_EQ(fcntl(p.slave, F_SETFL, O_NONBLOCK), 0);
	CHECK_ERRNO(read(p.slave, &count, 1), EAGAIN);
	put(p.master, "ee\x04");
	wait_in(p.slave);
	CHECK_STR(get(p.slave), "three");
	put(p.master, "\x04");
	wait_in(p.slave);
	CHECK_STR(get(p.slave), "");
	CHECK_ERRNO(read(p.slave, &count, 1), EAGAIN);
}

TEST(partial_reads_of_a_line)
{
	struct pair p = open_pair();
	char a[4], b[4];
	struct iovec v[2] = { { a, 2 }, { b, 4 } };

	put(p.master, "abcdefg\n");
	CHECK_EQ(readv(p.slave, v, 2), 6);
	CHECK(!memcmp(a, "ab", 2) && !memcmp(b, "cdef", 4));
	CHECK_STR(get(p.slave), "g\n");
}

TEST(a_blocked_reader_wakes_up)
{
	struct pair p = open_pair();
	pid_t pid = fork();

	if (pid == 0) {
		CHECK_STR(get(p.slave), "hello\n");
		put(p.slave, "bye\n");
		_exit(0);
	}
	put(p.master, "hello\n");
	expect(p.master, "hello\r\nbye\r\n");
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

TEST(raw_min_and_time)
{
	struct pair p = open_pair();
	char buf[100];
	struct timespec before, after;

	set_raw(p.slave, 0, 0);
	CHECK_EQ(read(p.slave, buf, 10), 0);
	set_raw(p.slave, 0, 2);
	clock_gettime(CLOCK_MONOTONIC, &before);
	CHECK_EQ(read(p.slave, buf, 10), 0);
	clock_gettime(CLOCK_MONOTONIC, &after);
	long ms = (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000;
	CHECK(ms >= 150);
	put(p.master, "ab");
	wait_in(p.slave);
	CHECK_EQ(read(p.slave, buf, 10), 2);
	/* VMIN bytes, or what came when VTIME is over after the last byte. */
	set_raw(p.slave, 3, 0);
	put(p.master, "abcd");
	CHECK_EQ(read(p.slave, buf, 10), 4);
	set_raw(p.slave, 5, 1);
	put(p.master, "ab");
	CHECK_EQ(read(p.slave, buf, 10), 2);
	/* A read of less than VMIN needs only that much. */
	set_raw(p.slave, 5, 0);
	put(p.master, "abc");
	CHECK_EQ(read(p.slave, buf, 2), 2);
	pid_t pid = fork();
	if (pid == 0) {
		CHECK_EQ(read(p.slave, buf, 10), 5);
		CHECK(!memcmp(buf, "cdefg", 5));
		_exit(0);
	}
	put(p.master, "de");
	put(p.master, "fg");
	int status;
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

TEST(poll_of_both_sides)
{
	struct pair p = open_pair();

	CHECK_EQ(poll_now(p.slave, 0), POLLOUT);
	CHECK_EQ(poll_now(p.master, 0), POLLOUT);
	put(p.slave, "x");
	CHECK_EQ(wait_in(p.master), POLLIN);
	put(p.master, "abc");
	expect(p.master, "xabc");
	CHECK_EQ(poll_now(p.slave, 0), POLLOUT);
	put(p.master, "\n");
	CHECK_EQ(wait_in(p.slave), POLLIN);
}

TEST(slave_closed_and_reopened)
{
	struct pair p = open_pair();
	char c;

	put(p.slave, "last");
	close(p.slave);
	expect(p.master, "last");
	CHECK_ERRNO(read(p.master, &c, 1), EIO);
	CHECK(poll_now(p.master, 0) & POLLHUP);
	p.slave = open(p.name, O_RDWR | O_NOCTTY);
	CHECK(p.slave >= 0);
	CHECK(!(poll_now(p.master, 0) & POLLHUP));
	put(p.slave, "again");
	expect(p.master, "again");
}

TEST(master_closed)
{
	struct pair p = open_pair();
	struct winsize ws;
	char c;

	put(p.master, "lost\n");
	close(p.master);
	CHECK_EQ(read(p.slave, &c, 1), 0);
	CHECK_ERRNO(write(p.slave, "x", 1), EIO);
	CHECK_ERRNO(ioctl(p.slave, TIOCGWINSZ, &ws), EIO);
	CHECK_EQ(poll_now(p.slave, 0), POLLIN | POLLOUT | POLLERR | POLLHUP);
}

TEST(master_closed_wakes_a_reader)
{
	struct pair p = open_pair();
	int ready[2], status;
	char c;
	pid_t pid;

	CHECK_EQ(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		close(p.master);
		put(ready[1], "r");
		/* EIO when it waits already, end of file when it comes too late. */
		CHECK(read(p.slave, &c, 1) == 0 || errno == EIO);
		_exit(0);
	}
	CHECK_EQ(read(ready[0], &c, 1), 1);
	close(p.slave);
	close(p.master);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

TEST(window_size)
{
	struct pair p = open_pair();
	struct winsize ws = { 1, 2, 3, 4 };

	CHECK_EQ(ioctl(p.slave, TIOCGWINSZ, &ws), 0);
	CHECK(!ws.ws_row && !ws.ws_col);
	ws = (struct winsize){ .ws_row = 40, .ws_col = 132, .ws_xpixel = 7 };
	CHECK_EQ(ioctl(p.master, TIOCSWINSZ, &ws), 0);
	memset(&ws, 0, sizeof(ws));
	CHECK_EQ(ioctl(p.slave, TIOCGWINSZ, &ws), 0);
	CHECK_EQ(ws.ws_row, 40);
	CHECK_EQ(ws.ws_col, 132);
	CHECK_EQ(ws.ws_xpixel, 7);
}

TEST(packet_mode)
{
	struct pair p = open_pair();
	struct termios t;
	char buf[100];
	int on = 1, value = 0;

	CHECK_EQ(ioctl(p.master, TIOCPKT, &on), 0);
	CHECK_EQ(ioctl(p.master, TIOCGPKT, &value), 0);
	CHECK_EQ(value, 1);
	put(p.slave, "hi");
	wait_in(p.master);
	CHECK_EQ(read(p.master, buf, sizeof(buf)), 3);
	CHECK(!memcmp(buf, "\0hi", 3));
	CHECK_EQ(tcgetattr(p.slave, &t), 0);
	t.c_iflag &= ~(tcflag_t)IXON;
	CHECK_EQ(tcsetattr(p.slave, TCSANOW, &t), 0);
	CHECK(poll_now(p.master, 0) & POLLPRI);
	CHECK_EQ(read(p.master, buf, sizeof(buf)), 1);
	CHECK_EQ(buf[0], TIOCPKT_NOSTOP);
	CHECK(!(poll_now(p.master, 0) & POLLPRI));
	CHECK_EQ(tcflush(p.slave, TCIFLUSH), 0);
	CHECK_EQ(read(p.master, buf, sizeof(buf)), 1);
	CHECK(buf[0] & TIOCPKT_FLUSHREAD);
	CHECK_EQ(tcflow(p.slave, TCOOFF), 0);
	CHECK_EQ(read(p.master, buf, sizeof(buf)), 1);
	CHECK_EQ(buf[0], TIOCPKT_STOP);
	CHECK_EQ(tcflow(p.slave, TCOON), 0);
	CHECK_EQ(read(p.master, buf, sizeof(buf)), 1);
	CHECK_EQ(buf[0], TIOCPKT_START);
	CHECK_ERRNO(ioctl(p.slave, TIOCPKT, &on), ENOTTY);
}

TEST(flow_control)
{
	struct pair p = open_pair();
	char c;

	set_flags(p.slave, 0, ECHO);
	CHECK_EQ(fcntl(p.slave, F_SETFL, O_NONBLOCK), 0);
	CHECK_EQ(tcflow(p.slave, TCOOFF), 0);
	CHECK_ERRNO(write(p.slave, "x", 1), EAGAIN);
	CHECK_EQ(tcflow(p.slave, TCOON), 0);
	put(p.slave, "x");
	expect(p.master, "x");
	CHECK_EQ(tcflow(p.slave, TCIOFF), 0);
	CHECK_EQ(read(p.master, &c, 1), 1);
	CHECK_EQ(c, 19);
	CHECK_ERRNO(tcflow(p.slave, 99), EINVAL);
}

TEST(flush_of_input)
{
	struct pair p = open_pair();
	char c;

	CHECK_EQ(fcntl(p.slave, F_SETFL, O_NONBLOCK), 0);
	put(p.master, "abc\n");
	expect(p.master, "abc\r\n"); /* it was processed */
	CHECK_EQ(tcflush(p.slave, TCIFLUSH), 0);
	CHECK_ERRNO(read(p.slave, &c, 1), EAGAIN);
	CHECK_ERRNO(tcflush(p.slave, 17), EINVAL);
	CHECK_EQ(tcdrain(p.slave), 0);
	CHECK_EQ(tcsendbreak(p.slave, 0), 0);
}

TEST(exclusive_and_peer)
{
	struct pair p = open_pair();
	int value = -1;

	CHECK_EQ(ioctl(p.slave, TIOCEXCL), 0);
	CHECK_EQ(ioctl(p.slave, TIOCGEXCL, &value), 0);
	CHECK_EQ(value, 1);
	CHECK_EQ(ioctl(p.slave, TIOCNXCL), 0);
	int peer = ioctl(p.master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	CHECK(peer >= 0);
	CHECK_EQ(fcntl(peer, F_GETFD), FD_CLOEXEC);
	CHECK_STR(ttyname(peer), p.name);
	put(peer, "p");
	expect(p.master, "p");
	CHECK_EQ(ioctl(p.slave, TIOCGETD, &value), 0);
	CHECK_EQ(value, 0);
	CHECK_ERRNO(ioctl(p.slave, 0x54fe, &value), ENOTTY);
}

TEST(much_output_blocks_and_goes_on)
{
	struct pair p = open_pair();
	static char block[100000], got[100000];
	size_t have = 0;
	pid_t pid;

	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (char)('a' + i % 26);
	pid = fork();
	if (pid == 0) {
		close(p.master);
		CHECK_EQ(write(p.slave, block, sizeof(block)), sizeof(block));
		_exit(0);
	}
	while (have < sizeof(got)) {
		ssize_t n = read(p.master, got + have, sizeof(got) - have);

		CHECK(n > 0);
		have += (size_t)n;
	}
	CHECK(!memcmp(got, block, sizeof(got)));
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

TEST(much_input_waits_for_the_reader)
{
	struct pair p = open_pair();
	static char block[10000], got[10000];
	size_t have = 0;

	set_raw(p.slave, 1, 0);
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] = (char)i;
	CHECK_EQ(write(p.master, block, sizeof(block)), sizeof(block));
	while (have < sizeof(got)) {
		ssize_t n = read(p.slave, got + have, sizeof(got) - have);

		CHECK(n > 0);
		have += (size_t)n;
	}
	CHECK(!memcmp(got, block, sizeof(got)));
}

TEST(many_terminals)
{
	struct pair p[20];

	for (int i = 0; i < 20; i++)
		p[i] = open_pair();
	for (int i = 0; i < 20; i++) {
		for (int k = 0; k < i; k++)
			CHECK(strcmp(p[i].name, p[k].name));
		put(p[i].slave, p[i].name);
	}
	for (int i = 0; i < 20; i++)
		expect(p[i].master, p[i].name);
}

CHECK_MAIN()
