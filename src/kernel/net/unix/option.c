/*
 * Options and ioctls of unix sockets.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/util.h"
#include "kernel/core/user.h"
#include "kernel/net/dgram.h"
#include "kernel/net/unix/unix.h"
#include "kernel/task/cred.h"

void unix_put_cred(struct cmsg_out *out, struct scm_cred cred)
{
	struct ucred uc = { .pid = cred.pid, .uid = cred.uid, .gid = cred.gid };
	cmsg_put(out, SOL_SOCKET, SCM_CREDENTIALS, &uc, sizeof(uc));
}

int unix_setsockopt(struct call *c, struct socket *s, int level, int opt, const void *value,
		    size_t size)
{
	return level == SOL_SOCKET ? -ENOPROTOOPT : -EOPNOTSUPP;
}

static int peer_groups(const struct unix_sock *u, void *value, size_t *size)
{
	if (!u->peer_cred)
		return -ENODATA;
	size_t need = u->peer_cred->group_count * sizeof(uint32_t);
	if (*size < need) {
		*size = need;
		return -ERANGE;
	}
	return option_put(value, size, u->peer_cred->groups, need);
}

int unix_getsockopt(struct call *c, struct socket *s, int level, int opt, void *value,
		    size_t *size)
{
	struct unix_sock *u = unix_sock(s);

	if (level != SOL_SOCKET)
		return -EOPNOTSUPP;
	switch (opt) {
	case SO_ACCEPTCONN:
		return option_put_int(value, size, u->state == UNIX_LISTENING);
	case SO_PEERCRED: {
		struct ucred uc = { .pid = 0, .uid = (uid_t)-1, .gid = (gid_t)-1 };
		if (u->peer_cred)
			uc = (struct ucred){ u->peer_pid, u->peer_cred->euid, u->peer_cred->egid };
		return option_put(value, size, &uc, sizeof(uc));
	}
	case SO_PEERGROUPS:
		return peer_groups(u, value, size);
	default:
		return -ENOPROTOOPT;
	}
}

static uint32_t queued_bytes(struct socket *s)
{
	struct dgram *d;
	uint32_t sum = 0;
	list_for_each(d, &s->rxq, link)
		sum += d->size;
	return sum;
}

long unix_ioctl(struct call *c, struct socket *s, uint32_t cmd, uint64_t arg)
{
	struct unix_sock *u = unix_sock(s);
	struct dgram *d = dgram_head(s);
	uint32_t v = 0;

	switch (cmd) {
	case FIONREAD:
		if (u->state == UNIX_LISTENING)
			return -EINVAL;
		if (s->type == SOCK_STREAM)
			v = u->rx.size;
		else if (s->type == SOCK_SEQPACKET)
			v = queued_bytes(s);
		else
			v = d ? d->size : 0;
		break;
	case SIOCOUTQ:
		if (u->state == UNIX_LISTENING)
			return -EINVAL;
		v = u->peer ? u->peer->rx.size : 0;
		break;
	default:
		return -ENOTTY;
	}
	return user_write_u32(c->task, uaddr(arg), v);
}
