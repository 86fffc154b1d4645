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

static const struct wire_entry entry = {
	.type = WIRE_ENTRY_FILE,
	.mode = 0100644,
	.target_mode = 0100644,
	.uid = 1000,
	.gid = 1001,
	.size = 1ull << 40,
	.mtime_ns = -5,
	.name = "a",
	.path = "/home/user/a",
	.owner = "user",
	.group = "1001",
	.target = "",
	.metadata_count = 2,
	.metadata = { { "k", "v" }, { "", "w" } },
};

/* Every shorter prefix of what `o` holds is refused by `get`. */
static void check_prefixes(const struct wire_out *o, bool (*get)(struct wire_in *in))
{
	for (uint32_t length = 0; length < o->length; length++) {
		struct wire_in in = { o->data, length, 0, false };
		CHECK(!get(&in));
		CHECK(!wire_in_end(&in));
	}
	struct wire_in whole = { o->data, o->length, 0, false };
	CHECK(get(&whole));
	CHECK(wire_in_end(&whole));
}

static bool get_entry(struct wire_in *in)
{
	static struct wire_entry got;
	return wire_get_entry(in, &got);
}

TEST(entry_comes_back)
{
	static struct wire_entry got;
	struct wire_out o = { buffer, 0, sizeof(buffer), false };
	wire_put_entry(&o, &entry);
	struct wire_in in = { buffer, o.length, 0, false };
	CHECK(wire_get_entry(&in, &got) && wire_in_end(&in));
	CHECK_EQ(got.mtime_ns, -5);
	CHECK_EQ(got.size, 1ull << 40);
	CHECK_STR(got.path, "/home/user/a");
	CHECK_STR(got.group, "1001");
	CHECK_EQ(got.metadata_count, 2);
	CHECK_STR(got.metadata[1].value, "w");
	check_prefixes(&o, get_entry);
}

TEST(metadata_is_bounded)
{
	static struct wire_fs got;
	struct wire_out o = { buffer, 0, sizeof(buffer), false };
	wire_put_str(&o, "");
	wire_put_str(&o, "a");
	wire_put_u32(&o, WIRE_METADATA_MAX + 1);
	for (int i = 0; i < 2 * (WIRE_METADATA_MAX + 1); i++)
		wire_put_str(&o, "x");
	struct wire_in in = { buffer, o.length, 0, false };
	CHECK(!wire_get_fs(&in, WIRE_FS_WRITE, &got));
}

static uint32_t fs_type;

static bool get_fs(struct wire_in *in)
{
	static struct wire_fs got;
	return wire_get_fs(in, fs_type, &got);
}

TEST(file_requests_come_back)
{
	static const uint32_t types[] = { WIRE_FS_STAT, WIRE_FS_LIST,  WIRE_FS_MAKE_DIR,
					  WIRE_FS_MOVE, WIRE_FS_REMOVE, WIRE_FS_READ,
					  WIRE_FS_WRITE, WIRE_FS_WATCH };
	static const struct wire_fs f = { .user = "u", .path = "p", .destination = "d", .depth = 2,
					  .flags = 3, .offset = 4, .length = UINT64_MAX,
					  .metadata_count = 1, .metadata = { { "k", "v" } } };
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		static struct wire_fs got;
		struct wire_out o = { buffer, 0, sizeof(buffer), false };
		fs_type = types[i];
		wire_put_fs(&o, fs_type, &f);
		CHECK(!o.failed);
		check_prefixes(&o, get_fs);
		struct wire_in in = { buffer, o.length, 0, false };
		CHECK(wire_get_fs(&in, fs_type, &got));
		CHECK_STR(got.user, "u");
		CHECK_STR(got.path, "p");
		CHECK_STR(got.destination, fs_type == WIRE_FS_MOVE ? "d" : "");
		CHECK_EQ(got.length, fs_type == WIRE_FS_READ ? UINT64_MAX : 0);
		CHECK_EQ(got.metadata_count, fs_type == WIRE_FS_WRITE);
	}
	struct wire_out o = { buffer, 0, sizeof(buffer), false };
	wire_put_fs(&o, WIRE_STATS, &f);
	CHECK(o.failed);
	struct wire_in in = { buffer, 4, 0, false };
	CHECK(!wire_get_fs(&in, 4711, &(struct wire_fs){ 0 }));
}

static bool get_event(struct wire_in *in)
{
	static struct wire_fs_event got;
	return wire_get_fs_event(in, &got);
}

TEST(events_come_back_with_and_without_entry)
{
	static struct wire_fs_event e = { .event = WIRE_EVENT_CHMOD, .name = "a/b" };
	for (int i = 0; i < 2; i++) {
		struct wire_out o = { buffer, 0, sizeof(buffer), false };
		e.has_entry = i;
		e.entry = entry;
		wire_put_fs_event(&o, &e);
		check_prefixes(&o, get_event);
	}
	struct wire_out o = { buffer, 0, sizeof(buffer), false };
	e.event = WIRE_EVENT_CHMOD + 1;
	wire_put_fs_event(&o, &e);
	struct wire_in in = { buffer, o.length, 0, false };
	CHECK(!get_event(&in));
}

static bool get_process(struct wire_in *in)
{
	struct wire_process got;
	return wire_get_process(in, &got);
}

TEST(processes_and_errors_come_back)
{
	const struct wire_process p = { .pid = 7, .cpu_ns = 8, .state = "S", .command = "a b" };
	struct wire_process got;
	struct wire_out o = { buffer, 0, sizeof(buffer), false };
	wire_put_process(&o, &p);
	check_prefixes(&o, get_process);
	struct wire_in in = { buffer, o.length, 0, false };
	CHECK(wire_get_process(&in, &got));
	CHECK_EQ(got.cpu_ns, 8);
	CHECK_STR(got.command, "a b");

	const char *message;
	uint32_t about;
	int error;
	o.length = 0;
	wire_put_error(&o, 2, WIRE_ABOUT_CWD, "x");
	in = (struct wire_in){ buffer, o.length, 0, false };
	CHECK(wire_get_error(&in, &error, &about, &message) && wire_in_end(&in));
	CHECK_EQ(error, 2);
	CHECK_EQ(about, WIRE_ABOUT_CWD);
	CHECK_STR(message, "x");
}

/* The fuzz target (wire_fuzz.c) on what a fuzzer would start from: garbage, and garbled bodies. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

TEST(decoders_survive_anything)
{
	static uint8_t bytes[2048];
	struct wire_fs_event e = { .event = 1, .name = "n", .has_entry = true, .entry = entry };
	uint32_t seed = 1;
	for (int round = 0; round < 20000; round++) {
		struct wire_out o = { bytes + 1, 0, sizeof(bytes) - 1, false };
		bytes[0] = (uint8_t)round;
		wire_put_fs_event(&o, &e);
		uint32_t size = o.length + 1, changes = round % 5;
		for (uint32_t i = 0; i < changes; i++) {
			seed = seed * 1664525 + 1013904223;
			bytes[1 + (seed >> 8) % (size - 1)] = (uint8_t)(seed >> 24);
		}
		LLVMFuzzerTestOneInput(bytes, round % 7 ? size : seed % size);
	}
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
