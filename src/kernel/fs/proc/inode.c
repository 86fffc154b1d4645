/*
 * The tree of /proc.
 *
 * Nothing of /proc is stored: an inode's number packs what it stands for (a row of a table, a
 * process or thread, a descriptor), every lookup makes or renews the inode, and every operation
 * finds process and thread anew. So a process that ends takes its directory with it, and an old
 * descriptor answers ESRCH.
 *
 *	/proc                  row 0 of the system table
 *	/proc/sys/kernel/...   rows of the system table, by path
 *	/proc/123              row 0 of the process table, pid 123
 *	/proc/123/task/124     the same, thread 124
 *	/proc/123/fd/7         PROC_ROW_FD, pid 123, fd 7
 *
 * Who may look: the mode bits and the owner (the process's effective ids while it is dumpable,
 * else root), and for PROC_INSPECT rows the ptrace rule, at open or when a link is followed.
 *
 * Limits: the tables are searched linearly; a few hundred short strings cost about a microsecond.
 */
#include "kernel/fs/proc/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "kernel/core/arena.h"
#include "kernel/fs/file.h"
#include "kernel/fs/generated.h"
#include "kernel/fs/ops.h"
#include "kernel/fs/proc/proc_internal.h"
#include "kernel/task/family.h"

/* ---- keys ---- */
#define KEY_THREAD (1ull << 10)
#define KEY_PID_SHIFT 11
#define KEY_FD_SHIFT 34
#define PID_LIMIT (1u << 23)
#define FD_LIMIT (1u << 21)

uint64_t proc_key_pack(struct proc_key k)
{
	/* Inode number 0 is no inode: rows count from 1 in the packed form. */
	return (uint64_t)(k.row + 1) | (k.thread ? KEY_THREAD : 0) |
	       (uint64_t)k.pid << KEY_PID_SHIFT | (uint64_t)k.fd << KEY_FD_SHIFT;
}

static struct proc_key proc_key_of(const struct inode *inode)
{
	return (struct proc_key){
		.row = (uint32_t)(inode->ino & (KEY_THREAD - 1)) - 1,
		.thread = inode->ino & KEY_THREAD,
		.pid = (uint32_t)(inode->ino >> KEY_PID_SHIFT) & (PID_LIMIT - 1),
		.fd = (uint32_t)(inode->ino >> KEY_FD_SHIFT) & (FD_LIMIT - 1),
	};
}

static const struct proc_row *row_of(uint32_t row)
{
	if (row == PROC_ROW_FD)
		return &proc_fd_row;
	if (row == PROC_ROW_FDINFO)
		return &proc_fdinfo_row;
	if (row == PROC_ROW_NS)
		return &proc_ns_row;
	return row >= PROC_PID_ROWS ? &proc_pid_rows[row - PROC_PID_ROWS] : &proc_system_rows[row];
}

/*
 * Deaths are reported to us a little later than a parent may have seen them: for processes other
 * than the reader's own the host is asked.
 */
static int find_subject(struct proc_ctx *x)
{
	x->task = x->key.thread ? task_find((int)x->key.pid) : NULL;
	if (x->task) {
		x->proc = x->task->proc;
	} else {
		/* The leader, dead or alive, answers for its process. */
		x->proc = process_find_any((int)x->key.pid);
		x->task = x->proc && !x->key.thread ? process_leader(x->proc) : NULL;
	}
	if (!x->proc)
		return -ESRCH;
	if (x->reader && x->reader->proc == x->proc)
		return 0;
	char state = process_state_now(x->proc);
	if (!state)
		return -ESRCH;
	if (state == 'Z' || state == 'X') {
		process_note_end(x->proc);
		x->task = NULL;
	}
	return 0;
}

static int resolve_key(struct proc_key key, struct task *reader, struct proc_ctx *x)
{
	*x = (struct proc_ctx){ .key = key, .row = row_of(key.row), .reader = reader };
	if (key.pid == 0)
		return 0;
	int error = find_subject(x);
	if (error)
		return error;
	if ((key.row == PROC_ROW_FD || key.row == PROC_ROW_FDINFO) &&
	    (!x->task || !x->task->files || !fd_file(x->task, (int)key.fd)))
		return -ENOENT;
	return 0;
}

