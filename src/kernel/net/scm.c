/*
 * Ancillary data, theory of operation.
 *
 * A sender's control buffer is copied once and parsed from the copy. SCM_RIGHTS turns descriptor
 * numbers into references on open files right then, as Linux does; they travel with the message in
 * a struct scm_fds. While they sit in a queue they are "in flight": counted, and sockets among them
 * are known to the collector of unix/gc.c.
 *
 * Freeing descriptors in flight can close a socket whose queue holds further descriptors in flight,
 * and so on, as deep as the guest likes to nest. So freeing is flattened: the first scm_fds_free()
 * on the stack works off a list to which the inner ones only append.
 */
#include "kernel/abi/structs.h"
#include "kernel/net/scm.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/resource.h>

#include "base/util.h"
#include "kernel/core/arena.h"
#include "kernel/core/limits.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/net/socket.h"
#include "kernel/net/unix/unix.h"
#include "kernel/task/cred.h"
#include "kernel/task/task.h"

struct scm_state {
	struct list deferred; /* scm_fds.deferred_link */
	bool draining;
	uint64_t in_flight; /* files in socket queues */
};

static struct scm_state *state(void)
{
	static struct scm_state *cached;
	if (!cached) {
		cached = arena_root(ROOT_SOCKET, sizeof(*cached));
		if (cached && !cached->deferred.next)
			list_init(&cached->deferred);
	}
	return cached;
}

static size_t fds_size(uint32_t count)
{
	return sizeof(struct scm_fds) + count * sizeof(struct file *);
}

static struct scm_fds *fds_new(uint32_t count)
{
	if (!state() || !limit_charge(LIMIT_BUFFER_BYTES, fds_size(count)))
		return NULL;
	struct scm_fds *fds = kmalloc(fds_size(count));
	if (!fds) {
		limit_release(LIMIT_BUFFER_BYTES, fds_size(count));
		return NULL;
	}
	list_init(&fds->deferred_link);
	fds->count = count;
	return fds;
}

void scm_fds_free(struct scm_fds *fds)
{
	struct scm_state *st = state();

	list_add_tail(&st->deferred, &fds->deferred_link);
	if (st->draining)
		return;
	st->draining = true;
	while (!list_empty(&st->deferred)) {
		struct scm_fds *f = list_first(&st->deferred, struct scm_fds, deferred_link);
		list_del(&f->deferred_link);
		for (uint32_t i = 0; i < f->count; i++)
			if (f->files[i])
				file_put(f->files[i]);
		limit_release(LIMIT_BUFFER_BYTES, fds_size(f->count));
		kfree(f);
	}
	st->draining = false;
}

void scm_fds_enqueued(struct scm_fds *fds)
{
	state()->in_flight += fds->count;
	for (uint32_t i = 0; i < fds->count; i++)
		unix_gc_in_flight(fds->files[i], 1);
}

void scm_fds_dequeued(struct scm_fds *fds)
{
	state()->in_flight -= fds->count;
	for (uint32_t i = 0; i < fds->count; i++)
		unix_gc_in_flight(fds->files[i], -1);
}

static bool scm_may_send(struct task *t, uint32_t count)
{
	if (cred_capable(t->cred, CAP_SYS_RESOURCE) || cred_capable(t->cred, CAP_SYS_ADMIN))
		return true;
	return state()->in_flight + count <= task_rlimit(t, RLIMIT_NOFILE);
}

struct scm_cred scm_cred_of(struct task *t)
{
	return (struct scm_cred){ .pid = t->proc->pid, .uid = t->cred->euid, .gid = t->cred->egid };
}

static int parse_rights(struct msg *m, const uint8_t *data, size_t size)
{
	uint32_t count = (uint32_t)(size / sizeof(int));
	uint32_t had = m->scm.fds ? m->scm.fds->count : 0;

	if (count + had > SCM_FDS_MAX)
		return -EINVAL;
	if (!count)
		return 0;
	struct scm_fds *fds = fds_new(had + count);
	if (!fds)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		int fd;
		memcpy(&fd, data + i * sizeof(int), sizeof(int));
		struct file *f = fd_file(m->task, fd);
		if (!f) {
			scm_fds_free(fds);
			return -EBADF;
		}
		fds->files[had + i] = file_get(f);
	}
	if (m->scm.fds) { /* several SCM_RIGHTS headers make one list */
		for (uint32_t i = 0; i < had; i++) {
			fds->files[i] = m->scm.fds->files[i];
			m->scm.fds->files[i] = NULL;
		}
		scm_fds_free(m->scm.fds);
	}
	m->scm.fds = fds;
	return 0;
}

