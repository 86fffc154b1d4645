#include "cli/terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/util.h"

static struct termios saved;
static volatile sig_atomic_t entered_fd = -1;

/* A crash of ours must not leave the user with a dead terminal. */
static void on_crash(int signal_number)
{
	terminal_leave();
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static void catch_crashes(void)
{
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
	for (size_t i = 0; i < ARRAY_SIZE(crashes); i++)
		signal(crashes[i], on_crash);
}

int terminal_enter(int fd)
{
	if (tcgetattr(fd, &saved) < 0)
		return -errno;
	struct termios raw = saved;
	cfmakeraw(&raw);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	catch_crashes();
	entered_fd = fd;
	if (tcsetattr(fd, TCSADRAIN, &raw) < 0) {
		entered_fd = -1;
		return -errno;
	}
	return 0;
}

void terminal_leave(void)
{
	int fd = (int)entered_fd;
	if (fd < 0)
		return;
	/* In the background (suspended and killed) SIGTTOU would stop us here. */
	sigset_t block, old;
	sigemptyset(&block);
	sigaddset(&block, SIGTTOU);
	sigprocmask(SIG_BLOCK, &block, &old);
	while (tcsetattr(fd, TCSADRAIN, &saved) < 0 && errno == EINTR)
		;
	sigprocmask(SIG_SETMASK, &old, NULL);
	entered_fd = -1;
}

void terminal_size(int fd, uint32_t *ret_rows, uint32_t *ret_cols)
{
	struct winsize ws;
	*ret_rows = 24;
	*ret_cols = 80;
	if (ioctl(fd, TIOCGWINSZ, &ws) == 0 && ws.ws_row && ws.ws_col) {
		*ret_rows = ws.ws_row;
		*ret_cols = ws.ws_col;
	}
}

void terminal_wait_foreground(int fd)
{
	pid_t foreground;
	while ((foreground = tcgetpgrp(fd)) > 0 && foreground != getpgrp()) {
		/* An orphaned group is not stopped by this; then reading just fails. */
		struct sigaction ignored;
		if (sigaction(SIGTTIN, NULL, &ignored) < 0 || ignored.sa_handler == SIG_IGN)
			return;
		if (kill(0, SIGTTIN) < 0 || getsid(0) == getpgrp())
			return;
	}
}
