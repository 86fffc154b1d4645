/*
 * Scenarios of failing allocations: everything that is not a file. The rules of faults_files.h.
 */
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "faults_files.h"

static inline void scenario_pipes(void)
{
	int p[2] = { -1, -1 }, q[2] = { -1, -1 };
	int file = open("piped", O_CREAT | O_RDWR, 0600);

	IGNORE(pipe2(p, O_NONBLOCK));
	IGNORE(pipe2(q, O_NONBLOCK));
	fcntl(p[1], F_SETPIPE_SZ, 1 << 20);
	IGNORE(write(p[1], "x", 1));
	IGNORE(write(p[1], faults_block, 200000));
	IGNORE(tee(p[0], q[1], 5000, SPLICE_F_NONBLOCK));
	IGNORE(splice(p[0], NULL, q[1], NULL, 5000, SPLICE_F_NONBLOCK));
	IGNORE(splice(p[0], NULL, file, NULL, 5000, SPLICE_F_NONBLOCK));
	IGNORE(splice(file, &(loff_t){ 0 }, q[1], NULL, 5000, SPLICE_F_NONBLOCK));
	IGNORE(read(p[0], faults_block, 100000));
	mkfifo("fifo", 0600);
	int fifo = open("fifo", O_RDWR | O_NONBLOCK);
	IGNORE(write(fifo, "x", 1));
	int again = open("fifo", O_RDONLY | O_NONBLOCK);
	IGNORE(read(again, faults_block, 10));
}

static inline void send_descriptors(int s, int a, int b)
{
	char control[CMSG_SPACE(2 * sizeof(int))] = "", byte = 'x';
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int fds[2] = { a, b };

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(c), fds, sizeof(fds));
	IGNORE(sendmsg(s, &m, MSG_DONTWAIT));
}

static inline void receive_descriptors(int s)
{
	char control[CMSG_SPACE(2 * sizeof(int))], byte[16];
	struct iovec iov = { byte, sizeof(byte) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };

	IGNORE(recvmsg(s, &m, MSG_DONTWAIT));
}

static inline void scenario_unix(void)
{
	static const int types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "bound" };
	struct sockaddr_un abstract = { .sun_family = AF_UNIX, .sun_path = "\0abstract" };

	for (size_t i = 0; i < 3; i++) {
		int pair[2] = { -1, -1 }, one = 1;
		socketpair(AF_UNIX, types[i] | SOCK_NONBLOCK, 0, pair);
		setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one));
		IGNORE(send(pair[0], faults_block, 30000, MSG_DONTWAIT));
		send_descriptors(pair[0], pair[1], 0);
		send_descriptors(pair[0], pair[0], pair[1]);
		receive_descriptors(pair[1]);
		receive_descriptors(pair[1]);
	}
	unlink("bound");
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int datagram = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	bind(listener, (struct sockaddr *)&name, sizeof(name));
	listen(listener, 5);
	bind(datagram, (struct sockaddr *)&abstract, sizeof(abstract));
	for (int i = 0; i < 3; i++) {
		int client = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		connect(client, (struct sockaddr *)&name, sizeof(name));
		IGNORE(send(client, "hello", 5, MSG_DONTWAIT | MSG_NOSIGNAL));
	}
	accept4(listener, NULL, NULL, SOCK_NONBLOCK);
	int sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	bind(sender, (struct sockaddr *)&abstract, 2); /* a name of the kernel's choice */
	sendto(sender, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&abstract, sizeof(abstract));
	connect(sender, (struct sockaddr *)&abstract, sizeof(abstract));
	shutdown(sender, SHUT_RDWR);
}

