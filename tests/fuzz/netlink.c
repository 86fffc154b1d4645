/* Requests on a netlink socket, several in a message; every answer is well formed. */
#include "fuzz.h"

#include <linux/netlink.h>
#include <string.h>

#include "kernel/net/socket.h"
#include "world.h"

static void check_answer(const uint8_t *data, size_t size)
{
	while (size >= sizeof(struct nlmsghdr)) {
		struct nlmsghdr h;
		memcpy(&h, data, sizeof(h));
		FUZZ_CHECK(h.nlmsg_len >= sizeof(h) && h.nlmsg_len <= size);
		size_t step = NLMSG_ALIGN(h.nlmsg_len) < size ? NLMSG_ALIGN(h.nlmsg_len) : size;
		data += step;
		size -= step;
	}
	FUZZ_CHECK(size == 0);
}

static void read_answers(struct socket *s)
{
	static uint8_t answer[65536];
	for (int i = 0; i < 1000; i++) {
		struct uio u;
		struct msg m = { .task = world_task(), .u = &u };
		uio_kernel(&u, answer, sizeof(answer));
		ssize_t n = netlink_socket_ops.recv(s, &m);
		if (n < 0)
			return;
		check_answer(answer, (size_t)n);
		netlink_socket_ops.recv_done(s, (size_t)n);
	}
	fprintf(stderr, "answers without end\n");
	abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct task *t = world_task();
	struct socket *s;
	int value = fuzz_byte(&in) & 1;
	FUZZ_CHECK(netlink_socket_ops.create(t, AF_NETLINK, SOCK_RAW, 0, &s) == 0);
	netlink_socket_ops.setsockopt(NULL, s, SOL_NETLINK, NETLINK_CAP_ACK, &value, sizeof(value));
	while (in.size) {
		struct fuzz_input part = fuzz_take(&in, 1 + (size_t)fuzz_byte(&in) * 4);
		uint8_t copy[2048];
		struct uio u;
		struct msg m = { .task = t, .u = &u };
		memcpy(copy, part.data, part.size);
		uio_kernel(&u, copy, part.size);
		ssize_t n = netlink_socket_ops.send(s, &m);
		if (n >= 0)
			netlink_socket_ops.send_done(s, (size_t)n);
		read_answers(s);
	}
	netlink_socket_ops.release(s);
	socket_put(s);
	return 0;
}
