/*
 * Client of hotcell-launcher.
 *
 * Answers come in the order of the requests, so what waits for one is a queue; EXITED comes at any
 * time and is found by number. Both lists are of our own making: a launcher that answers what was not
 * asked is as good as gone.
 */
#include "server/runtime/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/cleanup.h"
#include "base/list.h"

#define MESSAGES_PER_TURN 64
#define BUCKETS		  256u

/* A sandbox as the launcher knows it: from LAUNCH until EXITED (or FAILED). */
struct child {
	struct list link;
	uint64_t id;
	const struct launcher_child_events *events; /* NULL = forgotten */
	void *ctx;
};

struct request {
	struct list link;
	uint32_t type;
	uint64_t id;
	launcher_answer_fn fn;
	void *ctx;
};

struct unsent {
	struct list link;
	struct launcher_message message;
};

struct launcher {
	uv_poll_t poll;
	int fd;
	const struct launcher_events *events;
	void *ctx;
	uint64_t last_id;
	bool greeted, gone;
	struct list children[BUCKETS];
	struct list requests; /* waiting for answers, oldest first */
	struct list unsent;
};

/* ---- starting ---- */

static int find_program(char *path, size_t size, struct error *err)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 32);
	if (n < 0)
		return error_set(err, errno, "find the directory of this program");
	path[n] = '\0';
	snprintf(strrchr(path, '/') + 1, 32, "hotcell-launcher");
	if (access(path, X_OK) < 0)
		return error_set(err, errno, "%.400s (it must lie beside hotcell-server)", path);
	return 0;
}

static _Noreturn void become_launcher(const char *path, int socket, const char *store_dir)
{
	static char name[] = "hotcell-launcher", option[] = LAUNCHER_OPTION_STORE;
	char *argv[] = { name, store_dir ? option : NULL, (char *)(uintptr_t)store_dir, NULL };
	char *envp[] = { NULL };
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (socket == LAUNCHER_SOCKET_FD) {
		if (fcntl(socket, F_SETFD, 0) < 0)
			_exit(125);
	} else if (dup2(socket, LAUNCHER_SOCKET_FD) < 0) {
		_exit(125);
	}
	close_range(LAUNCHER_SOCKET_FD + 1, ~0u, 0);
	execve(path, argv, envp);
	_exit(125);
}

