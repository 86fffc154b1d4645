/*
 * Calls about addresses and connections: bind, listen, connect, accept, shutdown, the names of both
 * ends. Argument copying and waiting are here, the meaning is in the families.
 */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/net/socket.h"
#include "kernel/task/task.h"

int socket_put_name(struct task *t, const struct sockaddr_storage *name, socklen_t name_len,
		    struct uaddr dst, struct uaddr size_ptr)
{
	uint32_t capacity;

	if (user_read_u32(t, &capacity, size_ptr))
		return -EFAULT;
	if ((int)capacity < 0)
		return -EINVAL;
	size_t n = MIN(MIN(capacity, name_len), sizeof(*name));
	if (n && user_write(t, dst, name, n))
		return -EFAULT;
	return user_write_u32(t, size_ptr, name_len);
}

int socket_read_name(struct call *c, struct uaddr src, uint64_t size,
		     struct sockaddr_storage *ret, socklen_t *ret_len)
{
	int n = (int)size;
	if (n < 0 || (size_t)n > sizeof(*ret))
		return -EINVAL;
	memset(ret, 0, sizeof(*ret));
	if (n && user_read(c->task, ret, src, (size_t)n))
		return -EFAULT;
	*ret_len = (socklen_t)n;
	return 0;
}

/* The arguments of bind and connect. */
static int socket_and_name(struct call *c, struct file **ret_file, struct socket **ret_socket,
			   struct sockaddr_storage *ret_name, socklen_t *ret_size)
{
	int err = socket_from_call(c, (int)c->args[0], ret_file, ret_socket);

	if (err)
		return err;
	return socket_read_name(c, CALL_ARG_PTR(c, 1), c->args[2], ret_name, ret_size);
}

long sys_bind(struct call *c)
{
	struct sockaddr_storage name;
	socklen_t size;
	struct file *f;
	struct socket *s;

	int err = socket_and_name(c, &f, &s, &name, &size);
	return err ? err : socket_ops(s)->bind(c, s, &name, size);
}

long sys_listen(struct call *c)
{
	struct file *f;
	struct socket *s;

	int err = socket_from_call(c, (int)c->args[0], &f, &s);
	if (err)
		return err;
	if (!socket_ops(s)->listen)
		return -EOPNOTSUPP;
	int backlog = (int)c->args[1];
	if ((unsigned)backlog > SOCKET_BACKLOG_MAX)
		backlog = SOCKET_BACKLOG_MAX;
	return socket_ops(s)->listen(c, s, backlog);
}

long sys_connect(struct call *c)
{
	struct sockaddr_storage name;
	socklen_t size;
	struct file *f;
	struct socket *s;

	int err = socket_and_name(c, &f, &s, &name, &size);
	return err ? err : socket_ops(s)->connect(c, f, s, &name, size);
}

/* Asked before the child is a file: even a connection that was reset already has a name then. */
static int name_accepted(struct socket *child, struct sockaddr_storage *name, socklen_t *size)
{
	memset(name, 0, sizeof(*name));
	*size = 0;
	return socket_ops(child)->name_of(child, true, name, size) ? -ECONNABORTED : 0;
}

static long accept_with(struct call *c, int flags)
{
	struct sockaddr_storage name;
	socklen_t size;
	struct file *f;
	struct socket *s, *child;

	if (flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC))
		return -EINVAL;
	int err = socket_from_call(c, (int)c->args[0], &f, &s);
	if (err)
		return err;
	if (!socket_ops(s)->accept)
		return -EOPNOTSUPP;
	/* Before a connection is taken from the queue, so that it stays there. */
	if (c->task->files->count >= task_rlimit(c->task, RLIMIT_NOFILE))
		return -EMFILE;
	err = socket_ops(s)->accept(s, &child);
	if (err == -EAGAIN && !socket_nonblock(f, 0))
		return socket_wait(c, f, s, s->rcvtimeo_ns, -EAGAIN);
	if (err)
		return err;
	err = name_accepted(child, &name, &size);
	struct file *child_file = socket_file(child, c->task, (uint32_t)flags & SOCK_NONBLOCK);
	if (!child_file)
		return -ENFILE;
	if (!err && c->args[1])
		err = socket_put_name(c->task, &name, size, CALL_ARG_PTR(c, 1), CALL_ARG_PTR(c, 2));
	if (err) {
		file_put(child_file);
		return err;
	}
	return fd_return(c, child_file, flags & SOCK_CLOEXEC);
}

long sys_accept(struct call *c)
{
	return accept_with(c, 0);
}

long sys_accept4(struct call *c)
{
	return accept_with(c, (int)c->args[3]);
}

long sys_shutdown(struct call *c)
{
	struct file *f;
	struct socket *s;

	int err = socket_from_call(c, (int)c->args[0], &f, &s);
	if (err)
		return err;
	if (c->args[1] > SHUT_RDWR)
		return -EINVAL;
	return socket_ops(s)->shutdown ? socket_ops(s)->shutdown(s, (int)c->args[1]) : -EOPNOTSUPP;
}

static long name_call(struct call *c, bool peer)
{
	struct sockaddr_storage name = { 0 };
	socklen_t size = 0;
	struct file *f;
	struct socket *s;

	int err = socket_from_call(c, (int)c->args[0], &f, &s);
	if (!err)
		err = socket_ops(s)->name_of(s, peer, &name, &size);
	if (err)
		return err;
	return socket_put_name(c->task, &name, size, CALL_ARG_PTR(c, 1), CALL_ARG_PTR(c, 2));
}

long sys_getsockname(struct call *c)
{
	return name_call(c, false);
}

long sys_getpeername(struct call *c)
{
	return name_call(c, true);
}
