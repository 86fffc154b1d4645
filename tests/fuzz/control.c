/* Ancillary data as a sender attaches it: descriptors, credentials, options of IP. */
#include "fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "kernel/abi/syscalls.h"
#include "kernel/fs/file.h"
#include "kernel/net/socket.h"
#include "world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int domains[] = { AF_UNIX, AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
	struct fuzz_input in = { data, size };
	struct task *t = world_task();
	struct call c = { .task = t };
	struct file *f;
	struct socket *s;
	uint8_t kind = fuzz_byte(&in);
	uint64_t type = kind & 0x80 ? SOCK_STREAM : SOCK_DGRAM;
	int fd = (int)world_call(sys_socket, (uint64_t)domains[kind % 5], type, 0, 0, 0);
	if (fd < 0) /* no streams of netlink */
		return 0;
	FUZZ_CHECK(socket_from_call(&c, fd, &f, &s) == 0);
	uint64_t before = world_used();
	struct msg m = { .task = t };
	if (scm_parse(s, &m, uaddr(WORLD_PTR(in.data)), in.size) == 0) {
		FUZZ_CHECK(!m.scm.fds || m.scm.fds->count <= SCM_FDS_MAX);
		scm_drop(&m.scm);
	}
	FUZZ_CHECK(!m.scm.fds && world_used() == before);
	FUZZ_CHECK(world_call(sys_close, (uint64_t)fd, 0, 0, 0, 0) == 0);
	return 0;
}
