/* A runtime against a kernel process that the test plays, with all its bad ideas. */
#include "check.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <uv.h>

#include "base/util.h"
#include "server/runtime/runtime.h"
#include "wire/channel.h"

static struct runtime *rt;
static struct channel far;
static int near_fd;

static bool ready, died;
static uint32_t died_how;
static char died_reason[512];
static unsigned int answers, failures, last_error, last_type;
static bool died_before_answers;

static void on_ready(void *ctx, uint64_t start_ns)
{
	ready = true;
}

static void on_died(void *ctx, uint32_t how, const char *reason, const struct wire_stats *stats)
{
	CHECK(!died);
	died = true;
	died_how = how;
	snprintf(died_reason, sizeof(died_reason), "%s", reason);
}

static const struct runtime_events events = { on_ready, on_died, NULL };

static void on_answer(void *ctx, const struct runtime_answer *a)
{
	answers++;
	died_before_answers |= died;
	last_error = (unsigned int)a->error;
	last_type = a->type;
	failures += a->error != 0;
}

static void open_it(void)
{
	struct error err;
	int ends[2];
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	CHECK_EQ(channel_init(&far, ends[1]), 0);
	near_fd = ends[0];
	CHECK_EQ(runtime_new(uv_default_loop(), ends[0], &events, NULL, &rt, &err), 0);
}

static void turn(void)
{
	for (int i = 0; i < 5; i++)
		uv_run(uv_default_loop(), UV_RUN_NOWAIT);
}

static void say(uint32_t type, uint32_t request, const struct wire_out *body)
{
	CHECK_EQ(channel_send(&far, type, request, body ? body->data : NULL,
			      body ? body->length : 0, NULL, 0),
		 0);
	turn();
}

static void say_number(uint32_t type, uint32_t request, uint32_t value)
{
	uint8_t bytes[4];
	struct wire_out o = { bytes, 0, sizeof(bytes), false };
	wire_put_u32(&o, value);
	say(type, request, &o);
}

static void say_error(uint32_t request, uint32_t error)
{
	uint8_t bytes[64];
	struct wire_out o = { bytes, 0, sizeof(bytes), false };
	wire_put_u32(&o, error);
	wire_put_u32(&o, 0);
	wire_put_str(&o, "because");
	say(WIRE_ERROR, request, &o);
}

static void hear(uint32_t type, struct message *m)
{
	CHECK_EQ(channel_receive(&far, true, m), 1);
	CHECK_EQ(m->header.type, type);
}

static void check_died(uint32_t how, const char *part)
{
	while (!died)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	CHECK_EQ(died_how, how);
	CHECK(strstr(died_reason, part));
	CHECK_EQ(fcntl(near_fd, F_GETFD), -1); /* closed */
	CHECK(!died_before_answers);
}

TEST(requests_and_answers)
{
	struct message m;
	uint8_t bytes[8] = { 0 };
	struct wire_out eight = { bytes, 8, 8, false };
	open_it();
	say(WIRE_READY, 0, &eight);
	CHECK(ready);
	uint32_t a = runtime_call(rt, WIRE_FREEZE, NULL, -1, on_answer, NULL);
	uint32_t b = runtime_call(rt, WIRE_DIAL, NULL, -1, on_answer, NULL);
	CHECK(a && b && a != b);
	hear(WIRE_FREEZE, &m);
	CHECK_EQ(m.header.request, a);
	hear(WIRE_DIAL, &m);
	say_error(b, ECONNREFUSED);
	CHECK_EQ(last_error, ECONNREFUSED);
	say(WIRE_DONE, a, NULL);
	CHECK_EQ(answers, 2);
	CHECK_EQ(last_error, 0);
	say(WIRE_DONE, a, NULL); /* late, of something that is over: no harm */
	CHECK(!died);
	runtime_abandon(rt, "the end");
	check_died(WIRE_DEATH_FAULT, "the end");
}

TEST(cancelled_requests_are_silent)
{
	struct message m;
	open_it();
	uint32_t a = runtime_call(rt, WIRE_FS_WATCH, NULL, -1, on_answer, NULL);
	hear(WIRE_FS_WATCH, &m);
	say(WIRE_DONE, a, NULL);
	say(WIRE_FS_EVENT, a, NULL);
	CHECK_EQ(answers, 2);
	runtime_cancel(rt, a);
	runtime_cancel(rt, a);
	runtime_cancel(rt, 0);
	hear(WIRE_CANCEL, &m);
	CHECK_EQ(m.header.request, a);
	say(WIRE_FS_EVENT, a, NULL);
	CHECK_EQ(answers, 2);
	CHECK(!died);
}

TEST(the_end_answers_first)
{
	open_it();
	for (int i = 0; i < 100; i++)
		CHECK(runtime_call(rt, WIRE_FS_STAT, NULL, -1, on_answer, NULL));
	channel_fini(&far);
	check_died(WIRE_DEATH_FAULT, "");
	CHECK_EQ(answers, 100);
	CHECK_EQ(last_error, ESHUTDOWN);
}

