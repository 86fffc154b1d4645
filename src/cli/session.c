/*
 * A run of `hotcell run`, from start to end.
 *
 *     start ──CONFIG, SPAWN──► wait READY ──► wait SPAWNED ──► running ──EXITED──► DIED
 *
 * SPAWN follows CONFIG at once: it lies there when the kernel process is ready for it.
 *
 * One poll() loop waits for the control channel, the end of the kernel process, signals, the
 * caller's terminal and relayed descriptors. The kernel process is not trusted: a message that
 * does not belong to the state ends the run. Whatever happens, session_stop() reaps the kernel
 * process (which takes the whole sandbox with it) and removes the control group.
 */
#include "cli/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/util.h"
#include "cli/session_internal.h"
#include "cli/terminal.h"

#define START_PATIENCE_NS (20 * NSEC_PER_SEC)
#define LOG_LEVEL_WARNING 1
/* Between EXITED and DIED. */
#define END_PATIENCE_NS (10 * NSEC_PER_SEC)
/* Then signals and clocks get a turn, whatever the kernel process sends. */
#define MESSAGES_PER_TURN 64

/* Static, not on the stack: it holds the output window. One run per process. */
static struct session session;

static void fail(struct session *s, const struct error *err)
{
	s->outcome->kind = OUTCOME_FAILED;
	s->outcome->status = STATUS_FAILED;
	snprintf(s->outcome->reason, sizeof(s->outcome->reason), "%s", err->message);
}

/* Texts of the kernel process reach the caller's terminal: without control characters, neither of
 * ASCII nor of the second set (U+0080 to U+009F). */
static void make_printable(char *s)
{
	for (unsigned char *p = (unsigned char *)s; *p; p++) {
		if (*p < 0x20 || *p == 0x7f)
			*p = '?';
		else if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
			*p = p[1] = '?';
	}
}

static void protocol_error(struct session *s, const char *what)
{
	struct error err;
	error_set(&err, 0, "the kernel process sent %s", what);
	fail(s, &err);
	s->died = true;
}

/* As a shell says it: 127 not found, 126 found but not executable. */
static int spawn_error_status(uint32_t code)
{
	switch (code) {
	case ENOENT:
		return STATUS_NOT_FOUND;
	case EACCES:
	case EPERM:
	case ENOEXEC:
	case EISDIR:
	case ENOTDIR:
	case ELOOP:
	case ETXTBSY:
	case E2BIG:
		return STATUS_NOT_EXECUTABLE;
	default:
		return STATUS_FAILED;
	}
}

/* The program could not be executed. */
static void on_program_error(struct outcome *o, int code, const char *command)
{
	bool looked_up = code == ENOENT && !strchr(command, '/');
	o->status = spawn_error_status((uint32_t)code);
	o->kind = o->status == STATUS_FAILED ? OUTCOME_FAILED : OUTCOME_NOT_RUN;
	snprintf(o->reason, sizeof(o->reason), "%.350s: %.100s", command,
		 looked_up ? "command not found" : strerror(code));
}

static void on_error(struct session *s, struct wire_in *in)
{
	struct outcome *o = s->outcome;
	const char *message;
	uint32_t about;
	int code;
	if (!wire_get_error(in, &code, &about, &message)) {
		protocol_error(s, "a malformed ERROR");
		return;
	}
	if (s->spawned)
		return; /* a signal or resize that came too late */
	bool no_user = about == WIRE_ABOUT_USER && code == ENOENT;
	if (about == WIRE_ABOUT_PROGRAM)
		on_program_error(o, code, s->options->command[0]);
	else
		snprintf(o->reason, sizeof(o->reason), "%s%.350s: %.100s",
			 about == WIRE_ABOUT_USER  ? "user " :
			 about == WIRE_ABOUT_CWD   ? "working directory " :
						     "",
			 message, no_user ? "not in the sandbox's /etc/passwd" : strerror(code));
	make_printable(o->reason);
	s->died = true;
}

static void on_exited(struct session *s, struct wire_in *in)
{
	struct outcome *o = s->outcome;
	int status = (int)wire_get_u32(in);
	if (in->failed || !s->spawned) {
		protocol_error(s, "EXITED out of order");
		return;
	}
	s->exited = true;
	s->end_ns = clock_now_ns() + END_PATIENCE_NS;
	o->run_ns = clock_now_ns() - s->spawned_ns;
	if (s->kill_ns)
		return; /* killed by us: the reason stands */
	if (WIFSIGNALED(status)) {
		o->kind = OUTCOME_SIGNALED;
		o->signal = WTERMSIG(status);
		o->status = 128 + o->signal;
	} else {
		o->kind = OUTCOME_EXITED;
		o->status = WEXITSTATUS(status);
	}
}

