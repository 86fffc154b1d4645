#include "kernel/host/identity.h"

#include <errno.h>
#include <sys/stat.h>

/* host-syscalls: fstat newfstatat */
int host_file_identity(int fd, uint64_t *ret_dev, uint64_t *ret_ino)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	*ret_dev = st.st_dev;
	*ret_ino = st.st_ino;
	return 0;
}
