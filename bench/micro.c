/*
 * What single operations cost: one line "name <tab> nanoseconds" each, the median of many batches.
 * Usage: micro [NAME...]. Runs anywhere: natively, in a sandbox, in somebody else's.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"

#define BATCHES 31
#define FILE_OF_TEMPLATE "/usr/bin/env"

static int input, output, file, other;
static struct sockaddr_in server;
static char buffer[1 << 20];

static void do_getppid(void)
{
	syscall(SYS_getppid);
}

static void do_clock(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
}

static void do_getuid(void)
{
	syscall(SYS_getuid);
}

static void do_stat(void)
{
	struct stat st;
	must(stat(FILE_OF_TEMPLATE, &st), "stat");
}

static void do_stat_missing(void)
{
	struct stat st;
	stat("/usr/lib/there/is/nothing", &st);
}

static void do_pread(void)
{
	must(pread(file, buffer, 100, 0), "pread");
}

static void do_open_read_close(void)
{
	int fd = open(FILE_OF_TEMPLATE, O_RDONLY);
	must(read(fd, buffer, 100), "read");
	close(fd);
}

static void do_write(void)
{
	must(pwrite(other, buffer, 4096, 0), "pwrite");
}

static void do_create_unlink(void)
{
	must(close(open("created", O_CREAT | O_WRONLY, 0600)), "create");
	must(unlink("created"), "unlink");
}

static void do_fork(void)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	must(waitpid(pid, NULL, 0), "fork");
}

static void do_vfork_exec(void)
{
	pid_t pid = vfork();
	if (pid == 0) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	must(waitpid(pid, NULL, 0), "vfork");
}

static void *nothing(void *argument)
{
	return argument;
}

static void do_thread(void)
{
	pthread_t thread;
	must(-pthread_create(&thread, NULL, nothing, NULL), "thread");
	pthread_join(thread, NULL);
}

static void do_map(void)
{
	char *map = mmap(NULL, 65536, PROT_READ, MAP_PRIVATE, file, 0);
	must(map == MAP_FAILED ? -1 : 0, "mmap");
	*(volatile char *)map;
	munmap(map, 65536);
}

static void do_map_anonymous(void)
{
	char *map = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*(volatile char *)map = 1;
	munmap(map, 65536);
}

/* The other end of a ping-pong: answers each byte until the end of input. */
static void answer(int from, int to)
{
	char c;
	while (read(from, &c, 1) == 1)
		if (write(to, &c, 1) != 1)
			break;
	_exit(0);
}

static void do_ping_pong(void)
{
	char c = 'x';
	must(write(output, &c, 1), "ping");
	must(read(input, &c, 1) == 1 ? 0 : -1, "pong");
}

static void start_pipe(void)
{
	int there[2], back[2];
	must(pipe(there), "pipe");
	must(pipe(back), "pipe");
	if (fork() == 0) {
		close(there[1]);
		answer(there[0], back[1]);
	}
	close(there[0]);
	output = there[1];
	input = back[0];
}

static void start_unix(void)
{
	int pair[2];
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
	if (fork() == 0) {
		close(pair[0]);
		answer(pair[1], pair[1]);
	}
	close(pair[1]);
	input = output = pair[0];
}

/* A listening socket on a port of loopback that the host chooses. */
static int listen_tcp(struct sockaddr_in *ret)
{
	socklen_t size = sizeof(*ret);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	*ret = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	must(bind(listener, (struct sockaddr *)ret, size), "bind");
	must(listen(listener, 128), "listen");
	must(getsockname(listener, (struct sockaddr *)ret, &size), "getsockname");
	return listener;
}

static int connect_tcp(void)
{
	int one = 1, s = socket(AF_INET, SOCK_STREAM, 0);
	must(connect(s, (struct sockaddr *)&server, sizeof(server)), "connect");
	setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return s;
}

static void start_tcp(void)
{
	int listener = listen_tcp(&server);
	if (fork() == 0) {
		int one = 1, s = accept(listener, NULL, NULL);
		setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		answer(s, s);
	}
	input = output = connect_tcp();
	close(listener);
}

/* A server of one request per connection, until a connection without one. */
static void start_requests(void)
{
	char request[128];
	int listener = listen_tcp(&server);
	if (fork() == 0) {
		for (ssize_t n = 1; n > 0;) {
			int s = accept(listener, NULL, NULL);
			n = read(s, request, sizeof(request));
			if (n > 0)
				must(write(s, buffer, 1024), "answer");
			close(s);
		}
		_exit(0);
	}
	close(listener);
}