static int parse_credentials(struct msg *m, const uint8_t *data, size_t size)
{
	const struct cred *c = m->task->cred;
	struct ucred want;

	if (size != sizeof(want))
		return -EINVAL;
	memcpy(&want, data, sizeof(want));
	if (want.pid != m->task->proc->pid && !cred_capable(c, CAP_SYS_ADMIN))
		return -EPERM;
	if (want.pid != m->task->proc->pid && !process_find(want.pid))
		return -ESRCH;
	if (want.uid != c->uid && want.uid != c->euid && want.uid != c->suid &&
	    !cred_capable(c, CAP_SETUID))
		return -EPERM;
	if (want.gid != c->gid && want.gid != c->egid && want.gid != c->sgid &&
	    !cred_capable(c, CAP_SETGID))
		return -EPERM;
	m->scm.has_cred = true;
	m->scm.cred = (struct scm_cred){ want.pid, want.uid, want.gid };
	return 0;
}

static int parse_one(struct socket *s, struct msg *m, const struct abi_cmsghdr *h, const uint8_t *data)
{
	size_t size = h->cmsg_len - CMSG_LEN(0);

	if (h->cmsg_level != SOL_SOCKET) {
		if (!socket_ops(s)->send_control)
			return 0; /* foreign levels are ignored by unix sockets */
		return socket_ops(s)->send_control(s, m, h->cmsg_level, h->cmsg_type, data, size);
	}
	switch (h->cmsg_type) {
	case SCM_RIGHTS:
		return s->family == FAMILY_UNIX ? parse_rights(m, data, size) : 0;
	case SCM_CREDENTIALS:
		return s->family == FAMILY_INET ? 0 : parse_credentials(m, data, size);
	default:
		return -EINVAL;
	}
}

static int parse_all(struct socket *s, struct msg *m, const uint8_t *buf, size_t size)
{
	size_t at = 0;

	while (size - at >= sizeof(struct abi_cmsghdr)) {
		struct abi_cmsghdr h;
		memcpy(&h, buf + at, sizeof(h));
		if (h.cmsg_len < sizeof(h) || h.cmsg_len > size - at)
			return -EINVAL;
		int err = parse_one(s, m, &h, buf + at + CMSG_LEN(0));
		if (err)
			return err;
		size_t step = CMSG_ALIGN(h.cmsg_len);
		if (step > size - at)
			break;
		at += step;
	}
	return 0;
}

int scm_parse(struct socket *s, struct msg *m, struct uaddr control, uint64_t size)
{
	if (size > SCM_CONTROL_MAX)
		return -ENOBUFS;
	if (size < sizeof(struct abi_cmsghdr))
		return 0;
	uint8_t *buf = kmalloc(size);
	if (!buf)
		return -ENOBUFS;
	int err = user_read(m->task, buf, control, size);
	if (!err)
		err = parse_all(s, m, buf, size);
	if (!err && m->scm.fds && !scm_may_send(m->task, m->scm.fds->count))
		err = -ETOOMANYREFS;
	kfree(buf);
	if (err)
		scm_drop(&m->scm);
	return err;
}

void scm_drop(struct scm *scm)
{
	if (scm->fds)
		scm_fds_free(scm->fds);
	scm->fds = NULL;
	scm->has_cred = false;
}

/* ---- the receiver's side ---- */

void cmsg_put(struct cmsg_out *out, int level, int type, const void *data, size_t size)
{
	struct abi_cmsghdr h = { .cmsg_len = CMSG_LEN(size), .cmsg_level = level, .cmsg_type = type };
	size_t left = out->capacity - out->used;

	if (left < sizeof(h)) {
		out->truncated = true;
		return;
	}
	if (left < h.cmsg_len) {
		out->truncated = true;
		h.cmsg_len = left;
	}
	struct uaddr at = uaddr_add(out->base, out->used);
	if (user_write(out->task, at, &h, sizeof(h)) ||
	    (h.cmsg_len > sizeof(h) && user_write(out->task, uaddr_add(at, CMSG_LEN(0)), data,
						  h.cmsg_len - CMSG_LEN(0))))
		out->fault = true;
	out->used += MIN(CMSG_SPACE(h.cmsg_len - CMSG_LEN(0)), left);
}

void cmsg_put_fds(struct cmsg_out *out, const struct scm_fds *fds)
{
	size_t left = out->capacity - out->used;
	uint32_t room = left < CMSG_LEN(sizeof(int)) ?
				0 :
				(uint32_t)((left - CMSG_LEN(0)) / sizeof(int));
	uint32_t first = out->fd_count;
	uint32_t want = MIN(fds->count, MIN(room, SCM_FDS_MAX - first));

	for (uint32_t i = 0; i < want; i++) {
		struct file *f = file_get(fds->files[i]);
		int fd = fd_install(out->task, f, 0, out->cloexec);
		if (fd < 0) { /* no more numbers: the rest is lost, and reported so */
			file_put(f);
			break;
		}
		out->fds[out->fd_count++] = fd;
	}
	uint32_t installed = out->fd_count - first;
	if (installed)
		cmsg_put(out, SOL_SOCKET, SCM_RIGHTS, out->fds + first, installed * sizeof(int));
	if (installed < fds->count)
		out->truncated = true;
}

void cmsg_undo(struct cmsg_out *out)
{
	for (uint32_t i = 0; i < out->fd_count; i++)
		fd_close(out->task, out->fds[i]);
	out->fd_count = 0;
}
