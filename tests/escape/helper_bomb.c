/*
 * Takes as much of one thing as it gets, prints how much and the errno that ended it ("N errno"), and exits 0:
 * helper_bomb KIND [MAXIMUM]. Run by limits.py under a limit.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char block[65536];

static bool fork_one(long i)
{
	pid_t pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	return pid > 0;
}

static bool zombie_one(long i)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	return pid > 0;
}

static void *sleeping(void *unused)
{
	pause();
	return unused;
}

static bool thread_one(long i)
{
	pthread_t thread;
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	errno = pthread_create(&thread, &attributes, sleeping, NULL);
	return errno == 0;
}

static bool vfork_chain(long i)
{
	/* Each child stops its parent and goes on itself. */
	pid_t pid = vfork();
	if (pid > 0)
		_exit(0);
	return pid == 0;
}

static bool memory_one(long i)
{
	char *map = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return false;
	memset(map, 1, 1 << 20);
	return true;
}

static bool shared_memory_one(long i)
{
	static int fd = -1;
	if (fd < 0)
		fd = (int)syscall(SYS_memfd_create, "bomb", 0);
	return write(fd, block, sizeof(block)) > 0;
}

static bool dev_shm_one(long i)
{
	static int fd = -1;
	if (fd < 0)
		fd = open("/dev/shm/bomb", O_RDWR | O_CREAT, 0600);
	return write(fd, block, sizeof(block)) > 0;
}

static bool mapped_file_one(long i)
{
	/* Pages of a sparse file dirtied through a mapping: SIGBUS or an errno, never the host's disk. */
	static int fd = -1;
	if (fd < 0)
		fd = open("mapped", O_RDWR | O_CREAT, 0600);
	if (ftruncate(fd, (i + 1) << 20) < 0)
		return false;
	char *map = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, i << 20);
	if (map == MAP_FAILED)
		return false;
	memset(map, 1, 1 << 20);
	munmap(map, 1 << 20);
	return true;
}

static bool open_one(long i)
{
	return open("/dev/null", O_RDONLY) >= 0;
}

static bool dup_everywhere(long i)
{
	/* Descriptors of one file. A limit of their number below the usual million: a million calls take a minute
	 * where a busy host groups sandbox and kernel process apart. */
	static int fd = -1;
	if (fd < 0) {
		struct rlimit limit = { 200000, 200000 };
		setrlimit(RLIMIT_NOFILE, &limit);
		fd = open("/dev/null", O_RDONLY);
	}
	return dup(fd) >= 0;
}

static bool disk_one(long i)
{
	static int fd = -1;
	if (fd < 0)
		fd = open("bomb", O_WRONLY | O_CREAT, 0600);
	return write(fd, block, sizeof(block)) > 0;
}

static bool inode_one(long i)
{
	char name[64];
	snprintf(name, sizeof(name), "inode-%ld", i);
	int fd = open(name, O_WRONLY | O_CREAT, 0600);
	return fd >= 0 && close(fd) == 0;
}

static bool symlink_one(long i)
{
	char name[64];
	snprintf(name, sizeof(name), "link-%ld", i);
	static char target[4000];
	memset(target, 'a', sizeof(target) - 1);
	return symlink(target, name) == 0;
}

static bool deep_one(long i)
{
	return mkdir("d", 0755) == 0 && chdir("d") == 0;
}

static bool lookup_one(long i)
{
	/* Names that do not exist: what the kernel remembers of them must be bounded. */
	char name[300];
	struct stat st;
	memset(name, 'n', 200);
	snprintf(name + 200, 90, "%ld", i);
	return stat(name, &st) < 0 && errno == ENOENT;
}

static bool xattr_one(long i)
{
	char name[64], path[32];
	snprintf(name, sizeof(name), "user.%ld", i % 100);
	snprintf(path, sizeof(path), "x%ld", i / 100);
	if (i % 100 == 0)
		close(open(path, O_WRONLY | O_CREAT, 0600));
	return syscall(SYS_setxattr, path, name, block, 500, 0) == 0;
}

static bool pipe_one(long i)
{
	int ends[2];
	if (pipe2(ends, O_NONBLOCK) < 0)
		return false;
	fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
	while (write(ends[1], block, sizeof(block)) > 0)
		;
	return errno == EAGAIN;
}

static bool socket_one(long i)
{
	int pair[2], size = 1 << 24;
	if (socketpair(AF_UNIX, i & 1 ? SOCK_DGRAM : SOCK_STREAM, 0, pair) < 0)
		return false;
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	while (send(pair[0], block, 4096, MSG_DONTWAIT) > 0)
		;
	return errno == EAGAIN;
}

static bool listener_one(long i)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	snprintf(address.sun_path + 1, 90, "bomb-%ld", i);
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	if (s < 0 || bind(s, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(s, 4096) < 0)
		return false;
	for (int k = 0; k < 20; k++) {
		int c = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (c < 0)
			return false;
		if (connect(c, (struct sockaddr *)&address, sizeof(address)) < 0)
			return errno == EAGAIN;
	}
	return true;
}

