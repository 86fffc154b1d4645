/* Threads that change what a call's pointers point to, while the call is served. Whatever is seen, it
 * is one of the two. */
#include "attack.h"

#include <sched.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <termios.h>

static volatile bool flipping;

struct flip {
	volatile char *at;
	const char *a, *b;
	size_t size;
};

static void *flip_bytes(void *argument)
{
	struct flip *f = argument;
	while (flipping) {
		for (size_t i = 0; i < f->size; i++)
			f->at[i] = f->a[i];
		for (size_t i = 0; i < f->size; i++)
			f->at[i] = f->b[i];
	}
	return NULL;
}

static pthread_t start_flipping(struct flip *f)
{
	pthread_t thread;
	flipping = true;
	CHECK_EQ(pthread_create(&thread, NULL, flip_bytes, f), 0);
	return thread;
}

static void stop_flipping(pthread_t thread)
{
	flipping = false;
	pthread_join(thread, NULL);
	check_alive();
}

TEST(the_path_of_open_changes)
{
	static char path[64];
	char a[64] = "/etc/passwd", b[64] = "/proc/self/root/x";
	struct flip f = { path, a, b, sizeof(path) };
	memcpy(path, a, sizeof(a));
	pthread_t thread = start_flipping(&f);
	for (int i = 0; i < 5000; i++) {
		char text[8] = "";
		int fd = open(path, O_RDONLY);
		if (fd < 0)
			continue;
		/* A torn string names neither, or a directory on the way. */
		if (read(fd, text, 4) == 4)
			CHECK(memcmp(text, "root", 4) == 0);
		close(fd);
	}
	stop_flipping(thread);
}

/* The child shares memory with us until it has a new program, so the flipping goes on. */
static int spawn_at(void *argument)
{
	char *argv[] = { (char *)"p", NULL };
	execv(argument, argv);
	_exit(errno == ENOENT || errno == EACCES || errno == ENOTDIR ? 100 : 101);
}

TEST(the_path_of_execve_changes)
{
	/* No prefix of /bin/false is a program: of /bin/true there is one, tr. */
	static char path[64], stack[65536] __attribute__((aligned(16)));
	char a[64] = "/bin/false", b[64] = "/x";
	struct flip f = { path, a, b, sizeof(path) };
	memcpy(path, a, sizeof(a));
	pthread_t thread = start_flipping(&f);
	for (int i = 0; i < 150; i++) {
		int status;
		pid_t pid = clone(spawn_at, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, path);
		CHECK(pid > 0);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(WIFEXITED(status));
		if (WEXITSTATUS(status) != 1 && WEXITSTATUS(status) != 100)
			printf("# status %d\n", WEXITSTATUS(status));
		CHECK(WEXITSTATUS(status) == 1 || WEXITSTATUS(status) == 100);
	}
	stop_flipping(thread);
}

static char *volatile exec_argv[3];

static int spawn_sh(void *unused)
{
	(void)unused;
	execv("/bin/true", (char *const *)exec_argv);
	_exit(100);
}

TEST(the_arguments_of_execve_change)
{
	static char stack[65536] __attribute__((aligned(16)));
	char *good[3] = { (char *)"true", (char *)"a", NULL }, *bad[3] = { (char *)"true", (char *)-1, (char *)8 };
	struct flip f = { (volatile char *)exec_argv, (const char *)good, (const char *)bad, sizeof(good) };
	memcpy((void *)exec_argv, good, sizeof(good));
	pthread_t thread = start_flipping(&f);
	for (int i = 0; i < 100; i++) {
		int status;
		pid_t pid = clone(spawn_sh, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
		CHECK(pid > 0);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 100);
	}
	stop_flipping(thread);
}

static void *spawn_thread(void *path)
{
	spawn_at(path);
	return NULL;
}

static void exec_in_threads(void *unused)
{
	/* Several threads become new programs at once: one wins, the others go. */
	(void)unused;
	pthread_t threads[8];
	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, spawn_thread, (void *)"/bin/true");
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	_exit(9);
}

TEST(threads_that_all_become_programs)
{
	for (int i = 0; i < 30; i++) {
		int r = run_attack(exec_in_threads, NULL, 10);
		if (r != 0)
			printf("# status %d\n", r);
		CHECK_EQ(r, 0);
	}
	check_alive();
}

