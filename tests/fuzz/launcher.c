/* Packets between server and launcher: any bytes as one packet, in either direction. */
#include "fuzz.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launcher/protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct launcher_message m;
	int ends[2], fd = -EBADF;
	if (!size) /* an empty packet reads as the end */
		return 0;
	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends) == 0);
	FUZZ_CHECK(send(ends[0], data, size, MSG_NOSIGNAL) == (ssize_t)size);
	int r = launcher_receive(ends[1], &m, &fd);
	FUZZ_CHECK(r == 1 || r == -EPROTO);
	if (r == 1) {
		FUZZ_CHECK(fd == -EBADF && size == sizeof(m));
		FUZZ_CHECK(m.type != LAUNCHER_LAUNCH || memchr(m.launch.hostname, 0, sizeof(m.launch.hostname)));
		FUZZ_CHECK(m.type != LAUNCHER_FAILED || memchr(m.failed.message, 0, sizeof(m.failed.message)));
	}
	FUZZ_CHECK(launcher_receive(ends[1], &m, &fd) == 0);
	close(ends[0]);
	FUZZ_CHECK(launcher_receive(ends[1], &m, &fd) == -EPIPE);
	close(ends[1]);
	return 0;
}