static bool in_flight_one(long i)
{
	/* Sockets sent over themselves: only their cycle holds them. */
	int pair[2];
	char control[CMSG_SPACE(sizeof(int) * 2)] = "", byte = 'x';
	struct iovec iov = { &byte, 1 };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) < 0)
		return false;
	struct cmsghdr *c = CMSG_FIRSTHDR(&message);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int) * 2);
	memcpy(CMSG_DATA(c), pair, sizeof(pair));
	bool sent = sendmsg(pair[0], &message, 0) == 1 && sendmsg(pair[1], &message, 0) == 1;
	int saved = errno;
	close(pair[0]);
	close(pair[1]);
	errno = saved;
	return sent;
}

static bool epoll_one(long i)
{
	static int sets[64], count;
	struct epoll_event event = { .events = EPOLLIN };
	int fd = eventfd(0, 0);
	if (fd < 0)
		return false;
	if (count < 64)
		sets[count++] = epoll_create1(0);
	for (int k = 0; k < count; k++)
		if (epoll_ctl(sets[k], EPOLL_CTL_ADD, fd, &event) < 0)
			return errno == EBADF;
	return true;
}

static bool inotify_one(long i)
{
	static int fd = -1;
	char name[64];
	if (fd < 0)
		fd = inotify_init1(IN_NONBLOCK);
	snprintf(name, sizeof(name), "watch-%ld", i);
	close(open(name, O_CREAT | O_WRONLY, 0600));
	return inotify_add_watch(fd, name, IN_ALL_EVENTS) >= 0 && inotify_add_watch(fd, ".", IN_ALL_EVENTS) >= 0;
}

static bool lock_one(long i)
{
	static int fd = -1;
	if (fd < 0)
		fd = open("locks", O_RDWR | O_CREAT, 0600);
	struct flock lock = { .l_type = F_WRLCK, .l_start = i * 2, .l_len = 1 };
	return fcntl(fd, F_SETLK, &lock) == 0;
}

static bool timer_one(long i)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	struct itimerspec often = { { 0, 1 }, { 0, 1 } };
	return fd >= 0 && timerfd_settime(fd, 0, &often, NULL) == 0;
}

static bool mapping_one(long i)
{
	return mmap(NULL, 4096, i & 1 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

static bool terminal_one(long i)
{
	int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK);
	for (int k = 0; k < 4 && fd >= 0 && write(fd, block, 4096) > 0; k++)
		; /* what does not fit in a line is dropped, for ever */
	return fd >= 0;
}

static bool queue_one(long i)
{
	return syscall(SYS_msgget, 0, 0600 | 01000) >= 0 && syscall(SYS_semget, 0, 200, 0600 | 01000) >= 0;
}

static bool shm_segment_one(long i)
{
	long id = syscall(SYS_shmget, 0, 1 << 20, 0600 | 01000);
	if (id < 0)
		return false;
	void *at = (void *)syscall(SYS_shmat, id, 0, 0);
	if (at == (void *)-1)
		return false;
	memset(at, 1, 1 << 20);
	return true;
}

static bool locked_one(long i)
{
	void *map = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return map != MAP_FAILED && mlock(map, 1 << 20) == 0;
}

/* A page here and there: nothing but page tables. */
static bool page_table_one(long i)
{
	const size_t region = 1ul << 30;
	volatile char *map = mmap(NULL, region, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return false;
	madvise((void *)(uintptr_t)map, region, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < region; at += 2 << 20)
		(void)map[at];
	return true;
}

static bool signal_one(long i)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return sigqueue(getpid(), SIGRTMIN, (union sigval){ .sival_int = 1 }) == 0;
}

static bool posix_timer_one(long i)
{
	timer_t timer;
	struct sigevent nobody = { .sigev_notify = SIGEV_NONE };
	return timer_create(CLOCK_MONOTONIC, &nobody, &timer) == 0;
}

static bool tcp_one(long i)
{
	static int listener = -1;
	static struct sockaddr_in name = { .sin_family = AF_INET };
	socklen_t size = sizeof(name);
	int big = 1 << 24;
	if (listener < 0) {
		listener = socket(AF_INET, SOCK_STREAM, 0);
		bind(listener, (struct sockaddr *)&name, sizeof(name));
		listen(listener, 100);
		getsockname(listener, (struct sockaddr *)&name, &size);
	}
	int s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (s < 0)
		return false;
	setsockopt(s, SOL_SOCKET, SO_SNDBUF, &big, sizeof(big));
	if (connect(s, (struct sockaddr *)&name, sizeof(name)) < 0 && errno != EINPROGRESS)
		return false;
	while (send(s, block, sizeof(block), MSG_DONTWAIT) > 0)
		;
	return errno == EAGAIN && accept(listener, NULL, NULL) >= 0;
}

static bool udp_one(long i)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(name);
	int big = 1 << 24, s = socket(AF_INET, SOCK_DGRAM, 0);
	if (s < 0)
		return false;
	setsockopt(s, SOL_SOCKET, SO_RCVBUF, &big, sizeof(big));
	bind(s, (struct sockaddr *)&name, sizeof(name));
	getsockname(s, (struct sockaddr *)&name, &size);
	for (int k = 0; k < 100; k++) /* what there is no room for is dropped */
		if (sendto(s, block, 60000, MSG_DONTWAIT, (struct sockaddr *)&name, sizeof(name)) < 0)
			return false;
	return true;
}

