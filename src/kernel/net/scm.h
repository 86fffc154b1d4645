/*
 * Ancillary data of messages (cmsg(3), unix(7)): parsing what a sender attached, and building what a
 * receiver gets. Every length comes from the guest and is checked against the copy it came in.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "kernel/core/call.h"

struct file;
struct msg;
struct socket;
struct task;

#define SCM_FDS_MAX 253
#define SCM_CONTROL_MAX (64u << 10)

/* Open files in flight. Owns a reference on each. */
struct scm_fds {
	struct list deferred_link;
	uint32_t count;
	struct file *files[];
};

struct scm_cred {
	int pid;
	uint32_t uid, gid;
};

struct scm {
	struct scm_fds *fds; /* NULL = none */
	bool has_cred;	     /* the sender gave SCM_CREDENTIALS, checked */
	struct scm_cred cred;
	bool has_pktinfo; /* IP_PKTINFO or IPV6_PKTINFO with a source address */
	uint8_t pktinfo_src[16];
	bool has_hops, has_class; /* IP_TTL, IPV6_HOPLIMIT; IP_TOS, IPV6_TCLASS */
	uint8_t hops, traffic_class;
};

/* Reads and checks msg_control. 0 or -errno; on failure the message holds nothing. */
int scm_parse(struct socket *s, struct msg *m, struct uaddr control, uint64_t size);
/* Drops what the message still owns. */
void scm_drop(struct scm *scm);
struct scm_cred scm_cred_of(struct task *t);
/* Puts the files, now or, if that is already going on further up the stack, soon: no recursion. */
void scm_fds_free(struct scm_fds *fds);
/* Marks the files as sitting in a socket queue (counts, and knows sockets for the collector). */
void scm_fds_enqueued(struct scm_fds *fds);
void scm_fds_dequeued(struct scm_fds *fds);

/* Where ancillary data goes. */
struct cmsg_out {
	struct task *task;
	struct uaddr base;
	size_t capacity;
	size_t used;
	bool truncated; /* MSG_CTRUNC */
	bool fault;	/* guest memory was bad: -EFAULT */
	bool cloexec;	/* MSG_CMSG_CLOEXEC */
	uint32_t fd_count;
	int fds[SCM_FDS_MAX]; /* installed by this call, to be closed if the answer is lost */
};

void cmsg_put(struct cmsg_out *out, int level, int type, const void *data, size_t size);
/* Installs descriptors in the receiver and reports them. `fds` stays the caller's. */
void cmsg_put_fds(struct cmsg_out *out, const struct scm_fds *fds);
/* The answer got lost: takes the installed descriptors back. */
void cmsg_undo(struct cmsg_out *out);
