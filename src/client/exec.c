/*
 * `hotcell exec`: a command in a running sandbox, with this terminal or these pipes. The stream of its
 * events is read here; a thread sends what comes from standard input over a connection of its own.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/io.h"
#include "base/util.h"
#include "client/target.h"
#include "codec/base64.h"
#include "codec/envelope.h"

#define MESSAGE_MAX (16u << 20)
#define INPUT_PIECE 32768
#define READ_PIECE  32768

struct session {
	struct client_options *o;
	struct target target;
	struct connection *stream;
	struct buffer unread; /* of the stream: messages that are not whole */
	pthread_mutex_t input_lock;
	sigset_t signals; /* which are the command's */
	uint32_t pid;
	bool tty;
	pthread_t thread;
};

/* ---- requests ---- */

/* What it answers does not matter here: a process that is gone is seen by the other connection. */
static void tell(struct session *s, const char *method, json_t *message)
{
	struct error err;
	char name[64];

	snprintf(name, sizeof(name), "process.Process/%s", method);
	pthread_mutex_lock(&s->input_lock);
	(void)target_call(&s->target, name, message, NULL, &err);
	pthread_mutex_unlock(&s->input_lock);
}

static json_t *selector(const struct session *s)
{
	return json_pack("{s:I}", "pid", (json_int_t)s->pid);
}

static void tell_size(struct session *s)
{
	struct winsize w;

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &w) == 0)
		tell(s, "Update",
		     json_pack("{s:o, s:{s:{s:i, s:i}}}", "process", selector(s), "pty", "size",
			       "cols", w.ws_col, "rows", w.ws_row));
}

/* ---- input ---- */

static bool forward_input(struct session *s)
{
	static char bytes[INPUT_PIECE], encoded[INPUT_PIECE / 3 * 4 + 8];
	ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));

	if (n <= 0) {
		if (!s->tty)
			tell(s, "CloseStdin", json_pack("{s:o}", "process", selector(s)));
		return false;
	}
	base64_encode(bytes, (size_t)n, encoded);
	tell(s, "SendInput",
	     json_pack("{s:o, s:{s:s}}", "process", selector(s), "input", s->tty ? "pty" : "stdin",
		       encoded));
	return true;
}

/* The protocol has SIGTERM and SIGKILL: an interrupt is told as the former. */
static void forward_signal(struct session *s, int fd)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (info.ssi_signo == SIGWINCH) {
		tell_size(s);
		return;
	}
	tell(s, "SendSignal",
	     json_pack("{s:o, s:s}", "process", selector(s), "signal", "SIGNAL_SIGTERM"));
}

static void *input_main(void *arg)
{
	struct session *s = arg;
	bool open = true;

	struct pollfd fds[] = { { .fd = signalfd(-1, &s->signals, SFD_CLOEXEC), .events = POLLIN },
				{ .fd = STDIN_FILENO, .events = POLLIN } };
	while (poll(fds, open ? 2 : 1, -1) >= 0 || errno == EINTR) {
		if (fds[0].revents & POLLIN)
			forward_signal(s, fds[0].fd);
		if (open && fds[1].revents)
			open = forward_input(s);
		if (!open)
			fds[1].revents = 0;
	}
	return NULL;
}

/* ---- the terminal ---- */

static struct termios saved;
static bool raw;

static void restore_terminal(void)
{
	if (raw)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &saved);
	raw = false;
}

static void make_raw(void)
{
	struct termios t;

	if (tcgetattr(STDIN_FILENO, &saved) < 0)
		return;
	t = saved;
	cfmakeraw(&t);
	raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &t) == 0;
	atexit(restore_terminal);
}

/* ---- the command ---- */

static json_t *start_message(const struct session *s)
{
	struct client_options *o = s->o;
	json_t *args = json_array(), *envs = json_object();
	struct winsize w = { .ws_col = 80, .ws_row = 24 };
	const char *term = getenv("TERM");

	for (int i = 2; i < o->count; i++) {
		if (json_array_append_new(args, json_string(o->arguments[i])) == 0)
			continue;
		json_decref(args);
		args = NULL;
		break;
	}
	if (s->tty)
		json_object_set_new(envs, "TERM", json_string(term ? term : "xterm-256color"));
	for (unsigned int i = 0; i < o->env.count; i++) {
		const char *item = o->env.items[i].text, *equals = strchr(item, '=');
		if (equals)
			json_object_set_new(envs, strndupa(item, (size_t)(equals - item)),
					    json_string(equals + 1));
	}
	/* NULL: something is not UTF-8. */
	json_t *m = json_pack("{s:{s:s, s:o, s:o}, s:b}", "process", "cmd", o->arguments[1], "args",
			      args, "envs", envs, "stdin", 1);
	if (o->cwd)
		json_object_set_new(json_object_get(m, "process"), "cwd", json_string(o->cwd));
	(void)ioctl(STDIN_FILENO, TIOCGWINSZ, &w);
	if (s->tty)
		json_object_set_new(m, "pty",
				    json_pack("{s:{s:i, s:i}}", "size", "cols", w.ws_col, "rows",
					      w.ws_row));
	return m;
}

