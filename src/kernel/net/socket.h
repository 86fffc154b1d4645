/*
 * Sockets: what all families share, and the table of operations a family provides.
 *
 *   struct file --priv--> struct socket (first member of unix_sock, inet_sock, netlink_sock)
 *
 * A socket is reference counted: its open file holds one, peers and queues of a family may hold
 * more. Kernel-internal ends and connections that nobody accepted yet have no file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/list.h"
#include "kernel/core/call.h"
#include "kernel/core/user.h"
#include "kernel/core/wait.h"
#include "kernel/net/scm.h"

struct file;
struct dgram;

#define SOCKET_BUF_DEFAULT 212992u /* net.core.{r,w}mem_default, as SO_RCVBUF reports it */
#define SOCKET_BUF_MAX 425984u	   /* twice net.core.{r,w}mem_max */
#define SOCKET_BUF_MIN 4608u
#define SOCKET_BACKLOG_MAX 4096 /* net.core.somaxconn */

enum socket_family {
	FAMILY_UNIX,
	FAMILY_INET, /* AF_INET and AF_INET6 */
	FAMILY_NETLINK,
	FAMILY_MAX,
};

/* Boolean SOL_SOCKET options, a bit each in socket.options. */
enum socket_option {
	OPTION_REUSEADDR = 1 << 0,
	OPTION_REUSEPORT = 1 << 1,
	OPTION_KEEPALIVE = 1 << 2,
	OPTION_BROADCAST = 1 << 3,
	OPTION_OOBINLINE = 1 << 4,
	OPTION_PASSCRED = 1 << 5,
	OPTION_TIMESTAMP = 1 << 6,
	OPTION_TIMESTAMPNS = 1 << 7,
	OPTION_DONTROUTE = 1 << 8,
	OPTION_PASSSEC = 1 << 9,
	OPTION_RXQ_OVFL = 1 << 10,
	OPTION_NO_CHECK = 1 << 11,
};

struct socket {
	uint32_t refs;
	uint8_t family; /* enum socket_family */
	uint16_t domain; /* AF_* */
	uint16_t type;	 /* SOCK_* without flags */
	int protocol;
	bool shut_rd, shut_wr;
	bool linger_on;
	int linger_s;
	int error;	  /* positive errno, reported once (SO_ERROR) */
	uint32_t options; /* enum socket_option */
	uint32_t rcvbuf, sndbuf;
	uint64_t rcvtimeo_ns, sndtimeo_ns; /* 0 = wait forever */
	int priority, mark, rcvlowat, peek_off, incoming_cpu, busy_poll;
	struct file *file; /* no reference: the file owns the socket. NULL = none (any more) */
	struct waitq wq;
	struct list rxq;	/* struct dgram.link: message sockets */
	uint32_t rxq_bytes;
	uint32_t rxq_count;
	struct dgram *staged;	/* between send and send_done */
};

/* One message on its way, in either direction. */
struct msg {
	struct task *task;
	struct uio *u;
	int flags;			/* MSG_* of the caller; MSG_DONTWAIT folded in */
	struct sockaddr_storage name;	/* send: destination; recv: source */
	socklen_t name_len;		/* 0 = none */
	struct scm scm;			/* send: owned by the message until taken */
	/* recv only */
	int out_flags;			/* MSG_TRUNC, MSG_EOR ... */
	size_t full_size;		/* of the datagram */
	bool at_end;			/* stream: nothing can follow (EOF, error, barrier) */
	bool full;			/* stream: the queue can take no more until it is read */
	struct cmsg_out *control;	/* NULL: the caller wants none */
	struct uaddr user_name;		/* msg_name of recvmsg */
	uint32_t user_name_size;
};

/*
 * What a family does. `send` and `recv` move data and leave it without effect until *_done: see
 * fs/file.h. -EAGAIN means "would block"; they never wait. `connect` may return CALL_BLOCK.
 */