int proc_resolve(const struct inode *inode, struct task *reader, struct proc_ctx *x)
{
	return resolve_key(proc_key_of(inode), reader, x);
}

int proc_may_inspect(const struct proc_ctx *x)
{
	if (!x->proc || !x->reader || x->reader->proc == x->proc)
		return 0;
	return process_may_inspect(x->reader->cred, x->proc) ? 0 : -EACCES;
}

/* ---- inodes ---- */
static void set_owner(struct inode *inode, const struct proc_ctx *x)
{
	inode->uid = inode->gid = 0;
	if (!x->task) {
		inode->uid = x->proc ? x->proc->end_uid : 0;
		inode->gid = x->proc ? x->proc->end_gid : 0;
		return;
	}
	const struct cred *owner = x->task->cred;
	/* Directories that everybody may read always show their user; a process may always use
	 * its own entries, dumpable or not. */
	bool own = x->reader && x->reader->proc == x->proc;
	if (inode->mode == (S_IFDIR | 0555) || x->proc->dumpable || own) {
		inode->uid = owner->euid;
		inode->gid = owner->egid;
	}
	if (own && !x->proc->dumpable)
		inode->uid = x->reader->cred->fsuid;
}

/* The mode of /proc/PID/fd/N tells how the file is open. */
static uint32_t mode_of(const struct proc_ctx *x)
{
	if (x->key.row != PROC_ROW_FD)
		return x->row->mode;
	const struct file *f = fd_file(x->task, (int)x->key.fd);
	uint32_t mode = S_IFLNK | S_IXUSR;
	if (file_readable(f))
		mode |= S_IRUSR;
	if (file_writable(f))
		mode |= S_IWUSR;
	return mode;
}

static int make_inode(struct superblock *sb, struct task *reader, struct inode *known,
		      struct proc_key key, struct inode **ret)
{
	struct proc_ctx x;
	int error = resolve_key(key, reader, &x);

	if (error)
		return -ENOENT;
	uint64_t ino = proc_key_pack(key);
	struct inode *inode;
	if (known && known->ino == ino) {
		inode = inode_get(known);
	} else {
		inode = inode_new(sb, IOPS_PROC, 0);
		if (!inode)
			return -ENOMEM;
		inode->ino = ino;
	}
	inode->mode = mode_of(&x);
	inode->nlink = S_ISDIR(inode->mode) ? 2 : 1;
	set_owner(inode, &x);
	*ret = inode;
	return 0;
}

/* ---- rows by path ---- */
static bool row_applies(const struct proc_row *row, bool thread)
{
	return !(row->flags & (thread ? PROC_PROCESS_ONLY : PROC_THREAD_ONLY));
}

static bool parse_number(struct qstr name, uint32_t limit, uint32_t *ret)
{
	uint32_t value = 0;

	if (!name.length || (name.length > 1 && name.name[0] == '0'))
		return false;
	for (uint16_t i = 0; i < name.length; i++) {
		if (name.name[i] < '0' || name.name[i] > '9')
			return false;
		value = value * 10 + (uint32_t)(name.name[i] - '0');
		if (value >= limit)
			return false;
	}
	*ret = value;
	return true;
}

/* Entries whose names are numbers: processes, threads, descriptors. */
static bool numbered_child(struct proc_key dir, struct qstr name, struct proc_key *ret)
{
	const char *path = row_of(dir.row)->path;
	uint32_t n;

	if (dir.row == 0) {
		if (!parse_number(name, PID_LIMIT, &n) || !n)
			return false;
		/* Threads other than leaders can be reached by number though they are not listed. */
		bool thread = !process_find_any((int)n) && task_find((int)n);
		*ret = (struct proc_key){ .row = PROC_PID_ROWS, .pid = n, .thread = thread };
		return true;
	}
	if (dir.row < PROC_PID_ROWS)
		return false;
	if (!strcmp(path, "task") && parse_number(name, PID_LIMIT, &n) && n) {
		struct task *t = task_find((int)n);
		struct process *p = process_find((int)dir.pid);
		if (!t && p) {
			process_find_threads(p);
			t = task_find((int)n);
		}
		*ret = (struct proc_key){ .row = PROC_PID_ROWS, .pid = n, .thread = true };
		return n == dir.pid || (t && t->proc->pid == (int)dir.pid);
	}
	bool fd = !strcmp(path, "fd");
	if ((fd || !strcmp(path, "fdinfo")) && parse_number(name, FD_LIMIT, &n)) {
		*ret = (struct proc_key){ .row = fd ? PROC_ROW_FD : PROC_ROW_FDINFO,
					  .pid = dir.pid, .fd = n, .thread = dir.thread };
		return true;
	}
	return false;
}

