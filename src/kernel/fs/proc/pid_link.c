/*
 * Links of /proc: self, exe, cwd, root, fd/N, ns/X.
 *
 * Magic links jump to an object (follow) and print a name for it (readlink); the name need not lead
 * anywhere: "pipe:[12]", "/tmp/x (deleted)". Opening through fd/N opens the inode anew with a fresh
 * permission check, which is the VFS's work once follow() has answered.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernel/core/arena.h"
#include "kernel/fs/file.h"
#include "kernel/fs/proc/proc_internal.h"

static ssize_t copy_text(const char *text, char *dst, size_t capacity)
{
	size_t length = MIN(strlen(text), capacity);

	memcpy(dst, text, length);
	return (ssize_t)length;
}

ssize_t proc_self_readlink(const struct proc_ctx *x, char *dst, size_t capacity)
{
	char text[16];

	if (!x->reader)
		return -ENOENT;
	snprintf(text, sizeof(text), "%d", x->reader->proc->pid);
	return copy_text(text, dst, capacity);
}

ssize_t proc_thread_self_readlink(const struct proc_ctx *x, char *dst, size_t capacity)
{
	char text[40];

	if (!x->reader)
		return -ENOENT;
	snprintf(text, sizeof(text), "%d/task/%d", x->reader->proc->pid, x->reader->tid);
	return copy_text(text, dst, capacity);
}

ssize_t proc_mounts_readlink(const struct proc_ctx *x, char *dst, size_t capacity)
{
	(void)x;
	return copy_text("self/mounts", dst, capacity);
}

ssize_t proc_net_readlink(const struct proc_ctx *x, char *dst, size_t capacity)
{
	(void)x;
	return copy_text("self/net", dst, capacity);
}

/* The path of the object as the reader sees it. */
ssize_t proc_magic_readlink(const struct proc_ctx *x, char *dst, size_t capacity)
{
	char name[PATH_MAX_BYTES];
	struct path p = x->row->target(x);
	struct path root = x->reader && x->reader->fs ? x->reader->fs->root : root_path();

	if (!p.dentry)
		return -ENOENT;
	ssize_t n = path_format(p, root, name, sizeof(name));
	return n < 0 ? n : copy_text(name, dst, capacity);
}

int proc_magic_follow(const struct proc_ctx *x, struct path *ret)
{
	struct path p = x->row->target(x);

	if (!p.dentry)
		return -ENOENT;
	*ret = path_get(p);
	return 0;
}

struct path proc_exe_target(const struct proc_ctx *x)
{
	return x->task ? x->proc->exe : (struct path){ 0 };
}

struct path proc_cwd_target(const struct proc_ctx *x)
{
	return x->task && x->task->fs ? x->task->fs->cwd : (struct path){ 0 };
}

struct path proc_root_target(const struct proc_ctx *x)
{
	return x->task && x->task->fs ? x->task->fs->root : (struct path){ 0 };
}

static struct path proc_fd_target(const struct proc_ctx *x)
{
	struct file *f = x->task && x->task->files ? fd_file(x->task, (int)x->key.fd) : NULL;
	return f ? f->path : (struct path){ 0 };
}

/* ---- namespaces: one of each kind ---- */
static const struct {
	const char *entry, *name;
} namespaces[] = {
	{ "ns/time", "time" }, { "ns/cgroup", "cgroup" }, { "ns/pid", "pid" },
	{ "ns/user", "user" }, { "ns/uts", "uts" },	  { "ns/ipc", "ipc" },
	{ "ns/mnt", "mnt" },   { "ns/net", "net" },
	{ "ns/pid_for_children", "pid" }, { "ns/time_for_children", "time" },
};

static unsigned ns_index(const struct proc_ctx *x)
{
	unsigned i = 0;

	while (i < ARRAY_SIZE(namespaces) - 1 && strcmp(namespaces[i].entry, x->row->path))
		i++;
	/* The *_for_children entries are the same objects. */
	for (unsigned k = 0; k < i; k++)
		if (!strcmp(namespaces[k].name, namespaces[i].name))
			return k;
	return i;
}

static void ns_name(unsigned i, char *dst, size_t capacity)
{
	snprintf(dst, capacity, "%s:[%u]", namespaces[i].name, PROC_NS_FIRST_NUMBER + i);
}

ssize_t proc_ns_readlink(const struct proc_ctx *x, char *dst, size_t capacity)
{
	char name[48];

	ns_name(ns_index(x), name, sizeof(name));
	return copy_text(name, dst, capacity);
}

int proc_ns_follow(const struct proc_ctx *x, struct path *ret)
{
	char name[48];
	unsigned i = ns_index(x);
	struct mount *m = mount_anon(FS_ANON);
	struct inode *inode = m ? inode_new(m->sb, IOPS_PROC, S_IFREG | 0444) : NULL;

	if (!inode)
		return -ENOMEM;
	inode->ino = proc_key_pack((struct proc_key){ .row = PROC_ROW_NS, .fd = i });
	ns_name(i, name, sizeof(name));
	struct dentry *d = dentry_anon(inode, name);
	inode_put(inode);
	if (!d)
		return -ENOMEM;
	*ret = path_get((struct path){ m, d });
	dentry_put(d);
	return 0;
}

/* ---- fdinfo ---- */
int proc_fdinfo(struct seq *s, const struct proc_ctx *x)
{
	struct file *f = x->task ? fd_file(x->task, (int)x->key.fd) : NULL;
	struct fd_entry *e = f ? fd_entry(x->task, (int)x->key.fd) : NULL;

	if (!e)
		return -ENOENT;
	uint32_t flags = f->flags | (e->cloexec ? O_CLOEXEC : 0);
	seq_printf(s, "pos:\t%" PRIu64 "\nflags:\t0%o\nmnt_id:\t%d\nino:\t%" PRIu64 "\n",
		   f->stream ? 0 : f->pos, flags, f->path.mnt ? f->path.mnt->id : 0,
		   f->inode->ino);
	if (file_ops(f)->fdinfo) {
		char *extra = kmalloc(PAGE_SIZE);
		if (!extra)
			return -ENOMEM;
		ssize_t n = file_ops(f)->fdinfo(f, extra, PAGE_SIZE);
		if (n > 0)
			seq_bytes(s, extra, MIN((size_t)n, (size_t)PAGE_SIZE));
		kfree(extra);
	}
	return 0;
}

const struct proc_row proc_fd_row = {
	.path = "fd/N",
	.mode = S_IFLNK | 0700,
	.flags = PROC_INSPECT,
	.readlink = proc_magic_readlink,
	.follow = proc_magic_follow,
	.target = proc_fd_target,
};

/* An open namespace can be compared by stat(2), nothing else. */
const struct proc_row proc_ns_row = {
	.path = "ns",
	.mode = S_IFREG | 0444,
};

const struct proc_row proc_fdinfo_row = {
	.path = "fdinfo/N",
	.mode = S_IFREG | 0444,
	.flags = PROC_INSPECT,
	.show = proc_fdinfo,
};
