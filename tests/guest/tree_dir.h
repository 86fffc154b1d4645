/* A fresh directory to work in, for the tests of the file system. */
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include "check.h"

static inline void enter_fresh(void)
{
	char name[] = "/tmp/tree.XXXXXX";
	CHECK(mkdtemp(name) != NULL);
	CHECK_EQ(chdir(name), 0);
}

static inline void put_file(const char *name, const void *data, size_t size)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, data, size), size);
	close(fd);
}

static inline size_t get_file(const char *name, void *data, size_t size)
{
	int fd = open(name, O_RDONLY);
	CHECK(fd >= 0);
	ssize_t n = read(fd, data, size);
	CHECK(n >= 0);
	close(fd);
	return (size_t)n;
}
