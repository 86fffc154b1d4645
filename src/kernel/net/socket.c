/*
 * Sockets: theory of operation.
 *
 * This folder is in three layers:
 *
 *   socket.c names.c send.c recv.c option.c ifconf.c   the system calls, once for all families
 *         |  struct socket_ops, indexed by socket.family
 *   unix/  inet/  netlink/                             what an address is, who is the peer
 *         |
 *   core/ring.c (byte streams)   dgram.c (messages)   scm.c (ancillary data)
 *
 * The generic layer owns everything that the families must not differ in: copying arguments,
 * waiting and timeouts, SIGPIPE, partial progress, ancillary data, common options. A family moves
 * data between a struct uio and its queues and says -EAGAIN when it cannot.
 *
 * Nothing here has a host socket behind it: all traffic stays in this process. Sockets live in the
 * arena; the only outside seam is net/dial.h (the control side connects to a guest's port) and
 * inet/route.c (addresses that are not ours).
 *
 * Non-goals: raw and packet sockets, TCP's wire behaviour (windows, retransmission, TIME_WAIT).
 */
#include "kernel/net/socket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/fs/file.h"
#include "kernel/fs/ops.h"
#include "kernel/fs/vfs.h"
#include "kernel/net/dgram.h"
#include "kernel/task/cred.h"
#include "kernel/task/task.h"

const struct socket_ops *const socket_ops_table[FAMILY_MAX] = {
	[FAMILY_UNIX] = &unix_socket_ops,
	[FAMILY_INET] = &inet_socket_ops,
	[FAMILY_NETLINK] = &netlink_socket_ops,
};

static const uint8_t file_ops_of[FAMILY_MAX] = {
	[FAMILY_UNIX] = FOPS_UNIX,
	[FAMILY_INET] = FOPS_INET,
	[FAMILY_NETLINK] = FOPS_NETLINK,
};

/* ---- objects ---- */

void socket_setup(struct socket *s, enum socket_family family, int domain, int type, int protocol)
{
	s->refs = 1;
	s->family = (uint8_t)family;
	s->domain = (uint16_t)domain;
	s->type = (uint16_t)type;
	s->protocol = protocol;
	s->rcvbuf = s->sndbuf = SOCKET_BUF_DEFAULT;
	s->rcvlowat = 1;
	s->peek_off = -1;
	s->incoming_cpu = -1;
	waitq_init(&s->wq);
	list_init(&s->rxq);
}

struct socket *socket_get(struct socket *s)
{
	s->refs++;
	return s;
}

void socket_put(struct socket *s)
{
	if (--s->refs)
		return;
	dgram_stage(s, NULL);
	/* Whoever still waits looks again and finds its descriptor closed. */
	waitq_wake(&s->wq, 0);
	while (waitq_active(&s->wq))
		waiter_del(list_first(&s->wq.waiters, struct waiter, link));
	socket_ops(s)->destroy(s);
}

struct file *socket_file(struct socket *s, struct task *t, uint32_t flags)
{
	char name[32];
	struct file *f = NULL;
	struct mount *mnt = mount_anon(FS_SOCK);
	struct inode *inode = mnt ? inode_new(mnt->sb, IOPS_NONE, S_IFSOCK | 0777) : NULL;

	if (!inode)
		goto out;
	inode->uid = t->cred->fsuid;
	inode->gid = t->cred->fsgid;
	snprintf(name, sizeof(name), "socket:[%llu]", (unsigned long long)inode->ino);
	struct dentry *d = dentry_anon(inode, name);
	if (!d)
		goto out_inode;
	f = file_new(file_ops_of[s->family], (struct path){ mnt, d }, inode, O_RDWR | flags);
	dentry_put(d);
out_inode:
	inode_put(inode);
out:
	if (!f) {
		socket_put(s);
		return NULL;
	}
	f->stream = true;
	f->priv = s;
	s->file = f;
	return f;
}

static struct socket *socket_of(struct file *f)
{
	bool is_socket = f->ops == FOPS_UNIX || f->ops == FOPS_INET || f->ops == FOPS_NETLINK;
	return is_socket ? f->priv : NULL;
}

int socket_from_call(struct call *c, int fd, struct file **ret_file, struct socket **ret)
{
	struct file *f = call_file(c, fd);
	if (!f || (f->flags & O_PATH))
		return -EBADF;
	struct socket *s = socket_of(f);
	if (!s)
		return -ENOTSOCK;
	*ret_file = f;
	*ret = s;
	return 0;
}

int socket_take_error(struct socket *s)
{
	int err = s->error;
	s->error = 0;
	return -err;
}

void socket_set_error(struct socket *s, int err)
{
	s->error = err;
	waitq_wake(&s->wq, 0);
}

bool socket_nonblock(const struct file *f, int msg_flags)
{
	return (f->flags & O_NONBLOCK) || (msg_flags & MSG_DONTWAIT);
}

long socket_wait(struct call *c, struct file *f, struct socket *s, uint64_t timeout_ns,
		 long on_timeout)
{
	if (c->timed_out)
		return on_timeout;
	if (timeout_ns) {
		int err = call_set_timeout(c, timeout_ns);
		if (err)
			return err;
		c->no_restart = true; /* signal(7): with a timeout set, EINTR and no restart */
	}
	return call_block_file(c, f, &s->wq);
}

/* ---- making sockets ---- */

static int family_of(int domain)
{
	switch (domain) {
	case AF_UNIX:
		return FAMILY_UNIX;
	case AF_INET:
	case AF_INET6:
		return FAMILY_INET;
	case AF_NETLINK:
		return FAMILY_NETLINK;
	case AF_PACKET:
		return -EPERM;
	default:
		return -EAFNOSUPPORT;
	}
}

