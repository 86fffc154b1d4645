/*
 * Signals on their way into the sandbox.
 *
 * All of them arrive through a signalfd. Signals that the keyboard makes go to the whole process
 * group of the program, as a terminal would send them; others to the program alone. Ctrl-C must
 * always lead to an end: a second one within two seconds ends the sandbox when the program made
 * no system call since the first, a third one ends it in any case.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/util.h"
#include "cli/session_internal.h"
#include "cli/terminal.h"

#define INTERRUPT_WINDOW_NS (2 * NSEC_PER_SEC)
#define KILL_PATIENCE_NS    NSEC_PER_SEC

static const int taken[] = { SIGINT,  SIGTERM, SIGHUP,	SIGQUIT, SIGTSTP,
			     SIGCONT, SIGUSR1, SIGUSR2, SIGWINCH };

int session_signals_take(struct session *s, struct error *err)
{
	sigset_t mask;
	sigemptyset(&mask);
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++) {
		struct sigaction now;
		/* What the caller ignores (nohup) stays ignored. */
		if (sigaction(taken[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(&mask, taken[i]);
	}
	signal(SIGPIPE, SIG_IGN);
	s->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signal_fd < 0)
		return error_set(err, errno, "signalfd");
	sigprocmask(SIG_BLOCK, &mask, &s->old_mask);
	return 0;
}

void session_signals_restore(struct session *s)
{
	if (s->signal_fd < 0)
		return;
	close(s->signal_fd);
	s->signal_fd = -EBADF;
	sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
}

static void send_signal(struct session *s, int number, bool whole_group)
{
	uint8_t body[8];
	struct wire_out o = { body, 0, sizeof(body), false };
	if (!s->spawned)
		return;
	wire_put_u32(&o, (uint32_t)number);
	wire_put_u32(&o, whole_group);
	(void)channel_send(&s->channel, WIRE_SIGNAL, RUN_REQUEST_MAIN, body, o.length, NULL, 0);
}

void session_kill(struct session *s, const char *reason)
{
	static uint8_t body[1024];
	struct wire_out o = { body, 0, sizeof(body), false };
	if (s->kill_ns)
		return;
	snprintf(s->outcome->reason, sizeof(s->outcome->reason), "%s", reason);
	s->outcome->kind = OUTCOME_KILLED;
	s->outcome->status = STATUS_KILLED;
	s->kill_ns = clock_now_ns() + KILL_PATIENCE_NS;
	wire_put_str(&o, reason);
	(void)channel_send(&s->channel, WIRE_SHUTDOWN, 0, body, o.length, NULL, 0);
}

static void on_interrupt(struct session *s)
{
	uint64_t now = clock_now_ns();
	if (!s->spawned) {
		session_kill(s, "interrupted before the program ran");
		return;
	}
	s->interrupts = now - s->interrupt_ns < INTERRUPT_WINDOW_NS ? s->interrupts + 1 : 1;
	s->interrupt_ns = now;
	if (s->interrupts >= 3) {
		session_kill(s, "interrupted three times");
		return;
	}
	if (s->interrupts == 1)
		s->interrupt_calls = UINT64_MAX;
	else
		s->interrupt_asked = true;
	/* The answer says how much the program did since the first. */
	(void)channel_send(&s->channel, WIRE_STATS, 0, NULL, 0, NULL, 0);
	send_signal(s, SIGINT, true);
}

void session_on_stats(struct session *s, const struct wire_stats *stats)
{
	if (!s->interrupt_asked) {
		s->interrupt_calls = stats->calls_served;
		return;
	}
	s->interrupt_asked = false;
	if (stats->calls_served == s->interrupt_calls)
		session_kill(s, "interrupted twice without a reaction");
}

/* Stops us as the terminal's owner expects; the program keeps its own state. */
static void suspend(struct session *s)
{
	if (s->tty)
		session_tty_stop(s);
	else
		send_signal(s, SIGTSTP, true);
	while (channel_pending(&s->channel) && channel_flush(&s->channel) == 0)
		;
	raise(SIGSTOP);
}

static void resume(struct session *s)
{
	struct error ignored;
	if (!s->tty) {
		send_signal(s, SIGCONT, true);
		return;
	}
	(void)session_tty_start(s, &ignored);
	session_tty_resize(s);
}

static void on_signal(struct session *s, int number)
{
	switch (number) {
	case SIGINT:
		on_interrupt(s);
		break;
	case SIGTSTP:
		suspend(s);
		break;
	case SIGCONT:
		resume(s);
		break;
	case SIGWINCH:
		session_tty_resize(s);
		break;
	case SIGQUIT:
		send_signal(s, number, true);
		break;
	case SIGTERM:
	case SIGHUP:
		if (!s->spawned)
			session_kill(s, "ended before the program ran");
		send_signal(s, number, false);
		break;
	default:
		send_signal(s, number, false);
		break;
	}
}

void session_on_signals(struct session *s)
{
	struct signalfd_siginfo info;
	while (read(s->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		on_signal(s, (int)info.ssi_signo);
}
