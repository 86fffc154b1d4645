/*
 * System V shared memory: shmget(2), shmop(2), shmctl(2).
 *
 * A segment is a store file. In shmat() the calling thread is made to map that file and to close its
 * descriptor again, both in one stop: nobody else's attach comes in between, and no descriptor stays.
 * The address is chosen here so that shmdt() can find it again; shmdt() becomes the munmap. Who has what attached is a list of records: fork copies the parent's, exec and exit drop
 * the process's. A removed segment lives on until the last record is gone.
 */
#include "kernel/mm/shm.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/list.h"
#include "base/util.h"
#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/core/limits.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/seq.h"
#include "kernel/fs/tree/orphan.h"
#include "kernel/host/host_file.h"
#include "kernel/host/host_ref.h"
#include "kernel/host/random.h"
#include "kernel/sysv/sysv.h"
#include "kernel/task/task.h"

/* The host descriptor number used for the mapping: above what a guest's own numbers reach as a rule. */
#define SHM_FD 4095
/* Where segments go when the guest leaves the choice to us; see abi/stub.h for the neighbours. */
#define SHM_BASE 0x7c0000000000ull
#define SHM_RANDOM_BITS 28
#define SHM_ALIGN PAGE_SIZE

struct segment {
	struct ipc_object ipc;
	struct host_ref ref;
	uint64_t size;	  /* as asked for */
	uint64_t charged; /* in whole pages */
	int64_t atime, dtime, ctime; /* seconds */
	int creator_pid, last_pid;
	uint32_t attached;
	bool removed; /* IPC_RMID, or its key is gone */
};

struct attachment {
	struct list link; /* process.attachments */
	struct segment *segment;
	uint64_t address;
};

struct shm_root {
	struct ipc_table segments;
};

static struct shm_root *root;

int shm_init(void)
{
	root = arena_root(ROOT_SHM, sizeof(*root));
	return root ? 0 : -ENOMEM;
}

static struct segment *segment_find(int id)
{
	struct ipc_object *o = ipc_find(&root->segments, id);
	return o ? container_of(o, struct segment, ipc) : NULL;
}

static void segment_free(struct segment *s)
{
	ipc_remove(&root->segments, &s->ipc);
	orphan_drop(&s->ref, s->charged);
	kfree(s);
}

/* ---- shmget ---- */

static int segment_fill(struct segment *s, uint64_t size)
{
	uint64_t charge = ALIGN_UP(size, (uint64_t)PAGE_SIZE);
	int r;

	if (!orphan_disk_charge(charge))
		return -ENOMEM;
	r = host_store_create(&s->ref);
	if (r == 0)
		r = host_truncate(&s->ref, charge);
	if (r < 0) {
		limit_release(LIMIT_DISK_BYTES, charge);
		host_ref_drop(&s->ref);
		return -ENOMEM;
	}
	s->size = size;
	s->charged = charge;
	return 0;
}

static long segment_create(struct call *c, int32_t key, uint64_t size, uint32_t flags)
{
	struct segment *s;
	int r;

	if (size == 0 || size > limit_value(LIMIT_DISK_BYTES))
		return size ? -ENOMEM : -EINVAL;
	if (flags & SHM_HUGETLB)
		return -ENOMEM;
	s = knew(struct segment);
	if (!s)
		return -ENOMEM;
	r = segment_fill(s, size);
	if (r < 0) {
		kfree(s);
		return r;
	}
	s->creator_pid = c->task->proc->pid;
	s->ctime = ipc_now();
	r = ipc_add(&root->segments, &s->ipc, c->task, key, flags & 0777);
	if (r < 0) {
		host_ref_drop(&s->ref);
		limit_release(LIMIT_DISK_BYTES, s->charged);
		kfree(s);
		return r;
	}
	return s->ipc.id;
}

long sys_shmget(struct call *c)
{
	int32_t key = (int32_t)c->args[0];
	uint32_t flags = (uint32_t)c->args[2];
	struct ipc_object *o = key == IPC_PRIVATE ? NULL : ipc_find_key(&root->segments, key);
	int r;

	if (!o) {
		if (key != IPC_PRIVATE && !(flags & IPC_CREAT))
			return -ENOENT;
		return segment_create(c, key, c->args[1], flags);
	}
	if ((flags & IPC_CREAT) && (flags & IPC_EXCL))
		return -EEXIST;
	r = ipc_permission(c->task->cred, o, flags & 0777);
	if (r < 0)
		return r;
	if (c->args[1] > container_of(o, struct segment, ipc)->size)
		return -EINVAL;
	return o->id;
}

/* ---- shmat, shmdt ---- */

static struct attachment *attachment_find(const struct process *p, uint64_t address)
{
	struct attachment *a;