static void on_died(struct session *s, struct wire_in *in)
{
	struct outcome *o = s->outcome;
	uint32_t death = wire_get_u32(in);
	const char *reason = wire_get_str(in);
	o->have_stats = wire_get_stats(in, &o->stats);
	make_printable(o->stats.refused);
	s->died = s->orderly = true;
	if (in->failed) {
		protocol_error(s, "a malformed DIED");
		return;
	}
	if (s->spawned && !s->exited)
		o->run_ns = clock_now_ns() - s->spawned_ns;
	if (s->kill_ns)
		return;
	if (death == WIRE_DEATH_LIMIT) {
		o->kind = OUTCOME_KILLED;
		o->status = STATUS_KILLED;
	} else if (death == WIRE_DEATH_FAULT || !s->exited) {
		o->kind = OUTCOME_FAILED;
		o->status = STATUS_FAILED;
	} else {
		return;
	}
	snprintf(o->reason, sizeof(o->reason), "%s",
		 reason[0] ? reason : "the sandbox ended before the program");
	make_printable(o->reason);
}

static void on_log(struct session *s, struct wire_in *in)
{
	uint32_t level = wire_get_u32(in);
	const char *text = wire_get_str(in);
	char line[256];
	if (in->failed || level > LOG_LEVEL_WARNING)
		return;
	snprintf(line, sizeof(line), "%s", text);
	make_printable(line);
	text_printf(&s->notes, "%s\n", line);
}

static void on_ready(struct session *s)
{
	if (s->ready)
		protocol_error(s, "READY twice");
	s->ready = true;
}

static void on_spawned(struct session *s)
{
	if (!s->ready || s->spawned) {
		protocol_error(s, "SPAWNED out of order");
		return;
	}
	s->spawned = true;
	s->spawned_ns = clock_now_ns();
	s->outcome->start_ns = s->spawned_ns - s->began_ns;
	if (s->options->timeout_ns)
		s->deadline_ns = s->spawned_ns + s->options->timeout_ns;
	if (s->tty)
		session_tty_resize(s); /* it may have changed meanwhile */
}

static void on_message(struct session *s, const struct message *m)
{
	struct wire_in in = { m->body, m->header.length, 0, false };
	struct wire_stats stats;
	for (uint32_t i = 0; i < m->fd_count; i++)
		close(m->fds[i]);
	switch (m->header.type) {
	case WIRE_READY:
		on_ready(s);
		break;
	case WIRE_SPAWNED:
		on_spawned(s);
		break;
	case WIRE_OUTPUT:
		if (!s->tty || !session_tty_output(s, m->body, m->header.length))
			protocol_error(s, "more output than was asked for");
		break;
	case WIRE_EXITED:
		on_exited(s, &in);
		break;
	case WIRE_DIED:
		on_died(s, &in);
		break;
	case WIRE_STATS_REPLY:
		if (wire_get_stats(&in, &stats))
			session_on_stats(s, &stats);
		break;
	case WIRE_ERROR:
		on_error(s, &in);
		break;
	case WIRE_LOG:
		on_log(s, &in);
		break;
	default:
		protocol_error(s, "an unexpected message");
		break;
	}
}

static void on_channel(struct session *s)
{
	struct message m;
	int r = 1;
	for (int i = 0; i < MESSAGES_PER_TURN && !s->died && r == 1; i++) {
		r = channel_receive(&s->channel, false, &m);
		if (r == 1)
			on_message(s, &m);
	}
	if (s->died || r >= 0)
		return;
	s->died = true;
	if (s->kill_ns || s->exited)
		return;
	struct error err;
	s->vanished = r == -EPIPE || r == -ECONNRESET;
	if (s->vanished)
		error_set(&err, 0, "the kernel process ended unexpectedly%s",
			  s->ready ? "" : " while it started (see hotcell doctor)");
	else
		error_set(&err, -r, "control channel");
	fail(s, &err);
}

