/*
 * Unix domain sockets (unix(7)). Theory of operation: unix.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#include "base/list.h"
#include "kernel/core/ring.h"
#include "kernel/core/timer.h"
#include "kernel/fs/path.h"
#include "kernel/net/socket.h"

struct cred;

#define UNIX_NAME_MAX sizeof(((struct sockaddr_un *)0)->sun_path)
#define UNIX_PATH_OFFSET offsetof(struct sockaddr_un, sun_path)

enum unix_state { UNIX_OPEN, UNIX_LISTENING, UNIX_CONNECTED };

/* Ancillary data of a range of bytes of a stream. */
struct unix_mark {
	struct list link;
	uint64_t start, end;  /* absolute stream positions */
	struct scm_fds *fds;  /* NULL = none, or delivered */
	struct scm_cred cred; /* of the writer */
};

struct unix_sock {
	struct socket sk;
	uint8_t state;	/* enum unix_state */
	bool dead;	/* its file is gone */
	bool candidate; /* gc.c */
	struct list all_link;

	/* name */
	uint16_t name_size; /* bytes of name[]; 0 = unbound. A path includes its NUL. */
	char name[UNIX_NAME_MAX + 1];
	struct list hash_link; /* abstract names */
	struct path bound;     /* the socket file, holds references */

	struct unix_sock *peer; /* holds a reference */
	struct cred *peer_cred; /* at connect/listen/socketpair time; holds a reference */
	int peer_pid;
	struct cred *own_cred; /* of the caller of listen() */
	int own_pid;

	/* byte stream: what was sent to us */
	struct ring rx;
	uint64_t rx_pos;	  /* stream position of the first byte in rx */
	struct list marks;	  /* struct unix_mark.link, ascending */
	struct unix_mark *staged_mark; /* of our own unfinished send */

	/* listener */
	struct list pending; /* connected, not accepted: pending_link */
	uint32_t pending_count, backlog;
	struct list pending_link;

	/* messages: senders that wait for room in our queue */
	struct list waiting_senders; /* waiting_link of others */
	struct list waiting_link;

	/* descriptors of this socket that sit in queues (gc.c) */
	uint32_t in_flight, gc_count;
	struct list gc_link, work_link;
};

static inline struct unix_sock *unix_sock(struct socket *s)
{
	return container_of(s, struct unix_sock, sk);
}

struct unix_state_root {
	struct list all;
	struct list abstract[1024];
	struct list in_flight; /* gc_link */
	uint32_t next_autobind;
	bool collecting;
	struct timer gc_timer;
	uint64_t gc_next, gc_urgent_next; /* clock_mono: not again before */
	uint32_t in_flight_count, gc_at; /* list; so many more without a close ask, too */
};
struct unix_state_root *unix_root(void); /* NULL only without memory */

/* Another peer, or none: what the old one sent is dropped, and it learns of that. */
void unix_dgram_set_peer(struct unix_sock *u, struct unix_sock *peer);

/* name.c */
int unix_bind(struct call *c, struct socket *s, const void *addr, socklen_t size);
int unix_autobind(struct unix_sock *u);
void unix_unbind(struct unix_sock *u);
/* The socket that an address names; no reference taken. -ECONNREFUSED, -EPROTOTYPE, ... */
int unix_find(struct task *t, const void *addr, socklen_t size, int type, struct unix_sock **ret);
int unix_name_of(struct socket *s, bool peer, struct sockaddr_storage *ret, socklen_t *size);
socklen_t unix_put_name(const struct unix_sock *u, struct sockaddr_storage *ret);

/* stream.c */
ssize_t unix_stream_send(struct unix_sock *u, struct msg *m);
void unix_stream_send_done(struct unix_sock *u, size_t count);
void unix_stream_send_lost(struct unix_sock *u);
ssize_t unix_stream_recv(struct unix_sock *u, struct msg *m);
void unix_stream_recv_control(struct unix_sock *u, struct msg *m);
void unix_stream_recv_done(struct unix_sock *u, size_t count);
bool unix_stream_writable(const struct unix_sock *u);
void unix_stream_purge(struct unix_sock *u);
void unix_mark_free(struct unix_mark *mark);

/* message.c */
ssize_t unix_message_send(struct unix_sock *u, struct msg *m);
void unix_message_send_done(struct unix_sock *u, size_t count);
ssize_t unix_message_recv(struct unix_sock *u, struct msg *m);
void unix_message_recv_control(struct unix_sock *u, struct msg *m);
void unix_message_recv_done(struct unix_sock *u, size_t count);
bool unix_message_writable(struct unix_sock *u);
void unix_wake_senders(struct unix_sock *u);

/* option.c */
int unix_setsockopt(struct call *c, struct socket *s, int level, int opt, const void *value,
		    size_t size);
int unix_getsockopt(struct call *c, struct socket *s, int level, int opt, void *value,
		    size_t *size);
long unix_ioctl(struct call *c, struct socket *s, uint32_t cmd, uint64_t arg);
void unix_put_cred(struct cmsg_out *out, struct scm_cred cred);

/* gc.c */
void unix_gc_in_flight(struct file *f, int delta);
/* A socket was closed: others may be unreachable now. They go soon. */
void unix_gc_want(void);
/* Between calls: something is wanted that unreachable ones may hold. True: it was looked. */
bool unix_gc_urgent(void);
void unix_gc_timer_fired(struct timer *t);
