#include "kernel/control/stream.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "kernel/host/watch.h"

int stream_open(struct stream *s, struct op *op, int fd)
{
	int r = host_ref_passed(fd, &s->ref);

	if (r < 0)
		return r;
	s->open = true;
	r = host_stream_examine(&s->ref, &s->how);
	if (r == 0 && s->how.mode != S_IFSOCK && s->how.mode != S_IFIFO)
		r = -EINVAL; /* what is not watchable, or could block */
	if (r == 0)
		r = host_watch(&s->ref, &s->wq);
	s->watched = r == 0;
	if (r < 0) {
		stream_close(s);
		return r == -ENOSPC ? -EAGAIN : r;
	}
	op_wait_on(op, &s->waiter, &s->wq);
	return 0;
}

void stream_close(struct stream *s)
{
	if (!s->open)
		return;
	if (s->watched) {
		waiter_del(&s->waiter);
		host_unwatch(&s->ref);
	}
	host_ref_drop(&s->ref);
	s->open = s->watched = false;
}

ssize_t stream_read(struct stream *s, void *dst, size_t size)
{
	return host_stream_read(&s->ref, &s->how, dst, size);
}

ssize_t stream_write(struct stream *s, const void *src, size_t size)
{
	return host_stream_write(&s->ref, &s->how, src, size);
}

void stream_end(struct stream *s)
{
	if (s->how.mode == S_IFSOCK)
		host_stream_shutdown(&s->ref);
}

bool stream_left(struct stream *s)
{
	return s->how.mode == S_IFSOCK && (host_stream_poll(&s->ref) & (EPOLLHUP | EPOLLERR));
}