static int create(struct task *t, int domain, int type, int protocol, struct socket **ret)
{
	int family = family_of(domain);
	if (family < 0)
		return family;
	if (type < 0 || type > SOCK_PACKET)
		return -EINVAL;
	if (domain == AF_INET && type == SOCK_PACKET)
		return -EPERM;
	return socket_ops_table[family]->create(t, domain, type, protocol, ret);
}

static int check_type_flags(int type)
{
	return type & ~(0xf | SOCK_NONBLOCK | SOCK_CLOEXEC) ? -EINVAL : 0;
}

long sys_socket(struct call *c)
{
	int type = (int)c->args[1];
	struct socket *s;

	int err = check_type_flags(type);
	if (!err)
		err = create(c->task, (int)c->args[0], type & 0xf, (int)c->args[2], &s);
	if (err)
		return err;
	struct file *f = socket_file(s, c->task, (uint32_t)type & SOCK_NONBLOCK);
	if (!f)
		return -ENFILE;
	return fd_return(c, f, type & SOCK_CLOEXEC);
}

static int make_pair(struct call *c, int type, struct file *ret[2])
{
	struct socket *a, *b;
	int err = create(c->task, (int)c->args[0], type & 0xf, (int)c->args[2], &a);
	if (err)
		return err;
	if (!socket_ops(a)->pair) {
		socket_put(a);
		return -EOPNOTSUPP;
	}
	err = create(c->task, (int)c->args[0], type & 0xf, (int)c->args[2], &b);
	if (err) {
		socket_put(a);
		return err;
	}
	ret[0] = socket_file(a, c->task, (uint32_t)type & SOCK_NONBLOCK);
	ret[1] = socket_file(b, c->task, (uint32_t)type & SOCK_NONBLOCK);
	err = ret[0] && ret[1] ? socket_ops(a)->pair(c->task, a, b) : -ENFILE;
	if (err) {
		if (ret[0])
			file_put(ret[0]);
		if (ret[1])
			file_put(ret[1]);
	}
	return err;
}

long sys_socketpair(struct call *c)
{
	int type = (int)c->args[1];
	struct file *files[2];
	int fds[2] = { -1, -1 };

	int err = check_type_flags(type);
	if (!err)
		err = make_pair(c, type, files);
	if (err)
		return err;
	for (int i = 0; i < 2; i++) {
		fds[i] = fd_install(c->task, files[i], 0, type & SOCK_CLOEXEC);
		if (fds[i] < 0) {
			err = fds[i];
			file_put(files[i]);
			if (i == 0)
				file_put(files[1]);
			else
				fd_close(c->task, fds[0]);
			return err;
		}
	}
	if (user_write(c->task, CALL_ARG_PTR(c, 3), fds, sizeof(fds))) {
		fd_close(c->task, fds[0]);
		fd_close(c->task, fds[1]);
		return -EFAULT;
	}
	return 0;
}

/* ---- as files ---- */

static ssize_t socket_read(struct file *f, struct uio *u, uint64_t *pos)
{
	struct socket *s = f->priv;
	struct msg m = { .task = u->task, .u = u };
	(void)pos;
	return socket_ops(s)->recv(s, &m);
}

static void socket_read_done(struct file *f, size_t count)
{
	struct socket *s = f->priv;
	socket_ops(s)->recv_done(s, count);
}

static ssize_t socket_write(struct file *f, struct uio *u, uint64_t *pos)
{
	struct socket *s = f->priv;
	struct msg m = { .task = u->task, .u = u };
	(void)pos;
	if (s->type == SOCK_SEQPACKET)
		m.flags = MSG_EOR;
	return socket_ops(s)->send(s, &m);
}

static void socket_write_done(struct file *f, size_t count)
{
	struct socket *s = f->priv;
	socket_ops(s)->send_done(s, count);
}

static uint32_t socket_poll(struct file *f)
{
	struct socket *s = f->priv;
	return socket_ops(s)->poll(s);
}

static struct waitq *socket_waitq(struct file *f, bool for_write)
{
	struct socket *s = f->priv;
	(void)for_write;
	return &s->wq;
}

static long socket_ioctl(struct call *c, struct file *f, uint32_t cmd, uint64_t arg)
{
	struct socket *s = f->priv;
	long ret = socket_ops(s)->ioctl(c, s, cmd, arg);
	return ret == -ENOTTY ? socket_if_ioctl(c, cmd, arg) : ret;
}

static void socket_release(struct file *f)
{
	struct socket *s = f->priv;
	f->priv = NULL;
	if (!s)
		return;
	s->file = NULL;
	socket_ops(s)->release(s);
	socket_put(s);
}

static uint64_t socket_io_timeout(struct file *f, bool for_write)
{
	struct socket *s = f->priv;
	return for_write ? s->sndtimeo_ns : s->rcvtimeo_ns;
}

#define SOCKET_FILE_OPS(n)                                                                         \
	{                                                                                          \
		.name = n, .read = socket_read, .read_done = socket_read_done,                     \
		.write = socket_write, .write_done = socket_write_done, .poll = socket_poll,       \
		.waitq = socket_waitq, .ioctl = socket_ioctl, .release = socket_release,           \
		.io_timeout = socket_io_timeout,                                                   \
	}
const struct file_ops unix_file_ops = SOCKET_FILE_OPS("unix");
const struct file_ops inet_file_ops = SOCKET_FILE_OPS("inet");
const struct file_ops netlink_file_ops = SOCKET_FILE_OPS("netlink");
