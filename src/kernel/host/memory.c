#include "kernel/host/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

int host_map_arena(uint64_t address, uint64_t size)
{
	void *p = mmap((void *)(uintptr_t)address, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	/* Small and sparse: huge pages would multiply the footprint of an idle sandbox. */
	(void)madvise(p, size, MADV_NOHUGEPAGE);
	return 0;
}

/* host-syscalls: madvise */
void host_discard(void *p, size_t size)
{
	if (madvise(p, size, MADV_DONTNEED) < 0)
		memset(p, 0, size);
}
