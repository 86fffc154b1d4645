/* Control channel bodies: what is encoded comes back, what is malformed is refused. */
#include "check.h"

#include <sys/socket.h>

#include "wire/channel.h"

static uint8_t buffer[65536];

static struct wire_in encode_config(const struct wire_config *c)
{
	struct wire_out o = { buffer, 0, sizeof(buffer), false };
	wire_put_config(&o, c);
	CHECK(!o.failed);
	return (struct wire_in){ buffer, o.length, 0, false };
}

static const struct wire_config config = {
	.flags = WIRE_CONFIG_EXIT_WITH_LAST,
	.hostname = "host",
	.user = "user",
	.user_uid = 1000,
	.user_gid = 1001,
	.limits = { 1, 2, 3 },
	.mount_count = 2,
	.mounts = { { WIRE_MOUNT_TEMPLATE, true, false, "/usr", "" },
		    { WIRE_MOUNT_SYMLINK, false, true, "/bin", "usr/bin" } },
};

TEST(config_comes_back)
{
	static struct wire_config got;
	struct wire_in in = encode_config(&config);
	CHECK(wire_get_config(&in, &got));
	CHECK_STR(got.hostname, "host");
	CHECK_EQ(got.user_gid, 1001);
	CHECK_EQ(got.limits[2], 3);
	CHECK_EQ(got.mount_count, 2);
	CHECK(got.mounts[0].has_fd && !got.mounts[0].detached);
	CHECK(!got.mounts[1].has_fd && got.mounts[1].detached);
	CHECK_STR(got.mounts[1].target, "usr/bin");
}

TEST(every_shorter_config_is_refused)
{
	static struct wire_config got;
	struct wire_in whole = encode_config(&config);
	for (uint32_t length = 0; length < whole.length; length++) {
		struct wire_in in = { buffer, length, 0, false };
		CHECK(!wire_get_config(&in, &got));
	}
	struct wire_in longer = { buffer, whole.length + 1, 0, false };
	CHECK(!wire_get_config(&longer, &got));
}

TEST(spawn_arguments_must_add_up)
{
	struct wire_spawn s = { .path = "a", .user = "", .cwd = "", .argc = 1, .envc = 1,
				.args = "a\0b=c", .args_size = 6 };
	struct wire_spawn got;
	struct wire_out o = { buffer, 0, sizeof(buffer), false };
	wire_put_spawn(&o, &s);
	struct wire_in in = { buffer, o.length, 0, false };
	CHECK(wire_get_spawn(&in, &got));
	CHECK_STR(got.args + 2, "b=c");
	s.envc = 2;
	o.length = 0;
	wire_put_spawn(&o, &s);
	in = (struct wire_in){ buffer, o.length, 0, false };
	CHECK(!wire_get_spawn(&in, &got));
	s.envc = 1;
	s.args_size = 5;
	o.length = 0;
	wire_put_spawn(&o, &s);
	in = (struct wire_in){ buffer, o.length, 0, false };
	CHECK(!wire_get_spawn(&in, &got));
}

TEST(encoder_reports_what_does_not_fit)
{
	struct wire_out o = { buffer, 0, 10, false };
	wire_put_u64(&o, 1);
	CHECK(!o.failed);
	wire_put_u32(&o, 1);
	CHECK(o.failed);
}

static struct channel a, b;

static void open_pair(void)
{
	int fds[2];
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	CHECK_EQ(channel_init(&a, fds[0]), 0);
	CHECK_EQ(channel_init(&b, fds[1]), 0);
}

TEST(messages_and_descriptors_travel)
{
	struct message m;
	open_pair();
	int null = dup(0);
	CHECK_EQ(channel_send(&a, WIRE_SPAWN, 7, "abc", 3, &null, 1), 0);
	CHECK_EQ(channel_send(&a, WIRE_STATS, 8, NULL, 0, NULL, 0), 0);
	CHECK_EQ(channel_receive(&b, false, &m), 1);
	CHECK_EQ(m.header.type, WIRE_SPAWN);
	CHECK_EQ(m.header.request, 7);
	CHECK_EQ(m.header.length, 3);
	CHECK_EQ(m.fd_count, 1);
	CHECK_EQ(memcmp(m.body, "abc", 3), 0);
	CHECK_EQ(channel_receive(&b, false, &m), 1);
	CHECK_EQ(m.header.type, WIRE_STATS);
	CHECK_EQ(m.fd_count, 0);
	CHECK_EQ(channel_receive(&b, false, &m), 0);
	channel_fini(&a);
	CHECK_EQ(channel_receive(&b, false, &m), -EPIPE);
}

TEST(a_slow_reader_fills_the_queue_and_no_more)
{
	static char body[1 << 20];
	struct message m;
	int r = 0, sent = 0;
	open_pair();
	while ((r = channel_send(&a, WIRE_OUTPUT, 1, body, sizeof(body), NULL, 0)) == 0)
		sent++;
	CHECK_EQ(r, -ENOBUFS);
	CHECK(sent >= 7);
	for (int got = 0; got < sent;) {
		CHECK(channel_flush(&a) >= 0);
		r = channel_receive(&b, false, &m);
		CHECK(r >= 0);
		got += r;
	}
	CHECK_EQ(channel_flush(&a), 1);
}

TEST(malformed_headers_are_refused)
{
	struct message m;
	struct wire_header bad[] = { { .type = 9999 },
				     { .type = WIRE_STATS, .length = WIRE_BODY_MAX + 1 },
				     { .type = WIRE_STATS, .flags = 1 } };
	for (size_t i = 0; i < 3; i++) {
		open_pair();
		CHECK_EQ(write(a.fd, &bad[i], sizeof(bad[i])), sizeof(bad[i]));
		CHECK_EQ(channel_receive(&b, false, &m), -EPROTO);
		channel_fini(&a);
		channel_fini(&b);
	}
}

CHECK_MAIN()
