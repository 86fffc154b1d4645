/*
 * The pipe side of splice(2), tee(2) and sendfile(2). Here bytes move inside the kernel, between
 * two handler steps: nothing can get lost, so there is no staging to see. Whole pages move by
 * pointer, parts of pages by copy.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/util.h"
#include "kernel/fs/pipe/pipe_internal.h"

static void tell_readers(struct pipe *p)
{
	waitq_wake(&p->read_wq, EPOLLIN | EPOLLRDNORM);
}

static void tell_writers(struct pipe *p)
{
	waitq_wake(&p->write_wq, EPOLLOUT | EPOLLWRNORM);
}

bool pipe_empty(const struct pipe *p)
{
	return p->used == 0;
}

size_t pipe_space(const struct pipe *p)
{
	return (size_t)(p->slot_count - p->used) * PIPE_PAGE;
}

size_t pipe_peek(struct pipe *p, size_t skip, const void **ret)
{
	for (uint32_t i = 0; i < p->used; i++) {
		struct pipe_slot *slot = pipe_slot_at(p, i);

		if (skip < slot->length) {
			*ret = slot->page + slot->offset + skip;
			return slot->length - skip;
		}
		skip -= slot->length;
	}
	return 0;
}

void pipe_consume(struct pipe *p, size_t size)
{
	if (pipe_ring_remove(p, size))
		tell_writers(p);
}

/* Adds without telling anybody. */
static ssize_t append(struct pipe *p, const void *src, size_t size)
{
	struct uio u;
	/* uio_get() only reads from a kernel buffer. */
	union {
		const void *from;
		void *buf;
	} source = { .from = src };
	ssize_t n;

	uio_kernel(&u, source.buf, size);
	n = pipe_ring_stage(p, &u, false);
	if (n > 0)
		pipe_ring_commit(p, (size_t)n);
	return n;
}

ssize_t pipe_append(struct pipe *p, const void *src, size_t size)
{
	ssize_t n = append(p, src, size);

	if (n > 0)
		tell_readers(p);
	return n;
}

ssize_t pipe_tee(struct pipe *in, struct pipe *out, size_t size)
{
	size_t total = 0;

	while (total < size && !pipe_full(out)) {
		const void *from;
		size_t part = pipe_peek(in, total, &from);
		ssize_t n;

		if (!part)
			break;
		n = append(out, from, MIN(part, size - total));
		if (n <= 0) {
			if (!total)
				return n;
			break;
		}
		total += (size_t)n;
	}
	if (!total)
		return -EAGAIN;
	tell_readers(out);
	return (ssize_t)total;
}

/* Hands a whole page over. What the target slot kept from an aborted write goes the other way. */
static size_t move_slot(struct pipe *in, struct pipe *out)
{
	struct pipe_slot *from = pipe_slot_at(in, 0);
	struct pipe_slot *to = pipe_slot_at(out, out->used);
	struct pipe_slot old = *to;

	*to = *from;
	*from = (struct pipe_slot){ .page = old.page };
	out->used++;
	in->head = (in->head + 1) & (in->slot_count - 1);
	in->used--;
	return to->length;
}

ssize_t pipe_splice(struct pipe *in, struct pipe *out, size_t size)
{
	bool was_full = pipe_full(in);
	size_t total = 0;

	if (in == out)
		return -EINVAL;
	while (total < size && !pipe_empty(in) && !pipe_full(out)) {
		struct pipe_slot *slot = pipe_slot_at(in, 0);
		ssize_t n;

		if (slot->length <= size - total) {
			total += move_slot(in, out);
			continue;
		}
		n = append(out, slot->page + slot->offset, size - total);
		if (n <= 0) {
			if (!total)
				return n;
			break;
		}
		pipe_ring_remove(in, (size_t)n);
		total += (size_t)n;
	}
	if (!total)
		return -EAGAIN;
	tell_readers(out);
	if (was_full && !pipe_full(in))
		tell_writers(in);
	return (ssize_t)total;
}

struct waitq *pipe_read_waitq(struct pipe *p)
{
	return &p->read_wq;
}

struct waitq *pipe_write_waitq(struct pipe *p)
{
	return &p->write_wq;
}
