/*
 * hotcell-launcher: the parent of every kernel process of a server.
 *
 * Started by hotcell-server before that gives up its rights, with one end of a socket pair as
 * descriptor 3. It keeps the rights that making namespaces, control groups and mounts takes, parses
 * nothing but packets of a fixed size (protocol.h), and has no libraries. One thread, one epoll loop.
 *
 * It ends when the socket does, whatever was the cause, and leaves nothing behind: the sandboxes die,
 * their control groups and stores are removed. Should it be killed itself, its children die with it
 * (launch.c orders a death signal) and the next launcher sweeps.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "launcher/protocol.h"
#include "launcher/sandboxes.h"

#define SOCKET_EVENT UINT32_MAX
#define EVENTS	     64

/* A server that does not read its answers is stuck or gone mad: it gets this long. */
#define SEND_PATIENCE_S 60

static void fail(const char *what)
{
	fprintf(stderr, "hotcell-launcher: %s\n", what);
	_exit(1);
}

/* The socket blocks for sending only. */
static bool answer(const struct launcher_message *m, int fd)
{
	return launcher_send(LAUNCHER_SOCKET_FD, m, fd) == 0;
}

static void refuse(struct launcher_message *m, const struct error *err)
{
	m->type = LAUNCHER_FAILED;
	memset(&m->failed, 0, sizeof(m->failed));
	m->failed.code = (uint32_t)err->code;
	snprintf(m->failed.message, sizeof(m->failed.message), "%.255s", err->message);
}

static bool handle_launch(const struct launcher_message *m)
{
	struct launcher_message reply = { .type = LAUNCHER_LAUNCHED, .id = m->id };
	struct error err;
	int control = -EBADF;
	if (sandboxes_launch(m->id, &m->launch, &control, &err) < 0)
		refuse(&reply, &err);
	bool sent = answer(&reply, control);
	if (control >= 0)
		close(control);
	return sent;
}

static bool handle_freeze(const struct launcher_message *m)
{
	struct launcher_message reply = { .type = LAUNCHER_DONE, .id = m->id };
	struct error err;
	if (sandboxes_freeze(m->id, m->type == LAUNCHER_FREEZE, &err) < 0)
		refuse(&reply, &err);
	return answer(&reply, -EBADF);
}

static bool handle_usage(const struct launcher_message *m)
{
	struct launcher_message reply = { .type = LAUNCHER_USED, .id = m->id };
	struct error err;
	if (sandboxes_usage(m->id, &reply.usage, &err) < 0)
		refuse(&reply, &err);
	return answer(&reply, -EBADF);
}

/* False: the server is gone, or sends what no server sends. */
static bool handle(const struct launcher_message *m)
{
	switch (m->type) {
	case LAUNCHER_LAUNCH:
		return handle_launch(m);
	case LAUNCHER_KILL:
		sandboxes_kill(m->id);
		return true;
	case LAUNCHER_FREEZE:
	case LAUNCHER_THAW:
		return handle_freeze(m);
	case LAUNCHER_USAGE:
		return handle_usage(m);
	default:
		return false;
	}
}

/* One request per turn, so that deaths are seen between launches. */
static bool on_socket(void)
{
	struct launcher_message m;
	int fd = -EBADF;
	int r = launcher_receive(LAUNCHER_SOCKET_FD, &m, &fd);
	if (r == 1 && fd >= 0)
		close(fd); /* nothing that we take has one */
	return r == 0 || (r == 1 && fd < 0 && handle(&m));
}

static bool on_death(uint32_t index)
{
	struct launcher_message m;
	sandboxes_reap(index, &m);
	return answer(&m, -EBADF);
}

static void serve(int epoll_fd)
{
	struct epoll_event events[EVENTS];
	bool alive = true;
	while (alive) {
		int n = epoll_wait(epoll_fd, events, EVENTS, sandboxes_tidy());
		for (int i = 0; i < n && alive; i++)
			alive = events[i].data.u32 == SOCKET_EVENT ? on_socket()
								   : on_death(events[i].data.u32);
	}
}

/* ---- start ---- */

/* Whoever waits for the end of the server's output must not wait for us. */
static void leave_streams(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	close(null);
}

/* Signals of a terminal or a service manager are for the server; we end when it does. */
static void ignore_signals(void)
{
	static const int some[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2 };
	for (size_t i = 0; i < ARRAY_SIZE(some); i++)
		signal(some[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	(void)setsid();
}

static void check_socket(void)
{
	int type = 0;
	socklen_t size = sizeof(type);
	struct timeval patience = { .tv_sec = SEND_PATIENCE_S };
	if (getsockopt(LAUNCHER_SOCKET_FD, SOL_SOCKET, SO_TYPE, &type, &size) < 0 ||
	    type != SOCK_SEQPACKET)
		fail("it is started by hotcell-server, not by hand");
	fcntl(LAUNCHER_SOCKET_FD, F_SETFD, FD_CLOEXEC);
	setsockopt(LAUNCHER_SOCKET_FD, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

static void raise_descriptor_limit(void)
{
	struct rlimit l;
	if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

static void read_options(int argc, char **argv, struct launcher_setup *ret)
{
	*ret = (struct launcher_setup){ .store_fd = -EBADF };
	if (argc == 3 && strcmp(argv[1], LAUNCHER_OPTION_STORE) == 0) {
		ret->store = argv[2];
		ret->store_fd = open(argv[2], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (ret->store_fd < 0)
			fail("the directory for stores cannot be opened");
	} else if (argc != 1) {
		fail("unknown option");
	}
}

int main(int argc, char **argv)
{
	struct launcher_message hello = { .type = LAUNCHER_HELLO };
	struct launcher_setup setup;
	struct error err;
	check_socket();
	leave_streams();
	ignore_signals();
	raise_descriptor_limit();
	umask(077);
	(void)!chdir("/");
	read_options(argc, argv, &setup);
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = SOCKET_EVENT };
	if (epoll_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, LAUNCHER_SOCKET_FD, &event) < 0)
		fail("no event loop");
	if (sandboxes_init(&setup, epoll_fd, &err) < 0)
		fail(err.message);
	sandboxes_hello(&hello.hello);
	if (answer(&hello, -EBADF))
		serve(epoll_fd);
	sandboxes_fini();
	return 0;
}