static bool table_child(struct proc_key dir, struct qstr name, struct proc_key *ret)
{
	bool system = dir.row < PROC_PID_ROWS;
	const struct proc_row *rows = system ? proc_system_rows : proc_pid_rows;
	size_t count = system ? proc_system_row_count : proc_pid_row_count;
	const char *path = row_of(dir.row)->path;

	for (size_t i = 1; i < count; i++) {
		const char *entry = generated_name(rows[i].path, path);
		if (!entry || strncmp(entry, name.name, name.length) || entry[name.length])
			continue;
		if (!system && !row_applies(&rows[i], dir.thread))
			continue;
		*ret = dir;
		ret->row = (uint32_t)i + (system ? 0 : PROC_PID_ROWS);
		return true;
	}
	return false;
}

static int proc_lookup(struct task *task, struct inode *dir, struct dentry *parent,
		       struct qstr name, struct inode **ret)
{
	struct proc_key dir_key = proc_key_of(dir), key;

	if (!numbered_child(dir_key, name, &key) && !table_child(dir_key, name, &key))
		return -ENOENT;
	struct dentry *known = dentry_find(parent, name);
	return make_inode(dir->sb, task, known ? known->inode : NULL, key, ret);
}

/* ---- reading directories ---- */
struct lister {
	void *ctx;
	dir_emit_fn emit;
};

static bool emit_number(const struct lister *l, struct proc_key key, uint32_t n, uint8_t type)
{
	char name[16];
	int length = snprintf(name, sizeof(name), "%u", n);

	return l->emit(l->ctx, name, (size_t)length, proc_key_pack(key), type);
}

static bool list_processes(struct list *processes, const struct lister *l)
{
	struct process *p;

	list_for_each(p, processes, all_link) {
		struct proc_key key = { .row = PROC_PID_ROWS, .pid = (uint32_t)p->pid };
		if (!emit_number(l, key, key.pid, DT_DIR))
			return false;
	}
	return true;
}

static bool list_threads(struct proc_key dir, struct proc_ctx *x, const struct lister *l)
{
	struct proc_key key = { .row = PROC_PID_ROWS, .pid = dir.pid, .thread = true };
	struct task *t;

	if (!emit_number(l, key, key.pid, DT_DIR))
		return false;
	if (!x->task)
		return true;
	process_find_threads(x->proc);
	list_for_each(t, &x->proc->threads, sibling) {
		key.pid = (uint32_t)t->tid;
		if (!t->leaving && key.pid != dir.pid && !emit_number(l, key, key.pid, DT_DIR))
			return false;
	}
	return true;
}

static bool list_numbers(struct task *reader, struct proc_key dir, const struct lister *l)
{
	struct proc_ctx x;
	const char *path = row_of(dir.row)->path;

	if (dir.row == 0)
		return list_processes(process_list(), l) && list_processes(zombie_list(), l);
	if (dir.row < PROC_PID_ROWS || resolve_key(dir, reader, &x))
		return true;
	if (!strcmp(path, "task"))
		return list_threads(dir, &x, l);
	bool fd = !strcmp(path, "fd");
	if ((!fd && strcmp(path, "fdinfo")) || !x.task || !x.task->files)
		return true;
	for (uint32_t n = 0; n < x.task->files->capacity; n++) {
		struct proc_key key = { .row = fd ? PROC_ROW_FD : PROC_ROW_FDINFO, .pid = dir.pid,
					.fd = n, .thread = dir.thread };
		if (fd_file(x.task, (int)n) && !emit_number(l, key, n, fd ? DT_LNK : DT_REG))
			return false;
	}
	return true;
}