static void do_request(void)
{
	int s = connect_tcp();
	must(write(s, buffer, 100), "request");
	for (ssize_t n = 1; n > 0;)
		must(n = read(s, buffer, sizeof(buffer)), "response");
	close(s);
}

static void stop_requests(void)
{
	close(connect_tcp());
	wait(NULL);
}

/* Takes all there is to read from one of two ends, which a child does; the other is the output. */
static void start_drain(int from, int to)
{
	if (fork() == 0) {
		close(to);
		while (read(from, buffer, sizeof(buffer)) > 0)
			;
		_exit(0);
	}
	close(from);
	output = to;
}

static void start_pipe_throughput(void)
{
	int ends[2];
	must(pipe(ends), "pipe");
	start_drain(ends[0], ends[1]);
}

static void start_tcp_throughput(void)
{
	int listener = listen_tcp(&server), to = connect_tcp();
	start_drain(accept(listener, NULL, NULL), to);
	close(listener);
}

static void do_throughput(void)
{
	for (size_t done = 0; done < sizeof(buffer);) {
		ssize_t n = write(output, buffer, sizeof(buffer) - done);
		must(n, "write");
		done += (size_t)n;
	}
}

static void stop_partner(void)
{
	close(output);
	if (input != output)
		close(input);
	input = output = -1;
	while (waitpid(-1, NULL, 0) > 0)
		;
}

static void open_files(void)
{
	must(file = open(FILE_OF_TEMPLATE, O_RDONLY), FILE_OF_TEMPLATE);
	must(other = open("scratch", O_RDWR | O_CREAT, 0600), "scratch");
}

static void close_files(void)
{
	close(file);
	close(other);
	unlink("scratch");
}

static const struct benchmark {
	const char *name;
	void (*start)(void);
	void (*run)(void);
	void (*stop)(void);
	int batch; /* operations between two looks at the clock */
} benchmarks[] = {
	{ "getppid", NULL, do_getppid, NULL, 2000 },
	{ "clock_gettime", NULL, do_clock, NULL, 5000 },
	{ "getuid", NULL, do_getuid, NULL, 300 },
	{ "stat", NULL, do_stat, NULL, 300 },
	{ "stat_missing", NULL, do_stat_missing, NULL, 300 },
	{ "pread_100", open_files, do_pread, close_files, 300 },
	{ "open_read_close", NULL, do_open_read_close, NULL, 100 },
	{ "write_4k", open_files, do_write, close_files, 300 },
	{ "create_unlink", NULL, do_create_unlink, NULL, 50 },
	{ "mmap_file", open_files, do_map, close_files, 100 },
	{ "mmap_anonymous", NULL, do_map_anonymous, NULL, 300 },
	{ "fork_exit_wait", NULL, do_fork, NULL, 10 },
	{ "vfork_exec_wait", NULL, do_vfork_exec, NULL, 5 },
	{ "thread_create_join", NULL, do_thread, NULL, 50 },
	{ "pipe_ping_pong", start_pipe, do_ping_pong, stop_partner, 100 },
	{ "unix_ping_pong", start_unix, do_ping_pong, stop_partner, 100 },
	{ "tcp_ping_pong", start_tcp, do_ping_pong, stop_partner, 100 },
	{ "tcp_request", start_requests, do_request, stop_requests, 20 },
	{ "pipe_1mib", start_pipe_throughput, do_throughput, stop_partner, 2 },
	{ "tcp_1mib", start_tcp_throughput, do_throughput, stop_partner, 2 },
};

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static void measure(const struct benchmark *b)
{
	double batches[BATCHES];
	input = output = -1;
	if (b->start)
		b->start();
	b->run();
	for (int i = 0; i < BATCHES; i++) {
		uint64_t started = now();
		for (int k = 0; k < b->batch; k++)
			b->run();
		batches[i] = (double)(now() - started) / b->batch;
	}
	if (b->stop)
		b->stop();
	qsort(batches, BATCHES, sizeof(double), compare);
	printf("%s\t%.0f\n", b->name, batches[BATCHES / 2]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof(benchmarks) / sizeof(benchmarks[0]); i++) {
		int wanted = argc < 2;
		for (int k = 1; k < argc; k++)
			wanted |= strcmp(argv[k], benchmarks[i].name) == 0;
		if (wanted)
			measure(&benchmarks[i]);
	}
	return 0;
}
