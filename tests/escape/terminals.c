/* also as root */
/* Terminals: typing into somebody else's, and the calls which reach the host's console. */
#include "attack.h"

#include <linux/kd.h>
#include <sys/ioctl.h>
#include <termios.h>

TEST(typing_into_a_terminal_is_refused)
{
	char c = 'x';
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	CHECK(master >= 0);
	CHECK_EQ(grantpt(master), 0);
	CHECK_EQ(unlockpt(master), 0);
	int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	CHECK(slave >= 0);
	CHECK(ioctl(slave, TIOCSTI, &c) < 0);
	char paste[16] = { 3 };
	CHECK(ioctl(slave, TIOCLINUX, paste) < 0);
	CHECK(ioctl(slave, TIOCCONS) < 0);
	CHECK(ioctl(slave, KDSETMODE, 0) < 0);
	for (int fd = 0; fd < 3; fd++) {
		CHECK(ioctl(fd, TIOCSTI, &c) < 0);
		CHECK(ioctl(fd, TIOCLINUX, paste) < 0);
	}
}

TEST(no_terminal_that_is_not_ours)
{
	int fd = open("/dev/tty", O_RDWR);
	CHECK(fd < 0 || isatty(fd));
	for (int i = 0; i < 64; i++) {
		char path[32];
		snprintf(path, sizeof(path), "/dev/pts/%d", i);
		fd = open(path, O_RDWR | O_NOCTTY);
		if (fd >= 0)
			CHECK(isatty(0) || isatty(1) || isatty(2));
		snprintf(path, sizeof(path), "/dev/tty%d", i);
		CHECK(open(path, O_RDWR | O_NOCTTY) < 0);
	}
	CHECK(open("/dev/console", O_RDWR | O_NOCTTY) < 0);
}

TEST(many_terminals_end_at_a_limit)
{
	int count = 0;
	while (count < 20000 && posix_openpt(O_RDWR | O_NOCTTY) >= 0)
		count++;
	CHECK(count > 10);
	CHECK(count < 20000);
	for (int fd = 3; fd < 3 + count; fd++)
		close(fd);
	check_alive();
}

CHECK_MAIN()
