/* Scope-bound ownership: AUTO_FREE, AUTO_CLOSE; take_ptr()/take_fd() hand it on. */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0) {
		int saved = errno;
		close(*fd);
		errno = saved;
	}
}

static inline int take_fd(int *fd)
{
	int v = *fd;
	*fd = -EBADF;
	return v;
}

#define AUTO_FREE __attribute__((cleanup(cleanup_free)))
#define AUTO_CLOSE __attribute__((cleanup(cleanup_close)))
#define take_ptr(p)                                                                                \
	({                                                                                         \
		__typeof__(p) taken_ = (p);                                                        \
		(p) = NULL;                                                                        \
		taken_;                                                                            \
	})
