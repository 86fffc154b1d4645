/* Listeners: "127.0.0.1:7878", "[::1]:80", "unix:/path". */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"
#include "codec/token.h"
#include "http/conn_internal.h"
#include "http/server_internal.h"

#define BACKLOG 1024

static void on_connection(uv_stream_t *stream, int status)
{
	struct http_listener *l = stream->data;
	if (status == 0)
		conn_accept(l->server, stream, l->tls);
}

static void on_closed(uv_handle_t *handle)
{
	struct http_listener *l = handle->data;
	struct http_server *s = l->server;
	free(l);
	server_handle_closed(s);
}

void server_close_listeners(struct http_server *s)
{
	struct http_listener *l, *next;
	list_for_each_safe(l, next, &s->listeners, link) {
		list_del(&l->link);
		if (l->path[0])
			(void)unlink(l->path);
		uv_close(&l->uv.handle, on_closed);
	}
}

/* "1.2.3.4:5" or "[::1]:5"; names are not resolved. */
static int parse_address(const char *text, struct sockaddr_storage *ret)
{
	char host[64];
	const char *colon = strrchr(text, ':');
	uint64_t port;
	if (!colon || text_number(colon + 1, strlen(colon + 1), UINT16_MAX, &port) < 0)
		return -EINVAL;
	bool v6 = text[0] == '[' && colon[-1] == ']';
	size_t size = (size_t)(colon - text) - (v6 ? 2 : 0);
	if (size == 0 || size >= sizeof(host))
		return -EINVAL;
	memcpy(host, text + v6, size);
	host[size] = '\0';
	if (v6)
		return uv_ip6_addr(host, (int)port, (struct sockaddr_in6 *)ret);
	return uv_ip4_addr(strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, (int)port,
			   (struct sockaddr_in *)ret);
}

static int listen_tcp(struct http_listener *l, const char *address, uint16_t *ret_port)
{
	struct sockaddr_storage a = { 0 };
	int size = sizeof(a);
	int r = parse_address(address, &a);
	if (r == 0)
		r = uv_tcp_bind(&l->uv.tcp, (struct sockaddr *)&a, 0);
	if (r == 0)
		r = uv_listen(&l->uv.stream, BACKLOG, on_connection);
	if (r == 0)
		r = uv_tcp_getsockname(&l->uv.tcp, (struct sockaddr *)&a, &size);
	if (r == 0 && ret_port)
		*ret_port = ntohs(a.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&a)->sin6_port
							  : ((struct sockaddr_in *)&a)->sin_port);
	return r;
}

/* A socket file on which nobody listens is a leftover. */
static void remove_leftover(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct stat st;
	if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return;
	memcpy(a.sun_path, path, strlen(path) + 1);
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0 && errno == ECONNREFUSED)
		(void)unlink(path);
}

static int listen_unix(struct http_listener *l, const char *path)
{
	if (path[0] != '/' || strlen(path) >= sizeof(l->path))
		return -EINVAL;
	remove_leftover(path);
	int r = uv_pipe_bind(&l->uv.pipe, path);
	if (r < 0)
		return r;
	memcpy(l->path, path, strlen(path) + 1);
	return uv_listen(&l->uv.stream, BACKLOG, on_connection);
}

int http_listen(struct http_server *s, const char *address, bool tls, uint16_t *ret_port,
		struct error *err)
{
	bool local = strncmp(address, "unix:", 5) == 0;
	if (tls && !s->tls)
		return error_set(err, EINVAL, "listen on %s: no certificate", address);
	struct http_listener *l = calloc(1, sizeof(*l));
	if (!l)
		return error_set(err, ENOMEM, "listen on %s", address);
	l->server = s;
	l->tls = tls;
	int r = local ? uv_pipe_init(s->loop, &l->uv.pipe, false)
		      : uv_tcp_init(s->loop, &l->uv.tcp);
	if (r < 0) {
		free(l);
		return error_set(err, -r, "listen on %s", address);
	}
	l->uv.handle.data = l;
	s->handles++;
	r = local ? listen_unix(l, address + 5) : listen_tcp(l, address, ret_port);
	if (r < 0) {
		if (l->path[0])
			(void)unlink(l->path);
		uv_close(&l->uv.handle, on_closed);
		return error_set(err, -r, "listen on %s", address);
	}
	if (local && ret_port)
		*ret_port = 0;
	list_add_tail(&s->listeners, &l->link);
	return 0;
}
