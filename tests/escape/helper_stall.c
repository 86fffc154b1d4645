/*
 * Calls that could keep the kernel process busy for long: each is prepared, then made, while a second thread makes a
 * cheap call over and over. Prints TAP and the longest time that the cheap call took. A kernel process serves one call
 * at a time, so what is measured is how long one of them may take: linear in what the sandbox's limits allow is fine,
 * more is not. The bound is far above what a good implementation needs and far below what a bad one takes.
 * helper_stall [NAME]
 */
/* cflags: -pthread */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define IGNORE(call) ((void)!(call))

static char block[1 << 20];

static uint64_t now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* ---- the second thread ---- */

static _Atomic uint64_t longest_us;
static _Atomic bool watching;

static void *watch(void *unused)
{
	for (;;) {
		uint64_t began = now_us();
		getuid();
		uint64_t took = now_us() - began;
		if (watching && took > longest_us)
			longest_us = took;
		if (!watching)
			usleep(200);
	}
	return unused;
}

/* In a child: its end, with all that it holds, is part of the attack. */
static pid_t child;
static int to_child[2], from_child[2];

static bool in_child(void)
{
	IGNORE(pipe(to_child));
	IGNORE(pipe(from_child));
	child = fork();
	if (child == 0)
		return true;
	close(to_child[0]);
	close(from_child[1]);
	char byte;
	IGNORE(read(from_child[0], &byte, 1)); /* it is ready */
	return false;
}

static void child_ready(void)
{
	char byte;
	IGNORE(write(from_child[1], "x", 1));
	IGNORE(read(to_child[0], &byte, 1));
	_exit(0);
}

static void end_child(void)
{
	IGNORE(write(to_child[1], "x", 1));
	waitpid(child, NULL, 0);
	close(to_child[1]);
	close(from_child[0]);
}

static void many_files(void)
{
	struct rlimit limit;
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void many_descriptors(void)
{
	many_files();
	int fd = open("/dev/null", O_RDONLY);
	for (int i = 0; i < 200000 && dup(fd) >= 0; i++)
		;
}

/* ---- the attacks: prepare() may take its time, attack() is watched ---- */

static void prepare_exit_descriptors(void)
{
	if (!in_child())
		return;
	many_descriptors();
	child_ready();
}

static void prepare_exit_sockets(void)
{
	/* Sockets in flight between them: each close looks for cycles. */
	if (!in_child())
		return;
	many_files();
	for (int i = 0; i < 30000; i++)
		if (socket(AF_UNIX, SOCK_STREAM, 0) < 0)
			break;
	for (int i = 0; i < 8000; i++) {
		int pair[2];
		char control[CMSG_SPACE(sizeof(int) * 2)] = "", byte = 'x';
		struct iovec iov = { &byte, 1 };
		struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) < 0)
			break;
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * 2);
		memcpy(CMSG_DATA(c), pair, sizeof(pair));
		if (sendmsg(pair[0], &m, 0) < 0)
			break;
	}
	child_ready();
}

static void prepare_exit_pages(void)
{
	/* Holes all over the kernel's memory, made when it ends: large and small pieces in turns. */
	if (!in_child())
		return;
	many_files();
	for (int i = 0; i < 4000; i++) {
		int p[2];
		if (pipe2(p, O_NONBLOCK) < 0)
			break;
		fcntl(p[1], F_SETPIPE_SZ, 1 << 17);
		if (write(p[1], block, i & 1 ? 4096 : 70000) < 0) { /* room for a word to the parent */
			close(p[0]);
			close(p[1] - 2);
			close(p[0] - 2);
			break;
		}
	}
	child_ready();
}

static int locks_fd = -1;
static void prepare_locks(void)
{
	locks_fd = open("locks", O_RDWR | O_CREAT, 0600);
	for (long i = 0; i < 200000; i++) {
		struct flock lock = { .l_type = F_WRLCK, .l_start = i * 2, .l_len = 1 };
		if (fcntl(locks_fd, F_SETLK, &lock) < 0)
			break;
	}
}

