/*
 * Sockets that nobody can reach any more, being only in each other's queues, hold buffers until they are
 * collected, and collecting is never more than a part of the kernel process's time. What is wanted
 * meanwhile must not be refused because of them.
 */
#include "attack.h"

#include <sys/resource.h>

#define BATCH 250
#define LIVING 10000
#define ROUNDS 4000

static char text[60000];

static void send_descriptors(int to, const int *fds, size_t count, size_t size)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(BATCH * sizeof(int))];
	} control = { .header = { CMSG_LEN(count * sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec iov = { text, size };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(count * sizeof(int)) };
	memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
	CHECK_EQ(sendmsg(to, &m, MSG_DONTWAIT), size);
}

/* The more are on their way and reachable, the longer a look at all takes, and the rarer it is. */
static void put_many_on_their_way(int to)
{
	int fds[BATCH];
	for (int n = 0; n < LIVING; n += BATCH) {
		for (int i = 0; i < BATCH; i++) {
			fds[i] = socket(AF_UNIX, SOCK_DGRAM, 0);
			CHECK(fds[i] >= 0);
		}
		send_descriptors(to, fds, BATCH, 1);
		for (int i = 0; i < BATCH; i++)
			close(fds[i]);
	}
}

TEST(unreachable_sockets_do_not_use_up_buffers)
{
	struct rlimit limit;
	int living[2], pair[2], ends[2];
	alarm(CHECK_TIMEOUT_S);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, living), 0);
	put_many_on_their_way(living[0]);
	for (int i = 0; i < ROUNDS; i++) {
		CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
		send_descriptors(pair[0], pair, 2, sizeof(text));
		close(pair[0]);
		close(pair[1]);
		CHECK_EQ(pipe(ends), 0);
		CHECK_EQ(write(ends[1], "x", 1), 1);
		close(ends[0]);
		close(ends[1]);
	}
	check_alive();
}

CHECK_MAIN()
