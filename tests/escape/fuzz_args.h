/*
 * What fuzz_calls.c passes to calls: descriptors of every kind, memory in every state, and structures
 * that are nearly right. The table of system calls says in its trace words what each argument is.
 *
 *   shared     structures (message headers, addresses, vectors, sets, times) and random words
 *   window     pages that come, go and change protection while calls use them
 *   edge       one page with nothing behind: a pointer near its end is half valid
 */
#pragma once

#include "attack.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

#define FUZZ_FDS 96 /* the rest is standard input */
#define WINDOW_PAGES 8
#define SHARED_BYTES 65536
#define PAGE 4096

static int fds[FUZZ_FDS + 1], fd_count;
static int ids[3]; /* System V: queue, semaphores, memory */
static char *edge; /* the last byte before a page that is not there */
static char *readonly, *closed, *window, *shared;

/* ---- random numbers: one stream per thread, reproducible from the seed ---- */

static _Thread_local uint64_t state;

static uint64_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static unsigned long below(unsigned long n)
{
	return (unsigned long)(next_random() >> 11) % n;
}

#define PICK(array) (array)[below(sizeof(array) / sizeof((array)[0]))]

/* ---- descriptors ---- */

static void add_fd(int fd)
{
	if (fd >= 0 && fd_count < FUZZ_FDS)
		fds[fd_count++] = fd;
}

static void add_files(void)
{
	static const char *const readable[] = {
		"/usr/bin/env", "/proc/self/maps", "/proc/self/status", "/proc/cpuinfo", "/dev/zero", "/dev/urandom", "/etc/passwd",
	};
	static const char *const writable[] = { "/proc/self/comm", "/proc/self/oom_score_adj", "/proc/self/mem", "/dev/null", "/dev/full", "/dev/tty" };
	static const char *const directories[] = { ".", "/", "/proc/self", "/proc/self/fd", "/dev/pts", "/sys", "/t", "/usr/lib" };
	for (size_t i = 0; i < sizeof(readable) / sizeof(char *); i++)
		add_fd(open(readable[i], O_RDONLY));
	for (size_t i = 0; i < sizeof(writable) / sizeof(char *); i++)
		add_fd(open(writable[i], O_RDWR | O_NOCTTY | O_NONBLOCK));
	for (size_t i = 0; i < sizeof(directories) / sizeof(char *); i++)
		add_fd(open(directories[i], O_RDONLY | O_DIRECTORY));
	add_fd(open("file", O_RDWR | O_CREAT, 0600));
	add_fd(open("log", O_WRONLY | O_CREAT | O_APPEND, 0600));
	add_fd(open("/etc/passwd", O_PATH));
	add_fd(open(".", O_RDWR | O_TMPFILE, 0600));
	mkfifo("fifo", 0600);
	add_fd(open("fifo", O_RDWR | O_NONBLOCK));
	int gone = open("gone", O_RDWR | O_CREAT, 0600);
	unlink("gone");
	add_fd(gone);
	int sealed = (int)syscall(SYS_memfd_create, "m", 2);
	(void)!ftruncate(sealed, 10000);
	add_fd(sealed);
}

static void add_terminal(void)
{
	int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK), unlock = 0, number = 0;
	char name[32];
	ioctl(master, 0x40045431, &unlock); /* TIOCSPTLCK */
	ioctl(master, 0x80045430, &number); /* TIOCGPTN */
	snprintf(name, sizeof(name), "/dev/pts/%d", number);
	add_fd(master);
	add_fd(open(name, O_RDWR | O_NOCTTY | O_NONBLOCK));
}

static void add_inet(int domain)
{
	struct sockaddr_in6 any = { .sin6_family = (sa_family_t)domain };
	socklen_t size = domain == AF_INET ? sizeof(struct sockaddr_in) : sizeof(any);
	int listener = socket(domain, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (bind(listener, (struct sockaddr *)&any, size) == 0 && listen(listener, 4) == 0) {
		getsockname(listener, (struct sockaddr *)&any, &size);
		int client = socket(domain, SOCK_STREAM | SOCK_NONBLOCK, 0);
		connect(client, (struct sockaddr *)&any, size);
		add_fd(client);
		add_fd(accept4(listener, NULL, NULL, SOCK_NONBLOCK));
	}
	add_fd(listener);
	add_fd(socket(domain, SOCK_STREAM | SOCK_NONBLOCK, 0));
	add_fd(socket(domain, SOCK_DGRAM | SOCK_NONBLOCK, 0));
}

/* A queue that holds its own socket: only the collector can free it. */
static void send_to_itself(int a, int b)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec iov = { (char *)"x", 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control) };
	memcpy(CMSG_DATA(&control.header), &b, sizeof(b));
	sendmsg(a, &m, MSG_DONTWAIT);
}

