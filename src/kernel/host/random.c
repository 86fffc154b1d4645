#include "kernel/host/random.h"

#include <errno.h>
#include <stdint.h>
#include <sys/random.h>

/* host-syscalls: getrandom */
int host_random(void *buf, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = getrandom((uint8_t *)buf + done, size - done, 0);

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}