static void attack_locks(void)
{
	struct flock all = { .l_type = F_UNLCK };
	for (int i = 0; i < 10; i++) {
		struct flock lock = { .l_type = F_RDLCK, .l_start = i * 2, .l_len = 1 };
		fcntl(locks_fd, F_SETLK, &lock);
	}
	fcntl(locks_fd, F_SETLK, &all);
}

static char *huge;
static struct iovec vectors[1024];
static void prepare_vectors(void)
{
	huge = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(huge, 1, 2 << 20);
	for (int i = 0; i < 1024; i++)
		vectors[i] = (struct iovec){ huge, 2 << 20 };
}

static void attack_read_zero(void)
{
	int fd = open("/dev/zero", O_RDONLY);
	IGNORE(readv(fd, vectors, 1024));
	close(fd);
}

static void attack_read_random(void)
{
	int fd = open("/dev/urandom", O_RDONLY);
	IGNORE(readv(fd, vectors, 100));
	close(fd);
}

static int sparse = -1;
static void prepare_sparse(void)
{
	prepare_vectors();
	sparse = open("sparse", O_RDWR | O_CREAT, 0600);
	IGNORE(ftruncate(sparse, 1ll << 40));
}

static void attack_read_sparse(void)
{
	IGNORE(preadv(sparse, vectors, 1024, 0));
}

static void attack_copy_sparse(void)
{
	int out = open("copy", O_RDWR | O_CREAT, 0600);
	IGNORE(copy_file_range(sparse, NULL, out, NULL, 1ull << 40, 0));
	IGNORE(lseek(sparse, 0, SEEK_DATA));
	close(out);
}

static void attack_write_file(void)
{
	int fd = open("written", O_RDWR | O_CREAT, 0600);
	IGNORE(pwritev(fd, vectors, 200, 0)); /* 400 MB */
	IGNORE(ftruncate(fd, 0));
	close(fd);
}

static void attack_fallocate(void)
{
	int fd = open("allocated", O_RDWR | O_CREAT, 0600);
	fallocate(fd, 0, 0, 400 << 20);
	fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 400 << 20);
	close(fd);
}

static void prepare_names(void)
{
	/* Hard links: names that no limit of inodes holds back. */
	char name[300];
	mkdir("names", 0755);
	close(open("names/file", O_CREAT | O_WRONLY, 0600));
	memset(name, 'n', 250);
	for (int i = 0; i < 60000; i++) {
		snprintf(name, sizeof(name), "names/%0100d", i);
		if (link("names/file", name) < 0)
			break;
	}
}

static void attack_getdents(void)
{
	int fd = open("names", O_RDONLY | O_DIRECTORY);
	while (syscall(SYS_getdents64, fd, block, sizeof(block)) > 0)
		;
	IGNORE(lseek(fd, 0, SEEK_SET));
	IGNORE(syscall(SYS_getdents64, fd, block, sizeof(block)));
	close(fd);
	rename("names", "renamed");
	rename("renamed", "names");
	rmdir("names");
}

static void prepare_deep(void)
{
	char home[4096];
	IGNORE(getcwd(home, sizeof(home)));
	mkdir("deep", 0755);
	IGNORE(chdir("deep"));
	for (int i = 0; i < 30000; i++)
		if (mkdir("d", 0755) < 0 || chdir("d") < 0)
			break;
}

static void attack_deep(void)
{
	char path[8192];
	IGNORE(syscall(SYS_getcwd, path, sizeof(path)));
	IGNORE(readlink("/proc/self/cwd", path, sizeof(path)));
	mkdir("last", 0755);
	rename("last", "../last");
	IGNORE(chdir("/"));
}

static void prepare_links(void)
{
	char target[4096];
	mkdir("l", 0755);
	for (int i = 0; i < 40; i++) {
		char name[32];
		size_t length = 0;
		while (length + 20 < sizeof(target))
			length += (size_t)sprintf(target + length, "./l/../");
		sprintf(target + length, "link%d", i + 1);
		snprintf(name, sizeof(name), "link%d", i);
		IGNORE(symlink(target, name));
		length = 0;
		while (length + 40 < sizeof(target))
			length += (size_t)sprintf(target + length, "/proc/self/task/../../../");
		sprintf(target + length, "tmp/proclink%d", i + 1);
		snprintf(name, sizeof(name), "/tmp/proclink%d", i);
		IGNORE(symlink(target, name));
	}
}

