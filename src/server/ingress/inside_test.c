/* Doors of sandboxes whose kernel processes the test plays, with their bad ideas. */
#include "check.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <uv.h>

#include "base/util.h"
#include "http/server.h"
#include "server/ingress/ingress.h"
#include "server/ingress/inside.h"
#include "server/runtime/runtime.h"
#include "server/sandbox/sandbox.h"
#include "server/server.h"
#include "wire/channel.h"

#define PER_CELL 32

/* A sandbox, and the kernel process that the server sees. */
struct box {
	struct sandbox sandbox;
	struct channel far;
	struct runtime *runtime;
	void *inside;
	uint32_t listen[2], accept;
	bool died;
};

static struct server server;

/* ---- two services ---- */

static void answer(struct http_exchange *x, struct sandbox *s, const char *name)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%s of %s", name, s->record.id);
	http_respond(x, 200, "text/plain", text, (size_t)n);
}

static void first(struct http_exchange *x, struct sandbox *s)
{
	answer(x, s, "first");
}

static void second(struct http_exchange *x, struct sandbox *s)
{
	answer(x, s, "second");
}

const struct ingress_service ingress_services[] = { { 1001, first, NULL }, { 1002, second, NULL } };
const unsigned int ingress_service_count = ARRAY_SIZE(ingress_services);

/* What ingress would do: nothing that comes from inside gets there. */
static bool intercept(struct http_exchange *x)
{
	CHECK(false);
	return false;
}

static void begin(void)
{
	const struct http_hooks hooks = { intercept, NULL };
	struct error err;
	server.loop = uv_default_loop();
	server.inside = &inside_service;
	CHECK_EQ(http_server_new(server.loop, NULL, 0, &hooks, NULL, &server, &server.http, &err),
		 0);
}

static void turn(void)
{
	for (int i = 0; i < 8; i++)
		uv_run(server.loop, UV_RUN_NOWAIT);
}

static void end(void)
{
	struct http_counts counts;
	turn();
	http_server_counts(server.http, &counts);
	CHECK_EQ(counts.adopted, 0);
	http_server_free(server.http);
	uv_run(server.loop, UV_RUN_DEFAULT);
}

static void cut(struct sandbox *s)
{
	while (!list_empty(&s->attached)) {
		struct sandbox_attachment *a =
			list_first(&s->attached, struct sandbox_attachment, link);
		list_del(&a->link);
		a->gone(a);
	}
}

/* ---- the kernel process ---- */

static void on_died(void *ctx, uint32_t how, const char *reason, const struct wire_stats *stats)
{
	struct box *b = ctx;
	b->died = true;
	if (b->inside)
		inside_service.close(b->inside); /* as a cell does */
}

static const struct runtime_events events = { NULL, on_died, NULL };

static void say(struct box *b, uint32_t type, uint32_t request)
{
	CHECK_EQ(channel_send(&b->far, type, request, NULL, 0, NULL, 0), 0);
	turn();
}

static void say_error(struct box *b, uint32_t request, uint32_t error)
{
	uint8_t bytes[64];
	struct wire_out o = { bytes, 0, sizeof(bytes), false };
	wire_put_error(&o, (int)error, 0, "because");
	CHECK_EQ(channel_send(&b->far, WIRE_ERROR, request, bytes, o.length, NULL, 0), 0);
	turn();
}

static void hear(struct box *b, uint32_t type, struct message *ret)
{
	turn();
	CHECK_EQ(channel_receive(&b->far, true, ret), 1);
	CHECK_EQ(ret->header.type, type);
}

