/*
 * `hotcell forward`: a port of this machine that leads to a port of a sandbox. Each connection becomes
 * a request that the server upgrades to a tunnel.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "client/target.h"

#define PIECE		16384
#define PASSAGES_MAX	256
#define ACCEPT_PAUSE_NS (100 * NSEC_PER_MSEC)

struct forward {
	struct client_options *o;
	struct target target;
	unsigned int port;
};

static atomic_int passages;

struct passage {
	const struct forward *forward;
	struct connection *c;
	int fd;
};

static int open_tunnel(struct passage *p, struct error *err)
{
	static const struct header headers[] = { { "Connection", "Upgrade" },
						 { "Upgrade", "hotcell-tcp" },
						 { NULL, NULL } };
	char path[96];

	snprintf(path, sizeof(path), "/hotcell/sandboxes/%s/ports/%u", p->forward->target.id,
		 p->forward->port);
	int r = connection_request(p->c, &p->forward->o->endpoint, "GET", path, headers, NULL, 0,
				   err);
	if (r == 0 && p->c->status != 101)
		r = answer_error(p->c, err);
	return r;
}

/* ---- one direction: what was read and is not yet written ---- */

struct flow {
	char bytes[PIECE];
	size_t at, end;
	bool over; /* its source has ended */
	bool told; /* and its sink knows */
};

static ssize_t read_local(int fd, void *data, size_t size)
{
	ssize_t n = recv(fd, data, size, MSG_DONTWAIT);
	return n < 0 ? -errno : n;
}

static ssize_t write_local(int fd, const void *data, size_t size)
{
	ssize_t n = send(fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	return n < 0 ? -errno : n;
}

static bool is_final(ssize_t n)
{
	return n < 0 && n != -EAGAIN && n != -EINTR;
}

/* As far as it goes without waiting; -errno: an end is broken. */
static int move(struct passage *p, struct flow *f, bool up)
{
	ssize_t n = 1;

	while (n > 0) {
		if (f->at == f->end && !f->over) {
			n = up ? read_local(p->fd, f->bytes, PIECE)
			       : connection_try_read(p->c, f->bytes, PIECE);
			f->at = 0;
			f->end = n > 0 ? (size_t)n : 0;
			f->over = n == 0;
		}
		if (is_final(n))
			return (int)n;
		if (f->at == f->end)
			break;
		n = up ? connection_try_write(p->c, f->bytes + f->at, f->end - f->at)
		       : write_local(p->fd, f->bytes + f->at, f->end - f->at);
		if (is_final(n))
			return (int)n;
		f->at += n > 0 ? (size_t)n : 0;
	}
	if (f->over && f->at == f->end && !f->told) {
		f->told = true;
		if (up)
			connection_end_output(p->c);
		else
			shutdown(p->fd, SHUT_WR);
	}
	return 0;
}

static short interest(const struct flow *in, const struct flow *out)
{
	return (short)((in->at == in->end && !in->over ? POLLIN : 0) |
		       (out->at < out->end ? POLLOUT : 0));
}

/* Both directions in one thread, because a TLS connection is one object. Each ends for itself. */
static void carry(struct passage *p)
{
	struct flow *up = calloc(2, sizeof(*up)), *down = up ? up + 1 : NULL;

	connection_set_blocking(p->c, false);
	while (up && !(up->told && down->told)) {
		if (move(p, up, true) < 0 || move(p, down, false) < 0)
			break;
		struct pollfd fds[] = { { .fd = p->fd, .events = interest(up, down) },
					{ .fd = p->c->fd, .events = interest(down, up) } };
		/* A descriptor of which nothing is wanted would report its hangup for ever. */
		for (unsigned int i = 0; i < 2; i++)
			fds[i].fd = fds[i].events ? fds[i].fd : -1;
		bool at_once = down->at == down->end && connection_has_data(p->c);
		if (!at_once && !(up->told && down->told) && poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
	}
	free(up);
}

static void *passage_main(void *arg)
{
	struct passage *p = arg;
	struct error err;

	if (open_tunnel(p, &err) == 0) {
		carry(p);
	} else {
		client_fail(&err);
		if (err.code == 404) /* the sandbox is gone, and does not come back */
			_exit(1);
	}
	close(p->fd);
	connection_free(p->c);
	free(p);
	atomic_fetch_sub(&passages, 1);
	return NULL;
}

static void accept_one(const struct forward *f, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	struct passage *p = fd >= 0 ? calloc(1, sizeof(*p)) : NULL;
	pthread_t thread;

	if (fd < 0) {
		/* No descriptors: without a pause this would turn as fast as it can. */
		nanosleep(&(struct timespec){ .tv_nsec = ACCEPT_PAUSE_NS }, NULL);
		return;
	}
	if (p)
		*p = (struct passage){ f, connection_new(), fd };
	if (p && p->c && atomic_fetch_add(&passages, 1) < PASSAGES_MAX &&
	    pthread_create(&thread, NULL, passage_main, p) == 0) {
		pthread_detach(thread);
		return;
	}
	if (p && p->c)
		atomic_fetch_sub(&passages, 1);
	close(fd);
	if (p)
		connection_free(p->c);
	free(p);
}

/* "PORT" or "LOCAL:PORT". */
static int parse_ports(const char *text, unsigned int *local, unsigned int *remote)
{
	char *end;
	unsigned long a = strtoul(text, &end, 10), b = a;

	if (*end == ':')
		b = strtoul(end + 1, &end, 10);
	if (*end || a > UINT16_MAX || b == 0 || b > UINT16_MAX)
		return -EINVAL;
	*local = (unsigned int)a;
	*remote = (unsigned int)b;
	return 0;
}

static int listen_on(const char *address, unsigned int port, unsigned int *ret_port,
		     struct error *err)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	socklen_t size = sizeof(a);
	int one = 1;

	if (inet_pton(AF_INET, address, &a.sin_addr) != 1)
		return error_set(err, 0, "--listen: '%.100s' is not an IPv4 address", address);
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 64) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &size) < 0)
		return error_set(err, errno, "listen on %s port %u", address, port);
	*ret_port = ntohs(a.sin_port);
	return take_fd(&fd);
}

static int run_forward(struct client_options *o)
{
	static struct forward f;
	struct error err;
	unsigned int local;

	f.o = o;
	if (parse_ports(o->arguments[1], &local, &f.port) < 0) {
		error_set(&err, 0, "'%.60s' is not PORT or LOCAL:PORT", o->arguments[1]);
		return client_fail(&err);
	}
	int r = target_open(&f.target, o, o->arguments[0], &err);
	if (r == 0)
		r = listen_on(o->listen, local, &local, &err);
	if (r < 0)
		return client_fail(&err);
	printf("%s:%u -> port %u of %s\n", o->listen, local, f.port, f.target.id);
	fflush(stdout);
	for (;;)
		accept_one(&f, r);
}

static const struct option_spec forward_options[] = {
	CLIENT_COMMON,
	{ .name = "listen",
	  .kind = OPTION_TEXT,
	  .offset = offsetof(struct client_options, listen),
	  .metavar = "ADDRESS",
	  .initial = "127.0.0.1",
	  .help = "the address of this machine to listen on" },
};

const struct client_verb verb_forward = {
	"forward",
	"[OPTIONS] SANDBOX [LOCAL:]PORT",
	"Makes a port of a sandbox a port of this machine (LOCAL 0 = a free one), until it is ended.",
	forward_options,
	ARRAY_SIZE(forward_options),
	2,
	2,
	run_forward,
	false,
	0,
	false,
};
