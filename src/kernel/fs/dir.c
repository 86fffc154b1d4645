/*
 * Reading directories: getdents_call(2), getdents64(2), and what an open directory can do.
 *
 * The first read takes a snapshot of all names: the position of an entry in it is its cookie, so
 * that removing entries while reading (rm -r) neither skips nor repeats others, as readdir(3)
 * promises. lseek to 0 drops it, so that a rewound directory shows what is there then.
 *
 *   file->dir --> struct dir_snapshot { offsets[count] } --> bytes: struct dir_entry, name, ...
 */
#include "kernel/fs/dir.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "kernel/abi/syscalls.h"
#include "kernel/core/arena.h"
#include "kernel/core/user.h"
#include "kernel/fs/file.h"
#include "kernel/fs/rw.h"
#include "kernel/fs/vfs.h"
#include "kernel/task/task.h"

struct dir_entry {
	uint64_t ino;
	uint8_t type;
	uint8_t length;
	char name[];
};

struct dir_snapshot {
	uint32_t count, capacity;
	uint32_t *offsets;
	size_t size, allocated;
	char *bytes;
	bool failed;
};

void dir_snapshot_free(struct dir_snapshot *s)
{
	if (!s)
		return;
	kfree(s->offsets);
	kfree(s->bytes);
	kfree(s);
}

static bool reserve(struct dir_snapshot *s, size_t size)
{
	if (karray_reserve(&s->offsets, s->count, &s->capacity, sizeof(*s->offsets)) < 0)
		return false;
	if (s->size + size > s->allocated) {
		size_t more = s->allocated ? s->allocated * 2 : 1024;
		char *b = more <= UINT32_MAX ? krealloc(s->bytes, s->allocated, more) : NULL;
		if (!b)
			return false;
		s->bytes = b;
		s->allocated = more;
	}
	return true;
}

static bool snapshot_emit(void *ctx, const char *name, size_t length, uint64_t ino, uint8_t type)
{
	struct dir_snapshot *s = ctx;
	size_t size = ALIGN_UP(sizeof(struct dir_entry) + length, 8);
	if (!reserve(s, size)) {
		s->failed = true;
		return false;
	}
	struct dir_entry *e = (struct dir_entry *)(void *)(s->bytes + s->size);
	e->ino = ino;
	e->type = type;
	e->length = (uint8_t)length;
	memcpy(e->name, name, length);
	s->offsets[s->count++] = (uint32_t)s->size;
	s->size += size;
	return true;
}

static uint64_t parent_ino(struct file *f)
{
	struct path p = f->path;
	while (p.dentry == p.mnt->root && p.mnt->mountpoint.dentry)
		p = p.mnt->mountpoint;
	return p.dentry->parent->inode->ino;
}

static int take_snapshot(struct task *t, struct file *f)
{
	const struct inode_ops *ops = inode_ops(f->inode);
	struct dir_snapshot *s = knew(struct dir_snapshot);
	if (!s)
		return -ENOMEM;
	int r = 0;
	snapshot_emit(s, ".", 1, f->inode->ino, DT_DIR);
	snapshot_emit(s, "..", 2, parent_ino(f), DT_DIR);
	if (ops->readdir && !f->path.dentry->unlinked)
		r = ops->readdir(t, f->inode, f->path.dentry, s, snapshot_emit);
	if (s->failed)
		r = -ENOMEM;
	if (r < 0) {
		dir_snapshot_free(s);
		return r;
	}
	f->dir = s;
	return 0;
}

/* linux_dirent64: ino, off, reclen, type, name. linux_dirent: ino, off, reclen, name, 0, type last. */
static size_t format_entry(char *dst, const struct dir_entry *e, uint64_t next, bool old)
{
	size_t header = old ? 18 : 19;
	size_t size = ALIGN_UP(header + e->length + (old ? 2u : 1u), 8);
	uint16_t reclen = (uint16_t)size;
	memset(dst, 0, size);
	memcpy(dst, &e->ino, 8);
	memcpy(dst + 8, &next, 8);
	memcpy(dst + 16, &reclen, 2);
	memcpy(dst + header, e->name, e->length);
	dst[old ? size - 1 : 18] = (char)e->type;
	return size;
}

static long getdents_call(struct call *c, bool old)
{
	struct file *f = fd_file(c->task, (int)c->args[0]);
	size_t capacity = MIN((uint32_t)c->args[2], SCRATCH_SIZE);
	char *buffer = scratch_buffer();
	if (!f || (f->flags & O_PATH))
		return -EBADF;
	if (!S_ISDIR(f->inode->mode))
		return -ENOTDIR;
	if (f->path.dentry->unlinked)
		return -ENOENT;
	if (!f->dir) {
		int r = take_snapshot(c->task, f);
		if (r < 0)
			return r;
	}
	const struct dir_snapshot *s = f->dir;
	size_t used = 0;
	uint64_t at = f->pos;
	for (; at < s->count; at++) {
		const struct dir_entry *e =
			(const struct dir_entry *)(const void *)(s->bytes + s->offsets[at]);
		if (used + ALIGN_UP(20u + e->length, 8u) > capacity)
			break;
		used += format_entry(buffer + used, e, at + 1, old);
	}
	if (used == 0 && at < s->count)
		return -EINVAL;
	if (used > 0 && user_write(c->task, CALL_ARG_PTR(c, 1), buffer, used) < 0)
		return -EFAULT;
	f->pos = at;
	file_accessed(f);
	return (long)used;
}

long sys_getdents(struct call *c)
{
	return getdents_call(c, true);
}

long sys_getdents64(struct call *c)
{
	return getdents_call(c, false);
}

/* ---- the open directory ---- */

static int64_t dir_lseek(struct file *f, int64_t offset, int whence)
{
	int64_t base;
	if (whence == SEEK_SET)
		base = 0;
	else if (whence == SEEK_CUR)
		base = (int64_t)f->pos;
	else if (whence == SEEK_END)
		base = INT32_MAX;
	else
		return -EINVAL;
	int64_t to;
	if (__builtin_add_overflow(base, offset, &to) || to < 0)
		return -EINVAL;
	f->pos = (uint64_t)to;
	if (to == 0) {
		dir_snapshot_free(f->dir);
		f->dir = NULL;
	}
	return to;
}

static int dir_fsync(struct file *f, bool data_only)
{
	return 0;
}

const struct file_ops dir_file_ops = {
	.name = "dir",
	.lseek = dir_lseek,
	.fsync = dir_fsync,
};

/* An O_PATH file can do nothing: every call that needs more tests the flag. */
const struct file_ops path_file_ops = { .name = "path" };
