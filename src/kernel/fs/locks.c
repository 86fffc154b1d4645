/*
 * File locks: fcntl(2) record locks (POSIX and open file description) and flock(2).
 *
 *   inode->locks --> struct inode_locks { records, flocks, waitq }
 *                         |          |
 *                         v          v
 *                    struct file_lock (owner, kind, range) --all_link--> every lock, for /proc/locks
 *
 * Owners: a POSIX lock belongs to a descriptor table (what CLONE_FILES shares, as on Linux), the two
 * others to the open file. Records of one owner never overlap and neighbours of one type are merged.
 * A blocked call waits on the inode's queue, looks again after every change and keeps in c->progress
 * whom it waits for; following these links finds a deadlock of POSIX locks (EDEADLK). As on Linux
 * the search is bounded, flock and OFD locks are not searched.
 */
#include "kernel/fs/locks.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/task.h"

#define DEADLOCK_STEPS 10
#define LOCKS_MAX 16384 /* in the sandbox: every call looks at all of its file */

enum lock_kind { LOCK_POSIX, LOCK_OFD, LOCK_FLOCK };

struct file_lock {
	struct list link;     /* inode_locks.records or .flocks */
	struct list all_link; /* locks_state.all */
	const void *owner;    /* struct fdtable or struct file: compared, never followed */
	struct inode *inode;
	uint8_t kind; /* enum lock_kind */
	bool write;
	int pid;
	uint64_t start, end; /* inclusive; end INT64_MAX = to the end whatever it is */
};

struct inode_locks {
	struct list records;
	struct list flocks;
	struct waitq wq;
};

struct locks_state {
	struct list all;
	uint32_t count;
};

static struct locks_state *state(void)
{
	static struct locks_state *s;
	if (!s)
		s = arena_root(ROOT_LOCKS, sizeof(*s));
	if (s && !s->all.next)
		list_init(&s->all);
	return s;
}

static struct inode_locks *locks_of(struct inode *inode)
{
	if (inode->locks)
		return inode->locks;
	struct inode_locks *l = state() ? knew(struct inode_locks) : NULL;
	if (!l)
		return NULL;
	list_init(&l->records);
	list_init(&l->flocks);
	waitq_init(&l->wq);
	inode->locks = l;
	return l;
}

static void lock_free(struct file_lock *l)
{
	list_del(&l->link);
	list_del(&l->all_link);
	state()->count--;
	kfree(l);
}

static void lock_link(struct list *head, struct file_lock *l)
{
	list_add_tail(head, &l->link);
	list_add_tail(&state()->all, &l->all_link);
	state()->count++;
}

static struct file_lock *lock_new(void)
{
	return state() && state()->count < LOCKS_MAX ? knew(struct file_lock) : NULL;
}

/* ---- records ---- */

static struct file_lock *find_conflict(struct inode *inode, const struct file_lock *want)
{
	struct file_lock *l;
	if (!inode->locks)
		return NULL;
	list_for_each(l, &inode->locks->records, link) {
		if (l->owner != want->owner && (l->write || want->write) &&
		    l->start <= want->end && want->start <= l->end)
			return l;
	}
	return NULL;
}

/* Takes [start, end] out of the owner's records. `spare` becomes the right part of a split one. */
static void cut_range(struct inode_locks *locks, const struct file_lock *want,
		      struct file_lock **spare)
{
	struct file_lock *l, *tmp;
	list_for_each_safe(l, tmp, &locks->records, link) {
		if (l->owner != want->owner || l->start > want->end || want->start > l->end)
			continue;
		bool left = l->start < want->start, right = l->end > want->end;
		if (left && right) {
			struct file_lock *r = *spare;
			*spare = NULL;
			*r = *l;
			r->link = r->all_link = (struct list){ 0 };
			r->start = want->end + 1;
			l->end = want->start - 1;
			lock_link(&locks->records, r);
			return; /* own records do not overlap: nothing else can match */
		}
		if (left)
			l->end = want->start - 1;
		else if (right)
			l->start = want->end + 1;
		else
			lock_free(l);
	}
}

/* Merges `fresh` with the owner's neighbours of the same type. */
static void merge_neighbours(struct inode_locks *locks, struct file_lock *fresh)
{
	struct file_lock *l, *tmp;
	list_for_each_safe(l, tmp, &locks->records, link) {
		if (l == fresh || l->owner != fresh->owner || l->write != fresh->write)
			continue;
		if (l->end + 1 == fresh->start)
			fresh->start = l->start;
		else if (fresh->end + 1 == l->start)
			fresh->end = l->end;
		else
			continue;
		lock_free(l);
	}
}

