/*
 * System V message queues: msgget(2), msgop(2), msgctl(2).
 *
 * A queue is a list of messages in order of arrival. Senders wait on one queue of waiters,
 * receivers on another; both try again from scratch when woken. The answer goes out before the
 * effect (core/call.h), so a message is neither lost nor doubled by an interrupted call.
 *
 * Message bytes are charged to LIMIT_BUFFER_BYTES.
 */
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/stat.h>

#include "base/util.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/core/call.h"
#include "kernel/core/limits.h"
#include "kernel/core/user.h"
#include "kernel/sysv/sysv_internal.h"
#include "kernel/task/cred.h"
#include "kernel/task/task.h"

#define MESSAGE_MAX 8192u
#define QUEUE_BYTES_DEFAULT 16384u
#define QUEUE_BYTES_LIMIT (8u << 20) /* also for the privileged */
#ifndef MSG_STAT_ANY
#define MSG_STAT_ANY 13
#endif
#ifndef MSG_COPY
#define MSG_COPY 040000
#endif

struct message {
	struct list link;
	int64_t type;
	uint32_t size;
	uint8_t data[];
};

static struct queue *queue_find(int id)
{
	struct sysv_root *root = sysv_root();
	struct ipc_object *o = root ? ipc_find(&root->queues, id) : NULL;

	return o ? container_of(o, struct queue, ipc) : NULL;
}

/* ---- messages ---- */

static struct message *message_new(uint32_t size)
{
	struct message *m;

	if (!limit_charge(LIMIT_BUFFER_BYTES, sizeof(*m) + size))
		return NULL;
	m = kmalloc(sizeof(*m) + size);
	if (!m) {
		limit_release(LIMIT_BUFFER_BYTES, sizeof(*m) + size);
		return NULL;
	}
	list_init(&m->link);
	m->size = size;
	return m;
}

static void message_free(struct message *m)
{
	limit_release(LIMIT_BUFFER_BYTES, sizeof(*m) + m->size);
	kfree(m);
}

static void queue_put(struct queue *q, struct message *m)
{
	struct sysv_root *root = sysv_root();

	list_add_tail(&q->messages, &m->link);
	q->count++;
	q->bytes += m->size;
	root->total_messages++;
	root->total_bytes += m->size;
}

static void queue_take(struct queue *q, struct message *m)
{
	struct sysv_root *root = sysv_root();

	list_del(&m->link);
	q->count--;
	q->bytes -= m->size;
	root->total_messages--;
	root->total_bytes -= m->size;
	message_free(m);
}

/* ---- msgget ---- */

static long queue_create(struct call *c, int32_t key, uint32_t mode)
{
	struct queue *q = knew(struct queue);
	int err;

	if (!q)
		return -ENOMEM;
	list_init(&q->messages);
	q->bytes_max = QUEUE_BYTES_DEFAULT;
	q->ctime = ipc_now();
	err = ipc_add(&sysv_root()->queues, &q->ipc, c->task, key, mode);
	if (err) {
		kfree(q);
		return err;
	}
	return q->ipc.id;
}

long sys_msgget(struct call *c)
{
	struct sysv_root *root = sysv_root();
	int32_t key = (int32_t)c->args[0];
	uint32_t flags = (uint32_t)c->args[1];
	struct ipc_object *o;
	int err;

	if (!root)
		return -ENOMEM;
	o = key == IPC_PRIVATE ? NULL : ipc_find_key(&root->queues, key);
	if (!o) {
		if (key != IPC_PRIVATE && !(flags & IPC_CREAT))
			return -ENOENT;
		return queue_create(c, key, flags);
	}
	if ((flags & IPC_CREAT) && (flags & IPC_EXCL))
		return -EEXIST;
	err = ipc_permission(c->task->cred, o, flags);
	return err ? err : o->id;
}

void queue_free(struct queue *q)
{
	while (!list_empty(&q->messages))
		queue_take(q, list_first(&q->messages, struct message, link));
	ipc_remove(&sysv_root()->queues, &q->ipc);
	waitq_drain(&q->senders);
	waitq_drain(&q->receivers);
	kfree(q);
}

