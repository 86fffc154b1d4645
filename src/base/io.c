#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

ssize_t io_read_file(int dirfd, const char *path, char *buffer, size_t size)
{
	AUTO_CLOSE int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	size_t length = 0;
	while (length < size - 1) {
		ssize_t n = read(fd, buffer + length, size - 1 - length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		length += (size_t)n;
	}
	buffer[length] = '\0';
	return (ssize_t)length;
}

int io_write_file(int dirfd, const char *path, const char *text)
{
	AUTO_CLOSE int fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t n = write(fd, text, strlen(text));
	return n < 0 ? -errno : 0;
}

int io_write_all(int fd, const void *data, size_t size)
{
	const char *p = data;
	while (size > 0) {
		ssize_t n = write(fd, p, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}