	list_for_each(a, &p->attachments, link) {
		if (a->address == address)
			return a;
	}
	return NULL;
}

static int attach(struct segment *s, struct process *p, uint64_t address)
{
	struct attachment *a = knew(struct attachment);

	if (!a)
		return -ENOMEM;
	a->segment = s;
	a->address = address;
	list_add_tail(&p->attachments, &a->link);
	s->attached++;
	return 0;
}

static void detach(struct attachment *a, int pid)
{
	struct segment *s = a->segment;

	list_del(&a->link);
	kfree(a);
	s->last_pid = pid;
	s->dtime = ipc_now();
	if (--s->attached == 0 && s->removed)
		segment_free(s);
}

/* The address for an attach and the mmap flag that goes with it; 0 = the guest's is bad. */
static uint64_t choose_address(uint64_t wanted, uint32_t flags, uint64_t *ret_map_flag)
{
	uint64_t r = 0;

	*ret_map_flag = MAP_FIXED_NOREPLACE;
	if (!wanted) {
		host_random(&r, sizeof(r));
		return SHM_BASE + (r & ((1ull << SHM_RANDOM_BITS) - 1)) * PAGE_SIZE;
	}
	if (wanted % SHM_ALIGN) {
		if (!(flags & SHM_RND))
			return 0;
		wanted = ALIGN_DOWN(wanted, (uint64_t)SHM_ALIGN);
	}
	if (flags & SHM_REMAP)
		*ret_map_flag = MAP_FIXED;
	return wanted;
}

/* The thread maps what is at SHM_FD, which is then free again. The address or -errno. */
static long map_in_thread(struct call *c, const uint64_t args[6])
{
	struct fd_entry *e = fd_entry(c->task, SHM_FD);
	long address = call_native_in_stub(c, SYS_mmap, args);

	if (e)
		e->injected = false; /* what a guest had there was replaced */
	if (address == -ESRCH ||
	    call_native_in_stub(c, SYS_close, (uint64_t[6]){ SHM_FD }) == -ESRCH)
		return -ESRCH;
	return address == -EEXIST ? -EINVAL : address;
}

long sys_shmat(struct call *c)
{
	uint32_t flags = (uint32_t)c->args[2];
	bool read_only = flags & SHM_RDONLY;
	struct segment *s = segment_find((int)c->args[0]);
	uint64_t map_flag, address;
	int r, fd;

	if (!s)
		return -EINVAL;
	address = choose_address(c->args[1], flags, &map_flag);
	if (!address || ((flags & SHM_REMAP) && !c->args[1]))
		return -EINVAL;
	r = ipc_permission(c->task->cred, &s->ipc, read_only ? 0400 : 0600);
	if (r < 0)
		return r;
	fd = host_ref_fd_mode(&s->ref, !read_only);
	if (fd < 0)
		return -ENOMEM;
	r = call_inject_fd(c, fd, SHM_FD);
	if (r < 0)
		return r == -ENOENT ? CALL_DEFER : -ENOMEM;
	const uint64_t args[6] = {
		address, s->charged,
		(read_only ? PROT_READ : PROT_READ | PROT_WRITE) | (flags & SHM_EXEC ? PROT_EXEC : 0),
		MAP_SHARED | map_flag, SHM_FD, 0
	};
	long mapped = map_in_thread(c, args);
	if (mapped < 0)
		return mapped == -ESRCH ? CALL_DONE : mapped;
	/* Without a record it stays mapped until exec or exit, and the segment's file with it. */
	r = attach(s, c->task->proc, address);
	if (r < 0)
		return r;
	s->last_pid = c->task->proc->pid;
	s->atime = ipc_now();
	return mapped;
}

long sys_shmdt(struct call *c)
{
	struct attachment *a = attachment_find(c->task->proc, c->args[0]);

	if (!a)
		return -EINVAL;
	const uint64_t args[6] = { a->address, a->segment->charged };
	detach(a, c->task->proc->pid);
	return call_become(c, SYS_munmap, args);
}

/* ---- processes ---- */

void shm_fork(struct process *child, const struct process *parent)
{
	struct attachment *a;

	list_for_each(a, &parent->attachments, link)
		(void)attach(a->segment, child, a->address); /* no record: a leak of nothing */
}

void shm_process_exit(struct process *p)
{
	struct attachment *a, *next;

	list_for_each_safe(a, next, &p->attachments, link)
		detach(a, p->pid);
}

/* ---- shmctl ---- */