/* Sets or removes (`unlock`) a record that conflicts with nobody. */
static int apply_record(struct inode *inode, const struct file_lock *want, bool unlock)
{
	struct inode_locks *locks = locks_of(inode);
	/* An unlock at the limit must not fail: what it splits goes beyond by one. */
	struct file_lock *spare = knew(struct file_lock);
	struct file_lock *fresh = unlock ? NULL : lock_new();
	if (!locks || !spare || (!unlock && !fresh)) {
		kfree(spare);
		kfree(fresh);
		return -ENOLCK;
	}
	cut_range(locks, want, &spare);
	kfree(spare);
	if (fresh) {
		*fresh = *want;
		fresh->inode = inode;
		lock_link(&locks->records, fresh);
		merge_neighbours(locks, fresh);
	}
	waitq_wake(&locks->wq, 0);
	return 0;
}

/* Whom does the owner wait for? NULL = nobody. */
static const void *waits_for(const void *owner)
{
	struct process *p;
	list_for_each(p, process_list(), all_link) {
		struct task *t;
		list_for_each(t, &p->threads, sibling) {
			const struct call *c = t->call;
			if (t->files == owner && c && c->nr == SYS_fcntl &&
			    (unsigned)c->args[1] == F_SETLKW && c->progress)
				return (const void *)(uintptr_t)c->progress;
		}
	}
	return NULL;
}

static bool would_deadlock(const void *me, const void *blocker)
{
	for (int i = 0; i < DEADLOCK_STEPS && blocker; i++) {
		if (blocker == me)
			return true;
		blocker = waits_for(blocker);
	}
	return false;
}

/* struct flock to a range. */
static int parse_flock(const struct file *f, const struct flock *fl, struct file_lock *ret)
{
	int64_t base = 0, start, end;
	if (fl->l_whence == SEEK_CUR)
		base = (int64_t)f->pos;
	else if (fl->l_whence == SEEK_END)
		base = (int64_t)f->inode->size;
	else if (fl->l_whence != SEEK_SET)
		return -EINVAL;
	if (__builtin_add_overflow(base, fl->l_start, &start))
		return -EOVERFLOW;
	if (start < 0)
		return -EINVAL;
	end = INT64_MAX;
	if (fl->l_len > 0) {
		if (__builtin_add_overflow(start, fl->l_len - 1, &end))
			return -EOVERFLOW;
	} else if (fl->l_len < 0) {
		end = start - 1;
		if (start + fl->l_len < 0)
			return -EINVAL;
		start += fl->l_len;
	}
	ret->start = (uint64_t)start;
	ret->end = (uint64_t)end;
	return 0;
}

static long get_lock(struct call *c, struct file *f, struct file_lock *want, struct flock *fl)
{
	struct file_lock *l = find_conflict(f->inode, want);
	if (l) {
		fl->l_type = l->write ? F_WRLCK : F_RDLCK;
		fl->l_whence = SEEK_SET;
		fl->l_start = (off_t)l->start;
		fl->l_len = l->end == INT64_MAX ? 0 : (off_t)(l->end - l->start + 1);
		fl->l_pid = l->kind == LOCK_OFD ? -1 : l->pid;
	} else {
		fl->l_type = F_UNLCK;
	}
	return user_write(c->task, CALL_ARG_PTR(c, 2), fl, sizeof(*fl));
}

static long set_lock(struct call *c, struct file *f, struct file_lock *want, int type, bool wait)
{
	if ((type == F_RDLCK && !file_readable(f)) || (type == F_WRLCK && !file_writable(f)))
		return -EBADF;
	if (type == F_UNLCK)
		return f->inode->locks ? apply_record(f->inode, want, true) : 0;
	struct file_lock *other = find_conflict(f->inode, want);
	if (!other) {
		/* Closed by another thread while we waited: nobody would ever release it. */
		if (c->retry && fd_file(c->task, (int)c->args[0]) != f)
			return -EBADF;
		return apply_record(f->inode, want, false);
	}
	if (!wait)
		return -EAGAIN;
	if (want->kind == LOCK_POSIX && other->kind == LOCK_POSIX) {
		if (would_deadlock(want->owner, other->owner))
			return -EDEADLK;
		c->progress = (uint64_t)(uintptr_t)other->owner;
	}
	return call_block_file(c, f, &f->inode->locks->wq);
}

