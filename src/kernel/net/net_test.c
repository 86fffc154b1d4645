/*
 * Rings, dials and sockets without guests: a ring against a model, the kernel's own end of a
 * connection, and an allocation that fails anywhere leaves nothing charged behind.
 */
#include "check.h"

#include <sys/epoll.h>

#include "kernel/core/arena.h"
#include "kernel/core/clock.h"
#include "kernel/core/limits.h"
#include "kernel/core/ring.h"
#include "kernel/fs/vfs.h"
#include "kernel/modules.h"
#include "kernel/net/dial.h"
#include "kernel/net/dgram.h"
#include "kernel/net/inet/inet.h"
#include "kernel/net/unix/unix.h"
#include "kernel/task/task.h"

static struct process proc = { .pid = 7 };
static struct task task = { .proc = &proc };

static void begin(void)
{
	CHECK_EQ(arena_init(MIB(256)), 0);
	CHECK_EQ(clock_init(), 0);
	CHECK_EQ(limits_init(), 0);
	CHECK_EQ(vfs_init(), 0);
	CHECK_EQ(modules_init(), 0);
	task.cred = cred_new(1000, 1000);
	proc.rlimits[RLIMIT_NOFILE].rlim_cur = 1024;
	CHECK(task.cred);
}

static uint32_t seed = 1;
static uint32_t rnd(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

/* ---- rings ---- */

#define RING_SIZE 300000u

TEST(ring_like_a_model)
{
	static uint8_t data[RING_SIZE], out[RING_SIZE];
	uint8_t next_in = 0, next_out = 0;
	struct ring r;
	struct uio u;
	begin();
	ring_init(&r, RING_SIZE);
	for (int round = 0; round < 3000; round++) {
		size_t n = rnd(4) ? rnd(9000) : rnd(RING_SIZE);
		uint32_t before = r.size;
		for (size_t i = 0; i < n; i++)
			data[i] = (uint8_t)(next_in + i);
		uio_kernel(&u, data, n);
		ssize_t staged = ring_stage(&r, &u, n);
		CHECK_EQ(staged, n < RING_SIZE - before ? n : RING_SIZE - before);
		CHECK_EQ(r.size, before);
		if (rnd(3)) { /* otherwise the answer got lost */
			size_t part = rnd(2) ? (size_t)staged : rnd((uint32_t)staged + 1);
			ring_commit(&r, part);
			CHECK_EQ(r.size, before + part);
			next_in = (uint8_t)(next_in + part);
		}
		size_t offset = rnd(3) ? 0 : rnd(5000), want = rnd(2) ? RING_SIZE : rnd(20000);
		uio_kernel(&u, out, want);
		ssize_t got = ring_peek(&r, offset, &u, want);
		size_t there = offset < r.size ? r.size - offset : 0;
		CHECK_EQ(got, want < there ? want : there);
		for (ssize_t i = 0; i < got; i++)
			CHECK_EQ(out[i], (uint8_t)(next_out + offset + (size_t)i));
		size_t take = rnd(2) ? r.size : rnd(r.size + 1);
		ring_consume(&r, take);
		next_out = (uint8_t)(next_out + take);
	}
	ring_consume(&r, r.size);
	ring_commit(&r, 0);
	CHECK_EQ(limit_used(LIMIT_BUFFER_BYTES), 0);
}

TEST(ring_without_memory)
{
	static uint8_t data[RING_SIZE];
	struct ring r;
	struct uio u;
	begin();
	ring_init(&r, RING_SIZE);
	limit_set(LIMIT_BUFFER_BYTES, 70000);
	uio_kernel(&u, data, RING_SIZE);
	ssize_t n = ring_stage(&r, &u, RING_SIZE);
	CHECK(n > 0 && n <= 70000);
	ring_commit(&r, (size_t)n);
	uio_kernel(&u, data, RING_SIZE);
	CHECK_EQ(ring_stage(&r, &u, RING_SIZE), -ENOBUFS);
	CHECK_EQ(r.size, n);
	ring_clear(&r);
	CHECK_EQ(limit_used(LIMIT_BUFFER_BYTES), 0);
}

/* ---- dials ---- */

static struct inet_sock *listen_on(uint16_t port, int backlog)
{
	struct inet_sock *l = inet_new(AF_INET, SOCK_STREAM, IPPROTO_TCP);
	struct inet_name name = { .ip = inet_any(true), .port = port };
	CHECK(l);
	CHECK_EQ(inet_bind_port(&task, l, name), 0);
	CHECK_EQ(tcp_listen(NULL, l, backlog), 0);
	return l;
}

static void drop(struct inet_sock *i)
{
	tcp_close(i);
	inet_unbind(i);
	socket_put(&i->sk);
}

TEST(dial_talks_to_a_listener)
{
	struct dial *d;
	struct socket *s;
	char buf[16];
	begin();
	CHECK_EQ(dial_open(8080, &d), -ECONNREFUSED);
	struct inet_sock *l = listen_on(8080, 5);
	CHECK_EQ(dial_open(8080, &d), 0);
	CHECK_EQ(dial_poll(d), EPOLLOUT | EPOLLWRNORM);
	CHECK_EQ(dial_read(d, buf, 16), -EAGAIN);
	CHECK_EQ(dial_write(d, "hello", 5), 5);
	CHECK_EQ(tcp_accept(l, &s), 0);
	struct inet_sock *i = inet_sock(s);
	struct uio u;
	struct msg m = { .u = &u };
	uio_kernel(&u, buf, 16);
	CHECK_EQ(tcp_recv(i, &m), 5);
	tcp_recv_done(i, 5);
	uio_kernel(&u, buf, 3);
	CHECK_EQ(tcp_send(i, &m), 3);
	tcp_send_done(i, 3);
	CHECK(dial_poll(d) & EPOLLIN);
	CHECK_EQ(dial_read(d, buf, 16), 3);
	dial_shutdown_write(d);
	CHECK_EQ(tcp_state(i), INET_CLOSE_WAIT);
	tcp_close(i);
	CHECK_EQ(dial_read(d, buf, 16), 0);
	CHECK(dial_poll(d) & EPOLLHUP);
	dial_close(d, false);
	drop(i);
	CHECK_EQ(dial_open(8080, &d), 0);
	CHECK_EQ(tcp_accept(l, &s), 0);
	dial_close(d, true);
	CHECK_EQ(inet_sock(s)->sk.error, ECONNRESET);
	drop(inet_sock(s));
	drop(l);
	CHECK_EQ(limit_used(LIMIT_BUFFER_BYTES), 0);
}

TEST(dial_waits_for_the_backlog)
{
	struct dial *d[3];
	struct socket *s;
	begin();
	struct inet_sock *l = listen_on(81 + 1000, 0);
	CHECK_EQ(dial_open(1081, &d[0]), 0);
	CHECK_EQ(dial_open(1081, &d[1]), 0);
	CHECK_EQ(dial_open(1081, &d[2]), 0);
	CHECK(dial_poll(d[0]) & EPOLLOUT);
	CHECK_EQ(dial_poll(d[1]), 0);
	CHECK_EQ(tcp_accept(l, &s), 0);
	CHECK(dial_poll(d[1]) & EPOLLOUT);
	dial_close(d[1], false);
	drop(l);
	CHECK(dial_poll(d[2]) & EPOLLERR);
	CHECK_EQ(dial_read(d[2], &(char){ 0 }, 1), -ECONNREFUSED);
	dial_close(d[0], false);
	dial_close(d[2], false);
	drop(inet_sock(s));
	CHECK_EQ(limit_used(LIMIT_BUFFER_BYTES), 0);
}

/* ---- memory that runs out ---- */

static ssize_t send_some(struct socket *s, size_t size)
{
	static char data[100000];
	struct uio u;
	struct msg m = { .task = &task, .u = &u };
	uio_kernel(&u, data, size);
	ssize_t n = socket_ops(s)->send(s, &m);
	if (n > 0)
		socket_ops(s)->send_done(s, (size_t)n);
	return n;
}

static int unix_scenario(int type)
{
	struct socket *a = NULL, *b = NULL;
	int err = unix_socket_ops.create(&task, AF_UNIX, type, 0, &a);
	if (!err)
		err = unix_socket_ops.create(&task, AF_UNIX, type, 0, &b);
	if (!err)
		err = unix_socket_ops.pair(&task, a, b);
	if (!err)
		b->options |= OPTION_PASSCRED;
	ssize_t n = err ? err : send_some(a, 50000);
	if (n > 0)
		n = send_some(a, 10);
	if (a) {
		unix_socket_ops.release(a);
		socket_put(a);
	}
	if (b) {
		unix_socket_ops.release(b);
		socket_put(b);
	}
	return n < 0 ? (int)n : 0;
}

static int inet_scenario(void)
{
	struct dial *d = NULL;
	struct inet_sock *l = inet_new(AF_INET6, SOCK_STREAM, IPPROTO_TCP);
	struct inet_name name = { .port = 2000 };
	char data[5000] = { 0 };
	if (!l)
		return -ENOMEM;
	int err = inet_bind_port(&task, l, name);
	if (!err)
		err = tcp_listen(NULL, l, 5);
	if (!err)
		err = dial_open(2000, &d);
	if (!err)
		err = (int)dial_write(d, data, sizeof(data));
	if (d)
		dial_close(d, false);
	drop(l);
	return err < 0 ? err : 0;
}

/* A connection from the kernel's own end to its own listener. */
static int listen_scenario(void)
{
	struct dial_listener *l = NULL;
	struct dial *client = NULL, *server = NULL;
	char data[5000] = { 0 };
	int err = dial_listen(2000, &l);
	if (!err)
		err = dial_open(2000, &client);
	if (!err)
		err = dial_accept(l, &server);
	if (!err)
		err = (int)dial_write(server, data, sizeof(data));
	if (server)
		dial_close(server, true);
	if (client)
		dial_close(client, true);
	if (l)
		dial_listen_close(l);
	return err < 0 ? err : 0;
}

static void fail_everywhere(int (*scenario)(void))
{
	bool passed = false;
	for (uint64_t n = 1; n < 200 && !passed; n++) {
		arena_fail_after(n);
		int err = scenario();
		arena_fail_after(0);
		CHECK(err == 0 || err == -ENOMEM || err == -ENOBUFS);
		CHECK_EQ(limit_used(LIMIT_BUFFER_BYTES), 0);
		passed = err == 0;
	}
	CHECK(passed);
	CHECK(list_empty(&unix_root()->all));
	CHECK(list_empty(&inet_root()->all));
}

static int stream_scenario(void)
{
	return unix_scenario(SOCK_STREAM);
}

static int dgram_scenario(void)
{
	return unix_scenario(SOCK_DGRAM);
}

TEST(own_listeners)
{
	struct dial_listener *l, *second;
	struct dial *client, *server;
	char got[8];
	begin();
	CHECK_EQ(dial_listen(0, &l), -EINVAL);
	CHECK_EQ(dial_listen(2000, &l), 0);
	CHECK_EQ(dial_listen(2000, &second), -EADDRINUSE);
	CHECK(!dial_listen_waiting(l));
	CHECK_EQ(dial_accept(l, &server), -EAGAIN);
	CHECK_EQ(dial_open(2000, &client), 0);
	CHECK_EQ(dial_write(client, "hello", 5), 5); /* before anybody has accepted */
	CHECK(dial_listen_waiting(l));
	CHECK_EQ(dial_accept(l, &server), 0);
	CHECK_EQ(dial_read(server, got, sizeof(got)), 5);
	dial_listen_close(l); /* what is accepted goes on */
	CHECK_EQ(dial_write(server, "yes", 3), 3);
	CHECK_EQ(dial_read(client, got, sizeof(got)), 3);
	dial_close(server, false);
	CHECK_EQ(dial_read(client, got, sizeof(got)), 0);
	dial_close(client, false);
	CHECK_EQ(dial_open(2000, &client), -ECONNREFUSED);
	CHECK(list_empty(&inet_root()->all));
}

TEST(failing_allocations)
{
	begin();
	fail_everywhere(stream_scenario);
	fail_everywhere(dgram_scenario);
	fail_everywhere(inet_scenario);
	fail_everywhere(listen_scenario);
}

CHECK_MAIN()
