/*
 * setsockopt and getsockopt: copying, and the options of level SOL_SOCKET (socket(7)).
 *
 * Boolean options are one table; what has a meaning of its own is a case. Options that only tune
 * what a memory transport does not have (busy polling, priorities, marks) are kept and returned.
 */
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/time.h>

#include "base/util.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/core/clock.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/net/socket.h"
#include "kernel/task/cred.h"
#include "kernel/task/task.h"

#define OPTION_SIZE_MAX 4096

static const struct {
	int opt;
	uint32_t bit;
} flag_options[] = {
	{ SO_REUSEADDR, OPTION_REUSEADDR },	{ SO_REUSEPORT, OPTION_REUSEPORT },
	{ SO_KEEPALIVE, OPTION_KEEPALIVE },	{ SO_BROADCAST, OPTION_BROADCAST },
	{ SO_OOBINLINE, OPTION_OOBINLINE },	{ SO_PASSCRED, OPTION_PASSCRED },
	{ SO_TIMESTAMP, OPTION_TIMESTAMP },	{ SO_TIMESTAMPNS, OPTION_TIMESTAMPNS },
	{ SO_DONTROUTE, OPTION_DONTROUTE },	{ SO_PASSSEC, OPTION_PASSSEC },
	{ SO_RXQ_OVFL, OPTION_RXQ_OVFL },	{ SO_NO_CHECK, OPTION_NO_CHECK },
};

static uint32_t flag_of(int opt)
{
	for (size_t i = 0; i < ARRAY_SIZE(flag_options); i++)
		if (flag_options[i].opt == opt)
			return flag_options[i].bit;
	return 0;
}

/* ---- value helpers ---- */

int option_put(void *value, size_t *size, const void *src, size_t src_size)
{
	*size = MIN(*size, src_size);
	memcpy(value, src, *size);
	return 0;
}

int option_put_int(void *value, size_t *size, int v)
{
	return option_put(value, size, &v, sizeof(v));
}

int option_get_int(const void *value, size_t size, int *ret)
{
	if (size < sizeof(int))
		return -EINVAL;
	memcpy(ret, value, sizeof(int));
	return 0;
}

int option_get_int_or_byte(const void *value, size_t size, int *ret)
{
	if (size >= sizeof(int))
		return option_get_int(value, size, ret);
	if (!size)
		return -EINVAL;
	*ret = *(const uint8_t *)value;
	return 0;
}

static int get_timeout(const void *value, size_t size, uint64_t *ret_ns)
{
	struct timeval tv;

	if (size < sizeof(tv))
		return -EINVAL;
	memcpy(&tv, value, sizeof(tv));
	if (tv.tv_usec < 0 || tv.tv_usec >= 1000000)
		return -EDOM;
	if (tv.tv_sec < 0)
		*ret_ns = 1; /* Linux: a negative time does not wait */
	else if ((uint64_t)tv.tv_sec > UINT64_MAX / (4 * NSEC_PER_SEC))
		*ret_ns = 0;
	else
		*ret_ns = (uint64_t)tv.tv_sec * NSEC_PER_SEC + (uint64_t)tv.tv_usec * NSEC_PER_USEC;
	return 0;
}

static int put_timeout(void *value, size_t *size, uint64_t ns)
{
	struct timeval tv = { .tv_sec = (time_t)(ns / NSEC_PER_SEC),
			      .tv_usec = (suseconds_t)(ns % NSEC_PER_SEC / NSEC_PER_USEC) };
	return option_put(value, size, &tv, sizeof(tv));
}

/* The doubled value that socket(7) describes. */
static uint32_t buffer_size(int wanted, bool forced)
{
	uint64_t v = wanted < 0 ? 0 : (uint64_t)wanted * 2;
	return (uint32_t)MAX(MIN(v, forced ? MIB(8) : SOCKET_BUF_MAX), SOCKET_BUF_MIN);
}