static void add_sockets(void)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
	int pair[2];
	for (int i = 0; i < 3; i++) {
		if (socketpair(AF_UNIX, types[i] | SOCK_NONBLOCK, 0, pair) < 0)
			continue;
		add_fd(pair[0]);
		add_fd(pair[1]);
		send_to_itself(pair[0], pair[1]);
	}
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "socket" };
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	unlink("socket");
	if (bind(listener, (struct sockaddr *)&name, sizeof(name)) == 0 && listen(listener, 2) == 0) {
		int client = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		connect(client, (struct sockaddr *)&name, sizeof(name));
		add_fd(client);
	}
	add_fd(listener);
	add_fd(socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, 0));
	add_inet(AF_INET);
	add_inet(AF_INET6);
}

static void add_events(void)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLET };
	struct itimerspec often = { { 0, 1000000 }, { 0, 1000000 } };
	sigset_t set;
	int inner = epoll_create1(0), outer = epoll_create1(0);
	for (int i = 0; i < fd_count; i += 3)
		epoll_ctl(inner, EPOLL_CTL_ADD, fds[i], &event);
	epoll_ctl(outer, EPOLL_CTL_ADD, inner, &event);
	add_fd(inner);
	add_fd(outer);
	add_fd(eventfd(1, EFD_NONBLOCK));
	add_fd(eventfd(1, EFD_NONBLOCK | EFD_SEMAPHORE));
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	timerfd_settime(timer, 0, &often, NULL);
	add_fd(timer);
	int notify = inotify_init1(IN_NONBLOCK);
	inotify_add_watch(notify, ".", IN_ALL_EVENTS);
	inotify_add_watch(notify, "file", IN_ALL_EVENTS);
	add_fd(notify);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	add_fd(signalfd(-1, &set, SFD_NONBLOCK));
	add_fd((int)syscall(SYS_pidfd_open, getpid(), 0));
}

static void open_descriptors(void)
{
	int pair[2];
	fd_count = 0;
	add_files();
	add_terminal();
	if (pipe2(pair, O_NONBLOCK) == 0) {
		add_fd(pair[0]);
		add_fd(pair[1]);
	}
	add_sockets();
	add_events();
	ids[0] = msgget(IPC_PRIVATE, 0600);
	ids[1] = semget(IPC_PRIVATE, 3, 0600);
	ids[2] = shmget(IPC_PRIVATE, 8192, 0600);
}

/* Queues and segments outlive their processes. */
static void remove_ids(void)
{
	msgctl(ids[0], IPC_RMID, NULL);
	semctl(ids[1], 0, IPC_RMID);
	shmctl(ids[2], IPC_RMID, NULL);
}

/* ---- memory ---- */