static void check_time(struct session *s)
{
	uint64_t now = clock_now_ns();
	struct error err;
	if (s->deadline_ns && now >= s->deadline_ns && !s->kill_ns) {
		char reason[128];
		snprintf(reason, sizeof(reason), "lifetime of %g s is over (--timeout changes it)",
			 (double)s->options->timeout_ns / (double)NSEC_PER_SEC);
		session_kill(s, reason);
	}
	/* session_stop() does not ask. */
	if ((s->kill_ns && now >= s->kill_ns) || (s->end_ns && now >= s->end_ns))
		s->died = true;
	if (!s->spawned && now > s->began_ns + START_PATIENCE_NS) {
		error_set(&err, 0, "the kernel process did not get ready within %u s "
				   "(hotcell doctor says what this host lacks)",
			  (unsigned int)(START_PATIENCE_NS / NSEC_PER_SEC));
		fail(s, &err);
		s->died = true;
	}
}

static int next_timeout_ms(const struct session *s)
{
	uint64_t now = clock_now_ns();
	uint64_t next = s->spawned ? UINT64_MAX : s->began_ns + START_PATIENCE_NS;
	if (s->deadline_ns && !s->kill_ns)
		next = MIN(next, s->deadline_ns);
	if (s->kill_ns)
		next = MIN(next, s->kill_ns);
	if (s->end_ns)
		next = MIN(next, s->end_ns);
	if (next == UINT64_MAX)
		return -1;
	return next <= now ? 0 : (int)MIN((next - now) / NSEC_PER_MSEC + 1, 3600000u);
}

static void loop_once(struct session *s)
{
	struct pollfd fds[4 + STREAMS_POLL_MAX];
	bool input = s->tty && s->spawned && !s->input_over && !channel_pending(&s->channel);
	bool output = s->tty && s->output_start < s->output_end;
	fds[0] = (struct pollfd){ .fd = s->channel.fd, .events = POLLIN };
	if (channel_pending(&s->channel))
		fds[0].events |= POLLOUT;
	fds[1] = (struct pollfd){ .fd = s->signal_fd, .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = input ? s->tty_in : -1, .events = POLLIN };
	fds[3] = (struct pollfd){ .fd = output ? s->tty_out : -1, .events = POLLOUT };
	unsigned int count = 4 + streams_poll_add(&s->streams, fds + 4);
	if (poll(fds, count, next_timeout_ms(s)) < 0)
		return;
	/* Messages before signals: a signal may be the answer to what the program did after SPAWNED. */
	if (fds[0].revents & (POLLIN | POLLHUP | POLLERR) || fds[1].revents)
		on_channel(s);
	if (fds[1].revents && !s->died)
		session_on_signals(s);
	if (fds[0].revents & POLLOUT)
		(void)channel_flush(&s->channel);
	if (fds[2].revents)
		session_tty_input(s);
	if (fds[3].revents)
		session_tty_flush(s, false);
	streams_pump(&s->streams);
}

static void init(struct session *s, const struct run_options *options, uint64_t began_ns,
		 struct outcome *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->kind = OUTCOME_FAILED;
	ret->status = STATUS_FAILED;
	s->options = options;
	s->outcome = ret;
	s->notes = (struct text)TEXT_INIT(ret->notes);
	s->began_ns = began_ns;
	s->identity.store = STORE_NONE;
	s->channel.fd = s->signal_fd = s->tty_in = s->tty_out = -EBADF;
	streams_init(&s->streams);
	/* Automatic only with all three: `2>errors` must keep working on a terminal. */
	s->tty = options->tty == RUN_TTY_YES ||
		 (options->tty == RUN_TTY_AUTO && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
		  isatty(STDERR_FILENO));
}

static void show_notes(const struct session *s)
{
	const char *line = s->outcome->notes;
	if (s->options->quiet)
		return;
	while (*line) {
		size_t n = strcspn(line, "\n");
		fprintf(stderr, "hotcell: note: %.*s\n", (int)n, line);
		line += n + (line[n] == '\n');
	}
}

void session_run(const struct run_options *options, uint64_t began_ns, struct outcome *ret)
{
	struct session *s = &session;
	struct error err;
	init(s, options, began_ns, ret);
	int r = session_start(s, &err);
	if (r == 0 && s->tty)
		r = session_tty_start(s, &err);
	if (r < 0) {
		fail(s, &err);
		s->died = true;
	}
	while (!s->died) {
		check_time(s);
		if (!s->died)
			loop_once(s);
	}
	session_signals_restore(s);
	if (s->tty)
		session_tty_flush(s, true);
	terminal_leave();
	session_stop(s);
	show_notes(s);
}