static int send_start(struct session *s, struct error *err)
{
	json_t *m = start_message(s);
	char *text = m ? json_dumps(m, JSON_COMPACT) : NULL;
	size_t size = text ? strlen(text) : 0;
	uint8_t *body = malloc(size + ENVELOPE_HEAD);
	struct header headers[TARGET_HEADERS_MAX];
	int r;

	json_decref(m);
	if (!text || !body) {
		free(text);
		free(body);
		return error_set(err, 0,
				 "the command cannot be told to the server: it is not UTF-8");
	}
	envelope_head(body, 0, (uint32_t)size);
	memcpy(body + ENVELOPE_HEAD, text, size);
	target_headers(&s->target, headers, TARGET_ENVD, "application/connect+json");
	r = connection_request(s->stream, &s->o->endpoint, "POST", "/process.Process/Start",
			       headers, body, size + ENVELOPE_HEAD, err);
	if (r == 0 && s->stream->status != 200)
		r = answer_error(s->stream, err);
	free(text);
	free(body);
	return r;
}

/* One message; *ret_last: it is the end of the stream. */
static int read_message(struct session *s, json_t **ret, bool *ret_last, struct error *err)
{
	struct buffer *b = &s->unread;
	struct envelope e;
	int64_t size;
	ssize_t n = 1;

	while ((size = envelope_parse(b->data, b->size, MESSAGE_MAX, &e)) == 0 && n > 0) {
		static uint8_t piece[READ_PIECE];
		n = connection_read(s->stream, piece, sizeof(piece));
		if (n > 0 && buffer_append(b, piece, (size_t)n) < 0)
			n = -ENOMEM;
	}
	if (size > 0 && !(e.flags & ENVELOPE_COMPRESSED)) {
		*ret = json_loadb((const char *)e.payload, e.size, 0, NULL);
		*ret_last = e.flags & ENVELOPE_END;
		buffer_take(b, (size_t)size);
		if (*ret)
			return 0;
	}
	return error_set(err, 0,
			 "the connection to the sandbox was cut: it has ended, or the server has "
			 "(hotcell ps -a says why)");
}

/* -errno when nobody takes it. */
static int print_data(const json_t *data)
{
	int r = 0;
	const char *out = json_string_value(json_object_get(data, "stdout"));
	const char *errors = json_string_value(json_object_get(data, "stderr"));
	const char *tty = json_string_value(json_object_get(data, "pty"));
	const char *encoded = out ? out : errors ? errors : tty;
	size_t size = encoded ? strlen(encoded) : 0;
	uint8_t *bytes = malloc(size / 4 * 3 + 4);
	ssize_t n = bytes && encoded ? base64_decode(encoded, size, bytes) : -1;

	if (n > 0)
		r = io_write_all(errors ? STDERR_FILENO : STDOUT_FILENO, bytes, (size_t)n);
	free(bytes);
	return r;
}

/* The exit status as a shell would say it. */
static int status_of(const json_t *end)
{
	static const struct {
		const char *status;
		int number;
	} signals[] = { { "signal: killed", SIGKILL },
			{ "signal: terminated", SIGTERM },
			{ "signal: interrupt", SIGINT },
			{ "signal: hangup", SIGHUP },
			{ "signal: segmentation fault", SIGSEGV },
			{ "signal: aborted", SIGABRT } };
	const char *status = json_string_value(json_object_get(end, "status"));

	if (json_is_true(json_object_get(end, "exited")))
		return (int)json_integer_value(json_object_get(end, "exitCode"));
	for (size_t i = 0; status && i < ARRAY_SIZE(signals); i++) {
		if (strncmp(status, signals[i].status, strlen(signals[i].status)) == 0)
			return 128 + signals[i].number;
	}
	return 255;
}