static void attack_links(void)
{
	struct stat st;
	for (int i = 0; i < 5; i++) {
		stat("link0", &st);
		stat("/tmp/proclink0", &st);
	}
}

static struct pollfd *polled;
static int poll_count;
static void prepare_poll(void)
{
	struct rlimit limit;
	int p[2];
	many_files();
	getrlimit(RLIMIT_NOFILE, &limit);
	IGNORE(pipe(p));
	poll_count = (int)limit.rlim_cur;
	polled = malloc(sizeof(*polled) * limit.rlim_cur);
	for (int i = 0; i < poll_count; i++)
		polled[i] = (struct pollfd){ p[0], POLLIN, 0 };
}

static void attack_poll(void)
{
	poll(polled, (nfds_t)poll_count, 0);
	poll(polled, (nfds_t)poll_count, 20);
}

static void *poller(void *unused)
{
	poll(polled, (nfds_t)poll_count, 3000);
	return unused;
}

static int poll_wake;
static pthread_t pollers[12];
static void prepare_poll_many(void)
{
	/* Many threads that all wait for the same descriptor, many times each: one write wakes them all. */
	int p[2];
	prepare_poll();
	IGNORE(pipe(p));
	poll_wake = p[1];
	for (int i = 0; i < poll_count; i++)
		polled[i].fd = p[0];
	poll_count = poll_count > 250000 ? 250000 : poll_count;
	for (int i = 0; i < 12; i++)
		pthread_create(&pollers[i], NULL, poller, NULL);
	usleep(1500000);
}

static void attack_poll_many(void)
{
	IGNORE(write(poll_wake, "x", 1));
	for (int i = 0; i < 12; i++)
		pthread_join(pollers[i], NULL);
}

static int counter = -1;
static void prepare_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	many_files();
	counter = eventfd(0, EFD_NONBLOCK);
	for (int i = 0; i < 8; i++) {
		int set = epoll_create1(0);
		for (int k = 0; k < 3000; k++) {
			int copy = i ? 1000 + k : fcntl(counter, F_DUPFD, 1000 + k);
			if (copy < 0 || epoll_ctl(set, EPOLL_CTL_ADD, copy, &event) < 0)
				break;
		}
	}
}

static void attack_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	uint64_t one = 1;
	int set = epoll_create1(0);
	IGNORE(write(counter, &one, 8));
	epoll_ctl(set, EPOLL_CTL_ADD, counter, &event);
	close(counter);
}

static int nest_top = -1, nest_event = -1;
static void prepare_nest(void)
{
	/* Five levels, everything watches everything below: the number of ways is 60^4. */
	int level[5][60];
	struct epoll_event event = { .events = EPOLLIN };
	nest_event = eventfd(0, EFD_NONBLOCK);
	many_files();
	for (int l = 0; l < 5; l++)
		for (int i = 0; i < 60; i++) {
			level[l][i] = epoll_create1(0);
			if (l == 0)
				epoll_ctl(level[l][i], EPOLL_CTL_ADD, nest_event, &event);
			for (int k = 0; l && k < 60; k++)
				epoll_ctl(level[l][i], EPOLL_CTL_ADD, level[l - 1][k], &event);
		}
	nest_top = level[4][0];
}

static void attack_nest(void)
{
	struct epoll_event got[64];
	uint64_t one = 1;
	for (int i = 0; i < 3; i++) {
		IGNORE(write(nest_event, &one, 8));
		epoll_wait(nest_top, got, 64, 0);
		IGNORE(read(nest_event, &one, 8));
		epoll_wait(nest_top, got, 64, 0);
	}
	close(epoll_create1(0));
	struct epoll_event event = { .events = EPOLLIN };
	epoll_ctl(nest_top, EPOLL_CTL_ADD, epoll_create1(0), &event);
}

