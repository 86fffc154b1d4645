/* The lines of /proc/sysvipc/sem and msg, which ipcs(1) reads. */
#include <inttypes.h>

#include "base/util.h"
#include "kernel/fs/seq.h"
#include "kernel/sysv/sysv_internal.h"

void sysv_show_sem(struct seq *s)
{
	struct sysv_root *root = sysv_root();

	for (uint32_t i = 0; root && i < root->sems.capacity; i++) {
		struct ipc_object *o = ipc_find_index(&root->sems, (int)i);
		if (!o)
			continue;
		const struct semset *set = container_of(o, struct semset, ipc);
		seq_printf(s, "%10d %10d  %4o %10u %5u %5u %5u %5u %10" PRId64 " %10" PRId64 "\n",
			   o->key, o->id, o->mode, set->count, o->uid, o->gid, o->cuid, o->cgid,
			   set->otime, set->ctime);
	}
}

void sysv_show_msg(struct seq *s)
{
	struct sysv_root *root = sysv_root();

	for (uint32_t i = 0; root && i < root->queues.capacity; i++) {
		struct ipc_object *o = ipc_find_index(&root->queues, (int)i);
		if (!o)
			continue;
		const struct queue *q = container_of(o, struct queue, ipc);
		seq_printf(s, "%10d %10d  %4o  %10u %10u %5d %5d %5u %5u %5u %5u %10" PRId64
			      " %10" PRId64 " %10" PRId64 "\n",
			   o->key, o->id, o->mode, q->bytes, q->count, q->send_pid, q->receive_pid,
			   o->uid, o->gid, o->cuid, o->cgid, q->stime, q->rtime, q->ctime);
	}
}
