#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/util.h"
#include "client/code.h"

static sigset_t taken;

int signals_open(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	sigset_t all;

	sigemptyset(&taken);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct sigaction now;
		if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(&taken, numbers[i]);
	}
	/* What only the editor blocks arrives here only then. */
	all = taken;
	sigaddset(&all, SIGWINCH);
	sigaddset(&all, SIGTSTP);
	signal(SIGPIPE, SIG_IGN);
	signals_let(false);
	return signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
}

int signals_take(int fd)
{
	struct signalfd_siginfo info;

	return read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info) ? (int)info.ssi_signo : 0;
}

void signals_let(bool through)
{
	sigprocmask(through ? SIG_UNBLOCK : SIG_BLOCK, &taken, NULL);
}

int signals_handle(struct code *c)
{
	int number = signals_take(c->signals);

	if (number == SIGINT)
		return 1;
	if (number == SIGTERM || number == SIGHUP) {
		c->stopped_by = number;
		return -EINTR;
	}
	return 0;
}
