/*
 * The control channel's kernel end.
 *
 * At start it is read blocking: CONFIG, nothing else. Then it is part of the event loop. Whatever
 * is wrong with what arrives - an unknown type, a body that does not parse - ends the sandbox: the
 * peer is either broken or somebody else. When the peer is gone there is nobody left to run for.
 */
#include "kernel/control/control.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/util.h"
#include "kernel/control/op.h"
#include "kernel/control/requests.h"
#include "kernel/control/spawn.h"
#include "kernel/control/stats.h"
#include "kernel/core/sandbox.h"
#include "kernel/core/user.h"
#include "kernel/host/channel_host.h"
#include "kernel/host/poll.h"
#include "wire/channel.h"
#include "wire/wire.h"

/* Unsent bytes above which long answers wait; far below what the channel's queue holds. */
#define CONGESTED (1u << 20)
#define MESSAGES_PER_TURN 32

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

bool control_congested(void)
{
	return channel.out_length > CONGESTED;
}

/* Who does not read our answers is not read either: that bounds what we keep for him. */
static bool may_read(void)
{
	return !control_congested() && !op_exclusive();
}

static void update_interest(void)
{
	static uint32_t interest = EPOLLIN;
	uint32_t want = (may_read() ? (uint32_t)EPOLLIN : 0u) |
			(channel_pending(&channel) ? (uint32_t)EPOLLOUT : 0u);

	if (want != interest)
		host_poll_change(channel.fd, POLL_CONTROL, 0, want);
	interest = want;
}

void control_send(uint32_t type, uint32_t request, const void *body, uint32_t length)
{
	int r = channel_send(&channel, type, request, body, length, NULL, 0);
	if (r < 0)
		sandbox_end(SANDBOX_FAULT, "the control channel broke");
	else
		update_interest();
}

void control_read_on(void)
{
	update_interest();
}

void control_error(uint32_t request, int error, uint32_t about, const char *text)
{
	uint8_t bytes[512];
	char message[256];
	struct wire_out o = { bytes, 0, sizeof(bytes), false };

	snprintf(message, sizeof(message), "%s", text);
	wire_put_error(&o, error, about, message);
	control_send(WIRE_ERROR, request, bytes, o.length);
}