struct socket_ops {
	const char *name;
	int (*create)(struct task *t, int domain, int type, int protocol, struct socket **ret);
	int (*pair)(struct task *t, struct socket *a, struct socket *b);
	int (*bind)(struct call *c, struct socket *s, const void *addr, socklen_t size);
	int (*listen)(struct call *c, struct socket *s, int backlog);
	long (*connect)(struct call *c, struct file *f, struct socket *s, const void *addr,
			socklen_t size);
	int (*accept)(struct socket *s, struct socket **ret); /* -EAGAIN; *ret: a reference */
	int (*shutdown)(struct socket *s, int how);
	int (*name_of)(struct socket *s, bool peer, struct sockaddr_storage *ret, socklen_t *size);
	ssize_t (*send)(struct socket *s, struct msg *m);
	void (*send_done)(struct socket *s, size_t count);
	/* Or the answer did not arrive: drops what send() left besides `staged`; NULL = nothing. */
	void (*send_lost)(struct socket *s);
	ssize_t (*recv)(struct socket *s, struct msg *m);
	/* Adds the ancillary data of what recv() just moved; may install descriptors. */
	void (*recv_control)(struct socket *s, struct msg *m);
	void (*recv_done)(struct socket *s, size_t count);
	uint32_t (*poll)(struct socket *s);
	/* Ancillary data of its own levels; NULL or -EINVAL = unknown. */
	int (*send_control)(struct socket *s, struct msg *m, int level, int type, const void *data,
			    size_t size);
	/* Levels other than SOL_SOCKET, and SOL_SOCKET options of the family: -ENOPROTOOPT. */
	int (*setsockopt)(struct call *c, struct socket *s, int level, int opt, const void *value,
			  size_t size);
	/* *size: in capacity, out size. */
	int (*getsockopt)(struct call *c, struct socket *s, int level, int opt, void *value,
			  size_t *size);
	long (*ioctl)(struct call *c, struct socket *s, uint32_t cmd, uint64_t arg); /* -ENOTTY */
	void (*buffers_changed)(struct socket *s); /* SO_RCVBUF, SO_SNDBUF; NULL = nothing to do */
	void (*release)(struct socket *s);	   /* the open file is gone */
	void (*destroy)(struct socket *s);	   /* the last reference is gone: free everything */
};
extern const struct socket_ops *const socket_ops_table[FAMILY_MAX];
extern const struct socket_ops unix_socket_ops, inet_socket_ops, netlink_socket_ops;

static inline const struct socket_ops *socket_ops(const struct socket *s)
{
	return socket_ops_table[s->family];
}
static inline bool socket_is_stream(const struct socket *s)
{
	return s->type == SOCK_STREAM;
}

/* Fills in the common part of a zeroed family object. */
void socket_setup(struct socket *s, enum socket_family family, int domain, int type, int protocol);
struct socket *socket_get(struct socket *s);
void socket_put(struct socket *s);

/* An open file around `s`; takes over the caller's reference. NULL: out of memory, `s` is put. */
struct file *socket_file(struct socket *s, struct task *t, uint32_t flags);

/* First run and retries of a call: -EBADF, -ENOTSOCK. No references taken. */
int socket_from_call(struct call *c, int fd, struct file **ret_file, struct socket **ret);

/* Takes and clears the pending error: 0 or -errno. */
int socket_take_error(struct socket *s);
/* Sets an error and tells everybody. */
void socket_set_error(struct socket *s, int err);

/* The flags that make a call on `s` not wait. */
bool socket_nonblock(const struct file *f, int msg_flags);
/*
 * Waits for a change of `s`, at most timeout_ns (0 = forever). After the time passed it answers
 * `on_timeout`. For connect, accept, send and recv.
 */
long socket_wait(struct call *c, struct file *f, struct socket *s, uint64_t timeout_ns,
		 long on_timeout);

/* SCM_TIMESTAMP or SCM_TIMESTAMPNS, if asked for. */
void socket_put_stamp(struct socket *s, struct cmsg_out *out, int64_t stamp);

/* ---- parts of the generic layer (own files) ---- */
/* SIOCGIF*: interface configuration, for every family. -ENOTTY when it is not one of them. */
long socket_if_ioctl(struct call *c, uint32_t cmd, uint64_t arg);

/* getsockopt helpers: value of an int option; -EINVAL when the buffer cannot take it. */
int option_put_int(void *value, size_t *size, int v);
int option_put(void *value, size_t *size, const void *src, size_t src_size);
/* setsockopt helper: -EINVAL when shorter than an int. */
int option_get_int(const void *value, size_t size, int *ret);
/* The same, but a single byte is accepted (IP options). */
int option_get_int_or_byte(const void *value, size_t size, int *ret);

/* An address for the guest: copies at most *size_ptr bytes and stores the real size. */
/* A sockaddr argument: -EINVAL (length), -EFAULT. */
int socket_read_name(struct call *c, struct uaddr src, uint64_t size,
		     struct sockaddr_storage *ret, socklen_t *ret_len);
int socket_put_name(struct task *t, const struct sockaddr_storage *name, socklen_t name_len,
		    struct uaddr dst, struct uaddr size_ptr);