/* ---- msgsnd ---- */

/* Sends with the queue known to have room. */
static long send_now(struct call *c, struct queue *q, int64_t type, uint32_t size)
{
	struct uaddr text = uaddr_add(CALL_ARG_PTR(c, 1), sizeof(type));
	struct message *m = message_new(size);

	if (!m)
		return -ENOMEM;
	m->type = type;
	if (user_read(c->task, m->data, text, size) < 0) {
		message_free(m);
		return -EFAULT;
	}
	if (!call_reply(c, 0)) {
		message_free(m);
		return CALL_DONE;
	}
	queue_put(q, m);
	q->send_pid = c->task->proc->pid;
	q->stime = ipc_now();
	waitq_wake(&q->receivers, 0);
	return CALL_DONE;
}

long sys_msgsnd(struct call *c)
{
	uint64_t size = c->args[2];
	struct queue *q;
	int64_t type;
	int err;

	c->no_restart = true;
	if (user_read(c->task, &type, CALL_ARG_PTR(c, 1), sizeof(type)) < 0)
		return -EFAULT;
	if (size > MESSAGE_MAX || (int)c->args[0] < 0 || type < 1)
		return -EINVAL;
	q = queue_find((int)c->args[0]);
	if (!q)
		return c->retry ? -EIDRM : -EINVAL;
	err = ipc_permission(c->task->cred, &q->ipc, S_IWUSR);
	if (err)
		return err;
	if (q->bytes + size <= q->bytes_max && q->count + 1 <= q->bytes_max)
		return send_now(c, q, type, (uint32_t)size);
	if ((int)c->args[3] & IPC_NOWAIT)
		return -EAGAIN;
	return call_block(c, &q->senders);
}

/* ---- msgrcv ---- */

/* The message that a receiver with this type and these flags gets; NULL = none. */
static struct message *choose(struct queue *q, int64_t type, int flags)
{
	struct message *m, *best = NULL;
	/* Negative: the lowest type up to -type. */
	int64_t index = 0, limit = type == INT64_MIN ? INT64_MAX : -type;

	list_for_each(m, &q->messages, link) {
		if (flags & MSG_COPY) {
			if (index++ == type)
				return m;
		} else if (type < 0) {
			if (m->type <= limit && (!best || m->type < best->type))
				best = m;
		} else if (!type || ((m->type == type) == !(flags & MSG_EXCEPT))) {
			return m;
		}
	}
	return best;
}

static long receive_now(struct call *c, struct queue *q, struct message *m, int flags)
{
	uint64_t size = MIN(c->args[2], (uint64_t)m->size);

	if (c->args[2] < m->size && !(flags & MSG_NOERROR))
		return -E2BIG;
	if (user_write(c->task, CALL_ARG_PTR(c, 1), &m->type, sizeof(m->type)) < 0 ||
	    user_write(c->task, uaddr_add(CALL_ARG_PTR(c, 1), sizeof(m->type)), m->data, size) < 0)
		return -EFAULT;
	if (!call_reply(c, (long)size) || (flags & MSG_COPY))
		return CALL_DONE;
	queue_take(q, m);
	q->receive_pid = c->task->proc->pid;
	q->rtime = ipc_now();
	waitq_wake(&q->senders, 0);
	return CALL_DONE;
}

long sys_msgrcv(struct call *c)
{
	int flags = (int)c->args[4], err;
	struct message *m;
	struct queue *q;

	c->no_restart = true;
	if ((int)c->args[0] < 0 || (int64_t)c->args[2] < 0)
		return -EINVAL;
	if ((flags & MSG_COPY) && ((flags & MSG_EXCEPT) || !(flags & IPC_NOWAIT)))
		return -EINVAL;
	q = queue_find((int)c->args[0]);
	if (!q)
		return c->retry ? -EIDRM : -EINVAL;
	err = ipc_permission(c->task->cred, &q->ipc, S_IRUSR);
	if (err)
		return err;
	m = choose(q, (int64_t)c->args[3], flags);
	if (m)
		return receive_now(c, q, m, flags);
	if (flags & IPC_NOWAIT)
		return -ENOMSG;
	return call_block(c, &q->receivers);
}