void control_done(uint32_t request)
{
	control_send(WIRE_DONE, request, NULL, 0);
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

/* Errors of calls that a host lacks or forbids, rather than of what the caller asked for. */
static bool is_hosts_fault(int error)
{
	error = error < 0 ? -error : error;
	return error == EPERM || error == ENOSYS || error == EINVAL || error == EBUSY ||
	       error == EOPNOTSUPP;
}

void control_fail(int error, const char *what)
{
	char text[256], whole[sizeof(text) + 64];

	host_format_error(text, sizeof(text), error, what);
	snprintf(whole, sizeof(whole), "%s%s", text,
		 is_hosts_fault(error) ? " (hotcell doctor says what this host lacks)" : "");
	send_died(WIRE_DEATH_FAULT, whole);
	host_exit(1);
}

/* ---- in ---- */

/* Handlers own the descriptors. False: the body is malformed. */

static bool handle_spawn(const struct message *m, struct wire_in *in)
{
	struct wire_spawn s;

	if (!wire_get_spawn(in, &s))
		return false;
	spawn_request(m->header.request, &s, m->fds, m->fd_count);
	return true;
}

static bool handle_input(const struct message *m, struct wire_in *in)
{
	(void)in;
	spawn_input(m->header.request, m->body, m->header.length);
	return true;
}

static bool handle_output_ack(const struct message *m, struct wire_in *in)
{
	uint32_t bytes = wire_get_u32(in);

	if (!wire_in_end(in))
		return false;
	spawn_output_ack(m->header.request, bytes);
	return true;
}

static bool handle_resize(const struct message *m, struct wire_in *in)
{
	uint32_t rows = wire_get_u32(in), cols = wire_get_u32(in);

	if (!wire_in_end(in))
		return false;
	spawn_resize(m->header.request, rows, cols);
	return true;
}

static bool handle_signal(const struct message *m, struct wire_in *in)
{
	uint32_t sig = wire_get_u32(in), whole_group = wire_get_u32(in);

	if (!wire_in_end(in))
		return false;
	spawn_signal(m->header.request, (int)sig, whole_group != 0);
	return true;
}

static bool handle_shutdown(const struct message *m, struct wire_in *in)
{
	const char *reason = wire_get_str(in);

	(void)m;
	if (!wire_in_end(in))
		return false;
	sandbox_end(SANDBOX_SHUTDOWN, reason);
	return true;
}

static bool handle_stats(const struct message *m, struct wire_in *in)
{
	static uint8_t bytes[sizeof(struct wire_stats)];
	struct wire_out o = { bytes, 0, sizeof(bytes), false };
	struct wire_stats stats;

	(void)in;
	stats_collect(&stats);
	wire_put_stats(&o, &stats);
	control_send(WIRE_STATS_REPLY, m->header.request, bytes, o.length);
	return true;
}

static bool handle_cancel(const struct message *m, struct wire_in *in)
{
	if (!wire_in_end(in))
		return false;
	op_cancel(m->header.request);
	return true;
}

/* Every message that may come: who serves it, and how many descriptors it may bring. */
static const struct control_row {
	bool (*handle)(const struct message *m, struct wire_in *in);
	uint8_t fds_max;
} rows[] = {
	[WIRE_SPAWN] = { handle_spawn, WIRE_SPAWN_FDS_MAX },
	[WIRE_INPUT] = { handle_input, 0 },
	[WIRE_OUTPUT_ACK] = { handle_output_ack, 0 },
	[WIRE_RESIZE] = { handle_resize, 0 },
	[WIRE_SIGNAL] = { handle_signal, 0 },
	[WIRE_SHUTDOWN] = { handle_shutdown, 0 },
	[WIRE_STATS] = { handle_stats, 0 },
	[WIRE_CANCEL] = { handle_cancel, 0 },
	[WIRE_FS_STAT] = { fs_message, 0 },
	[WIRE_FS_LIST] = { fs_message, 0 },
	[WIRE_FS_MAKE_DIR] = { fs_message, 0 },
	[WIRE_FS_MOVE] = { fs_message, 0 },
	[WIRE_FS_REMOVE] = { fs_message, 0 },
	[WIRE_FS_READ] = { fs_message, 1 },
	[WIRE_FS_WRITE] = { fs_message, 1 },
	[WIRE_FS_WATCH] = { fs_message, 0 },
	[WIRE_DIAL] = { dial_message, 1 },
	[WIRE_FREEZE] = { freeze_message, 0 },
	[WIRE_THAW] = { thaw_message, 0 },
	[WIRE_REBOOT] = { reboot_message, 0 },
	[WIRE_SET_LIMITS] = { limits_message, 0 },
	[WIRE_SET_HOSTNAME] = { hostname_message, 0 },
	[WIRE_LIST_PROCESSES] = { processes_message, 0 },
	[WIRE_LISTEN] = { listen_message, 0 },
	[WIRE_ACCEPT] = { accept_message, 1 },
	[WIRE_SAVE] = { save_message, 1 },
	[WIRE_LOAD] = { load_message, 1 },
};

/* False: not what this state of the protocol allows. The descriptors are used up in any case. */
static bool handle(const struct message *m)
{
	struct wire_in in = { .data = m->body, .length = m->header.length };
	const struct control_row *row =
		m->header.type < ARRAY_SIZE(rows) ? &rows[m->header.type] : NULL;

	if (row && row->handle && m->fd_count <= row->fds_max && row->handle(m, &in))
		return true;
	for (uint32_t i = 0; i < m->fd_count; i++)
		host_close(m->fds[i]);
	return false;
}

void control_event(uint32_t events)
{
	bool over = events & (EPOLLHUP | EPOLLERR);
	struct message m;
	int r = 1;

	if (events & EPOLLOUT) {
		(void)channel_flush(&channel); /* a broken channel shows when it is read */
		if (!control_congested())
			op_channel_drained();
	}
	/* What is left is still there in the next turn. */
	for (int i = 0; i < MESSAGES_PER_TURN && (over || may_read()); i++) {
		r = channel_receive(&channel, false, &m);
		if (r <= 0)
			break;
		if (handle(&m))
			continue;
		sandbox_end(SANDBOX_FAULT, "malformed message on the control channel");
		return;
	}
	update_interest();
	if (r < 0)
		sandbox_end(SANDBOX_SHUTDOWN, r == -EPIPE ? "the launcher is gone"
							   : "the control channel broke");
}
