/* Framing of the control channel: any bytes in pieces of any size. */
#include "fuzz.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/channel.h"

/* Takes what is there; false when the channel is over. */
static int take(struct channel *c)
{
	struct message m;
	int r;
	while ((r = channel_receive(c, false, &m)) == 1) {
		uint32_t sum = 0;
		FUZZ_CHECK(wire_type_name(m.header.type));
		FUZZ_CHECK(m.header.length <= WIRE_BODY_MAX && m.fd_count == 0);
		for (uint32_t i = 0; i < m.header.length; i++)
			sum += m.body[i];
		(void)sum;
	}
	FUZZ_CHECK(r == 0 || r == -EPIPE || r == -EPROTO || r == -EMSGSIZE);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct channel c;
	int ends[2], r = 0;
	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
	FUZZ_CHECK(channel_init(&c, ends[0]) == 0);
	while (in.size && r == 0) {
		size_t count = fuzz_byte(&in);
		struct fuzz_input piece = fuzz_take(&in, count & 1 ? count : count * 64);
		if (piece.size && send(ends[1], piece.data, piece.size, MSG_NOSIGNAL) < 0)
			break;
		r = take(&c);
	}
	close(ends[1]);
	if (r == 0)
		FUZZ_CHECK(take(&c) != 0);
	channel_fini(&c);
	return 0;
}