static void map_memory(void)
{
	char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(pages + PAGE, PAGE);
	edge = pages + PAGE - 1;
	readonly = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	closed = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	window = mmap(NULL, WINDOW_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	shared = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* One page of the window gets another state; it stays ours, whoever else maps meanwhile. */
static void change_window(void)
{
	char *page = window + below(WINDOW_PAGES) * PAGE;
	switch (below(3)) {
	case 0:
		mprotect(page, PAGE, (int)below(4));
		break;
	case 1:
		madvise(page, PAGE, MADV_DONTNEED);
		break;
	default:
		mmap(page, PAGE, (int)below(4), MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		break;
	}
}

static const char *const paths[] = {
	"file", "log", "fifo", "socket", "gone", "new", "dir", "dir/a", "dir/a/b", "link", ".", "..", "", "/", "../..", "/etc/passwd", "/proc/self/fd/0",
	"/proc/self/exe", "/proc/self/comm", "/proc/1/maps", "/dev/null", "/dev/ptmx", "/dev/pts/0", "/dev/shm/s", "/tmp/t", "/t/escape", "/usr/bin/env",
	"/sys/fs/cgroup", "file/", "dir/../link/x", "user.x", "user.x", "user.y", "trusted.x", "security.capability", "system.posix_acl_access", "/proc/self/task/1/../fd",
};

static long fd_argument(void)
{
	return below(16) ? fds[below((unsigned long)fd_count + 1)] : (long)below(1200) - 100;
}

static long number_argument(void)
{
	static const long numbers[] = { 0, 1, 2, 3, 4, 7, 8, 16, 64, 127, 128, 255, 256, 4095, 4096, 65535, 65536, 0x7fffffff, 0x80000000l, 0xffffffffl,
					0x100000000l, -1, -2, -4096, -100, 0x7fffffffffffffff, (long)0x8000000000000000 };
	switch (below(5)) {
	case 0: return PICK(numbers);
	case 1: return 1l << below(64);
	case 2: return (1l << below(20)) | (1l << below(20)) | (1l << below(12));
	case 3: return ids[below(3)];
	default: return (long)below(64);
	}
}

/* Structures at fixed places of `shared`, 256 bytes each, that point to each other. */
enum { S_WORDS, S_MSGHDR, S_IOVEC, S_ADDRESS, S_POLL, S_TIME, S_EVENT, S_CONTROL, S_SETS, S_LENGTH, S_COUNT };

static char *structure(unsigned long kind)
{
	return shared + kind * 256;
}

static char *pointer_argument(void)
{
	switch (below(12)) {
	case 0: return edge - below(64);
	case 1: return window + below(WINDOW_PAGES * PAGE);
	case 2: return window + PAGE * (1 + below(WINDOW_PAGES - 1)) - below(48); /* across two pages */
	case 3: return PICK(((char *[]){ NULL, readonly, closed, (char *)-1, (char *)0x7ffffffff000, (char *)STUB_AREA, (char *)8 }));
	case 4: return shared + below(SHARED_BYTES);
	case 5: return (char *)(uintptr_t)PICK(paths);
	default: return structure(below(S_COUNT));
	}
}

static void fill_address(char *at)
{
	static const uint16_t families[] = { 0, AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, 99 };
	uint16_t family = PICK(families), port = htons((uint16_t)(32768 + below(64)));
	memset(at, 0, 128);
	memcpy(at, &family, 2);
	if (family == AF_UNIX)
		snprintf(at + 2, 100, "%s%s", below(2) ? "" : "@", PICK(paths));
	else
		memcpy(at + 2, &port, 2);
	if (family == AF_INET)
		memcpy(at + 4, "\x7f\0\0\1", 4);
	if (family == AF_INET6)
		at[23] = 1;
}

static void fill_control(char *at)
{
	struct cmsghdr h = { CMSG_LEN(below(5) * 4), below(4) ? SOL_SOCKET : (int)below(64), (int)below(4) };
	memcpy(at, &h, sizeof(h));
	for (int i = 0; i < 8; i++) {
		int fd = (int)fd_argument();
		memcpy(at + sizeof(h) + i * 4, &fd, 4);
	}
}

/* Nearly right contents, pointing to anything. */
static void fill_structures(void)
{
	struct iovec *iov = (struct iovec *)structure(S_IOVEC);
	struct pollfd *poll = (struct pollfd *)structure(S_POLL);
	struct timespec *time = (struct timespec *)structure(S_TIME);
	for (int i = 0; i < 16; i++)
		iov[i] = (struct iovec){ pointer_argument(), below(8) ? below(9000) : (size_t)number_argument() };
	for (int i = 0; i < 32; i++)
		poll[i] = (struct pollfd){ (int)fd_argument(), (short)below(65536), 0 };
	for (int i = 0; i < 4; i++)
		time[i] = (struct timespec){ (long)below(8) ? 0 : number_argument(), (long)below(8) ? (long)below(1000000) : number_argument() };
	struct epoll_event event = { (uint32_t)next_random(), { .u64 = next_random() } };
	memcpy(structure(S_EVENT), &event, sizeof(event));
	fill_address(structure(S_ADDRESS));
	fill_control(structure(S_CONTROL));
	struct msghdr m = { .msg_name = below(2) ? structure(S_ADDRESS) : NULL, .msg_namelen = (socklen_t)below(130),
			    .msg_iov = iov, .msg_iovlen = below(18), .msg_control = below(2) ? structure(S_CONTROL) : NULL,
			    .msg_controllen = below(8) ? below(64) : (size_t)number_argument() };
	memcpy(structure(S_MSGHDR), &m, sizeof(m));
	*(uint32_t *)structure(S_LENGTH) = below(2) ? 4 : (uint32_t)below(200);
	for (size_t i = 0; i < 256; i += 8) {
		long word = below(3) ? number_argument() : (long)(uintptr_t)pointer_argument();
		memcpy(structure(S_WORDS) + i, &word, 8);
		memcpy(structure(S_SETS) + i, &(uint64_t){ next_random() & next_random() }, 8);
	}
}

/* An argument of the kind that a trace word of syscalls.def names. */
static long argument(const char *word, size_t length)
{
	char name[16];
	snprintf(name, sizeof(name), "%.*s", (int)(length < 15 ? length : 15), word);
	if (below(12) == 0)
		return below(2) ? number_argument() : (long)(uintptr_t)pointer_argument();
	if (!strcmp(name, "fd"))
		return fd_argument();
	if (!strcmp(name, "atfd"))
		return below(3) ? AT_FDCWD : fd_argument();
	if (!strcmp(name, "path"))
		return (long)(uintptr_t)(below(16) ? PICK(paths) : pointer_argument());
	if (!strncmp(name, "buf", 3) || !strcmp(name, "ptr"))
		return (long)(uintptr_t)pointer_argument();
	if (!strcmp(name, "size"))
		return below(6) ? (long)below(9000) : number_argument();
	if (!strcmp(name, "oflags"))
		return (long)(below(4) | O_NONBLOCK | (below(2) ? O_CREAT : 0) | (below(4) ? 0 : number_argument()));
	if (!strcmp(name, "omode") || !strcmp(name, "mode"))
		return (long)below(010000);
	return number_argument();
}