TEST(a_call_while_it_closes)
{
	open_it();
	runtime_abandon(rt, "x");
	CHECK_EQ(runtime_call(rt, WIRE_FREEZE, NULL, -1, on_answer, NULL), 0);
	CHECK_EQ(last_error, ESHUTDOWN);
	runtime_shutdown(rt, "y");
	check_died(WIRE_DEATH_FAULT, "x");
	CHECK_EQ(answers, 1);
}

TEST(died_has_the_reason)
{
	static uint8_t bytes[sizeof(struct wire_stats) + 256];
	struct wire_out o = { bytes, 0, sizeof(bytes), false };
	static struct wire_stats stats;
	open_it();
	wire_put_u32(&o, WIRE_DEATH_LIMIT);
	wire_put_str(&o, "memory limit reached");
	wire_put_stats(&o, &stats);
	say(WIRE_DIED, 0, &o);
	check_died(WIRE_DEATH_LIMIT, "memory limit reached");
}

/* ---- what no kernel process does ---- */

TEST(answer_to_nothing)
{
	open_it();
	say(WIRE_DONE, 7, NULL);
	check_died(WIRE_DEATH_FAULT, "an answer to nothing");
}

TEST(answer_of_another_request)
{
	open_it();
	uint32_t a = runtime_call(rt, WIRE_FREEZE, NULL, -1, on_answer, NULL);
	say(WIRE_FS_ENTRY, a, NULL);
	check_died(WIRE_DEATH_FAULT, "another request");
	CHECK_EQ(last_error, ESHUTDOWN);
}

TEST(a_request_instead_of_an_answer)
{
	open_it();
	say(WIRE_SPAWN, 0, NULL);
	check_died(WIRE_DEATH_FAULT, "an answer to nothing");
}

TEST(unknown_type)
{
	open_it();
	struct wire_header h = { .type = 9999 };
	CHECK_EQ(send(far.fd, &h, sizeof(h), 0), sizeof(h));
	check_died(WIRE_DEATH_FAULT, "framing");
}

TEST(too_long)
{
	open_it();
	struct wire_header h = { .type = WIRE_LOG, .length = WIRE_BODY_MAX + 1 };
	CHECK_EQ(send(far.fd, &h, sizeof(h), 0), sizeof(h));
	check_died(WIRE_DEATH_FAULT, "framing");
}

TEST(short_bodies)
{
	open_it();
	say_number(WIRE_LOG, 0, 3);
	check_died(WIRE_DEATH_FAULT, "LOG");
}

TEST(ready_twice)
{
	uint8_t bytes[8] = { 0 };
	struct wire_out eight = { bytes, 8, 8, false };
	open_it();
	say(WIRE_READY, 0, &eight);
	say(WIRE_READY, 0, &eight);
	check_died(WIRE_DEATH_FAULT, "READY");
}

TEST(descriptors)
{
	open_it();
	int fd = 0;
	CHECK_EQ(channel_send(&far, WIRE_DONE, 1, NULL, 0, &fd, 1), 0);
	check_died(WIRE_DEATH_FAULT, "a descriptor");
}

TEST(an_error_without_errno)
{
	open_it();
	uint32_t a = runtime_call(rt, WIRE_FREEZE, NULL, -1, on_answer, NULL);
	say_error(a, 0);
	check_died(WIRE_DEATH_FAULT, "ERROR");
}

TEST(it_does_not_read)
{
	static uint8_t bytes[1 << 20];
	struct wire_out o = { bytes, sizeof(bytes), sizeof(bytes), false };
	open_it();
	for (int i = 0; i < 100 && !failures; i++)
		(void)runtime_call(rt, WIRE_FS_STAT, &o, -1, on_answer, NULL);
	check_died(WIRE_DEATH_FAULT, "does not read");
}

TEST(it_reads_slowly)
{
	static uint8_t bytes[1 << 20];
	struct wire_out o = { bytes, sizeof(bytes), sizeof(bytes), false };
	struct message m;
	int fds[2];
	open_it();
	CHECK_EQ(pipe(fds), 0);
	for (int i = 0; i < 12;
	     i++) /* with a descriptor among them: it must not block, and stay in order */
		CHECK(runtime_call(rt, WIRE_FS_WRITE, i == 6 ? NULL : &o, i == 6 ? fds[0] : -1,
				   on_answer, NULL));
	close(fds[0]);
	for (uint32_t i = 1; i <= 12;) {
		uv_run(uv_default_loop(), UV_RUN_NOWAIT);
		if (channel_receive(&far, false, &m) != 1)
			continue;
		CHECK_EQ(m.header.request, i);
		CHECK_EQ(m.fd_count, i == 7 ? 1 : 0);
		if (m.fd_count)
			close(m.fds[0]);
		i++;
	}
	CHECK(!died);
}

/* ---- processes ---- */

static unsigned int spawned, exited, failed;
static int failed_error;
static size_t output;

static void on_spawned(void *ctx, uint32_t pid)
{
	spawned = pid;
}

static void on_failed(void *ctx, int error, uint32_t about, const char *message)
{
	failed++;
	failed_error = error;
}

