/*
 * Messages in the queue of a datagram-like socket (unix dgram and seqpacket, UDP, netlink).
 */
#pragma once

#include <stdint.h>

#include "base/list.h"
#include "kernel/net/socket.h"

struct dgram {
	struct list link;
	struct socket *target; /* a reference, while staged */
	struct socket *sender; /* unix: a reference, when it had no name. NULL = none */
	struct scm_fds *fds;
	bool has_cred;
	struct scm_cred cred;
	int64_t stamp;	     /* clock_real, when somebody asked for it */
	uint8_t dst[16];     /* inet: where it was sent to */
	uint16_t dst_port;
	uint8_t hops, traffic_class; /* inet: as the sender set them */
	uint16_t name_size;  /* of the source address at the start of bytes[] */
	uint32_t size;	     /* payload, behind the address */
	uint32_t charge;     /* LIMIT_BUFFER_BYTES and rxq_bytes */
	uint8_t bytes[];
};

#define DGRAM_NAME_ALIGN 8u
static inline uint8_t *dgram_data(struct dgram *d)
{
	return d->bytes + ALIGN_UP(d->name_size, DGRAM_NAME_ALIGN);
}

/* Room for a message; charged. NULL: no memory or over the limit (-ENOBUFS). */
struct dgram *dgram_new(const void *name, size_t name_size, size_t size);
void dgram_free(struct dgram *d);
/* All of `u` as one message: 0, -EFAULT, -ENOBUFS. */
int dgram_from_uio(const void *name, size_t name_size, struct uio *u, struct dgram **ret);

/* Replaces what was staged before on `s` (left over from a lost answer). */
void dgram_stage(struct socket *s, struct dgram *d);
struct dgram *dgram_unstage(struct socket *s);

void dgram_enqueue(struct socket *s, struct dgram *d);
struct dgram *dgram_head(struct socket *s); /* NULL = none */
void dgram_remove(struct socket *s, struct dgram *d);
void dgram_purge(struct socket *s);

/* What a receive from an empty queue gets: -EAGAIN, or after shutdown, where it would wait, 0. */
ssize_t dgram_none(struct socket *s, const struct msg *m);

/* Copies the head message out and fills in the message's name and flags. Count or -EFAULT. */
ssize_t dgram_recv(struct socket *s, struct dgram *d, struct msg *m);
