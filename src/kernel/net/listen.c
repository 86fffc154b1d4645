/*
 * Listeners of the kernel's own: see dial.h. A struct dial_listener is an inet_sock without a file,
 * and the ends that it accepts are what no accept(2) will ever give a file to. /proc/net/tcp6 shows
 * both, as root's.
 */
#include <errno.h>

#include "kernel/net/dial.h"
#include "kernel/net/inet/inet.h"

/* Connections that were not accepted yet; more wait in SYN_SENT, as on Linux. */
#define BACKLOG 128

static struct inet_sock *sock_of(struct dial_listener *l)
{
	return (struct inet_sock *)(void *)l;
}

static void drop(struct inet_sock *i)
{
	tcp_close(i);
	inet_unbind(i);
	socket_put(&i->sk);
}

int dial_listen(uint16_t port, struct dial_listener **ret)
{
	struct inet_name any = { .ip = inet_any(false), .port = port };

	if (!port)
		return -EINVAL;
	struct inet_sock *i = inet_new(AF_INET6, SOCK_STREAM, IPPROTO_TCP);
	if (!i)
		return -ENOMEM;
	int err = inet_bind_port(NULL, i, any);
	if (!err) {
		i->bound_port = true;
		err = tcp_listen(NULL, i, BACKLOG);
	}
	if (err) {
		drop(i);
		return err;
	}
	*ret = (struct dial_listener *)(void *)i;
	return 0;
}

struct waitq *dial_listen_waitq(struct dial_listener *l)
{
	return &sock_of(l)->sk.wq;
}

bool dial_listen_waiting(struct dial_listener *l)
{
	return !list_empty(&sock_of(l)->pending);
}

int dial_accept(struct dial_listener *l, struct dial **ret)
{
	struct socket *s;
	int err = tcp_accept(sock_of(l), &s);

	if (!err)
		*ret = (struct dial *)(void *)inet_sock(s);
	return err;
}

void dial_listen_close(struct dial_listener *l)
{
	drop(sock_of(l));
}