static void on_output(void *ctx, const uint8_t *data, size_t size)
{
	output += size;
}

static void on_exited(void *ctx, uint32_t status)
{
	exited = status;
}

static const struct runtime_process_events process_events = { on_spawned, on_failed, on_output,
							      on_exited };

static struct runtime_process *spawn_with(uint32_t flags, unsigned int fd_count)
{
	const struct wire_spawn spawn = { .flags = flags,
					  .user = "",
					  .cwd = "",
					  .path = "x",
					  .argc = 1,
					  .args = "x",
					  .args_size = 2 };
	int fds[WIRE_SPAWN_FDS_MAX + 1];
	for (unsigned int i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = (int)(i % 3);
	return runtime_spawn(rt, &spawn, fds, fd_count, &process_events, NULL);
}

static struct runtime_process *start(uint32_t flags)
{
	struct message m;
	struct runtime_process *p = spawn_with(flags, flags ? 0 : 3);
	CHECK(p);
	hear(WIRE_SPAWN, &m);
	CHECK_EQ(m.fd_count, flags ? 0 : 3);
	for (uint32_t i = 0; i < m.fd_count; i++)
		close(m.fds[i]);
	return p;
}

TEST(a_process)
{
	struct message m;
	open_it();
	struct runtime_process *p = start(WIRE_SPAWN_TTY);
	say_number(WIRE_SPAWNED, 1, 42);
	CHECK_EQ(spawned, 42);
	say_number(WIRE_OUTPUT, 1, 0);
	CHECK_EQ(output, 4);
	runtime_output_taken(p, 4);
	hear(WIRE_OUTPUT_ACK, &m);
	runtime_input(p, "abc", 3);
	hear(WIRE_INPUT, &m);
	CHECK_EQ(m.header.length, 3);
	runtime_resize(p, 10, 20);
	hear(WIRE_RESIZE, &m);
	runtime_signal(p, 15, true);
	hear(WIRE_SIGNAL, &m);
	say_error(1, ESRCH); /* the signal came too late */
	CHECK_EQ(failed, 0);
	say_number(WIRE_EXITED, 1, 256);
	CHECK_EQ(exited, 256);
	CHECK(!died);
}

static void hear_fds(unsigned int count)
{
	struct message m;
	do {
		uv_run(uv_default_loop(), UV_RUN_NOWAIT);
	} while (channel_receive(&far, false, &m) != 1);
	CHECK_EQ(m.fd_count, count);
	for (uint32_t i = 0; i < m.fd_count; i++)
		close(m.fds[i]);
}

TEST(more_descriptors_than_the_standard_ones)
{
	static uint8_t bytes[1 << 20];
	struct wire_out large = { bytes, sizeof(bytes), sizeof(bytes), false };
	open_it();
	CHECK(spawn_with(0, WIRE_SPAWN_FDS_MAX));
	hear_fds(WIRE_SPAWN_FDS_MAX);
	CHECK(spawn_with(WIRE_SPAWN_TTY, 2));
	hear_fds(2);
	/* Behind what does not fit the socket: they wait, and arrive. */
	CHECK(runtime_call(rt, WIRE_FS_WRITE, &large, -1, on_answer, NULL));
	CHECK(spawn_with(0, WIRE_SPAWN_FDS_MAX));
	hear_fds(0);
	hear_fds(WIRE_SPAWN_FDS_MAX);
	CHECK(!spawn_with(0, WIRE_SPAWN_FDS_MAX + 1));
	CHECK_EQ(failed_error, E2BIG);
	CHECK(!died);
}

TEST(a_forgotten_process_is_not_stopped)
{
	struct message m;
	open_it();
	struct runtime_process *p = start(WIRE_SPAWN_TTY);
	say_number(WIRE_SPAWNED, 1, 42);
	runtime_process_forget(p);
	say_number(WIRE_OUTPUT, 1, 0);
	hear(WIRE_OUTPUT_ACK, &m);
	say_number(WIRE_EXITED, 1, 0);
	CHECK_EQ(output, 0);
	CHECK(!died);
}

TEST(a_process_that_cannot_start)
{
	open_it();
	start(0);
	say_error(1, ENOENT);
	CHECK_EQ(failed, 1);
	CHECK_EQ(failed_error, ENOENT);
}

TEST(processes_end_with_the_sandbox)
{
	open_it();
	start(0);
	start(0);
	channel_fini(&far);
	check_died(WIRE_DEATH_FAULT, "");
	CHECK_EQ(failed, 2);
	CHECK_EQ(failed_error, ESHUTDOWN);
}

TEST(exited_before_spawned)
{
	open_it();
	start(0);
	say_number(WIRE_EXITED, 1, 0);
	check_died(WIRE_DEATH_FAULT, "EXITED");
}

TEST(output_of_a_process_without_terminal)
{
	open_it();
	start(0);
	say_number(WIRE_SPAWNED, 1, 1);
	say_number(WIRE_OUTPUT, 1, 1);
	check_died(WIRE_DEATH_FAULT, "OUTPUT");
}
CHECK_MAIN()
