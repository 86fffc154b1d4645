/*
 * The terminal of the caller and the terminal of the sandbox: bytes in both directions, window
 * size. Output is acknowledged when it is written, so a slow terminal slows the program and
 * nothing piles up here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/session_internal.h"
#include "cli/terminal.h"

#define END_OF_FILE "\004"
#define QUEUE_FULL  (64u << 10)

/* Our own open file of the caller's descriptor, so that it can be non-blocking; or the original,
 * which is then written in small pieces after poll(). */
static int own_copy(int fd, int flags)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int copy = isatty(fd) ? open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
	return copy >= 0 ? copy : fd;
}

int session_tty_start(struct session *s, struct error *err)
{
	if (s->tty_in < 0) {
		s->tty_in = own_copy(STDIN_FILENO, O_RDONLY);
		s->tty_out = own_copy(STDOUT_FILENO, O_WRONLY);
	}
	if (!isatty(STDIN_FILENO))
		return 0;
	terminal_wait_foreground(STDIN_FILENO);
	int r = terminal_enter(STDIN_FILENO);
	return r < 0 ? error_set(err, -r, "set the terminal to raw mode") : 0;
}

void session_tty_stop(struct session *s)
{
	(void)s;
	terminal_leave();
}

void session_tty_resize(struct session *s)
{
	uint8_t body[8];
	uint32_t rows, cols;
	struct wire_out o = { body, 0, sizeof(body), false };
	if (!s->tty || !s->spawned)
		return;
	terminal_size(s->tty_out, &rows, &cols);
	wire_put_u32(&o, rows);
	wire_put_u32(&o, cols);
	(void)channel_send(&s->channel, WIRE_RESIZE, RUN_REQUEST_MAIN, body, o.length, NULL, 0);
}

void session_tty_input(struct session *s)
{
	char data[4096];
	if (s->channel.out_length > QUEUE_FULL)
		return;
	ssize_t n = read(s->tty_in, data, sizeof(data));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		/* A pipe as input of a terminal ends as typing would end it. */
		s->input_over = true;
		memcpy(data, END_OF_FILE, 1);
		n = 1;
	}
	(void)channel_send(&s->channel, WIRE_INPUT, RUN_REQUEST_MAIN, data, (uint32_t)n, NULL, 0);
}

bool session_tty_output(struct session *s, const uint8_t *data, uint32_t size)
{
	if (s->output_start > 0) {
		memmove(s->output, s->output + s->output_start, s->output_end - s->output_start);
		s->output_end -= s->output_start;
		s->output_start = 0;
	}
	if (size > sizeof(s->output) - s->output_end)
		return false;
	memcpy(s->output + s->output_end, data, size);
	s->output_end += size;
	session_tty_flush(s, false);
	return true;
}

static void acknowledge(struct session *s, uint32_t size)
{
	uint8_t body[4];
	struct wire_out o = { body, 0, sizeof(body), false };
	if (size == 0 || s->died)
		return;
	wire_put_u32(&o, size);
	(void)channel_send(&s->channel, WIRE_OUTPUT_ACK, RUN_REQUEST_MAIN, body, o.length, NULL, 0);
}

void session_tty_flush(struct session *s, bool all)
{
	uint32_t done = 0;
	while (s->output_start < s->output_end) {
		struct pollfd p = { .fd = s->tty_out, .events = POLLOUT };
		if (poll(&p, 1, all ? -1 : 0) != 1)
			break;
		uint32_t size = s->output_end - s->output_start;
		if (s->tty_out == STDOUT_FILENO)
			size = MIN(size, 256u);
		ssize_t n = write(s->tty_out, s->output + s->output_start, size);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		/* Nobody reads any more: what follows is dropped, the program sees a hangup. */
		n = n < 0 ? (ssize_t)size : n;
		s->output_start += (uint32_t)n;
		done += (uint32_t)n;
	}
	acknowledge(s, done);
}
