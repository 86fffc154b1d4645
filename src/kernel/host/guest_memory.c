#include "kernel/host/guest_memory.h"

#include <errno.h>

/* host-syscalls: process_vm_readv */
ssize_t host_guest_readv_into(int host_tid, const struct iovec *local, unsigned local_count,
			      const struct iovec *remote, unsigned count)
{
	ssize_t n = process_vm_readv(host_tid, local, local_count, remote, count, 0);
	return n < 0 ? -errno : n;
}

/* host-syscalls: process_vm_writev */
ssize_t host_guest_writev_from(int host_tid, const struct iovec *local, unsigned local_count,
			       const struct iovec *remote, unsigned count)
{
	ssize_t n = process_vm_writev(host_tid, local, local_count, remote, count, 0);
	return n < 0 ? -errno : n;
}

ssize_t host_guest_readv(int host_tid, void *dst, size_t size, const struct iovec *remote,
			 unsigned count)
{
	struct iovec local = { dst, size };
	return host_guest_readv_into(host_tid, &local, 1, remote, count);
}

ssize_t host_guest_writev(int host_tid, const void *src, size_t size, const struct iovec *remote,
			  unsigned count)
{
	struct iovec local = { (void *)(uintptr_t)src, size };
	return host_guest_writev_from(host_tid, &local, 1, remote, count);
}

ssize_t host_guest_read(int host_tid, void *dst, uint64_t src, size_t size)
{
	struct iovec remote = { (void *)(uintptr_t)src, size };
	return host_guest_readv(host_tid, dst, size, &remote, 1);
}

ssize_t host_guest_write(int host_tid, uint64_t dst, const void *src, size_t size)
{
	struct iovec remote = { (void *)(uintptr_t)dst, size };
	return host_guest_writev(host_tid, src, size, &remote, 1);
}