static void prepare_inotify(void)
{
	many_files();
	close(open("watched", O_CREAT | O_WRONLY, 0600));
	for (int i = 0; i < 20000; i++) {
		int in = inotify_init1(IN_NONBLOCK);
		if (in < 0 || inotify_add_watch(in, "watched", IN_ALL_EVENTS) < 0)
			break;
	}
}

static void attack_inotify(void)
{
	int fd = open("watched", O_WRONLY);
	IGNORE(write(fd, "x", 1));
	close(fd);
	unlink("watched");
}

static struct sockaddr_in group_name = { .sin_family = AF_INET };
static void prepare_multicast(void)
{
	struct ip_mreq group = { .imr_multiaddr.s_addr = inet_addr("224.0.0.251"), .imr_interface.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(5353), .sin_addr.s_addr = group.imr_multiaddr.s_addr };
	int one = 1, small = 1;
	many_files();
	group_name = any;
	for (int i = 0; i < 10000; i++) {
		int s = socket(AF_INET, SOCK_DGRAM, 0);
		setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		setsockopt(s, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
		if (s < 0 || bind(s, (struct sockaddr *)&any, sizeof(any)) < 0 ||
		    setsockopt(s, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof(group)) < 0)
			break;
	}
}

static void attack_multicast(void)
{
	struct in_addr loopback = { htonl(INADDR_LOOPBACK) };
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	setsockopt(s, IPPROTO_IP, IP_MULTICAST_IF, &loopback, sizeof(loopback));
	for (int i = 0; i < 3; i++)
		IGNORE(sendto(s, block, 60000, MSG_DONTWAIT, (struct sockaddr *)&group_name, sizeof(group_name)));
	close(s);
}

static void prepare_ports(void)
{
	/* One port at as many addresses as there are sockets; then whoever wants any port. */
	many_files();
	for (uint32_t i = 0; i < 15000; i++) {
		struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(40000), .sin_addr.s_addr = htonl(0x7f000001 + i) };
		int s = socket(AF_INET, i & 1 ? SOCK_DGRAM : SOCK_STREAM, 0);
		if (s < 0 || bind(s, (struct sockaddr *)&name, sizeof(name)) < 0)
			break;
	}
	for (uint32_t i = 0; i < 10000; i++) {
		struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons((uint16_t)(32768 + i)) };
		int s = socket(AF_INET, SOCK_STREAM, 0);
		if (s < 0)
			break;
		IGNORE(bind(s, (struct sockaddr *)&name, sizeof(name)));
	}
}

static void attack_ports(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	for (int i = 0; i < 2; i++) {
		int s = socket(AF_INET, i ? SOCK_DGRAM : SOCK_STREAM, 0);
		IGNORE(bind(s, (struct sockaddr *)&any, sizeof(any)));
		close(s);
	}
}

static void prepare_names_unix(void)
{
	many_files();
	for (int i = 0; i < 30000; i++) {
		struct sockaddr_un name = { .sun_family = AF_UNIX };
		snprintf(name.sun_path + 1, 20, "%05x", i);
		int s = socket(AF_UNIX, SOCK_STREAM, 0);
		if (s < 0 || bind(s, (struct sockaddr *)&name, 2 + 6) < 0)
			break;
	}
}

static void attack_names_unix(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	IGNORE(bind(s, (struct sockaddr *)&name, 2));
	close(s);
	int fd = open("/proc/net/unix", O_RDONLY);
	while (read(fd, block, 4096) > 0)
		;
	close(fd);
}

static int peeked = -1;
static void prepare_marks(void)
{
	int pair[2], one = 1, size = 1 << 24;
	IGNORE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair));
	setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one));
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	for (int i = 0; i < 50000 && send(pair[0], "x", 1, 0) == 1; i++)
		;
	peeked = pair[1];
}

static void attack_marks(void)
{
	for (int i = 0; i < 20; i++)
		IGNORE(recv(peeked, block, 1, 0));
	IGNORE(recv(peeked, block, sizeof(block), MSG_PEEK));
}

