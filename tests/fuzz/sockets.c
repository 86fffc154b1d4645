/*
 * What the calls of sockets parse: addresses of every family, options of every level, interface
 * requests. The sockets of an input are closed afterwards, and everything charged is free again.
 */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "kernel/abi/syscalls.h"
#include "kernel/fs/file.h"
#include "kernel/fs/vfs.h"
#include "kernel/net/dial.h"
#include "world.h"

#define FDS 6
#define OWN_PORT 80

static int make_socket(uint8_t kind)
{
	static const struct {
		int domain, type;
	} kinds[] = { { AF_UNIX, SOCK_STREAM },	 { AF_UNIX, SOCK_DGRAM },  { AF_UNIX, SOCK_SEQPACKET },
		      { AF_INET, SOCK_STREAM },	 { AF_INET, SOCK_DGRAM },  { AF_INET6, SOCK_STREAM },
		      { AF_INET6, SOCK_DGRAM }, { AF_NETLINK, SOCK_RAW } };
	size_t i = kind % (sizeof(kinds) / sizeof(kinds[0]));
	return (int)world_call(sys_socket, (uint64_t)kinds[i].domain, (uint64_t)(kinds[i].type | SOCK_NONBLOCK), 0, 0, 0);
}

/* Levels and names that exist, and some that do not. */
static void option(struct fuzz_input *in, uint64_t fd, bool set)
{
	static const int levels[] = { 1, 0, 6, 17, 41, 270, 2, 255 };
	static uint8_t value[300];
	uint64_t level = (uint64_t)levels[fuzz_byte(in) % 8], name = fuzz_byte(in);
	uint8_t kind = fuzz_byte(in);
	uint32_t size = kind == 255 ? fuzz_u32(in) : kind;
	struct fuzz_input bytes = fuzz_take(in, size < sizeof(value) ? size : sizeof(value));
	memset(value, 0, sizeof(value));
	memcpy(value, bytes.data, bytes.size);
	if (set)
		world_call(sys_setsockopt, fd, level, name, WORLD_PTR(value), size);
	else
		world_call(sys_getsockopt, fd, level, name, WORLD_PTR(value), WORLD_PTR(&size));
}

static void address(struct fuzz_input *in, uint64_t fd, bool connect)
{
	static uint8_t addr[200];
	static const uint8_t families[] = { 0, 1, 2, 10, 16, 255 };
	uint64_t size = fuzz_byte(in);
	memset(addr, 0, sizeof(addr));
	addr[0] = families[fuzz_byte(in) % sizeof(families)];
	struct fuzz_input bytes = fuzz_take(in, size < sizeof(addr) - 2 ? size : sizeof(addr) - 2);
	memcpy(addr + 2, bytes.data, bytes.size);
	/* Names of sockets in files stay in one directory. */
	for (size_t i = 2; addr[0] == 1 && i < sizeof(addr); i++)
		addr[i] = addr[i] == '/' ? '_' : addr[i];
	if (connect)
		world_call(sys_connect, fd, WORLD_PTR(addr), size, 0, 0);
	else if (world_call(sys_bind, fd, WORLD_PTR(addr), size, 0, 0) == 0)
		world_call(sys_unlink, WORLD_PTR(addr + 2), 0, 0, 0, 0);
}

static void names_of(uint64_t fd)
{
	uint8_t addr[128];
	uint32_t size = sizeof(addr);
	world_call(sys_getsockname, fd, WORLD_PTR(addr), WORLD_PTR(&size), 0, 0);
	size = sizeof(addr);
	world_call(sys_getpeername, fd, WORLD_PTR(addr), WORLD_PTR(&size), 0, 0);
}

static void interface_request(struct fuzz_input *in, uint64_t fd)
{
	static uint8_t request[64];
	uint64_t command = 0x8900u + fuzz_byte(in);
	struct fuzz_input bytes = fuzz_take(in, 40);
	memset(request, 0, sizeof(request));
	memcpy(request, bytes.data, bytes.size);
	world_call(sys_ioctl, fd, command, WORLD_PTR(request), 0, 0);
}

/* The kernel's own listener, as the control channel uses it. */
static struct dial_listener *own;

static void serve_own(void)
{
	struct dial *d;
	char bytes[8];
	while (dial_listen_waiting(own)) {
		FUZZ_CHECK(dial_accept(own, &d) == 0);
		dial_read(d, bytes, sizeof(bytes));
		dial_write(d, "answer", 6);
		dial_close(d, false);
	}
	FUZZ_CHECK(dial_accept(own, &d) == -EAGAIN);
}

static void step(struct fuzz_input *in, const int *fds)
{
	uint8_t op = fuzz_byte(in);
	uint64_t fd = (uint64_t)fds[op / 8 % FDS];
	switch (op % 8) {
	case 0:
	case 1:
		option(in, fd, true);
		break;
	case 2:
		option(in, fd, false);
		break;
	case 3:
		address(in, fd, false);
		break;
	case 4:
		address(in, fd, true);
		break;
	case 5:
		interface_request(in, fd);
		break;
	case 6:
		world_call(sys_listen, fd, fuzz_byte(in), 0, 0, 0);
		break;
	default:
		names_of(fd);
		serve_own();
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	int fds[FDS];
	world_task();
	FUZZ_CHECK(dial_listen(OWN_PORT, &own) == 0);
	for (int i = 0; i < FDS; i++)
		fds[i] = make_socket(fuzz_byte(&in));
	for (int steps = 0; in.size && steps < 60; steps++)
		step(&in, fds);
	for (int i = 0; i < FDS; i++)
		world_call(sys_close, (uint64_t)fds[i], 0, 0, 0, 0);
	dial_listen_close(own);
	return 0;
}