static inline void scenario_inet(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) }, name = any;
	struct ip_mreq group = { .imr_multiaddr.s_addr = inet_addr("224.0.0.251"), .imr_interface = any.sin_addr };
	socklen_t size = sizeof(name);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	bind(listener, (struct sockaddr *)&any, sizeof(any));
	listen(listener, 1);
	getsockname(listener, (struct sockaddr *)&name, &size);
	for (int i = 0; i < 4; i++) { /* more than the backlog holds */
		int client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		setsockopt(client, IPPROTO_TCP, 1, &(int){ 1 }, sizeof(int));
		connect(client, (struct sockaddr *)&name, sizeof(name));
		IGNORE(send(client, faults_block, 100000, MSG_DONTWAIT | MSG_NOSIGNAL));
	}
	int server = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
	IGNORE(recv(server, faults_block, 1000, MSG_DONTWAIT));
	accept4(listener, NULL, NULL, SOCK_NONBLOCK);
	shutdown(server, SHUT_WR);
	for (int family = 0; family < 2; family++) {
		int udp = socket(family ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
		struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
		struct sockaddr *own = family ? (struct sockaddr *)&six : (struct sockaddr *)&any;
		socklen_t length = family ? sizeof(six) : sizeof(any);
		struct sockaddr_storage to;
		socklen_t to_size = sizeof(to);
		bind(udp, own, length);
		getsockname(udp, (struct sockaddr *)&to, &to_size);
		setsockopt(udp, IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof(group));
		sendto(udp, faults_block, 3000, MSG_DONTWAIT, (struct sockaddr *)&to, to_size);
		IGNORE(recv(udp, faults_block, 3000, MSG_DONTWAIT));
		connect(udp, (struct sockaddr *)&to, to_size);
		struct mmsghdr many[2] = { 0 };
		struct iovec iov = { faults_block, 500 };
		many[0].msg_hdr.msg_iov = many[1].msg_hdr.msg_iov = &iov;
		many[0].msg_hdr.msg_iovlen = many[1].msg_hdr.msg_iovlen = 1;
		sendmmsg(udp, many, 2, MSG_DONTWAIT);
		recvmmsg(udp, many, 2, MSG_DONTWAIT, NULL);
	}
}

static inline void scenario_netlink(void)
{
	struct {
		struct nlmsghdr h;
		struct rtgenmsg g;
	} ask = { { sizeof(ask), RTM_GETADDR, NLM_F_REQUEST | NLM_F_DUMP, 1, 0 }, { AF_UNSPEC } };
	int s = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, NETLINK_ROUTE);

	IGNORE(send(s, &ask, sizeof(ask), MSG_DONTWAIT));
	IGNORE(recv(s, faults_block, sizeof(faults_block), MSG_DONTWAIT));
	ask.h.nlmsg_type = RTM_GETLINK;
	IGNORE(send(s, &ask, sizeof(ask), MSG_DONTWAIT));
	IGNORE(recv(s, faults_block, sizeof(faults_block), MSG_DONTWAIT));
}

static inline void scenario_events(void)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	struct epoll_event got[8];
	struct itimerspec soon = { { 0, 1000 }, { 0, 1000 } };
	sigset_t set;
	int p[2] = { -1, -1 };
	int inner = epoll_create1(0), outer = epoll_create1(0), counter = eventfd(1, EFD_NONBLOCK);
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	int signals = signalfd(-1, &set, SFD_NONBLOCK);
	raise(SIGUSR1);
	IGNORE(pipe2(p, O_NONBLOCK));
	timerfd_settime(timer, 0, &soon, NULL);
	epoll_ctl(inner, EPOLL_CTL_ADD, counter, &event);
	epoll_ctl(inner, EPOLL_CTL_ADD, timer, &event);
	epoll_ctl(inner, EPOLL_CTL_ADD, signals, &event);
	epoll_ctl(outer, EPOLL_CTL_ADD, inner, &event);
	epoll_ctl(outer, EPOLL_CTL_ADD, p[0], &event);
	IGNORE(write(p[1], "x", 1));
	epoll_wait(outer, got, 8, 1);
	epoll_wait(inner, got, 8, 1);
	IGNORE(read(timer, faults_block, 8));
	IGNORE(read(counter, faults_block, 8));
	IGNORE(read(signals, faults_block, 256));
	IGNORE(write(counter, "12345678", 8));
	epoll_ctl(inner, EPOLL_CTL_DEL, counter, &event);
	epoll_pwait(inner, got, 8, 1, &set);
	while (sigtimedwait(&set, NULL, &(struct timespec){ 0, 0 }) > 0)
		;
}