static int start_input(struct session *s)
{
	/* From here on these are for the command; before, they end this program. */
	pthread_sigmask(SIG_BLOCK, &s->signals, NULL);
	if (s->tty)
		make_raw();
	return -pthread_create(&s->thread, NULL, input_main, s);
}

/* A reader that has left is for the command what it would be without us: its end. */
static int on_lost_output(struct session *s, int code, int *status, struct error *err)
{
	tell(s, "SendSignal",
	     json_pack("{s:o, s:s}", "process", selector(s), "signal", "SIGNAL_SIGTERM"));
	*status = 128 + SIGPIPE;
	return code == EPIPE ? 0 : error_set(err, code, "write the output of the command");
}

static int on_event(struct session *s, const json_t *event, int *status, bool *last,
		    struct error *err)
{
	json_t *start = json_object_get(event, "start"), *data = json_object_get(event, "data"),
	       *end = json_object_get(event, "end");

	if (start) {
		if (s->pid)
			return error_set(err, EBADMSG, "the server's answer");
		s->pid = (uint32_t)json_integer_value(json_object_get(start, "pid"));
		int r = start_input(s);
		return r < 0 ? error_set(err, -r, "a thread for the input") : 0;
	}
	int r = data ? print_data(data) : 0;
	if (r < 0) {
		*last = true;
		return on_lost_output(s, -r, status, err);
	}
	if (end)
		*status = status_of(end);
	return 0;
}

static int follow(struct session *s, int *status, struct error *err)
{
	bool last = false;
	int r = 0;

	while (r == 0 && !last) {
		json_t *m;
		r = read_message(s, &m, &last, err);
		if (r < 0)
			return r;
		json_t *failure = json_object_get(m, "error");
		const char *why = json_string_value(json_object_get(failure, "message"));
		if (failure)
			r = error_set(err, 0, "%.400s", why ? why : "the command failed");
		else
			r = on_event(s, json_object_get(m, "event"), status, &last, err);
		json_decref(m);
	}
	return r;
}

static void choose_signals(struct session *s)
{
	s->tty = s->o->tty || (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO));
	sigemptyset(&s->signals);
	sigaddset(&s->signals, SIGWINCH);
	sigaddset(&s->signals, SIGTERM);
	sigaddset(&s->signals, SIGINT);
}

/* The "--" may stand before or behind the sandbox. */
static int take_separator(struct client_options *o, struct error *err)
{
	if (strcmp(o->arguments[1], "--") == 0) {
		o->arguments[1] = o->arguments[0];
		o->arguments++;
		o->count--;
	}
	return o->count > 1 ? 0 : error_set(err, 0, "exec: there is no command behind '--'");
}

static int run_exec(struct client_options *o)
{
	static struct session s;
	struct error err;
	int status = 1;

	s = (struct session){ .o = o, .stream = connection_new() };
	buffer_init(&s.unread, MESSAGE_MAX + ENVELOPE_HEAD + READ_PIECE);
	pthread_mutex_init(&s.input_lock, NULL);
	choose_signals(&s);
	int r = s.stream ? take_separator(o, &err) : error_set(&err, ENOMEM, "a connection");
	if (r == 0)
		r = target_open(&s.target, o, o->arguments[0], &err);
	if (r == 0)
		r = send_start(&s, &err);
	if (r == 0)
		r = follow(&s, &status, &err);
	restore_terminal();
	return r < 0 ? client_fail(&err) : status;
}

static const struct option_spec exec_options[] = {
	CLIENT_COMMON,
	{ .name = "tty",
	  .letter = 't',
	  .kind = OPTION_FLAG,
	  .offset = offsetof(struct client_options, tty),
	  .value = 1,
	  .shown = "when this is one",
	  .help = "give the command a terminal" },
	CLIENT_USER("who runs it"),
	{ .name = "workdir",
	  .letter = 'w',
	  .kind = OPTION_TEXT,
	  .offset = offsetof(struct client_options, cwd),
	  .metavar = "DIR",
	  .shown = "the user's home",
	  .help = "where it runs" },
	{ .name = "env",
	  .letter = 'e',
	  .kind = OPTION_LIST,
	  .offset = offsetof(struct client_options, env),
	  .metavar = "K=V",
	  .help = "a variable of its environment; may be repeated" },
};

const struct client_verb verb_exec = {
	"exec",
	"[OPTIONS] SANDBOX [--] COMMAND [ARGUMENT...]",
	"Runs a command in a running sandbox. The exit status is the command's.",
	exec_options,
	ARRAY_SIZE(exec_options),
	2,
	-1,
	run_exec,
	false,
	0,
	true,
};
