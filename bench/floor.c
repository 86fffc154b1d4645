/*
 * The floor below every served call on this machine: what the host alone takes to stop a process at a
 * system call, hand it to another one through a seccomp listener, and let it go on with the answer. No
 * memory is copied and nothing is decided. Prints "floor <tab> nanoseconds", the median of many batches.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS /* Linux 6.6 */
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, uint64_t)
#endif

#define BATCHES 31
#define CALLS	5000

static void pass(int socket, int *fd, int send_it)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 0;
	struct iovec data = { &byte, 1 };
	struct msghdr m = { .msg_iov = &data,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	if (!send_it) {
		must(recvmsg(socket, &m, 0), "recvmsg");
		memcpy(fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
		return;
	}
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), fd, sizeof(int));
	must(sendmsg(socket, &m, 0), "sendmsg");
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* The guest's part: getuid() is everybody's to answer. */
static void call(int socket)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getuid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, filter };
	uint64_t took[BATCHES];

	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	int listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
				    SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	must(listener, "seccomp");
	pass(socket, &listener, 1);
	close(listener);
	for (int b = 0; b < BATCHES; b++) {
		uint64_t start = now();
		for (int i = 0; i < CALLS; i++)
			syscall(SYS_getuid);
		took[b] = (now() - start) / CALLS;
	}
	qsort(took, BATCHES, sizeof(took[0]), compare);
	printf("floor\t%llu\n", (unsigned long long)took[BATCHES / 2]);
	fflush(stdout);
	_exit(0);
}

static void answer(int listener)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };
	uint64_t synchronous = 1;

	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, synchronous);
	while (poll(&p, 1, -1) > 0 && (p.revents & POLLIN)) {
		struct seccomp_notif n;
		memset(&n, 0, sizeof(n));
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0)
			continue;
		struct seccomp_notif_resp r = { .id = n.id, .val = 1000 };
		(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &r);
	}
}

int main(void)
{
	int sockets[2], listener;

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), "socketpair");
	pid_t child = fork();
	must(child, "fork");
	if (child == 0)
		call(sockets[1]);
	pass(sockets[0], &listener, 0);
	answer(listener);
	return 0;
}