static long cmd_info(struct call *c)
{
	struct shminfo info = { .shmmax = limit_value(LIMIT_DISK_BYTES),
				.shmmin = 1,
				.shmmni = IPC_OBJECTS_MAX,
				.shmseg = IPC_OBJECTS_MAX,
				.shmall = limit_value(LIMIT_DISK_BYTES) / PAGE_SIZE };

	return ipc_report(c, 2, &info, sizeof(info), ipc_highest(&root->segments));
}

static uint64_t total_pages(void)
{
	uint64_t pages = 0;

	for (int i = 0; i <= ipc_highest(&root->segments); i++) {
		struct ipc_object *o = ipc_find_index(&root->segments, i);
		if (o)
			pages += container_of(o, struct segment, ipc)->charged / PAGE_SIZE;
	}
	return pages;
}

static long cmd_shm_info(struct call *c)
{
	struct shm_info info = { .used_ids = (int)root->segments.count, .shm_tot = total_pages() };

	return ipc_report(c, 2, &info, sizeof(info), ipc_highest(&root->segments));
}

static long cmd_stat(struct call *c, const struct segment *s, int cmd)
{
	struct shmid_ds ds;
	int r = cmd == SHM_STAT_ANY ? 0 : ipc_permission(c->task->cred, &s->ipc, 0400);

	if (r < 0)
		return r;
	memset(&ds, 0, sizeof(ds));
	ipc_to_perm(&s->ipc, &ds.shm_perm);
	ds.shm_segsz = s->size;
	ds.shm_atime = s->atime;
	ds.shm_dtime = s->dtime;
	ds.shm_ctime = s->ctime;
	ds.shm_cpid = s->creator_pid;
	ds.shm_lpid = s->last_pid;
	ds.shm_nattch = s->attached;
	return ipc_report(c, 2, &ds, sizeof(ds), cmd == IPC_STAT ? 0 : s->ipc.id);
}

static long cmd_set(struct call *c, struct segment *s)
{
	struct shmid_ds ds;
	int r = ipc_read_set(c, 2, &ds, sizeof(ds), &s->ipc);

	if (r < 0)
		return r;
	ipc_from_perm(&s->ipc, &ds.shm_perm);
	s->ctime = ipc_now();
	return 0;
}

static long cmd_remove(struct call *c, struct segment *s)
{
	int r = ipc_owner(c->task->cred, &s->ipc);

	if (r < 0)
		return r;
	s->removed = true;
	s->ipc.key = IPC_PRIVATE;
	s->ipc.mode |= SHM_DEST;
	if (!s->attached)
		segment_free(s);
	return 0;
}

long sys_shmctl(struct call *c)
{
	int id = (int)c->args[0], cmd = (int)c->args[1];
	struct segment *s;

	if (id < 0 || cmd < 0)
		return -EINVAL;
	if (cmd == IPC_INFO)
		return cmd_info(c);
	if (cmd == SHM_INFO)
		return cmd_shm_info(c);
	if (cmd == SHM_STAT || cmd == SHM_STAT_ANY) {
		struct ipc_object *o = ipc_find_index(&root->segments, id);
		s = o ? container_of(o, struct segment, ipc) : NULL;
	} else {
		s = segment_find(id);
	}
	if (!s)
		return -EINVAL;
	switch (cmd) {
	case IPC_STAT:
	case SHM_STAT:
	case SHM_STAT_ANY:
		return cmd_stat(c, s, cmd);
	case IPC_SET:
		return cmd_set(c, s);
	case IPC_RMID:
		return cmd_remove(c, s);
	case SHM_LOCK:
	case SHM_UNLOCK:
		return ipc_owner(c->task->cred, &s->ipc); /* memory here is never swapped by itself */
	default:
		return -EINVAL;
	}
}

void shm_clear(void)
{
	for (uint32_t i = 0; i < root->segments.capacity; i++) {
		struct ipc_object *o = ipc_find_index(&root->segments, (int)i);
		if (o)
			segment_free(container_of(o, struct segment, ipc));
	}
}

/* ---- /proc/sysvipc/shm ---- */

void shm_show(struct seq *out)
{
	for (uint32_t i = 0; i < root->segments.capacity; i++) {
		struct ipc_object *o = ipc_find_index(&root->segments, (int)i);
		if (!o)
			continue;
		const struct segment *s = container_of(o, struct segment, ipc);
		seq_printf(out, "%10d %10d  %4o %21" PRIu64 " %5d %5d  %5u %5u %5u %5u %5u ", o->key,
			   o->id, o->mode | (s->removed ? SHM_DEST : 0), s->size, s->creator_pid,
			   s->last_pid, s->attached, o->uid, o->gid, o->cuid, o->cgid);
		seq_printf(out, "%10" PRId64 " %10" PRId64 " %10" PRId64 " %21" PRIu64 " %21d\n",
			   s->atime, s->dtime, s->ctime, s->charged, 0);
	}
}