long locks_fcntl(struct call *c, struct file *f, unsigned cmd, uint64_t arg)
{
	struct flock fl;
	bool ofd = cmd == F_OFD_GETLK || cmd == F_OFD_SETLK || cmd == F_OFD_SETLKW;
	if (user_read(c->task, &fl, uaddr(arg), sizeof(fl)) < 0)
		return -EFAULT;
	if (fl.l_type != F_RDLCK && fl.l_type != F_WRLCK && fl.l_type != F_UNLCK)
		return -EINVAL;
	if (ofd && fl.l_pid != 0)
		return -EINVAL;
	struct file_lock want = {
		.owner = ofd ? (const void *)f : (const void *)c->task->files,
		.kind = ofd ? LOCK_OFD : LOCK_POSIX,
		.write = fl.l_type == F_WRLCK,
		.pid = c->task->proc->pid,
	};
	int r = parse_flock(f, &fl, &want);
	if (r < 0)
		return r;
	if (cmd == F_GETLK || cmd == F_OFD_GETLK)
		return fl.l_type == F_UNLCK && !ofd ? -EINVAL : get_lock(c, f, &want, &fl);
	return set_lock(c, f, &want, fl.l_type, cmd == F_SETLKW || cmd == F_OFD_SETLKW);
}

/* ---- flock ---- */

static struct file_lock *flock_find(struct inode *inode, const void *owner)
{
	struct file_lock *l;
	list_for_each(l, &inode->locks->flocks, link) {
		if (l->owner == owner)
			return l;
	}
	return NULL;
}

static bool flock_conflicts(struct inode *inode, bool write)
{
	struct file_lock *l;
	list_for_each(l, &inode->locks->flocks, link) {
		if (l->write || write)
			return true;
	}
	return false;
}

long sys_flock(struct call *c)
{
	struct file *f = call_file(c, (int)c->args[0]);
	int op = (int)c->args[1] & ~LOCK_NB;
	if (op != LOCK_SH && op != LOCK_EX && op != LOCK_UN)
		return -EINVAL;
	if (!f || (f->flags & O_PATH))
		return -EBADF;
	struct inode_locks *locks = locks_of(f->inode);
	if (!locks)
		return -ENOLCK;
	struct file_lock *own = flock_find(f->inode, f);
	bool write = op == LOCK_EX;
	if (own && op != LOCK_UN && own->write == write)
		return 0;
	/* A conversion gives the old lock up first: flock(2) says it is not atomic. */
	if (own) {
		lock_free(own);
		waitq_wake(&locks->wq, 0);
	}
	if (op == LOCK_UN)
		return 0;
	if (flock_conflicts(f->inode, write))
		return (c->args[1] & LOCK_NB) ? -EAGAIN : call_block_file(c, f, &locks->wq);
	own = lock_new();
	if (!own)
		return -ENOLCK;
	*own = (struct file_lock){ .owner = f,
				   .inode = f->inode,
				   .kind = LOCK_FLOCK,
				   .write = write,
				   .pid = c->task->proc->pid,
				   .end = INT64_MAX };
	lock_link(&locks->flocks, own);
	return 0;
}

/* ---- release ---- */

static bool drop_owner(struct list *head, const void *owner)
{
	struct file_lock *l, *tmp;
	bool any = false;
	list_for_each_safe(l, tmp, head, link) {
		if (l->owner == owner) {
			lock_free(l);
			any = true;
		}
	}
	return any;
}

void locks_close(struct file *f, struct fdtable *owner)
{
	struct inode_locks *locks = f->inode->locks;
	if (locks && !(f->flags & O_PATH) && drop_owner(&locks->records, owner))
		waitq_wake(&locks->wq, 0);
}

void locks_release_file(struct file *f)
{
	struct inode_locks *locks = f->inode->locks;
	bool any = drop_owner(&locks->records, f);
	any |= drop_owner(&locks->flocks, f);
	if (any)
		waitq_wake(&locks->wq, 0);
}

void locks_inode_gone(struct inode *inode)
{
	struct inode_locks *locks = inode->locks;
	struct file_lock *l, *tmp;
	list_for_each_safe(l, tmp, &locks->records, link)
		lock_free(l);
	list_for_each_safe(l, tmp, &locks->flocks, link)
		lock_free(l);
	inode->locks = NULL;
	kfree(locks);
}

void locks_visit(void *ctx, locks_visit_fn fn)
{
	static const char *const names[] = { "POSIX", "OFDLCK", "FLOCK" };
	struct file_lock *l;
	if (!state())
		return;
	list_for_each(l, &state()->all, all_link)
		fn(ctx, names[l->kind], l->write, l->kind == LOCK_OFD ? -1 : l->pid, l->inode,
		   l->start, l->end);
}