static int queue = -1;
static void prepare_messages(void)
{
	struct {
		long type;
	} message = { 1 };
	queue = msgget(IPC_PRIVATE, 0600);
	for (int i = 0; i < 300000 && msgsnd(queue, &message, 0, IPC_NOWAIT) == 0; i++)
		;
}

static void attack_messages(void)
{
	struct {
		long type;
		char text[10];
	} message;
	for (int i = 0; i < 10; i++)
		IGNORE(msgrcv(queue, &message, 10, 2, IPC_NOWAIT));
	msgctl(queue, IPC_RMID, NULL);
}

static int sems = -1;
static void prepare_sems(void)
{
	sems = semget(IPC_PRIVATE, 32000, 0600);
	if (sems < 0)
		sems = semget(IPC_PRIVATE, 250, 0600);
	for (int i = 0; i < 100; i++)
		if (fork() == 0) {
			struct sembuf ops[500];
			for (int k = 0; k < 500; k++)
				ops[k] = (struct sembuf){ (unsigned short)(k % 200), k == 499 ? -1000 : 1, SEM_UNDO };
			semop(sems, ops, 500);
			_exit(0);
		}
	usleep(200000);
}

static void attack_sems(void)
{
	struct sembuf ops[500];
	for (int k = 0; k < 500; k++)
		ops[k] = (struct sembuf){ (unsigned short)(k % 200), 1, SEM_UNDO };
	semop(sems, ops, 500);
	semctl(sems, 0, IPC_RMID);
	while (wait(NULL) > 0)
		;
}

static void prepare_attachments(void)
{
	/* Attached as often as there may be mappings, and inherited. */
	int id = shmget(IPC_PRIVATE, 4096, 0600);
	if (!in_child())
		return;
	for (int i = 0; i < 20000; i++)
		if (shmat(id, NULL, 0) == (void *)-1)
			break;
	for (int i = 0; i < 8; i++)
		if (fork() == 0) {
			getuid();
			pause();
		}
	child_ready();
}

static void attack_attachments(void)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	kill(-getpgrp(), 0);
	end_child();
}

