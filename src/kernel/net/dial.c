/*
 * Dials: see dial.h. A struct dial is an inet_sock without a file.
 */
#include "kernel/net/dial.h"

#include <errno.h>

#include "base/util.h"
#include "kernel/net/inet/inet.h"

static struct inet_sock *sock_of(struct dial *d)
{
	return (struct inet_sock *)(void *)d;
}

static int try_open(uint16_t port, bool v4, struct dial **ret)
{
	struct inet_name dst = { .ip = inet_loopback(v4), .port = port };
	struct inet_sock *i = inet_new(v4 ? AF_INET : AF_INET6, SOCK_STREAM, IPPROTO_TCP);

	if (!i)
		return -ENOMEM;
	i->internal = true;
	int err = tcp_start(i, &dst);
	/* A port of its own choice may be the one asked for: nobody but itself is there. */
	if (!err && i->peer == i) {
		dial_close((struct dial *)(void *)i, true);
		return -ECONNREFUSED;
	}
	if (err) {
		inet_unbind(i);
		socket_put(&i->sk);
		return err;
	}
	*ret = (struct dial *)(void *)i;
	return 0;
}

int dial_open(uint16_t port, struct dial **ret)
{
	int err = try_open(port, true, ret);
	return err == -ECONNREFUSED ? try_open(port, false, ret) : err;
}

uint32_t dial_poll(struct dial *d)
{
	return tcp_poll(sock_of(d));
}

struct waitq *dial_waitq(struct dial *d)
{
	return &sock_of(d)->sk.wq;
}

ssize_t dial_peek(struct dial *d, void *dst, size_t size)
{
	struct uio u;
	struct msg m = { .u = &u };

	uio_kernel(&u, dst, size);
	return tcp_recv(sock_of(d), &m);
}

void dial_consume(struct dial *d, size_t count)
{
	tcp_recv_done(sock_of(d), count);
}

ssize_t dial_read(struct dial *d, void *dst, size_t size)
{
	ssize_t n = dial_peek(d, dst, size);

	if (n > 0)
		dial_consume(d, (size_t)n);
	return n;
}

ssize_t dial_write(struct dial *d, const void *src, size_t size)
{
	struct uio u;
	struct msg m = { .u = &u };

	/* uio serves both directions; sending only reads from it. */
	uio_kernel(&u, (void *)(uintptr_t)src, size);
	ssize_t n = tcp_send(sock_of(d), &m);
	if (n > 0)
		tcp_send_done(sock_of(d), (size_t)n);
	return n;
}

void dial_shutdown_write(struct dial *d)
{
	tcp_shutdown(sock_of(d), SHUT_WR);
}

void dial_close(struct dial *d, bool abort)
{
	struct inet_sock *i = sock_of(d);

	if (abort) {
		i->sk.linger_on = true;
		i->sk.linger_s = 0;
	}
	tcp_close(i);
	inet_unbind(i);
	socket_put(&i->sk);
}