void socket_put_stamp(struct socket *s, struct cmsg_out *out, int64_t stamp)
{
	struct timespec ts;

	if (!(s->options & (OPTION_TIMESTAMP | OPTION_TIMESTAMPNS)))
		return;
	/* Asked for after the message came: its time of arrival is not known any more. */
	ts = timespec_from_ns((uint64_t)(stamp ? stamp : clock_real()));
	if (s->options & OPTION_TIMESTAMPNS) {
		cmsg_put(out, SOL_SOCKET, SCM_TIMESTAMPNS, &ts, sizeof(ts));
		return;
	}
	struct timeval tv = { ts.tv_sec, ts.tv_nsec / 1000 };
	cmsg_put(out, SOL_SOCKET, SCM_TIMESTAMP, &tv, sizeof(tv));
}

/* ---- SOL_SOCKET ---- */

static int set_buffer(struct call *c, struct socket *s, int opt, int v)
{
	bool forced = opt == SO_RCVBUFFORCE || opt == SO_SNDBUFFORCE;

	if (forced && !cred_capable(c->task->cred, CAP_NET_ADMIN))
		return -EPERM;
	if (opt == SO_RCVBUF || opt == SO_RCVBUFFORCE)
		s->rcvbuf = buffer_size(v, forced);
	else
		s->sndbuf = buffer_size(v, forced);
	if (socket_ops(s)->buffers_changed)
		socket_ops(s)->buffers_changed(s);
	return 0;
}

static int set_linger(struct socket *s, const void *value, size_t size)
{
	struct linger l;

	if (size < sizeof(l))
		return -EINVAL;
	memcpy(&l, value, sizeof(l));
	s->linger_on = l.l_onoff;
	if (l.l_onoff)
		s->linger_s = l.l_linger;
	return 0;
}

static int set_flag(struct socket *s, int opt, uint32_t bit, int v)
{
	if (opt == SO_REUSEPORT && v && s->family != FAMILY_INET)
		return -EOPNOTSUPP;
	if (bit & (OPTION_TIMESTAMP | OPTION_TIMESTAMPNS))
		s->options &= ~(uint32_t)(OPTION_TIMESTAMP | OPTION_TIMESTAMPNS);
	s->options = v ? s->options | bit : s->options & ~bit;
	return 0;
}

static int socket_setsockopt(struct call *c, struct socket *s, int opt, const void *value,
			     size_t size)
{
	int v;

	switch (opt) { /* those with a value that is not an int */
	case SO_LINGER:
		return set_linger(s, value, size);
	case SO_RCVTIMEO:
		return get_timeout(value, size, &s->rcvtimeo_ns);
	case SO_SNDTIMEO:
		return get_timeout(value, size, &s->sndtimeo_ns);
	case SO_BINDTODEVICE:
		/* The only device is lo; naming it changes nothing. */
		return size && *(const char *)value && strncmp(value, "lo", size) ? -ENODEV : 0;
	default:
		break;
	}
	if (option_get_int(value, size, &v))
		return -EINVAL;
	uint32_t bit = flag_of(opt);
	if (bit)
		return set_flag(s, opt, bit, v);
	switch (opt) {
	case SO_RCVBUF:
	case SO_SNDBUF:
	case SO_RCVBUFFORCE:
	case SO_SNDBUFFORCE:
		return set_buffer(c, s, opt, v);
	case SO_PRIORITY:
		s->priority = v;
		return 0;
	case SO_MARK:
		if (!cred_capable(c->task->cred, CAP_NET_ADMIN))
			return -EPERM;
		s->mark = v;
		return 0;
	case SO_RCVLOWAT:
		s->rcvlowat = v < 0 ? INT32_MAX : MAX(v, 1);
		return 0;
	case SO_PEEK_OFF:
		if (s->family != FAMILY_UNIX)
			return -EOPNOTSUPP;
		s->peek_off = v;
		return 0;
	case SO_BUSY_POLL:
		s->busy_poll = v;
		return 0;
	case SO_INCOMING_CPU:
		s->incoming_cpu = v;
		return 0;
	case SO_DEBUG:
		return v && !cred_capable(c->task->cred, CAP_NET_ADMIN) ? -EACCES : 0;
	default:
		return socket_ops(s)->setsockopt(c, s, SOL_SOCKET, opt, value, size);
	}
}

