/* A pseudo-terminal for the terminal tests. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "check.h"

struct pair {
	int master, slave;
	char name[64];
};

__attribute__((unused)) static int open_master(char *ret_name, size_t capacity)
{
	int master = open("/dev/ptmx", O_RDWR | O_NOCTTY);

	CHECK(master >= 0);
	CHECK_EQ(grantpt(master), 0);
	CHECK_EQ(unlockpt(master), 0);
	CHECK_EQ(ptsname_r(master, ret_name, capacity), 0);
	return master;
}

__attribute__((unused)) static struct pair open_pair(void)
{
	struct pair p;

	p.master = open_master(p.name, sizeof(p.name));
	p.slave = open(p.name, O_RDWR | O_NOCTTY);
	CHECK(p.slave >= 0);
	return p;
}

__attribute__((unused)) static void put(int fd, const char *text)
{
	CHECK_EQ(write(fd, text, strlen(text)), strlen(text));
}

/* One read as text. */
__attribute__((unused)) static const char *get(int fd)
{
	static char text[70000];
	ssize_t n = read(fd, text, sizeof(text) - 1);

	CHECK(n >= 0);
	text[n] = 0;
	return text;
}

/* Reads until the whole text came (a master gets output in pieces), compares. */
__attribute__((unused)) static void expect(int fd, const char *want)
{
	char text[4096];
	size_t have = 0, size = strlen(want);

	while (have < size) {
		ssize_t n = read(fd, text + have, size - have);

		CHECK(n > 0);
		have += (size_t)n;
		text[have] = 0;
		if (memcmp(text, want, have) != 0)
			CHECK_STR(text, want);
	}
}

__attribute__((unused)) static short poll_now(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT | POLLPRI };

	CHECK(poll(&p, 1, timeout_ms) >= 0);
	return p.revents;
}

/* Waits for input on `fd`. */
__attribute__((unused)) static short wait_in(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	CHECK_EQ(poll(&p, 1, -1), 1);
	return p.revents;
}

__attribute__((unused)) static void set_flags(int fd, tcflag_t lflag_on, tcflag_t lflag_off)
{
	struct termios t;

	CHECK_EQ(tcgetattr(fd, &t), 0);
	t.c_lflag = (t.c_lflag | lflag_on) & ~lflag_off;
	CHECK_EQ(tcsetattr(fd, TCSANOW, &t), 0);
}

__attribute__((unused)) static void set_raw(int fd, int min, int time)
{
	struct termios t;

	CHECK_EQ(tcgetattr(fd, &t), 0);
	cfmakeraw(&t);
	t.c_cc[VMIN] = (cc_t)min;
	t.c_cc[VTIME] = (cc_t)time;
	CHECK_EQ(tcsetattr(fd, TCSANOW, &t), 0);
}
