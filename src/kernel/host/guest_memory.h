/* Copies between this process and a guest's address space (process_vm_readv(2)). */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Bytes moved (short at the first bad page) or -EFAULT / -ESRCH. At most 64 remote pieces. */
ssize_t host_guest_read(int host_tid, void *dst, uint64_t src, size_t size);
ssize_t host_guest_write(int host_tid, uint64_t dst, const void *src, size_t size);
ssize_t host_guest_readv(int host_tid, void *dst, size_t size, const struct iovec *remote,
			 unsigned count);
ssize_t host_guest_writev(int host_tid, const void *src, size_t size, const struct iovec *remote,
			  unsigned count);

/* The same with our side in pieces too (at most 64). */
ssize_t host_guest_readv_into(int host_tid, const struct iovec *local, unsigned local_count,
			      const struct iovec *remote, unsigned count);
ssize_t host_guest_writev_from(int host_tid, const struct iovec *local, unsigned local_count,
			       const struct iovec *remote, unsigned count);
