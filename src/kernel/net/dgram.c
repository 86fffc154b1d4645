/*
 * Queued messages: a dgram is one allocation, source address first, payload behind it.
 *
 * A sender makes the message complete and parks it on its own socket (`staged`); only when its
 * answer was delivered is it put on the target's queue. A staged message that is replaced or whose
 * socket goes away was never sent.
 */
#include "kernel/net/dgram.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/core/clock.h"
#include "kernel/core/limits.h"

#define DGRAM_MAX MIB(4)

struct dgram *dgram_new(const void *name, size_t name_size, size_t size)
{
	if (size > DGRAM_MAX || name_size > sizeof(struct sockaddr_storage))
		return NULL;
	size_t total = sizeof(struct dgram) + ALIGN_UP(name_size, DGRAM_NAME_ALIGN) + size;
	if (!limit_charge(LIMIT_BUFFER_BYTES, total))
		return NULL;
	struct dgram *d = kmalloc(total);
	if (!d) {
		limit_release(LIMIT_BUFFER_BYTES, total);
		return NULL;
	}
	list_init(&d->link);
	d->charge = (uint32_t)total;
	d->size = (uint32_t)size;
	d->name_size = (uint16_t)name_size;
	if (name_size)
		memcpy(d->bytes, name, name_size);
	return d;
}

void dgram_free(struct dgram *d)
{
	if (!d)
		return;
	list_del(&d->link);
	if (d->target)
		socket_put(d->target);
	if (d->sender)
		socket_put(d->sender);
	if (d->fds)
		scm_fds_free(d->fds);
	limit_release(LIMIT_BUFFER_BYTES, d->charge);
	kfree(d);
}

int dgram_from_uio(const void *name, size_t name_size, struct uio *u, struct dgram **ret)
{
	size_t size = u->resid;
	struct dgram *d = dgram_new(name, name_size, size);
	if (!d)
		return -ENOBUFS;
	ssize_t got = size ? uio_get(u, dgram_data(d), size) : 0;
	if (got < 0 || (size_t)got < size) {
		dgram_free(d);
		return -EFAULT;
	}
	*ret = d;
	return 0;
}

void dgram_stage(struct socket *s, struct dgram *d)
{
	struct dgram *old = s->staged;
	s->staged = d;
	dgram_free(old);
}

struct dgram *dgram_unstage(struct socket *s)
{
	struct dgram *d = s->staged;
	s->staged = NULL;
	return d;
}

void dgram_enqueue(struct socket *s, struct dgram *d)
{
	if (d->fds)
		scm_fds_enqueued(d->fds);
	if (s->options & (OPTION_TIMESTAMP | OPTION_TIMESTAMPNS))
		d->stamp = clock_real();
	list_add_tail(&s->rxq, &d->link);
	s->rxq_bytes += d->charge;
	s->rxq_count++;
}

struct dgram *dgram_head(struct socket *s)
{
	return list_empty(&s->rxq) ? NULL : list_first(&s->rxq, struct dgram, link);
}

void dgram_remove(struct socket *s, struct dgram *d)
{
	list_del(&d->link);
	s->rxq_bytes -= d->charge;
	s->rxq_count--;
	if (d->fds)
		scm_fds_dequeued(d->fds);
}

void dgram_purge(struct socket *s)
{
	struct dgram *d;
	while ((d = dgram_head(s))) {
		dgram_remove(s, d);
		dgram_free(d);
	}
}

ssize_t dgram_none(struct socket *s, const struct msg *m)
{
	bool waits = s->file && !socket_nonblock(s->file, m->flags);
	return s->shut_rd && waits ? 0 : -EAGAIN;
}

ssize_t dgram_recv(struct socket *s, struct dgram *d, struct msg *m)
{
	size_t want = MIN((size_t)d->size, m->u->resid);
	ssize_t done = want ? uio_put(m->u, dgram_data(d), want) : 0;
	(void)s;
	if (done < 0 || (size_t)done < want)
		return -EFAULT;
	if (d->size > want)
		m->out_flags |= MSG_TRUNC;
	m->full_size = d->size;
	m->name_len = d->name_size;
	memcpy(&m->name, d->bytes, d->name_size);
	return done;
}