static int socket_getsockopt(struct call *c, struct socket *s, int opt, void *value, size_t *size)
{
	uint32_t bit = flag_of(opt);

	if (bit)
		return option_put_int(value, size, (s->options & bit) != 0);
	switch (opt) {
	case SO_TYPE:
		return option_put_int(value, size, s->type);
	case SO_DOMAIN:
		return option_put_int(value, size, s->domain);
	case SO_PROTOCOL:
		return option_put_int(value, size, s->protocol);
	case SO_ERROR:
		return option_put_int(value, size, -socket_take_error(s));
	case SO_RCVBUF:
		return option_put_int(value, size, (int)s->rcvbuf);
	case SO_SNDBUF:
		return option_put_int(value, size, (int)s->sndbuf);
	case SO_LINGER: {
		struct linger l = { s->linger_on, s->linger_s };
		return option_put(value, size, &l, sizeof(l));
	}
	case SO_RCVTIMEO:
		return put_timeout(value, size, s->rcvtimeo_ns);
	case SO_SNDTIMEO:
		return put_timeout(value, size, s->sndtimeo_ns);
	case SO_PRIORITY:
		return option_put_int(value, size, s->priority);
	case SO_MARK:
		return option_put_int(value, size, s->mark);
	case SO_RCVLOWAT:
		return option_put_int(value, size, s->rcvlowat);
	case SO_SNDLOWAT:
		return option_put_int(value, size, 1);
	case SO_PEEK_OFF:
		return s->family == FAMILY_UNIX ? option_put_int(value, size, s->peek_off) :
						  -EOPNOTSUPP;
	case SO_BUSY_POLL:
		return option_put_int(value, size, s->busy_poll);
	case SO_INCOMING_CPU:
		return option_put_int(value, size, s->incoming_cpu);
	case SO_DEBUG:
		return option_put_int(value, size, 0);
	case SO_BINDTODEVICE:
		*size = 0;
		return 0;
	default: /* among them SO_ACCEPTCONN and SO_PEERCRED */
		return socket_ops(s)->getsockopt(c, s, SOL_SOCKET, opt, value, size);
	}
}

/* ---- the calls ---- */

long sys_setsockopt(struct call *c)
{
	struct file *f;
	struct socket *s;
	int level = (int)c->args[1], opt = (int)c->args[2], size = (int)c->args[4];

	int err = socket_from_call(c, (int)c->args[0], &f, &s);
	if (err)
		return err;
	if (size < 0)
		return -EINVAL;
	size_t n = MIN((size_t)size, OPTION_SIZE_MAX); /* longer values exist for no option of ours */
	uint8_t *value = kmalloc(n + sizeof(int));
	if (!value)
		return -ENOBUFS;
	err = n ? user_read(c->task, value, CALL_ARG_PTR(c, 3), n) : 0;
	if (!err)
		err = level == SOL_SOCKET ?
			      socket_setsockopt(c, s, opt, value, n) :
			      socket_ops(s)->setsockopt(c, s, level, opt, value, n);
	kfree(value);
	return err;
}

long sys_getsockopt(struct call *c)
{
	struct file *f;
	struct socket *s;
	uint32_t capacity;
	int level = (int)c->args[1], opt = (int)c->args[2];

	int err = socket_from_call(c, (int)c->args[0], &f, &s);
	if (err)
		return err;
	if (user_read_u32(c->task, &capacity, CALL_ARG_PTR(c, 4)))
		return -EFAULT;
	if ((int)capacity < 0)
		return -EINVAL;
	size_t n = MIN(capacity, OPTION_SIZE_MAX);
	uint8_t *value = kmalloc(n + sizeof(int));
	if (!value)
		return -ENOBUFS;
	err = level == SOL_SOCKET ? socket_getsockopt(c, s, opt, value, &n) :
				    socket_ops(s)->getsockopt(c, s, level, opt, value, &n);
	/* -ERANGE says how much there is (SO_PEERGROUPS). */
	if ((!err || err == -ERANGE) && user_write_u32(c->task, CALL_ARG_PTR(c, 4), (uint32_t)n))
		err = -EFAULT;
	if (!err && n && user_write(c->task, CALL_ARG_PTR(c, 3), value, n))
		err = -EFAULT;
	kfree(value);
	return err;
}
