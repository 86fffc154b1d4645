#include "client/code_run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/util.h"

#define FIRST_FREE 10 /* pipes lie above what the child gets */
#define ARGS_MAX   (OPTION_ITEMS_MAX + LANGUAGE_ARGS_MAX + 16)

/* ---- the command line ---- */

struct arguments {
	char program[PATH_MAX];
	char *items[ARGS_MAX + 1];
	unsigned int count;
	bool failed;
};

static void add(struct arguments *a, const char *option, const char *value)
{
	char *text = NULL;

	if (a->count == ARGS_MAX ||
	    asprintf(&text, "%s%s%s", option, value ? "=" : "", value ? value : "") < 0) {
		a->failed = true;
		return;
	}
	a->items[a->count++] = text;
}

static void free_arguments(struct arguments *a)
{
	for (unsigned int i = 0; i < a->count; i++)
		free(a->items[i]);
	free(a);
}

/* The command lies beside this program. */
static int find_command(struct arguments *a, struct error *err)
{
	ssize_t n = readlink("/proc/self/exe", a->program, sizeof(a->program) - 16);

	if (n < 0)
		return error_set(err, errno, "/proc/self/exe");
	a->program[n] = '\0';
	char *name = strrchr(a->program, '/') + 1;
	snprintf(name, 16, "hotcell");
	return 0;
}

static struct arguments *make_arguments(const struct code *c, struct error *err)
{
	struct arguments *a = calloc(1, sizeof(*a));
	char option[64];

	if (!a || find_command(a, err) < 0) {
		free(a);
		return NULL;
	}
	add(a, "hotcell", NULL);
	add(a, "run", NULL);
	add(a, "--quiet", NULL);
	add(a, "--no-tty", NULL);
	add(a, "--preserve-fds", "2");
	for (unsigned int i = 0; i < c->o->passed.count; i++) {
		snprintf(option, sizeof(option), "--%s",
			 code_option_name(c->o->passed.items[i].tag));
		add(a, option, c->o->passed.items[i].text);
	}
	add(a, "--", NULL);
	add(a, c->language.program, NULL);
	for (int i = 0; i < LANGUAGE_ARGS_MAX && c->language.args[i]; i++)
		add(a, c->language.args[i], NULL);
	if (a->failed) {
		error_set(err, E2BIG, "options");
		free_arguments(a);
		return NULL;
	}
	return a;
}

/* ---- the child ---- */

struct pipes {
	int child[5], ours[5]; /* by the descriptor of the driver */
};

static void close_pipes(struct pipes *p)
{
	for (int i = 0; i < 5; i++) {
		if (p->child[i] >= 0)
			close(p->child[i]);
		if (p->ours[i] >= 0)
			close(p->ours[i]);
	}
}

/* Above the numbers that the child gives them. */
static int move_up(int *fd)
{
	int high = fcntl(*fd, F_DUPFD_CLOEXEC, FIRST_FREE);

	if (high < 0)
		return -errno;
	close(*fd);
	*fd = high;
	return 0;
}

static int open_pipe(struct pipes *p, int number, bool to_child)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	p->child[number] = ends[to_child ? 0 : 1];
	p->ours[number] = ends[to_child ? 1 : 0];
	if (fcntl(p->ours[number], F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	int r = move_up(&p->child[number]);
	return r < 0 ? r : move_up(&p->ours[number]);
}

static int open_pipes(struct pipes *p)
{
	int r = 0;

	for (int i = 0; i < 5; i++)
		p->child[i] = p->ours[i] = -EBADF;
	p->child[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	r = p->child[0] < 0 ? -errno : move_up(&p->child[0]);
	for (int i = 1; i < 5 && r == 0; i++)
		r = open_pipe(p, i, i == 3);
	return r;
}

/* In the child: nothing but calls that may follow a fork. */
static void become(const struct pipes *p, const struct arguments *a, pid_t parent)
{
	sigset_t none;

	/* The terminal's Ctrl-C is for us: the interpreter is told. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(CODE_FAILED);
	for (int i = 0; i < 5; i++) {
		if (dup2(p->child[i], i) < 0)
			_exit(CODE_FAILED);
	}
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execv(a->program, a->items);
	dprintf(STDERR_FILENO, "hotcell: %s: %s (it must lie beside hotcell-client)\n", a->program,
		strerror(errno));
	_exit(CODE_FAILED);
}

static int start_child(struct run *r, struct pipes *p, const struct arguments *a, struct error *err)
{
	pid_t parent = getpid();

	r->pid = fork();
	if (r->pid == 0)
		become(p, a, parent);
	if (r->pid < 0) {
		r->pid = 0;
		return error_set(err, errno, "start hotcell run");
	}
	r->ended = (int)syscall(SYS_pidfd_open, r->pid, 0);
	if (r->ended < 0)
		return error_set(err, errno, "pidfd_open");
	r->out = take_fd(&p->ours[1]);
	r->err = take_fd(&p->ours[2]);
	r->requests = take_fd(&p->ours[3]);
	r->events = take_fd(&p->ours[4]);
	return 0;
}

int run_start(struct run *r, struct code *c, struct error *err)
{
	struct arguments *a = make_arguments(c, err);
	struct pipes p;

	*r = (struct run){
		.ended = -EBADF, .out = -EBADF, .err = -EBADF, .requests = -EBADF, .events = -EBADF
	};
	if (!a)
		return -err->code;
	int result = open_pipes(&p);
	if (result < 0)
		error_set(err, -result, "pipes");
	else
		result = start_child(r, &p, a, err);
	close_pipes(&p);
	free_arguments(a);
	return result;
}

void run_signal(const struct run *r, int number)
{
	if (r->pid)
		(void)kill(r->pid, number);
}

void run_collect(struct run *r)
{
	int status = 0;

	if (!r->pid)
		return;
	while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
		;
	r->pid = 0;
	r->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -EBADF;
}

void run_fini(struct run *r)
{
	run_signal(r, SIGKILL);
	run_collect(r);
	close_one(&r->ended);
	close_one(&r->out);
	close_one(&r->err);
	close_one(&r->requests);
	close_one(&r->events);
}