int launcher_start(const char *path, const char *store_dir, int *ret_fd, pid_t *ret_pid,
		   struct error *err)
{
	char beside[PATH_MAX];
	int ends[2];
	int r = path ? 0 : find_program(beside, sizeof(beside), err);
	if (r < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_set(err, errno, "start hotcell-launcher");
	AUTO_CLOSE int near = ends[0];
	AUTO_CLOSE int far = ends[1];
	pid_t pid = fork();
	if (pid == 0)
		become_launcher(path ? path : beside, far, store_dir);
	if (pid < 0)
		return error_set(err, errno, "start hotcell-launcher");
	if (fcntl(near, F_SETFL, O_NONBLOCK) < 0)
		return error_set(err, errno, "start hotcell-launcher");
	*ret_pid = pid;
	*ret_fd = take_fd(&near);
	return 0;
}

/* ---- the connection ---- */

static void on_poll(uv_poll_t *poll, int status, int events);

static void watch(struct launcher *l)
{
	uv_poll_start(&l->poll, UV_READABLE | (list_empty(&l->unsent) ? 0 : UV_WRITABLE), on_poll);
}

static void on_closed(uv_handle_t *handle)
{
	struct launcher *l = container_of((uv_poll_t *)handle, struct launcher, poll);
	close(l->fd);
	free(l);
}

static void free_list(struct list *head)
{
	while (!list_empty(head)) {
		struct list *first = head->next;
		list_del(first);
		free(first); /* the link is the first member of all of them */
	}
}

_Static_assert(offsetof(struct child, link) == 0 && offsetof(struct request, link) == 0 &&
		       offsetof(struct unsent, link) == 0,
	       "free_list() frees what the link points to");

void launcher_free(struct launcher *l)
{
	if (!l)
		return;
	for (unsigned int i = 0; i < BUCKETS; i++)
		free_list(&l->children[i]);
	free_list(&l->requests);
	free_list(&l->unsent);
	uv_close((uv_handle_t *)&l->poll, on_closed);
}

/* The callback is to free it. */
static void give_up(struct launcher *l, const char *why)
{
	if (l->gone)
		return;
	l->gone = true;
	uv_poll_stop(&l->poll);
	l->events->gone(l->ctx, why);
}

static void send_message(struct launcher *l, const struct launcher_message *m)
{
	int r = list_empty(&l->unsent) ? launcher_send(l->fd, m, -EBADF) : -EAGAIN;
	if (r != -EAGAIN || l->gone)
		return; /* a closed socket is seen by reading */
	struct unsent *u = malloc(sizeof(*u));
	if (!u)
		return;
	u->message = *m;
	list_add_tail(&l->unsent, &u->link);
	watch(l);
}

static void send_more(struct launcher *l)
{
	while (!list_empty(&l->unsent)) {
		struct unsent *u = list_first(&l->unsent, struct unsent, link);
		if (launcher_send(l->fd, &u->message, -EBADF) == -EAGAIN)
			return;
		list_del(&u->link);
		free(u);
	}
	watch(l);
}

/* ---- children ---- */

static struct child *find_child(struct launcher *l, uint64_t id)
{
	struct child *c;
	list_for_each(c, &l->children[id % BUCKETS], link) {
		if (c->id == id)
			return c;
	}
	return NULL;
}

static void drop_child(struct child *c)
{
	list_del(&c->link);
	free(c);
}

/* ---- answers ---- */

static void get_error(const struct launcher_message *m, struct error *ret)
{
	ret->code = m->failed.code ? (int)m->failed.code : EIO;
	snprintf(ret->message, sizeof(ret->message), "%s", m->failed.message);
}

static bool on_launch_answer(struct launcher *l, const struct launcher_message *m, int *fd)
{
	struct child *c = find_child(l, m->id);
	struct error err;
	if (!c || (m->type != LAUNCHER_LAUNCHED && *fd >= 0))
		return false;
	if (m->type == LAUNCHER_LAUNCHED && !c->events) {
		launcher_kill(l, c->id);
	} else if (m->type == LAUNCHER_LAUNCHED && *fd < 0) {
		const struct launcher_child_events *events = c->events;
		launcher_forget(l, c->id);
		error_set(&err, EMFILE, "control channel of a sandbox (raise the limit of descriptors, "
					"LimitNOFILE)");
		events->launched(c->ctx, -EBADF, &err);
	} else if (m->type == LAUNCHER_LAUNCHED) {
		c->events->launched(c->ctx, take_fd(fd), NULL);
	} else {
		struct child gone = *c;
		get_error(m, &err);
		drop_child(c);
		if (gone.events)
			gone.events->launched(gone.ctx, -EBADF, &err);
	}
	return true;
}

static void on_other_answer(struct launcher *l, const struct request *q,
			    const struct launcher_message *m)
{
	struct child *c = find_child(l, q->id);
	struct error err;
	if (!c || !c->events)
		return;
	if (m->type == LAUNCHER_FAILED)
		get_error(m, &err);
	q->fn(q->ctx, m->type == LAUNCHER_USED ? &m->usage : NULL,
	      m->type == LAUNCHER_FAILED ? &err : NULL);
}

static bool fits(uint32_t request, uint32_t answer)
{
	if (answer == LAUNCHER_FAILED)
		return true;
	return answer == (request == LAUNCHER_LAUNCH  ? LAUNCHER_LAUNCHED
			  : request == LAUNCHER_USAGE ? LAUNCHER_USED
						      : LAUNCHER_DONE);
}

static bool on_answer(struct launcher *l, const struct launcher_message *m, int *fd)
{
	if (list_empty(&l->requests))
		return false;
	struct request *first = list_first(&l->requests, struct request, link);
	struct request q = *first;
	if (q.id != m->id || !fits(q.type, m->type))
		return false;
	list_del(&first->link);
	free(first);
	if (q.type == LAUNCHER_LAUNCH)
		return on_launch_answer(l, m, fd);
	on_other_answer(l, &q, m);
	return true;
}

static bool on_exited(struct launcher *l, const struct launcher_message *m)
{
	struct child *c = find_child(l, m->id);
	if (!c)
		return false;
	struct child gone = *c;
	drop_child(c);
	if (gone.events)
		gone.events->exited(gone.ctx, &m->exited);
	return true;
}

static bool on_message(struct launcher *l, const struct launcher_message *m, int *fd)
{
	switch (m->type) {
	case LAUNCHER_HELLO:
		if (l->greeted || m->hello.version != LAUNCHER_VERSION)
			return false;
		l->greeted = true;
		l->events->hello(l->ctx, &m->hello);
		return true;
	case LAUNCHER_EXITED:
		return on_exited(l, m);
	default:
		return on_answer(l, m, fd);
	}
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct launcher *l = container_of(poll, struct launcher, poll);
	struct launcher_message m;
	int r = 1;
	if (events & UV_WRITABLE)
		send_more(l);
	for (int i = 0; i < MESSAGES_PER_TURN && r == 1 && !l->gone; i++) {
		int fd = -EBADF;
		r = launcher_receive(l->fd, &m, &fd);
		if (r == 1 && !on_message(l, &m, &fd))
			r = -EPROTO;
		if (fd >= 0)
			close(fd);
	}
	if (r == -EPIPE)
		give_up(l, "hotcell-launcher ended");
	else if (r < 0)
		give_up(l, "hotcell-launcher broke the protocol");
}

int launcher_new(uv_loop_t *loop, int fd, const struct launcher_events *events, void *ctx,
		 struct launcher **ret, struct error *err)
{
	struct launcher *l = calloc(1, sizeof(*l));
	if (!l || uv_poll_init(loop, &l->poll, fd) < 0) {
		free(l);
		close(fd);
		return error_set(err, ENOMEM, "socket of hotcell-launcher");
	}
	l->fd = fd;
	l->events = events;
	l->ctx = ctx;
	for (unsigned int i = 0; i < BUCKETS; i++)
		list_init(&l->children[i]);
	list_init(&l->requests);
	list_init(&l->unsent);
	watch(l);
	*ret = l;
	return 0;
}

/* ---- requests ---- */

static bool expect(struct launcher *l, uint32_t type, uint64_t id, launcher_answer_fn fn, void *ctx)
{
	struct request *q = malloc(sizeof(*q));
	if (!q)
		return false;
	*q = (struct request){ .type = type, .id = id, .fn = fn, .ctx = ctx };
	list_add_tail(&l->requests, &q->link);
	return true;
}

uint64_t launcher_launch(struct launcher *l, const struct launcher_launch *request,
			 const struct launcher_child_events *events, void *ctx)
{
	struct launcher_message m = { .type = LAUNCHER_LAUNCH, .launch = *request };
	struct child *c = malloc(sizeof(*c));
	if (!c)
		return 0;
	m.id = ++l->last_id;
	*c = (struct child){ .id = m.id, .events = events, .ctx = ctx };
	if (!expect(l, m.type, m.id, NULL, NULL)) {
		free(c);
		return 0;
	}
	list_add_tail(&l->children[m.id % BUCKETS], &c->link);
	send_message(l, &m);
	return m.id;
}

void launcher_kill(struct launcher *l, uint64_t id)
{
	const struct launcher_message m = { .type = LAUNCHER_KILL, .id = id };
	send_message(l, &m);
}

void launcher_forget(struct launcher *l, uint64_t id)
{
	struct child *c = find_child(l, id);
	if (!c)
		return;
	c->events = NULL;
	launcher_kill(l, id);
}

static void ask(struct launcher *l, uint32_t type, uint64_t id, launcher_answer_fn fn, void *ctx)
{
	const struct launcher_message m = { .type = type, .id = id };
	struct error err;
	if (expect(l, type, id, fn, ctx)) {
		send_message(l, &m);
		return;
	}
	error_set(&err, ENOMEM, "ask hotcell-launcher");
	fn(ctx, NULL, &err);
}

void launcher_freeze(struct launcher *l, uint64_t id, bool frozen, launcher_answer_fn fn, void *ctx)
{
	ask(l, frozen ? LAUNCHER_FREEZE : LAUNCHER_THAW, id, fn, ctx);
}

void launcher_usage(struct launcher *l, uint64_t id, launcher_answer_fn fn, void *ctx)
{
	ask(l, LAUNCHER_USAGE, id, fn, ctx);
}
