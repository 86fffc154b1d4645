/*
 * `hotcell forward`: a port of this machine that leads to a port of a sandbox. Each connection becomes
 * a request that the server upgrades to a tunnel.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "base/util.h"
#include "client/client.h"

#define PIECE 7168

struct forward {
	struct client_options *o;
	char id[24];
	unsigned int port;
};

struct passage {
	const struct forward *forward;
	struct connection *c;
	int fd;
};

/* From the local connection to the sandbox. */
static void *upward(void *arg)
{
	struct passage *p = arg;
	char bytes[PIECE];
	ssize_t n;

	while ((n = read(p->fd, bytes, sizeof(bytes))) > 0 &&
	       connection_write_raw(p->c, bytes, (size_t)n) == 0)
		;
	shutdown(p->c->fd, SHUT_WR);
	return NULL;
}

static int open_tunnel(struct passage *p, struct error *err)
{
	static const struct header headers[] = { { "Connection", "Upgrade" },
						 { "Upgrade", "hotcell-tcp" },
						 { NULL, NULL } };
	char path[96];

	snprintf(path, sizeof(path), "/hotcell/sandboxes/%s/ports/%u", p->forward->id,
		 p->forward->port);
	int r = connection_request(p->c, &p->forward->o->endpoint, "GET", path, headers, NULL, 0,
				   err);
	if (r == 0 && p->c->status != 101)
		r = answer_error(p->c, err);
	return r;
}

static void *passage_main(void *arg)
{
	struct passage *p = arg;
	struct error err;
	char bytes[PIECE];
	pthread_t thread;
	ssize_t n;

	if (open_tunnel(p, &err) < 0) {
		client_fail(&err);
	} else if (pthread_create(&thread, NULL, upward, p) == 0) {
		while ((n = connection_read_raw(p->c, bytes, sizeof(bytes))) > 0 &&
		       io_write_all(p->fd, bytes, (size_t)n) == 0)
			;
		shutdown(p->fd, SHUT_RDWR);
		pthread_join(thread, NULL);
	}
	close(p->fd);
	connection_free(p->c);
	free(p);
	return NULL;
}

static void accept_one(const struct forward *f, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	struct passage *p = fd >= 0 ? calloc(1, sizeof(*p)) : NULL;
	pthread_t thread;

	if (!p) {
		if (fd >= 0)
			close(fd);
		return;
	}
	*p = (struct passage){ f, connection_new(), fd };
	if (p->c && pthread_create(&thread, NULL, passage_main, p) == 0) {
		pthread_detach(thread);
		return;
	}
	close(fd);
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
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (inet_pton(AF_INET, address, &a.sin_addr) != 1)
		return error_set(err, 0, "--listen: '%.100s' is not an IPv4 address", address);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 64) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &size) < 0)
		return error_set(err, errno, "listen on %s port %u", address, port);
	*ret_port = ntohs(a.sin_port);
	return fd;
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
	int r = client_find(o, o->arguments[0], f.id, &err);
	char token[64];
	if (r == 0)
		r = client_token(o, f.id, token, &err);
	if (r == 0)
		r = listen_on(o->listen, local, &local, &err);
	if (r < 0)
		return client_fail(&err);
	printf("%s:%u -> port %u of %s\n", o->listen, local, f.port, f.id);
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
	"forward", "[OPTIONS] SANDBOX [LOCAL:]PORT",
	"Makes a port of a sandbox a port of this machine (LOCAL 0 = a free one), until it is ended.",
	forward_options, ARRAY_SIZE(forward_options), 2, 2, run_forward, false,
};