static bool list_rows(struct proc_key dir, const struct lister *l)
{
	bool system = dir.row < PROC_PID_ROWS;
	const struct proc_row *rows = system ? proc_system_rows : proc_pid_rows;
	size_t count = system ? proc_system_row_count : proc_pid_row_count;
	const char *path = row_of(dir.row)->path;

	for (size_t i = 1; i < count; i++) {
		const char *name = generated_name(rows[i].path, path);
		struct proc_key key = dir;
		if (!name || (!system && !row_applies(&rows[i], dir.thread)))
			continue;
		key.row = (uint32_t)i + (system ? 0 : PROC_PID_ROWS);
		if (!l->emit(l->ctx, name, strlen(name), proc_key_pack(key),
			     (uint8_t)(rows[i].mode >> 12)))
			return false;
	}
	return true;
}

static int proc_readdir(struct task *task, struct inode *dir, struct dentry *dentry, void *ctx,
			dir_emit_fn emit)
{
	struct proc_key key = proc_key_of(dir);
	struct lister l = { ctx, emit };
	struct proc_ctx x;

	(void)dentry;
	if (key.pid && proc_resolve(dir, task, &x))
		return -ENOENT;
	if (key.pid && (x.row->flags & PROC_INSPECT) && proc_may_inspect(&x))
		return -EACCES;
	if (list_rows(key, &l))
		list_numbers(task, key, &l);
	return 0;
}

/* ---- links and attributes ---- */
static ssize_t proc_readlink(struct task *task, struct inode *inode, char *dst, size_t capacity)
{
	struct proc_ctx x;
	int error = proc_resolve(inode, task, &x);

	if (error)
		return -ENOENT;
	if (!x.row->readlink)
		return -EINVAL;
	if ((x.row->flags & PROC_INSPECT) && proc_may_inspect(&x))
		return -EACCES;
	return x.row->readlink(&x, dst, capacity);
}

static int proc_follow(struct task *task, struct inode *inode, struct path *ret)
{
	struct proc_ctx x;
	int error = proc_resolve(inode, task, &x);

	if (error)
		return -ENOENT;
	if (!x.row->follow)
		return -EOPNOTSUPP; /* an ordinary symbolic link */
	if ((x.row->flags & PROC_INSPECT) && proc_may_inspect(&x))
		return -EACCES;
	return x.row->follow(&x, ret);
}

static int proc_getattr(struct task *task, struct inode *inode, struct kstat *st)
{
	struct proc_ctx x;
	int error = proc_resolve(inode, task, &x);

	if (error)
		return -ENOENT;
	set_owner(inode, &x);
	inode_stat(inode, st);
	st->blksize = 1024;
	if (x.key.row == PROC_ROW_NS)
		st->ino = PROC_NS_FIRST_NUMBER + x.key.fd;
	if (x.key.row == PROC_ROW_FD) /* as Linux: room for a number of digits */
		st->size = 64;
	return 0;
}

/* Modes and owners are what they are, but changing times is harmless and some programs insist. */
static int proc_setattr(struct inode *inode, const struct iattr *attr)
{
	(void)inode;
	return attr->valid & (ATTR_MODE | ATTR_UID | ATTR_GID) ? -EPERM : 0;
}

const struct inode_ops proc_inode_ops = {
	.lookup = proc_lookup,
	.readlink = proc_readlink,
	.follow = proc_follow,
	.getattr = proc_getattr,
	.setattr = proc_setattr,
	.readdir = proc_readdir,
	.open = proc_open,
};

/* ---- for pidfd_send_signal(2) ---- */
bool procfs_is_process(const struct inode *inode)
{
	if (inode->ops != IOPS_PROC)
		return false;
	struct proc_key key = proc_key_of(inode);
	return key.row == PROC_PID_ROWS && !key.thread;
}

struct process *procfs_process(const struct inode *inode)
{
	return procfs_is_process(inode) ? process_find_any((int)proc_key_of(inode).pid) : NULL;
}

/* ---- mounting ---- */
int procfs_mount(void)
{
	struct inode *root;
	struct superblock *sb = superblock_new(FS_PROC, PROC_SUPER_MAGIC);

	if (!sb)
		return -ENOMEM;
	sb->no_dcache = true;
	int error = make_inode(sb, NULL, NULL, (struct proc_key){ 0 }, &root);
	if (!error)
		error = superblock_set_root(sb, root);
	return error ? error : mount_add(sb, "/proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "proc");
}