static bool message_one(long i)
{
	static long queue = -1;
	if (queue < 0)
		queue = syscall(SYS_msgget, 0, 0600 | 01000);
	*(long *)(void *)block = 1;
	if (syscall(SYS_msgsnd, queue, block, 1000, 04000) == 0)
		return true;
	if (errno == EAGAIN)
		queue = syscall(SYS_msgget, 0, 0600 | 01000);
	return queue >= 0;
}

/* Nobody reads the events; each has a long name. */
static bool event_one(long i)
{
	static int in = -1;
	char name[256];
	memset(name, 'e', sizeof(name));
	if (i % 10000 == 0) {
		in = inotify_init1(IN_NONBLOCK);
		if (in < 0 || inotify_add_watch(in, ".", IN_ALL_EVENTS) < 0)
			return false;
	}
	snprintf(name + 200, 50, "%ld", i % 3);
	int fd = open(name, O_CREAT | O_WRONLY, 0600);
	return fd >= 0 && close(fd) == 0;
}

/* Long names of nothing, in long paths. */
static bool path_one(long i)
{
	char path[4096];
	struct stat st;
	size_t length = 0;
	while (length + 220 < sizeof(path))
		length += (size_t)snprintf(path + length, 220, "%0199ld/../", i);
	return stat(path, &st) < 0 && errno == ENOENT;
}

/* A page in every gigabyte of a file. */
static bool sparse_one(long i)
{
	static int fd = -1;
	if (fd < 0)
		fd = open("sparse", O_RDWR | O_CREAT, 0600);
	return pwrite(fd, "x", 1, i << 30) == 1;
}

/* Twice the arguments each time. */
static bool argument_one(long i)
{
	static char *arguments[1 << 22];
	long count = i < 21 ? 2l << i : 1 << 22;
	for (long k = 0; k < count - 1; k++)
		arguments[k] = "an argument of some length";
	pid_t pid = fork();
	if (pid == 0) {
		int fd = open("/dev/null", O_WRONLY);
		dup2(fd, 1);
		execv("/bin/true", arguments);
		_exit(errno & 127);
	}
	int status = 0;
	waitpid(pid, &status, 0);
	errno = WEXITSTATUS(status);
	return status == 0;
}

static const struct {
	const char *name;
	bool (*one)(long i);
} bombs[] = {
	{ "fork", fork_one }, { "zombie", zombie_one }, { "thread", thread_one }, { "vfork", vfork_chain }, { "memory", memory_one }, { "held", memory_one }, { "layer", disk_one }, { "memfd", shared_memory_one },
	{ "devshm", dev_shm_one }, { "mapped", mapped_file_one }, { "open", open_one }, { "dup", dup_everywhere }, { "disk", disk_one },
	{ "inode", inode_one }, { "symlink", symlink_one }, { "deep", deep_one }, { "lookup", lookup_one }, { "xattr", xattr_one },
	{ "pipe", pipe_one }, { "socket", socket_one }, { "listener", listener_one }, { "inflight", in_flight_one }, { "epoll", epoll_one },
	{ "inotify", inotify_one }, { "lock", lock_one }, { "timer", timer_one }, { "mapping", mapping_one }, { "terminal", terminal_one },
	{ "queue", queue_one }, { "shm", shm_segment_one }, { "mlock", locked_one }, { "pagetables", page_table_one },
	{ "signal", signal_one }, { "posixtimer", posix_timer_one }, { "tcp", tcp_one }, { "udp", udp_one }, { "message", message_one },
	{ "event", event_one }, { "path", path_one }, { "sparse", sparse_one }, { "argument", argument_one },
};

int main(int argc, char **argv)
{
	struct rlimit limit;
	long maximum = argc > 2 ? atol(argv[2]) : 10000000;
	/* As many descriptors as one process may have. */
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	signal(SIGXFSZ, SIG_IGN);
	for (size_t b = 0; argc > 1 && b < sizeof(bombs) / sizeof(bombs[0]); b++) {
		if (strcmp(bombs[b].name, argv[1]) != 0)
			continue;
		long i = 0;
		while (i < maximum && bombs[b].one(i))
			i++;
		printf("%ld %d\n", i, i < maximum ? errno : 0);
		fflush(stdout);
		if (strcmp(argv[1], "held") == 0)
			sleep(5);
		if (bombs[b].one == fork_one || bombs[b].one == thread_one)
			kill(0, SIGKILL);
		_exit(0);
	}
	fprintf(stderr, "which bomb?\n");
	return 2;
}