/* ---- msgctl ---- */

static long cmd_info(struct call *c, int cmd)
{
	struct sysv_root *root = sysv_root();
	struct msginfo info = {
		.msgmax = MESSAGE_MAX,
		.msgmnb = QUEUE_BYTES_DEFAULT,
		.msgmni = IPC_OBJECTS_MAX,
		.msgssz = 16,
		.msgseg = 0xffff,
		.msgpool = (int)(IPC_OBJECTS_MAX * (QUEUE_BYTES_DEFAULT / 1024)),
		.msgmap = QUEUE_BYTES_DEFAULT,
		.msgtql = QUEUE_BYTES_DEFAULT,
	};

	if (cmd == MSG_INFO) {
		info.msgpool = (int)root->queues.count;
		info.msgmap = (int)root->total_messages;
		info.msgtql = (int)root->total_bytes;
	}
	return ipc_report(c, 2, &info, sizeof(info), ipc_highest(&root->queues));
}

static long cmd_stat(struct call *c, const struct queue *q, int cmd)
{
	struct msqid_ds ds;
	int err = cmd == MSG_STAT_ANY ? 0 : ipc_permission(c->task->cred, &q->ipc, S_IRUSR);

	if (err)
		return err;
	memset(&ds, 0, sizeof(ds));
	ipc_to_perm(&q->ipc, &ds.msg_perm);
	ds.msg_stime = q->stime;
	ds.msg_rtime = q->rtime;
	ds.msg_ctime = q->ctime;
	ds.__msg_cbytes = q->bytes;
	ds.msg_qnum = q->count;
	ds.msg_qbytes = q->bytes_max;
	ds.msg_lspid = q->send_pid;
	ds.msg_lrpid = q->receive_pid;
	return ipc_report(c, 2, &ds, sizeof(ds), cmd == IPC_STAT ? 0 : q->ipc.id);
}

static long cmd_set(struct call *c, struct queue *q)
{
	struct msqid_ds ds;
	int err = ipc_read_set(c, 2, &ds, sizeof(ds), &q->ipc);

	if (err)
		return err;
	if (ds.msg_qbytes > QUEUE_BYTES_LIMIT ||
	    (ds.msg_qbytes > QUEUE_BYTES_DEFAULT && !cred_capable(c->task->cred, CAP_SYS_RESOURCE) &&
	     c->task->cred->euid != 0))
		return -EPERM;
	ipc_from_perm(&q->ipc, &ds.msg_perm);
	q->bytes_max = (uint32_t)ds.msg_qbytes;
	q->ctime = ipc_now();
	waitq_wake(&q->senders, 0);
	waitq_wake(&q->receivers, 0);
	return 0;
}

static struct queue *find_for(const struct sysv_root *root, int id, int cmd)
{
	struct ipc_object *o;

	if (cmd != MSG_STAT && cmd != MSG_STAT_ANY)
		return queue_find(id);
	o = ipc_find_index(&root->queues, id);
	return o ? container_of(o, struct queue, ipc) : NULL;
}

long sys_msgctl(struct call *c)
{
	struct sysv_root *root = sysv_root();
	int cmd = (int)c->args[1], err;
	struct queue *q;

	if (!root)
		return -ENOMEM;
	if ((int)c->args[0] < 0 || cmd < 0)
		return -EINVAL;
	if (cmd == IPC_INFO || cmd == MSG_INFO)
		return cmd_info(c, cmd);
	q = find_for(root, (int)c->args[0], cmd);
	if (!q)
		return -EINVAL;
	switch (cmd) {
	case IPC_STAT:
	case MSG_STAT:
	case MSG_STAT_ANY:
		return cmd_stat(c, q, cmd);
	case IPC_SET:
		return cmd_set(c, q);
	case IPC_RMID:
		err = ipc_owner(c->task->cred, &q->ipc);
		if (!err)
			queue_free(q);
		return err;
	default:
		return -EINVAL;
	}
}