TEST(an_iovec_that_changes)
{
	static struct iovec iov[4];
	static char buffer[4096];
	struct iovec good[4] = { { buffer, 16 }, { buffer + 16, 16 }, { buffer + 32, 16 }, { buffer + 48, 16 } };
	struct iovec bad[4] = { { (void *)-1, 16 }, { buffer, -1ul }, { NULL, 1ul << 40 }, { (void *)STUB_AREA, 4096 } };
	struct flip f = { (volatile char *)iov, (const char *)good, (const char *)bad, sizeof(good) };
	int ends[2];
	memcpy(iov, good, sizeof(good));
	CHECK_EQ(pipe2(ends, O_NONBLOCK), 0);
	pthread_t thread = start_flipping(&f);
	for (int i = 0; i < 5000; i++) {
		ssize_t n = writev(ends[1], iov, 4);
		CHECK(n >= 0 || errno == EFAULT || errno == EINVAL || errno == EAGAIN);
		n = readv(ends[0], iov, 4);
		CHECK(n >= 0 || errno == EFAULT || errno == EINVAL || errno == EAGAIN);
	}
	stop_flipping(thread);
}

TEST(a_message_header_that_changes)
{
	static struct msghdr message;
	static char control[CMSG_SPACE(sizeof(int) * 4)], byte = 'x';
	static struct iovec iov = { &byte, 1 };
	static int pair[2];
	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair), 0);
	struct msghdr good = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	struct msghdr bad = { .msg_name = (void *)-1, .msg_namelen = -1u, .msg_iov = (void *)8, .msg_iovlen = 1ul << 40, .msg_control = (void *)STUB_AREA, .msg_controllen = -1ul };
	struct cmsghdr *c = (struct cmsghdr *)control;
	c->cmsg_len = CMSG_LEN(sizeof(int) * 4);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	struct flip f = { (volatile char *)&message, (const char *)&good, (const char *)&bad, sizeof(good) };
	message = good;
	pthread_t thread = start_flipping(&f);
	for (int i = 0; i < 4000; i++) {
		struct msghdr in = { .msg_iov = &iov, .msg_iovlen = 1 };
		sendmsg(pair[0], &message, 0);
		recvmsg(pair[1], &message, 0);
		recvmsg(pair[1], &in, 0);
	}
	for (int fd = 3; fd < 4096; fd++)
		close(fd); /* what was passed and received */
	stop_flipping(thread);
}

/* struct ifconf has a length and a pointer, struct termios flags, an address a length beside it. */
TEST(structures_of_ioctls_that_change)
{
	static unsigned char area[64], room[256];
	unsigned char good[64] = { 0 }, bad[64];
	static const unsigned long requests[] = { 0x8912 /* SIOCGIFCONF */, 0x8913, 0x8927, 0x8933, 0x8942, TCGETS, TCSETS, TCSETSW, TIOCSWINSZ, TIOCGWINSZ,
						  TIOCSPGRP, FIONBIO, FIONREAD, FIOASYNC, TIOCGPTPEER };
	memset(bad, 0xff, sizeof(bad));
	((int *)good)[0] = sizeof(room);
	((void **)good)[1] = room;
	struct flip f = { (volatile char *)area, (const char *)good, (const char *)bad, sizeof(good) };
	int fds[] = { socket(AF_INET, SOCK_DGRAM, 0), open("/dev/ptmx", O_RDWR | O_NOCTTY), open("/etc/passwd", O_RDONLY), -1 };
	pthread_t thread = start_flipping(&f);
	for (int i = 0; i < 400; i++)
		for (size_t r = 0; r < sizeof(requests) / sizeof(requests[0]); r++)
			for (int n = 0; n < 3; n++) {
				int made = ioctl(fds[n], requests[r], area);
				if (requests[r] == TIOCGPTPEER && made > 2)
					close(made);
			}
	stop_flipping(thread);
}

TEST(memory_that_goes_away_during_calls)
{
	/* Another thread unmaps and maps the buffer again. */
	static char *page;
	static struct iovec iov[2];
	int ends[2];
	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	iov[0] = (struct iovec){ page, 8192 };
	CHECK_EQ(pipe2(ends, O_NONBLOCK), 0);
	pid_t pid = fork();
	if (pid == 0) {
		flipping = true;
		for (int i = 0; i < 3000; i++) {
			mprotect(page + 4096, 4096, i & 1 ? PROT_NONE : PROT_READ | PROT_WRITE);
			ssize_t n = writev(ends[1], iov, 1);
			if (n == 8192 || n == 4096 || n < 0)
				n = readv(ends[0], iov, 1);
		}
		_exit(0);
	}
	int status;
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	check_alive();
}

static void *die_early(void *seconds)
{
	usleep((useconds_t)(long)seconds);
	_exit(0);
}

static void die_while_blocked(void *delay)
{
	pthread_t thread;
	int ends[2];
	char byte;
	pipe(ends);
	pthread_create(&thread, NULL, die_early, delay);
	for (;;)
		read(ends[0], &byte, 1);
}

TEST(callers_that_die_while_they_wait)
{
	for (long delay = 0; delay < 60; delay++)
		CHECK_EQ(run_attack(die_while_blocked, (void *)(delay * 50), 5), 0);
	check_alive();
}

CHECK_MAIN()