static void prepare_maps(void)
{
	for (int i = 0; i < 60000; i++)
		if (mmap(NULL, 4096, i & 1 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			break;
}

static void attack_maps(void)
{
	static const char *const files[] = { "/proc/self/maps", "/proc/self/smaps", "/proc/self/status" };
	for (size_t f = 0; f < 3; f++) {
		int fd = open(files[f], O_RDONLY);
		for (int i = 0; i < 20; i++)
			IGNORE(read(fd, block, 1));
		while (f == 0 && read(fd, block, 65536) > 0)
			;
		close(fd);
	}
}

static void prepare_nothing(void)
{
}

static void run_with(const char *program, char **arguments)
{
	pid_t pid = fork();
	if (pid == 0) {
		execve(program, arguments, arguments);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void attack_arguments(void)
{
	static char *arguments[60000];
	static char text[] = "an argument of a program";
	for (int i = 0; i < 59999; i++)
		arguments[i] = text;
	for (int i = 0; i < 3; i++)
		run_with(i ? "./absent" : "/usr/bin/true", arguments);
	int fd = open("/proc/self/cmdline", O_RDONLY);
	close(fd);
}

static void attack_fork(void)
{
	/* Forks of a process with as many descriptors as it may have. */
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();
		if (pid == 0)
			_exit(0);
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
	syscall(SYS_close_range, 10, ~0u, 4 /* CLOSE_RANGE_CLOEXEC */);
	syscall(SYS_close_range, 10, ~0u, 0);
}


static void prepare_pending(void)
{
	/* Connections that nobody accepts. */
	if (!in_child())
		return;
	many_files();
	for (int l = 0; l < 10; l++) {
		struct sockaddr_un name = { .sun_family = AF_UNIX };
		snprintf(name.sun_path + 1, 20, "pending-%d", l);
		int s = socket(AF_UNIX, SOCK_STREAM, 0);
		if (bind(s, (struct sockaddr *)&name, sizeof(name)) < 0 || listen(s, 100000) < 0)
			break;
		for (int i = 0; i < 5000; i++) {
			int c = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
			if (connect(c, (struct sockaddr *)&name, sizeof(name)) < 0)
				i = 5000;
			close(c);
		}
	}
	child_ready();
}

static void prepare_listeners(void)
{
	/* Every connection looks for its twin among those of the port. */
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(7777), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int s = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	many_files();
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	IGNORE(bind(s, (struct sockaddr *)&name, sizeof(name)));
	IGNORE(listen(s, 4096));
	for (int i = 0; i < 10000; i++) {
		int c = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (c < 0 || (connect(c, (struct sockaddr *)&name, sizeof(name)) < 0 && errno != EINPROGRESS))
			break;
		accept4(s, NULL, NULL, SOCK_NONBLOCK);
	}
}

static void attack_listeners(void)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(7777), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int c = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	IGNORE(connect(c, (struct sockaddr *)&name, sizeof(name)));
	close(c);
	int fd = open("/proc/net/tcp", O_RDONLY);
	while (read(fd, block, 4096) > 0)
		;
	close(fd);
}

static const struct {
	const char *name;
	void (*prepare)(void);
	void (*attack)(void);
} attacks[] = {
	{ "exit_with_many_descriptors", prepare_exit_descriptors, end_child },
	{ "exit_with_sockets_in_flight", prepare_exit_sockets, end_child },
	{ "exit_with_scattered_buffers", prepare_exit_pages, end_child },
	{ "exit_with_pending_connections", prepare_pending, end_child },
	{ "fork_with_many_descriptors", many_descriptors, attack_fork },
	{ "record_locks", prepare_locks, attack_locks },
	{ "read_zero", prepare_vectors, attack_read_zero },
	{ "read_random", prepare_vectors, attack_read_random },
	{ "read_sparse_file", prepare_sparse, attack_read_sparse },
	{ "copy_sparse_file", prepare_sparse, attack_copy_sparse },
	{ "write_file", prepare_vectors, attack_write_file },
	{ "fallocate", prepare_vectors, attack_fallocate },
	{ "directory_of_many_names", prepare_names, attack_getdents },
	{ "deep_directory", prepare_deep, attack_deep },
	{ "symbolic_links", prepare_links, attack_links },
	{ "poll_of_many", prepare_poll, attack_poll },
	{ "poll_of_many_by_many", prepare_poll_many, attack_poll_many },
	{ "epoll_items_of_one_file", prepare_epoll, attack_epoll },
	{ "epoll_nested", prepare_nest, attack_nest },
	{ "inotify_watches_of_one_file", prepare_inotify, attack_inotify },
	{ "multicast", prepare_multicast, attack_multicast },
	{ "ephemeral_ports", prepare_ports, attack_ports },
	{ "connections_of_one_port", prepare_listeners, attack_listeners },
	{ "abstract_names", prepare_names_unix, attack_names_unix },
	{ "credentials_of_single_bytes", prepare_marks, attack_marks },
	{ "messages", prepare_messages, attack_messages },
	{ "semaphores", prepare_sems, attack_sems },
	{ "shared_memory_attachments", prepare_attachments, attack_attachments },
	{ "maps", prepare_maps, attack_maps },
	{ "arguments", prepare_nothing, attack_arguments },
};

int main(int argc, char **argv)
{
	pthread_t thread;
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		if (argc > 1 && strcmp(argv[1], attacks[i].name) != 0)
			continue;
		if (argc == 1) {
			printf("%s\n", attacks[i].name);
			continue;
		}
		attacks[i].prepare();
		pthread_create(&thread, NULL, watch, NULL);
		usleep(10000);
		watching = true;
		uint64_t began = now_us();
		attacks[i].attack();
		getuid(); /* what the attack left to do comes first */
		uint64_t took = now_us() - began;
		watching = false;
		printf("%lu %lu\n", (unsigned long)longest_us, (unsigned long)took);
		fflush(stdout);
		_exit(0);
	}
	return argc > 1 ? 2 : 0;
}