static inline void scenario_polling(void)
{
	struct pollfd fds[6];
	struct timespec moment = { 0, 100000 };
	fd_set set;
	int p[2] = { -1, -1 }, pair[2] = { -1, -1 };

	IGNORE(pipe2(p, O_NONBLOCK));
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	for (int i = 0; i < 6; i++)
		fds[i] = (struct pollfd){ i & 1 ? p[0] : pair[0], POLLIN, 0 };
	poll(fds, 6, 1);
	ppoll(fds, 6, &moment, NULL);
	FD_ZERO(&set);
	if (p[0] >= 0)
		FD_SET(p[0], &set);
	pselect(p[0] + 1, &set, NULL, NULL, &moment, NULL);
	IGNORE(write(p[1], "x", 1));
	poll(fds, 6, 1);
}

static int faults_ids[8][2]; /* kind, id: removed by the caller */
static unsigned faults_id_count;

static inline int made(int kind, int id)
{
	if (id >= 0 && faults_id_count < 8) {
		faults_ids[faults_id_count][0] = kind;
		faults_ids[faults_id_count++][1] = id;
	}
	return id;
}

static inline void scenario_sysv(void)
{
	struct {
		long type;
		char text[500];
	} message = { 1, "" };
	struct sembuf up = { 0, 1, SEM_UNDO | IPC_NOWAIT }, down = { 1, -1, IPC_NOWAIT };
	int queue = made('q', msgget(IPC_PRIVATE, 0600)), sems = made('s', semget(IPC_PRIVATE, 5, 0600));
	int memory = made('m', shmget(IPC_PRIVATE, 10000, 0600)), named = made('m', shmget(0x5af, 5000, 0600 | IPC_CREAT));
	unsigned short values[5] = { 1, 2, 3, 4, 5 };

	IGNORE(msgsnd(queue, &message, sizeof(message.text), IPC_NOWAIT));
	message.type = 2;
	IGNORE(msgsnd(queue, &message, 1, IPC_NOWAIT));
	IGNORE(msgrcv(queue, &message, sizeof(message.text), -2, IPC_NOWAIT));
	semctl(sems, 0, SETALL, values);
	semop(sems, &up, 1);
	semop(sems, &down, 1);
	semtimedop(sems, &(struct sembuf){ 2, -100, SEM_UNDO }, 1, &(struct timespec){ 0, 1000 });
	for (int i = 0; i < 2; i++) {
		char *at = shmat(i ? named : memory, NULL, 0);
		if (at == (void *)-1)
			continue;
		at[100] = 1;
		shmdt(at);
	}
}

static inline void scenario_terminal(void)
{
	char name[64], line[200];
	int number = 0, unlock = 0, master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK);

	ioctl(master, TIOCSPTLCK, &unlock);
	ioctl(master, TIOCGPTN, &number);
	snprintf(name, sizeof(name), "/dev/pts/%d", number);
	int slave = open(name, O_RDWR | O_NOCTTY | O_NONBLOCK);
	IGNORE(write(master, "a line\n", 7));
	IGNORE(read(slave, line, sizeof(line)));
	IGNORE(write(slave, faults_block, 3000));
	IGNORE(read(master, line, sizeof(line)));
	list_directory("/dev/pts");
}

static void *faults_thread(void *unused)
{
	IGNORE(open("/dev/null", O_RDONLY));
	struct stat st;
	stat("/usr/bin/env", &st);
	return unused;
}

static inline void wait_child(pid_t pid)
{
	/* A child that the kernel has no memory for is killed. Signals of our own do not disturb. */
	if (pid > 0)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
}