static bool silent(struct box *b)
{
	char byte;
	turn();
	return b->far.in_length == 0 && recv(b->far.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0;
}

/* An ACCEPT for this door: the descriptor that came with it, -1 = none. Not answered. */
static int accepted_any(struct box *b, unsigned int *ret_door)
{
	struct message m;
	hear(b, WIRE_ACCEPT, &m);
	struct wire_in in = { m.body, m.header.length, 0, false };
	uint32_t listen = wire_get_u32(&in);
	CHECK(wire_in_end(&in) && (listen == b->listen[0] || listen == b->listen[1]));
	*ret_door = listen == b->listen[1];
	b->accept = m.header.request;
	return m.fd_count ? m.fds[0] : -1;
}

static int accepted(struct box *b, unsigned int door)
{
	unsigned int got;
	int fd = accepted_any(b, &got);
	CHECK_EQ(got, door);
	return fd;
}

/* Somebody connects. */
static int visit(struct box *b, unsigned int door)
{
	say(b, WIRE_KNOCK, b->listen[door]);
	int fd = accepted(b, door);
	say(b, WIRE_DONE, b->accept);
	return fd;
}

static bool is_closed(int fd)
{
	char byte;
	turn();
	return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

static void open_box(struct box *b, const char *id)
{
	struct message m;
	struct error err;
	int ends[2];
	*b = (struct box){ .sandbox.record.state = SANDBOX_STARTING };
	snprintf(b->sandbox.record.id, sizeof(b->sandbox.record.id), "%s", id);
	list_init(&b->sandbox.attached);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	CHECK_EQ(channel_init(&b->far, ends[1]), 0);
	CHECK_EQ(runtime_new(server.loop, ends[0], &events, b, &b->runtime, &err), 0);
	b->inside = inside_service.open(&server, b->runtime);
	for (unsigned int i = 0; i < 2; i++) {
		hear(b, WIRE_LISTEN, &m);
		struct wire_in in = { m.body, m.header.length, 0, false };
		CHECK_EQ(wire_get_u32(&in), ingress_services[i].port);
		b->listen[i] = m.header.request;
		say(b, WIRE_DONE, b->listen[i]);
	}
}

static void run_box(struct box *b)
{
	b->sandbox.record.state = SANDBOX_RUNNING;
	inside_service.running(b->inside, &b->sandbox);
}

static void close_box(struct box *b)
{
	runtime_abandon(b->runtime, "the end");
	while (!b->died)
		uv_run(server.loop, UV_RUN_ONCE);
	channel_fini(&b->far);
	turn();
}

static void open_running(struct box *b, const char *id)
{
	open_box(b, id);
	run_box(b);
}

static void check_answer(int fd, const char *wanted)
{
	static const char request[] = "GET /sandboxes HTTP/1.1\r\nHost: 1002-other.example\r\n"
				      "e2b-sandbox-id: other\r\ne2b-sandbox-port: 1002\r\n\r\n";
	char got[1024];
	CHECK_EQ(send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL), sizeof(request) - 1);
	turn();
	ssize_t n = recv(fd, got, sizeof(got) - 1, MSG_DONTWAIT);
	CHECK(n > 0);
	got[MAX(n, 0)] = '\0';
	CHECK(strstr(got, wanted));
}

/* ---- tests ---- */

TEST(each_door_is_one_service_of_one_sandbox)
{
	static struct box a, b;
	begin();
	open_running(&a, "aaa");
	open_running(&b, "bbb");
	int fds[] = { visit(&a, 0), visit(&a, 1), visit(&b, 0), visit(&b, 1) };
	static const char *const wanted[] = { "first of aaa", "second of aaa", "first of bbb",
					      "second of bbb" };
	for (unsigned int i = 0; i < 4; i++) {
		check_answer(fds[i], wanted[i]);
		check_answer(fds[i], wanted[i]);
		close(fds[i]);
	}
	close_box(&a);
	close_box(&b);
	end();
}

TEST(nobody_is_let_in_before_it_runs)
{
	static struct box b;
	begin();
	open_box(&b, "bbb");
	say(&b, WIRE_KNOCK, b.listen[1]);
	CHECK(silent(&b));
	run_box(&b);
	int fd = accepted(&b, 1);
	say(&b, WIRE_DONE, b.accept);
	check_answer(fd, "second of bbb");
	/* A pause: those inside are cut, the next one waits. */
	b.sandbox.record.state = SANDBOX_PAUSING;
	cut(&b.sandbox);
	CHECK(is_closed(fd));
	close(fd);
	say(&b, WIRE_KNOCK, b.listen[0]);
	CHECK(silent(&b));
	run_box(&b);
	fd = accepted(&b, 0);
	close_box(&b);
	CHECK(is_closed(fd));
	close(fd);
	end();
}

TEST(knocks_without_end)
{
	static struct box b;
	unsigned int door;
	int fds[PER_CELL];
	begin();
	open_running(&b, "bbb");
	for (int i = 0; i < 100; i++)
		say(&b, WIRE_KNOCK, b.listen[0]);
	fds[0] = accepted(&b, 0);
	CHECK(silent(&b)); /* the others were not heard */
	say(&b, WIRE_DONE, b.accept);
	for (unsigned int i = 1; i < PER_CELL; i++)
		fds[i] = visit(&b, i % 2);
	say(&b, WIRE_KNOCK, b.listen[0]);
	say(&b, WIRE_KNOCK, b.listen[1]);
	CHECK(silent(&b));
	/* When one goes another comes, and each door in its turn. */
	close(fds[7]);
	fds[7] = accepted_any(&b, &door);
	say(&b, WIRE_DONE, b.accept);
	say(&b, WIRE_KNOCK, b.listen[door]);
	CHECK(silent(&b));
	close(fds[8]);
	fds[8] = accepted(&b, !door);
	CHECK(silent(&b));
	close_box(&b);
	for (unsigned int i = 0; i < PER_CELL; i++)
		close(fds[i]);
	end();
}

TEST(refused)
{
	static struct box b;
	begin();
	open_running(&b, "bbb");
	say(&b, WIRE_KNOCK, b.listen[0]);
	int fd = accepted(&b, 0);
	say_error(&b, b.accept, EAGAIN);
	CHECK(is_closed(fd));
	close(fd);
	say_error(&b, b.listen[1], EADDRINUSE);
	fd = visit(&b, 0);
	check_answer(fd, "first of bbb");
	close(fd);
	close_box(&b);
	end();
}

TEST(the_end_takes_everything_back)
{
	static struct box b;
	struct message m;
	begin();
	open_running(&b, "bbb");
	int served = visit(&b, 0);
	say(&b, WIRE_KNOCK, b.listen[1]);
	int half = accepted(&b, 1);
	inside_service.close(b.inside);
	b.inside = NULL;
	hear(&b, WIRE_CANCEL, &m);
	CHECK_EQ(m.header.request, b.listen[0]);
	hear(&b, WIRE_CANCEL, &m);
	CHECK_EQ(m.header.request, b.accept);
	hear(&b, WIRE_CANCEL, &m);
	CHECK_EQ(m.header.request, b.listen[1]);
	CHECK(is_closed(served) && is_closed(half));
	CHECK(list_empty(&b.sandbox.attached));
	say(&b, WIRE_DONE, b.accept); /* too late */
	say(&b, WIRE_KNOCK, b.listen[0]);
	CHECK(silent(&b) && !b.died);
	close(served);
	close(half);
	close_box(&b);
	end();
}

TEST(no_descriptors)
{
	static struct box b;
	struct rlimit before, none = { 0, 0 };
	begin();
	open_running(&b, "bbb");
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	none.rlim_max = before.rlim_max;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	say(&b, WIRE_KNOCK, b.listen[0]);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
	CHECK_EQ(accepted(&b, 0), -1); /* a reset for who knocked */
	say(&b, WIRE_DONE, b.accept);
	int fd = visit(&b, 0);
	check_answer(fd, "first of bbb");
	close(fd);
	close_box(&b);
	end();
}

/* The last test: the bound stays. */
TEST(too_many_of_all)
{
	static struct box a, b;
	struct rlimit before, few;
	int fds[8];
	begin();
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = 64;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
	inside_start();
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
	open_running(&a, "aaa");
	open_running(&b, "bbb");
	for (unsigned int i = 0; i < 8; i++)
		fds[i] = visit(&a, 0);
	say(&b, WIRE_KNOCK, b.listen[1]);
	say(&a, WIRE_KNOCK, a.listen[1]);
	CHECK(silent(&a) && silent(&b));
	close(fds[0]);
	fds[0] = accepted(&b, 1); /* it was there first */
	say(&b, WIRE_DONE, b.accept);
	CHECK(silent(&a) && silent(&b));
	say(&b, WIRE_KNOCK, b.listen[0]);
	close_box(&a); /* all of its own go, and its place in the queue */
	for (unsigned int i = 1; i < 8; i++)
		close(fds[i]);
	fds[1] = accepted(&b, 0);
	close_box(&b);
	close(fds[0]);
	close(fds[1]);
	end();
}

CHECK_MAIN()
