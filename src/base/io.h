/* Whole reads and writes of small files and descriptors; 0 or a count, -errno on failure. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Reads at most size - 1 bytes and terminates them; the count without the NUL. */
ssize_t io_read_file(int dirfd, const char *path, char *buffer, size_t size);
/* One write() of the string, as the control files of the host kernel want it. */
int io_write_file(int dirfd, const char *path, const char *text);
/* Everything, through short writes and EINTR. */
int io_write_all(int fd, const void *data, size_t size);
