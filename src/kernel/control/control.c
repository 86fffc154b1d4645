/*
 * The control channel's kernel end.
 *
 * At start it is read blocking: CONFIG, nothing else. Then it is part of the event loop. Whatever
 * is wrong with what arrives - an unknown type, a body that does not parse - ends the sandbox: the
 * peer is either broken or somebody else. When the peer is gone there is nobody left to run for.
 */
#include "kernel/control/control.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/util.h"
#include "kernel/control/spawn.h"
#include "kernel/control/stats.h"
#include "kernel/core/sandbox.h"
#include "kernel/core/user.h"
#include "kernel/host/channel_host.h"
#include "kernel/host/poll.h"
#include "wire/channel.h"
#include "wire/wire.h"

static struct channel channel;

int control_init(int fd)
{
	return channel_init(&channel, fd);
}

int control_read_config(struct wire_config *ret, int *ret_fds, uint32_t *ret_fd_count)
{
	struct message m;
	int r;

	do {
		r = channel_receive(&channel, true, &m);
	} while (r == 0);
	if (r < 0)
		return r;
	struct wire_in in = { .data = m.body, .length = m.header.length };
	if (m.header.type != WIRE_CONFIG || !wire_get_config(&in, ret))
		return -EPROTO;
	memcpy(ret_fds, m.fds, sizeof(int) * m.fd_count);
	*ret_fd_count = m.fd_count;
	return 0;
}

int control_start(void)
{
	return host_poll_add(channel.fd, POLL_CONTROL, 0, EPOLLIN);
}

/* ---- out ---- */

static void want_writable(bool want)
{
	host_poll_change(channel.fd, POLL_CONTROL, 0, EPOLLIN | (want ? (uint32_t)EPOLLOUT : 0u));
}

void control_send(uint32_t type, uint32_t request, const void *body, uint32_t length)
{
	int r = channel_send(&channel, type, request, body, length, NULL, 0);
	if (r < 0)
		sandbox_end(SANDBOX_FAULT, "the control channel broke");
	else if (channel_pending(&channel))
		want_writable(true);
}

void control_error(uint32_t request, int error, const char *text)
{
	uint8_t bytes[512];
	struct wire_out o = { bytes, 0, sizeof(bytes), false };

	wire_put_u32(&o, (uint32_t)error);
	wire_put_str(&o, text);
	control_send(WIRE_ERROR, request, bytes, o.length);
}

static void send_died(uint32_t how, const char *reason)
{
	static uint8_t bytes[sizeof(struct wire_stats) + 1024];
	struct wire_out o = { bytes, 0, sizeof(bytes), false };
	struct wire_stats stats;

	stats_collect(&stats);
	wire_put_u32(&o, how);
	wire_put_str(&o, reason);
	wire_put_stats(&o, &stats);
	channel_send(&channel, WIRE_DIED, 0, bytes, o.length, NULL, 0);
	/* The last words: wait for a slow reader, but not for one that is gone. */
	while (channel_pending(&channel) && channel_flush(&channel) == 0)
		host_channel_wait_writable(channel.fd);
}

void control_finish(void)
{
	static const uint32_t how[] = { [SANDBOX_RUNNING] = WIRE_DEATH_NORMAL,
					[SANDBOX_ENDED] = WIRE_DEATH_NORMAL,
					[SANDBOX_SHUTDOWN] = WIRE_DEATH_SHUTDOWN,
					[SANDBOX_LIMIT] = WIRE_DEATH_LIMIT,
					[SANDBOX_FAULT] = WIRE_DEATH_FAULT };
	send_died(how[sandbox_state()], sandbox_reason());
}

void control_fail(int error, const char *what)
{
	char text[256];

	host_format_error(text, sizeof(text), error, what);
	send_died(WIRE_DEATH_FAULT, text);
	host_exit(1);
}

/* ---- in ---- */

static bool handle_spawn(const struct message *m, struct wire_in *in)
{
	struct wire_spawn s;

	if (!wire_get_spawn(in, &s))
		return false;
	spawn_request(m->header.request, &s, m->fds, m->fd_count);
	return true;
}

static bool handle_shutdown(struct wire_in *in)
{
	const char *reason = wire_get_str(in);

	if (in->failed)
		return false;
	sandbox_end(SANDBOX_SHUTDOWN, reason);
	return true;
}

static void send_stats(uint32_t request)
{
	static uint8_t bytes[sizeof(struct wire_stats)];
	struct wire_out o = { bytes, 0, sizeof(bytes), false };
	struct wire_stats stats;

	stats_collect(&stats);
	wire_put_stats(&o, &stats);
	control_send(WIRE_STATS_REPLY, request, bytes, o.length);
}

static bool handle_numbers(const struct message *m, struct wire_in *in)
{
	uint32_t request = m->header.request;
	uint32_t a = wire_get_u32(in);
	uint32_t b = m->header.type == WIRE_OUTPUT_ACK ? 0 : wire_get_u32(in);

	if (in->failed || in->offset != in->length)
		return false;
	if (m->header.type == WIRE_OUTPUT_ACK)
		spawn_output_ack(request, a);
	else if (m->header.type == WIRE_RESIZE)
		spawn_resize(request, a, b);
	else
		spawn_signal(request, (int)a, b != 0);
	return true;
}

/* False: not what this state of the protocol allows. */
static bool handle(const struct message *m)
{
	struct wire_in in = { .data = m->body, .length = m->header.length };

	if (m->fd_count && m->header.type != WIRE_SPAWN)
		return false;
	switch (m->header.type) {
	case WIRE_SPAWN:
		return handle_spawn(m, &in);
	case WIRE_INPUT:
		spawn_input(m->header.request, m->body, m->header.length);
		return true;
	case WIRE_OUTPUT_ACK:
	case WIRE_RESIZE:
	case WIRE_SIGNAL:
		return handle_numbers(m, &in);
	case WIRE_SHUTDOWN:
		return handle_shutdown(&in);
	case WIRE_STATS:
		send_stats(m->header.request);
		return true;
	default:
		return false;
	}
}

void control_event(uint32_t events)
{
	struct message m;
	int r;

	if (events & EPOLLOUT) {
		r = channel_flush(&channel);
		if (r != 0)
			want_writable(false);
	}
	while ((r = channel_receive(&channel, false, &m)) > 0) {
		if (handle(&m))
			continue;
		for (uint32_t i = 0; i < m.fd_count; i++)
			host_close(m.fds[i]);
		sandbox_end(SANDBOX_FAULT, "malformed message on the control channel");
		return;
	}
	if (r < 0)
		sandbox_end(SANDBOX_SHUTDOWN, r == -EPIPE ? "the launcher is gone"
							   : "the control channel broke");
}