static inline void scenario_processes(void)
{
	pthread_t thread;
	struct stat st;
	void *inherited = shmat(made('m', shmget(IPC_PRIVATE, 10000, 0600)), NULL, 0);
	pid_t pid = fork();

	if (pid == 0) {
		stat("/usr/bin/env", &st);
		IGNORE(open("child", O_CREAT | O_RDWR, 0600));
		_exit(0);
	}
	int watch = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	poll(&(struct pollfd){ watch, POLLIN, 0 }, 1, 1);
	wait_child(pid);
	if (pthread_create(&thread, NULL, faults_thread, NULL) == 0)
		pthread_join(thread, NULL);
	if (inherited != (void *)-1)
		shmdt(inherited);
	syscall(SYS_setgroups, 0, NULL);
	umask(022);
	setpriority(0, 0, 0);
}

static inline void scenario_exec(void)
{
	static char *const empty[] = { NULL };
	static const char *const programs[] = { "/usr/bin/true", "./script", "/absent" };

	for (size_t i = 0; i < 3; i++) {
		char *const argv[] = { (char *)(uintptr_t)programs[i], (char *)(uintptr_t) "argument", NULL };
		pid_t pid = vfork();
		if (pid == 0) {
			execve(programs[i], argv, empty);
			_exit(126);
		}
		wait_child(pid);
	}
}

static inline void faults_tick(int sig)
{
}

/* Calls that wait; a timer takes them out again, so that none waits for ever. */
static inline void scenario_waiting(void)
{
	struct sigaction action = { .sa_handler = faults_tick };
	struct itimerval often = { { 0, 700 }, { 0, 700 } }, never = { { 0, 0 }, { 0, 0 } };
	struct flock lock = { .l_type = F_WRLCK, .l_len = 10 };
	struct epoll_event event = { .events = EPOLLIN };
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "\0waiting" };
	sigset_t none;
	int p[2] = { -1, -1 }, pair[2] = { -1, -1 };
	char byte;

	sigemptyset(&none);
	sigaction(SIGALRM, &action, NULL);
	IGNORE(pipe(p));
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	mkfifo("waited", 0600);
	int file = open("locked", O_CREAT | O_RDWR, 0600), other = open("locked", O_RDWR);
	int set = epoll_create1(0), counter = eventfd(0, 0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), in = inotify_init1(0), tcp = socket(AF_INET, SOCK_STREAM, 0);
	int sems = made('s', semget(IPC_PRIVATE, 2, 0600)), queue = made('q', msgget(IPC_PRIVATE, 0600));
	bind(listener, (struct sockaddr *)&name, sizeof(name));
	listen(listener, 0);
	listen(tcp, 1);
	flock(other, LOCK_EX | LOCK_NB);
	fcntl(other, F_OFD_SETLK, &lock);
	epoll_ctl(set, EPOLL_CTL_ADD, p[0], &event);

	setitimer(ITIMER_REAL, &often, NULL);
	IGNORE(read(p[0], &byte, 1));
	IGNORE(write(p[1], faults_block, 100000));
	IGNORE(recv(pair[0], &byte, 1, 0));
	IGNORE(send(pair[0], faults_block, sizeof(faults_block), MSG_NOSIGNAL));
	accept(listener, NULL, NULL);
	accept(tcp, NULL, NULL);
	for (int i = 0; i < 3; i++)
		connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&name, sizeof(name));
	flock(file, LOCK_EX);
	fcntl(file, F_SETLKW, &lock);
	epoll_wait(set, &event, 1, 50);
	epoll_pwait(set, &event, 1, 50, &none);
	poll(&(struct pollfd){ pair[1], POLLPRI, 0 }, 1, 50);
	ppoll(&(struct pollfd){ pair[1], POLLPRI, 0 }, 1, &(struct timespec){ 0, 50000000 }, &none);
	IGNORE(read(counter, faults_block, 8));
	IGNORE(read(timer, faults_block, 8));
	IGNORE(read(in, faults_block, 4096));
	semop(sems, &(struct sembuf){ 0, -1, SEM_UNDO }, 1);
	IGNORE(msgrcv(queue, faults_block, 100, 0, 0));
	IGNORE(open("waited", O_RDONLY));
	setitimer(ITIMER_REAL, &never, NULL);
}
